"""Record and replay: the same question on two neighbouring databases, with the same noisy outputs.

All noise passes one door. The first run records what passes it; the second run is given the noisy values of the first.
Then everything that can be seen must be the same: calls, noise, charges, errors, answers. And what cannot be seen, the
exact numbers, must lie within the declared sensitivity of each other. If both hold for every pair of neighbours, the
privacy theorem of the noise covers the question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Self

from discreet.accounting import Loss
from discreet.accounting.losses import Sensitivity
from discreet.audit.compare import Call, Choice, Passed, Report, Run, Selection, compared
from discreet.audit.neighbours import Data
from discreet.curator.curator import Curator
from discreet.curator.draw import Door, Engine, Select, blur, choose, select
from discreet.engines.memory import Memory
from discreet.engines.printed import Printed
from discreet.errors import Refused
from discreet.ledger import Charge, Grant, Ledger
from discreet.ledger import Memory as Journal
from discreet.mechanisms import KeySelection
from discreet.noise import Bits
from discreet.policy import Policy
from discreet.sql.cache import Cell
from discreet.sql.cost import Additive, Choices

__all__ = ["Call", "Choice", "Mechanism", "Passed", "Replay", "Report", "Run", "Selection", "every_key", "replay"]

MOST_ENGINES: Final = 300
MOST_KEYS: Final = 50
Mechanism = Callable[[str, Data, Door], object]
"""What is asked, of which rows; noise is drawn at the door; what is returned is what is seen."""


def every_key(mechanism: KeySelection, exact: Mapping[Cell, int], bits: Bits) -> Sequence[Cell]:  # noqa: ARG001
    """All keys that are there, up to a limit: each may pass the threshold, and what follows is to be looked at too."""
    return sorted(exact, key=repr)[:MOST_KEYS]


@dataclass(slots=True)
class Recorder:
    """Stands at the door. With a script it gives out the noisy values of another run."""

    script: Sequence[Passed] = ()
    selects: Select = select
    calls: list[Passed] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    def blur(self, mechanism: Additive, sensitivity: Sensitivity, exact: Sequence[int], bits: Bits) -> Sequence[int]:
        told = self._told
        if isinstance(told, Call) and len(told.values) == len(exact):
            values = told.values
        else:
            values = tuple(blur(mechanism, sensitivity, exact, bits))
        self.calls.append(Call(mechanism, sensitivity, tuple(exact), values))
        return values

    def select(self, mechanism: KeySelection, exact: Mapping[Cell, int], bits: Bits) -> Sequence[Cell]:
        told = self._told
        keys = told.keys if isinstance(told, Selection) else tuple(self.selects(mechanism, exact, bits))
        self.calls.append(Selection(mechanism, dict(exact), keys))
        return keys

    def choose(self, mechanism: Choices, scores: Sequence[Sequence[int]], bits: Bits) -> Sequence[int]:
        told = self._told
        scripted = isinstance(told, Choice) and len(told.values) == len(scores)
        values = told.values if isinstance(told, Choice) and scripted else tuple(choose(mechanism, scores, bits))
        self.calls.append(Choice(mechanism, tuple(map(tuple, scores)), values))
        return values

    @property
    def door(self) -> Door:
        return Door(self.blur, self.select, self.choose)

    @property
    def _told(self) -> Passed | None:
        """What passed the door at this place in the other run."""
        return self.script[len(self.calls)] if len(self.calls) < len(self.script) else None


@dataclass(slots=True)
class Watched:
    """An engine that notes which queries it gets."""

    engine: Engine
    queries: list[str]

    @property
    def dialect(self) -> str:
        return self.engine.dialect

    @property
    def copy(self) -> str:
        return self.engine.copy

    def schema(self, table: str) -> dict[str, str]:
        return self.engine.schema(table)

    def rows(self, query: Printed, seconds: float | None = None) -> list[tuple[Any, ...]]:
        self.queries.append(query)
        return self.engine.rows(query, seconds)

    def close(self) -> None:
        self.engine.close()


class Watchful(Ledger):
    """A ledger that notes what is charged, whether it is paid or refused."""

    noted: list[Loss]

    def charge(self, loss: Loss, **facts: Any) -> Charge:
        self.noted.append(loss)
        return super().charge(loss, **facts)


class Replay:
    """Asks questions of small databases in memory, under one policy, with a ledger that never runs out.

    Of a curator only the policy is used: its data, its ledger and its state are not touched.
    """

    def __init__(self, policy: Policy | Curator, *, selects: Select = select) -> None:
        self.policy = _policy(policy)
        self._selects = selects
        self._stack = ExitStack()
        grant = Grant.of(Fraction(10**9), self.policy.budget.delta)
        shares = dict(self.policy.analysts)
        self._engines: dict[str, Memory] = {}
        self.ledger = self._stack.enter_context(Watchful(Journal.bounded(), grant, shares=shares))

    def run(self, question: str, data: Data, script: Sequence[Passed] = (), **cost: Any) -> Run:
        """Ask one question of one database."""
        recorder = Recorder(script, self._selects)
        engine = Watched(self._engine(data), recorder.queries)
        curator = Curator(self.policy, self.ledger, engine=engine, door=recorder.door)
        self.ledger.noted = []
        try:
            answer = curator.query(question, fresh=True, **cost)
            outcome: tuple[object, ...] = (answer.columns, answer.rows, answer.intervals, answer.noise, answer.notes)
        except Refused as refused:
            outcome = ("refused", refused.code, refused.reason, refused.fix)
        except Exception as failed:
            outcome = ("failed", type(failed).__name__, str(failed))
        return Run(tuple(recorder.calls), tuple(recorder.queries), tuple(self.ledger.noted), outcome)

    def _engine(self, data: Data) -> Memory:
        """One for each database: many questions are asked of each."""
        key = repr(data)
        if key not in self._engines:
            if len(self._engines) >= MOST_ENGINES:
                self._engines.pop(next(iter(self._engines))).close()
            self._engines[key] = Memory(self.policy, data)
        return self._engines[key]

    def compare(self, question: str, data: Data, neighbour: Data, *, units: int = 1, **cost: Any) -> Report:
        """Ask on both, with the same noisy values, and look for a difference.

        `units` is 2 where a unit is replaced by another: it is removed, and one is added.
        """
        first = self.run(question, data, **cost)
        second = self.run(question, neighbour, first.calls, **cost)
        return compared(question, first, second, units)

    def close(self) -> None:
        for engine in self._engines.values():
            engine.close()
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def _policy(given: object) -> Policy:
    found = getattr(given, "policy", given)
    if not isinstance(found, Policy):
        raise TypeError(f"audit a policy, a curator or a function f(question, data, door): not {given!r:.80}")
    return found


def replay(
    asked: Policy | Curator | Mechanism, question: str, data: Data, neighbour: Data, *, units: int = 1, **cost: Any
) -> Report:
    """Ask a question of two neighbouring databases and say the first difference that anybody could see.

    `asked` is a policy, a curator (its policy is used, nothing else of it), or a function f(question, data, door) that
    draws its noise with `door.blur(mechanism, sensitivity, exact, bits)`, `door.select` or `door.choose`, and returns
    what it would show. A function charges nothing, so what it draws is not compared with a charge.
    `units` is 2 where the neighbour has other rows of one unit: then numbers may move by twice their sensitivity.
    """
    if isinstance(asked, Policy) or not callable(asked):
        with Replay(asked) as auditor:
            return auditor.compare(question, data, neighbour, units=units, **cost)
    if cost:
        raise TypeError("a function has no cost: leave it out, or pass a policy")
    first = _called(asked, question, data, ())
    return compared(question, first, _called(asked, question, neighbour, first.calls), units)


def _called(asked: Mechanism, question: str, data: Data, script: Sequence[Passed]) -> Run:
    recorder = Recorder(script)
    try:
        shown = asked(question, data, recorder.door)
        outcome: tuple[object, ...] = ((), [shown.tolist() if hasattr(shown, "tolist") else shown])
    except Exception as failed:
        outcome = ("failed", type(failed).__name__, str(failed))
    return Run(tuple(recorder.calls), (), (), outcome, costed=False)
