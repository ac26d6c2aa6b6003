"""Record and replay: the same question on two neighbouring databases, with the same noisy outputs.

All noise passes one door. The first run records what passes it; the second run is given the noisy values of the first.
Then everything that can be seen must be the same: calls, noise, charges, errors, answers. And what cannot be seen, the
exact numbers, must lie within the declared reach of each other. If both hold for every pair of neighbours, the privacy
theorem of the noise covers the question.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Self

from discreet.accounting import Concentrated, Loss, Pure, compose
from discreet.accounting.losses import Reach
from discreet.audit.neighbours import Data
from discreet.curator.door import Curator
from discreet.curator.draw import Door, Engine, blur, choose, select
from discreet.curator.kept import Cell
from discreet.curator.price import Additive, Choices
from discreet.engines.memory import Memory
from discreet.errors import Refused
from discreet.ledger import Charge, Grant, Ledger
from discreet.mechanisms import KeySelection
from discreet.noise import Bits
from discreet.policy import Policy

MOST_ENGINES: Final = 300


@dataclass(frozen=True, slots=True)
class Call:
    """Something that passed the door: what noise, which reach was declared, and the numbers before and after."""

    mechanism: Additive
    reach: Reach
    exact: tuple[int, ...]
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """Private keys that passed the door: how many units each had, and which were selected."""

    mechanism: KeySelection
    exact: Mapping[Cell, int]
    keys: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Candidates that passed the door: the scores of each group, and what was chosen in it."""

    mechanism: Choices
    exact: tuple[tuple[int, ...], ...]
    values: tuple[int, ...]


Passed = Call | Selection | Choice


@dataclass(frozen=True, slots=True)
class Run:
    """All that happened when a question was asked."""

    calls: tuple[Passed, ...]
    queries: tuple[str, ...]
    charges: tuple[Loss, ...]
    outcome: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What a replay found: the first difference in words, or None."""

    question: str
    difference: str | None
    calls: int
    l1: Fraction = Fraction(0)
    """The largest distance between exact vectors, relative to the declared reach."""

    @property
    def same(self) -> bool:
        return self.difference is None

    def __str__(self) -> str:
        told = "no difference" if self.same else str(self.difference)
        return f"{self.question}: {told} ({self.calls} calls, {float(self.l1):.0%} of the reach)"


@dataclass(slots=True)
class Recorder:
    """Stands at the door. With a script it gives out the noisy values of another run."""

    script: Sequence[Passed] = ()
    calls: list[Passed] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    def blur(self, mechanism: Additive, reach: Reach, exact: Sequence[int], bits: Bits) -> Sequence[int]:
        told = self._told
        if isinstance(told, Call) and len(told.values) == len(exact):
            values = told.values
        else:
            values = tuple(blur(mechanism, reach, exact, bits))
        self.calls.append(Call(mechanism, reach, tuple(exact), values))
        return values

    def select(self, mechanism: KeySelection, exact: Mapping[Cell, int], bits: Bits) -> Sequence[Cell]:
        told = self._told
        keys = told.keys if isinstance(told, Selection) else tuple(select(mechanism, exact, bits))
        self.calls.append(Selection(mechanism, dict(exact), keys))
        return keys

    def choose(self, mechanism: Choices, scores: Sequence[Sequence[int]], bits: Bits) -> Sequence[int]:
        told = self._told
        scripted = isinstance(told, Choice) and len(told.values) == len(scores)
        values = told.values if isinstance(told, Choice) and scripted else tuple(choose(mechanism, scores, bits))
        self.calls.append(Choice(mechanism, tuple(map(tuple, scores)), values))
        return values

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

    def rows(self, query: str, seconds: float | None = None) -> list[tuple[Any, ...]]:
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
    """Asks questions of small databases in memory, under one policy, with a ledger that never runs out."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._stack = ExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory())
        grant = Grant.of(Fraction(10**9), policy.budget.delta)
        shares = dict(policy.analysts)
        self._engines: dict[str, Memory] = {}
        self.ledger = self._stack.enter_context(Watchful(Path(folder) / "ledger.sqlite", grant, shares=shares))

    def run(self, question: str, data: Data, script: Sequence[Passed] = (), **price: Any) -> Run:
        """Ask one question of one database."""
        recorder = Recorder(script)
        engine = Watched(self._engine(data), recorder.queries)
        door = Door(recorder.blur, recorder.select, recorder.choose)
        curator = Curator(self.policy, self.ledger, engine=engine, door=door)
        self.ledger.noted = []
        try:
            answer = curator.query(question, fresh=True, **price)
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

    def compare(self, question: str, data: Data, neighbour: Data, **price: Any) -> Report:
        """Ask on both, with the same noisy values, and look for a difference."""
        first = self.run(question, data, **price)
        second = self.run(question, neighbour, first.calls, **price)
        difference, l1 = _difference(first, second)
        if difference is None:
            difference = _unpaid(first) or _failed(first)
        return Report(question, difference, len(first.calls), l1)

    def close(self) -> None:
        for engine in self._engines.values():
            engine.close()
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def replay(policy: Policy, question: str, data: Data, neighbour: Data, **price: Any) -> Report:
    """Ask a question of two neighbouring databases and say the first difference that anybody could see."""
    with Replay(policy) as auditor:
        return auditor.compare(question, data, neighbour, **price)


def _difference(first: Run, second: Run) -> tuple[str | None, Fraction]:
    most = Fraction(0)
    for place, (a, b) in enumerate(itertools.zip_longest(first.calls, second.calls), start=1):
        if a is None or b is None:
            return f"noise is drawn {len(first.calls)} times on one side and {len(second.calls)} on the other", most
        if not isinstance(a, Call) or not isinstance(b, Call):
            told = _selections(a, b) if isinstance(a, Selection) else _choices(a, b)
            if told is not None:
                return f"call {place}: {told}", most
            continue
        if (a.mechanism, a.reach) != (b.mechanism, b.reach):
            return (
                f"call {place}: {a.mechanism} for {a.reach} on one side, {b.mechanism} for {b.reach} on the other",
                most,
            )
        if len(a.exact) != len(b.exact):
            return f"call {place}: {len(a.exact)} numbers on one side, {len(b.exact)} on the other", most
        moved = [abs(x - y) for x, y in zip(a.exact, b.exact, strict=True)]
        l1, l2_squared = sum(moved), sum(x * x for x in moved)
        if l1 > a.reach.l1 or l2_squared > a.reach.l2_squared:
            return f"call {place}: one unit moves it by {l1} (squares {l2_squared}), beyond {a.reach}", most
        most = max(most, l1 / a.reach.l1)
    for what in ("charges", "queries", "outcome"):
        if getattr(first, what) != getattr(second, what):
            return f"the {what} differ: {getattr(first, what)!r} and {getattr(second, what)!r}", most
    return None, most


def _selections(a: Passed, b: Passed) -> str | None:
    """Keys that both sides hold may differ by one unit each; keys of one side alone are that unit's own, and pay δ."""
    if not isinstance(a, Selection) or not isinstance(b, Selection):
        return "keys are selected on one side only"
    if a.mechanism != b.mechanism:
        return f"{a.mechanism} on one side, {b.mechanism} on the other"
    moved = [abs(a.exact.get(key, 0) - b.exact.get(key, 0)) for key in {*a.exact, *b.exact}]
    if max(moved, default=0) > 1 or sum(moved) > a.mechanism.max_groups:
        return f"one unit moves {sum(moved)} keys by up to {max(moved)}, of at most {a.mechanism.max_groups} by 1"
    return None


def _choices(a: Passed, b: Passed) -> str | None:
    """Scores of at most so many groups may move, each by no more than the mechanism's sensitivity."""
    if not isinstance(a, Choice) or not isinstance(b, Choice) or len(a.exact) != len(b.exact):
        return "something is chosen on one side only, or in other groups"
    if a.mechanism != b.mechanism:
        return f"{a.mechanism} on one side, {b.mechanism} on the other"
    groups = zip(a.exact, b.exact, strict=True)
    moved = [max(abs(x - y) for x, y in zip(left, right, strict=True)) for left, right in groups]
    if max(moved, default=0) > a.mechanism.mechanism.sensitivity or sum(map(bool, moved)) > a.mechanism.count:
        return f"one unit moves scores by {max(moved)} in {sum(map(bool, moved))} groups, beyond {a.mechanism}"
    return None


def _unpaid(run: Run) -> str | None:
    """What passed the door must not cost more than was charged."""
    losses = [
        passed.mechanism.loss_for(passed.reach) if isinstance(passed, Call) else passed.mechanism.loss
        for passed in run.calls
    ]
    if not losses:
        return None
    (charged,) = run.charges
    if isinstance(charged, Pure):
        cost: Loss = compose(*losses)
        paid = isinstance(cost, Pure) and cost.epsilon <= charged.epsilon
    else:
        cost = compose(*(loss.concentrated() for loss in losses))
        whole = charged.concentrated()
        paid = isinstance(cost, Concentrated) and cost.rho <= whole.rho and cost.delta <= whole.delta
    return None if paid else f"{cost} was drawn and {charged} charged"


def _failed(run: Run) -> str | None:
    return f"the question fails on both sides: {run.outcome[1:]}" if run.outcome[0] == "failed" else None
