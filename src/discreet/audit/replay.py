"""Record and replay: the same question on two neighbouring databases, with the same noisy outputs.

All noise is drawn at the exit. A recorder stands there in the first run; the second run is given its noisy values.
Then everything that can be seen must be the same: calls, noise, charges, errors, answers. And what cannot be seen, the
exact numbers, must lie within the declared sensitivity of each other. If both hold for every pair of neighbours, the
privacy theorem of the noise covers the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, Self

import numpy as np

from discreet.accounting import Concentrated, Loss, Pure
from discreet.accounting.losses import Sensitivity
from discreet.audit.compare import Call, Choice, Passed, Report, Run, Selection, compared
from discreet.audit.neighbours import Data
from discreet.composed import Sql
from discreet.curator.curator import Curator
from discreet.curator.streams import ALL, invent
from discreet.curator.task import Task
from discreet.engines.engine import Engine
from discreet.engines.memory import Memory
from discreet.errors import Refused
from discreet.exit.cost import Additive, Choices
from discreet.exit.sampler import Cell, Sampler, Select, add_noise, below, choose, select
from discreet.ledger import Charge, Grant, Ledger
from discreet.ledger import Memory as Journal
from discreet.mechanisms import KeySelection
from discreet.noise import Bits
from discreet.policy import Policy

__all__ = ["Call", "Choice", "Mechanism", "Passed", "Replay", "Report", "Run", "Selection", "every_key", "replay"]

MOST_ENGINES: Final = 300
MOST_KEYS: Final = 50
Mechanism = Callable[[str, Data, Sampler], object]
"""What is asked, of which rows; noise is drawn by the sampler; what is returned is what is seen."""


def every_key(mechanism: KeySelection, exact: Mapping[Cell, int], bits: Bits) -> Mapping[Cell, int]:
    """All keys that are there, up to a limit: each may pass the threshold, and what follows is to be looked at too."""
    keys = sorted(exact, key=repr)[:MOST_KEYS]
    noisy = mechanism.mechanism.release([exact[key] for key in keys], bits) if keys else []
    return {key: max(int(n), mechanism.threshold) for key, n in zip(keys, noisy, strict=True)}


@dataclass(slots=True)
class Recorder:
    """Stands at the exit. With a script it gives out the noisy values of another run."""

    script: Sequence[Passed] = ()
    selects: Select = select
    uniform: Sequence[Any] = ()
    """Uniform numbers of the other run."""
    calls: list[Passed] = field(default_factory=list)
    drawn: list[Any] = field(default_factory=list)
    """Uniform numbers of this one."""
    queries: list[str] = field(default_factory=list)

    def add_noise(self, mechanism: Additive, sensitivity: Sensitivity, exact: Any, bits: Bits) -> Sequence[int]:
        other = self._other
        if isinstance(other, Call) and len(other.values) == len(exact):
            values = other.values
        else:
            values = tuple(_listed(add_noise(mechanism, sensitivity, exact, bits)))
        self.calls.append(Call(mechanism, sensitivity, tuple(_listed(exact)), values))
        return values

    def select(self, mechanism: KeySelection, exact: Mapping[Cell, int], bits: Bits) -> Mapping[Cell, int]:
        other = self._other
        keys = other.keys if isinstance(other, Selection) else self.selects(mechanism, exact, bits)
        self.calls.append(Selection(mechanism, dict(exact), keys))
        return keys

    def choose(self, mechanism: Choices, scores: Sequence[Any], bits: Bits) -> Sequence[int]:
        other = self._other
        scripted = isinstance(other, Choice) and len(other.values) == len(scores)
        values = other.values if isinstance(other, Choice) and scripted else tuple(choose(mechanism, scores, bits))
        self.calls.append(Choice(mechanism, tuple(tuple(_listed(group)) for group in scores), values))
        return values

    def below(self, limit: int, size: int | tuple[int, ...], bits: Bits) -> Any:
        """The uniform numbers of the other run, as far as it drew as many."""
        draws = below(limit, size, bits)
        index = len(self.drawn)
        if index < len(self.uniform) and self.uniform[index].shape == draws.shape:
            draws = self.uniform[index]
        self.drawn.append(draws)
        return draws

    @property
    def sampler(self) -> Sampler:
        return Sampler(self.add_noise, self.select, self.choose, self.below)

    @property
    def _other(self) -> Passed | None:
        """What left at this place in the other run."""
        return self.script[len(self.calls)] if len(self.calls) < len(self.script) else None


def _listed(numbers: Any) -> list[int]:
    listed: list[int] = numbers.tolist() if isinstance(numbers, np.ndarray) else list(numbers)
    return listed


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

    def rows(self, query: Sql, seconds: float | None = None) -> list[tuple[Any, ...]]:
        self.queries.append(query.text)
        return self.engine.rows(query, seconds)

    def columns(self, query: Sql, seconds: float | None = None) -> Any:
        self.queries.append(query.text)
        return self.engine.columns(query, seconds)

    def close(self) -> None:
        self.engine.close()


class Watchful(Ledger):
    """A ledger that notes what is charged, whether it is admitted or refused."""

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
        grant = Grant.of(self.policy.budget.epsilon, self.policy.budget.delta).endless
        shares = dict(self.policy.analysts)
        self._engines: dict[str, Memory] = {}
        self.ledger = self._stack.enter_context(Watchful(Journal.bounded(), grant, shares=shares))
        invent(self.policy, self.ledger, lambda policy, _: endless(policy))

    def run(self, question: str | Task[Any], data: Data, other: Run | None = None, **cost: Any) -> Run:
        """Ask one question of one database, or perform a task on it; with the noisy values of another run."""
        recorder = Recorder(other.calls if other else (), self._selects, other.uniform if other else ())
        engine = Watched(self._engine(data), recorder.queries)
        curator = Curator(self.policy, self.ledger, engine=engine, sampler=recorder.sampler)
        self.ledger.noted = []
        try:
            outcome = self._asked(curator, question, cost)
        except Refused as refused:
            outcome = ("refused", refused.code, refused.reason, refused.fix)
        except Exception as failed:
            outcome = ("failed", type(failed).__name__, str(failed))
        charges = tuple(self.ledger.noted)
        return Run(tuple(recorder.calls), tuple(recorder.queries), charges, outcome, uniform=tuple(recorder.drawn))

    def _asked(self, curator: Curator, question: str | Task[Any], cost: Mapping[str, Any]) -> tuple[object, ...]:
        """What is seen: of an answer its parts, of other tasks what was kept beside the charge."""
        if isinstance(question, str):
            answer = curator.query(question, fresh=True, **{**self._blocks, **cost})
            return answer.columns, answer.rows, answer.intervals, answer.noise, answer.notes
        if self._blocks and getattr(question, "blocks", "") is None:
            question = replace(question, **self._blocks)  # type: ignore[type-var]
        curator.perform(question)
        entry = self.ledger.latest(limit=1)[0]
        stored = self.ledger.answer(entry.number)
        return [entry.question], [] if stored is None else [stored.answer.decode("ascii")]

    @property
    def _blocks(self) -> dict[str, Any]:
        """Where all private rows are those of one stream, questions are about all of its blocks."""
        return {"blocks": ALL} if len(self.policy.private_tables) == len(self.policy.streams) == 1 else {}

    def _engine(self, data: Data) -> Memory:
        """One for each database: many questions are asked of each."""
        key = repr(data)
        if key not in self._engines:
            if len(self._engines) >= MOST_ENGINES:
                self._engines.pop(next(iter(self._engines))).close()
            self._engines[key] = Memory(self.policy, data)
        return self._engines[key]

    def compare(self, question: str | Task[Any], data: Data, neighbour: Data, *, units: int = 1, **cost: Any) -> Report:
        """Ask on both, with the same noisy values, and look for a difference. A task is asked for with fresh=True.

        `units` is 2 where a unit is replaced by another: it is removed, and one is added.
        """
        (report,) = self.compare_each(question, data, [neighbour], units=units, **cost)
        return report

    def compare_each(
        self, question: str | Task[Any], data: Data, others: Iterable[Data], *, units: int = 1, **cost: Any
    ) -> Iterator[Report]:
        """The same for many neighbours of one database, which is asked once."""
        first = self.run(question, data, **cost)
        for other in others:
            yield compared(str(question), first, self.run(question, other, first, **cost), units)

    def close(self) -> None:
        for engine in self._engines.values():
            engine.close()
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def endless(policy: Policy) -> Pure | Concentrated:
    """The capacity of blocks that never run out."""
    huge = Fraction(10**20)
    return (Pure(huge) if policy.budget.delta is None else Concentrated(huge, Fraction(1, 2))).per(policy.unit)


def _policy(given: object) -> Policy:
    policy = getattr(given, "policy", given)
    if not isinstance(policy, Policy):
        raise TypeError(f"audit a policy, a curator or a function f(question, data, sampler): not {given!r:.80}")
    return policy


def replay(
    target: Policy | Curator | Mechanism, question: str, data: Data, neighbour: Data, *, units: int = 1, **cost: Any
) -> Report:
    """Ask a question of two neighbouring databases and say the first difference that anybody could see.

    `asked` is a policy, a curator (its policy is used, nothing else of it), or a function f(question, data, sampler)
    that draws its noise with `sampler.add_noise(mechanism, sensitivity, exact, bits)`, `select` or `choose`, and
    returns what it would show. A function charges nothing, so what it draws is not compared with a charge.
    `units` is 2 where the neighbour has other rows of one unit: then numbers may move by twice their sensitivity.
    """
    if isinstance(target, Policy) or not callable(target):
        with Replay(target) as auditor:
            return auditor.compare(question, data, neighbour, units=units, **cost)
    if cost:
        raise TypeError("a function has no cost: leave it out, or pass a policy")
    first = _called(target, question, data, ())
    return compared(question, first, _called(target, question, neighbour, first.calls), units)


def _called(mechanism: Mechanism, question: str, data: Data, script: Sequence[Passed]) -> Run:
    recorder = Recorder(script)
    try:
        shown = mechanism(question, data, recorder.sampler)
        outcome: tuple[object, ...] = ((), [shown.tolist() if hasattr(shown, "tolist") else shown])
    except Exception as failed:
        outcome = ("failed", type(failed).__name__, str(failed))
    return Run(tuple(recorder.calls), (), (), outcome, costed=False)
