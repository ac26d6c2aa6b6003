"""Two runs of one question on two neighbours, compared: what is the first difference, and how far did numbers move?"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from discreet.accounting import Loss, Pure, compose
from discreet.accounting.losses import Sensitivity
from discreet.audit.wording import (
    apart,
    key_words,
    noise_words,
    number,
    selection_words,
    sensitivity_words,
    short,
)
from discreet.exit.cost import Additive, Choices
from discreet.exit.sampler import Cell
from discreet.mechanisms import KeySelection
from discreet.printing import counted

KINDS: Final = (
    "calls", "noise", "sensitivity", "numbers", "distance", "keys", "choice",
    "charge", "queries", "outcome", "cost", "error",
)  # fmt: skip
PARTS: Final = ("columns", "rows", "intervals", "noise in words", "notes")
"""What an answer is made of, in the order of an outcome."""


@dataclass(frozen=True, slots=True)
class Call:
    """A vector that left: what noise, which sensitivity was declared, and the numbers before and after."""

    mechanism: Additive
    sensitivity: Sensitivity
    exact: tuple[int, ...]
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """Private keys that left: how many units each had, and which were selected, with their noisy numbers."""

    mechanism: KeySelection
    exact: Mapping[Cell, int]
    keys: Mapping[Cell, int]


@dataclass(frozen=True, slots=True)
class Choice:
    """Candidates of which some left: the scores of each group, and what was chosen in it."""

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
    costed: bool = True
    """Whether there is a ledger that is charged."""
    uniform: tuple[Any, ...] = ()
    """Uniform numbers that were drawn."""

    @property
    def refusal(self) -> str | None:
        """The code of the refusal, if there is one."""
        return str(self.outcome[1]) if self.outcome[:1] == ("refused",) else None


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs: its kind, in words, and what it is on either side (or what is allowed, and what it is)."""

    kind: str
    words: str
    expected: str = ""
    observed: str = ""

    @classmethod
    def between(cls, kind: str, what: str, one: str, other: str) -> Difference:
        return cls(kind, f"{what}{one} on one side, {other} on the other", one, other)


@dataclass(frozen=True, slots=True)
class Moved:
    """The number of a call that one unit moves furthest,
    and how much of the declared sensitivity the whole call uses.
    """

    number: int
    mechanism: Additive
    sensitivity: Sensitivity
    here: int
    there: int
    share: Fraction

    @classmethod
    def of(cls, number: int, a: Passed, b: Passed, units: int = 1) -> Moved | None:
        """None for what is no vector of numbers, or not of one length."""
        if not isinstance(a, Call) or not isinstance(b, Call) or not a.exact or len(a.exact) != len(b.exact):
            return None
        l1, _ = _distance(a, b)
        here, there = max(zip(a.exact, b.exact, strict=True), key=lambda pair: abs(pair[0] - pair[1]))
        share = l1 / (units * a.sensitivity.l1) if a.sensitivity.l1 else Fraction(l1)
        return cls(number, a.mechanism, a.sensitivity, here, there, share)


@dataclass(frozen=True, slots=True)
class Report:
    """What a replay found: the first difference in words, or None."""

    question: str
    difference: str | None
    calls: int
    l1: Fraction = Fraction(0)
    """The largest distance between exact vectors, relative to the declared sensitivity."""
    kind: str | None = None
    """Of the difference: one of `KINDS`."""
    expected: str = ""
    """What is on the first side, or what is allowed."""
    observed: str = ""
    """What is on the other side, or what was found."""
    moved: Moved | None = None
    """The number that moved furthest, relative to its sensitivity."""
    refusal: str | None = None
    """The code of the refusal, if the question was refused (on both sides alike)."""

    @property
    def same(self) -> bool:
        return self.difference is None

    def __str__(self) -> str:
        verdict = "no difference" if self.same else str(self.difference)
        return f"{self.question}: {verdict} ({self.calls} calls, {float(self.l1):.0%} of the sensitivity)"


def compared(question: str, first: Run, second: Run, units: int = 1) -> Report:
    """The report on two runs, the second of which was given the noisy values of the first.

    `units` is how often a unit is added or removed on the way from one database to the other: once, or twice where one
    is replaced by another. Distances are at most so many times the declared sensitivity, by the triangle inequality.
    """
    difference, moved = _passed(first.calls, second.calls, units)
    difference = difference or _seen(first, second) or _uncharged(first) or _failed(first)
    furthest = max(moved, key=lambda one: one.share, default=None)
    return Report(
        question,
        None if difference is None else difference.words,
        len(first.calls),
        Fraction(0) if furthest is None else furthest.share,
        kind=None if difference is None else difference.kind,
        expected="" if difference is None else difference.expected,
        observed="" if difference is None else difference.observed,
        moved=furthest,
        refusal=first.refusal,
    )


# what left


def _who(units: int) -> str:
    return "one unit" if units == 1 else "replacing one unit"


def _times(units: int) -> str:
    return "" if units == 1 else f"{units} times "


def _passed(first: Sequence[Passed], second: Sequence[Passed], units: int) -> tuple[Difference | None, list[Moved]]:
    moved: list[Moved] = []
    for call, (a, b) in enumerate(itertools.zip_longest(first, second), start=1):
        if a is None or b is None:
            here, there = (counted(len(calls), "time") for calls in (first, second))
            return Difference.between("calls", "noise is drawn ", here, there), moved
        move = Moved.of(call, a, b, units)
        moved += [] if move is None else [move]
        difference = (
            CHECKS[type(a)](a, b, units)
            if type(a) is type(b)
            else Difference.between("calls", "", NOUNS[type(a)], NOUNS[type(b)])
        )
        if difference is not None:
            return replace(difference, words=f"call {call}: {difference.words}"), moved
    return None, moved


def _distance(a: Call, b: Call) -> tuple[int, int]:
    """L1, and the square of L2."""
    moved = [abs(x - y) for x, y in zip(a.exact, b.exact, strict=True)]
    return sum(moved), sum(x * x for x in moved)


def _numbers(a: Call, b: Call, units: int) -> Difference | None:
    if a.mechanism != b.mechanism:
        return Difference.between("noise", "", *apart(noise_words, a.mechanism, b.mechanism))
    if a.sensitivity != b.sensitivity:
        return Difference.between(
            "sensitivity",
            "the declared sensitivity is ",
            sensitivity_words(a.sensitivity),
            sensitivity_words(b.sensitivity),
        )
    if len(a.exact) != len(b.exact):
        return Difference.between("numbers", "", counted(len(a.exact), "number"), counted(len(b.exact), "number"))
    l1, squares = _distance(a, b)
    if l1 <= units * a.sensitivity.l1 and squares <= units**2 * a.sensitivity.l2_squared:
        return None
    allowed, observed = f"{_times(units)}{sensitivity_words(a.sensitivity)}", f"{l1} (squares {squares})"
    words = f"{_who(units)} moves it by {observed}, beyond the declared sensitivity of {allowed}"
    return Difference("distance", words, f"at most {allowed}", observed)


def _selected(a: Selection, b: Selection, units: int) -> Difference | None:
    """Keys that both sides hold may differ by one unit each; keys of one side alone are that unit's own, and cost δ."""
    if a.mechanism != b.mechanism:
        return Difference.between("noise", "keys are selected by ", *apart(selection_words, a.mechanism, b.mechanism))
    moved = {key: abs(a.exact.get(key, 0) - b.exact.get(key, 0)) for key in {*a.exact, *b.exact}}
    total, most = sum(moved.values()), units * a.mechanism.max_groups
    worst = max(moved.values(), default=0)
    if worst > units:
        key = min((key for key in moved if moved[key] == worst), key=repr)
        moves = f"moves the number of units of the key {key_words(key)} by {worst}, and {units} is the most"
        return Difference("keys", f"{_who(units)} {moves}", f"at most {units}", str(worst))
    if total > most:
        words = f"{_who(units)} moves {total} keys, and is in at most {most} groups"
        return Difference("keys", words, f"at most {most}", str(total))
    return None


def _chosen(a: Choice, b: Choice, units: int) -> Difference | None:
    """How far the scores of each group move, in multiples of the mechanism's sensitivity, is a vector within bounds."""
    if a.mechanism != b.mechanism:
        return Difference.between("noise", "candidates are chosen by ", repr(a.mechanism), repr(b.mechanism))
    if len(a.exact) != len(b.exact):
        return Difference.between(
            "numbers", "a candidate is chosen in ", counted(len(a.exact), "group"), counted(len(b.exact), "group")
        )
    if any(len(left) != len(right) for left, right in zip(a.exact, b.exact, strict=True)):
        return Difference("numbers", "there are other candidates on one side than on the other")
    steps = [[x - y for x, y in zip(left, right, strict=True)] for left, right in zip(a.exact, b.exact, strict=True)]
    moved = [max(map(abs, group), default=0) for group in steps]
    if units == 1 and a.mechanism.mechanism.monotone and any(min(group) < 0 < max(group) for group in steps if group):
        return Difference("choice", "one unit raises some scores and lowers others, where only one of both is declared")
    one, bounds = a.mechanism.mechanism.sensitivity, a.mechanism.moved
    l1, squares = Fraction(sum(moved)) / one, Fraction(sum(x * x for x in moved)) / one**2
    if l1 <= units * bounds.l1 and squares <= units**2 * bounds.l2_squared:
        return None
    observed = f"{number(l1)} (squares {number(squares)})"
    limit = f"{_times(units)}{sensitivity_words(bounds)}"
    words = (
        f"{_who(units)} moves the scores of candidates by {observed} times {number(one)}, beyond the declared {limit}"
    )
    return Difference("choice", words, f"at most {limit}", observed)


CHECKS: Final[Mapping[type, Callable[[Any, Any, int], Difference | None]]] = {
    Call: _numbers,
    Selection: _selected,
    Choice: _chosen,
}
NOUNS: Final[Mapping[type, str]] = {
    Call: "noise is added to numbers",
    Selection: "keys are selected",
    Choice: "candidates are chosen",
}


# what is seen


def _seen(first: Run, second: Run) -> Difference | None:
    if first.charges != second.charges:
        return Difference.between("charge", "the charges differ: ", _charges(first), _charges(second))
    if first.queries != second.queries:
        number, one, other = _first_apart(first.queries, second.queries)
        return Difference.between("queries", f"the queries differ, first number {number}: ", one, other)
    return None if _alike(first.outcome, second.outcome) else _outcomes(first.outcome, second.outcome)


def _alike(one: object, other: object) -> bool:
    """Whether nobody can tell them apart: 1 and 1.0, 0.0 and -0.0 are not the same, nor are two orders of keys."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return _alike(list(one.items()), list(other.items()))
    return repr(one) == repr(other) if isinstance(one, float) else bool(one == other)


def _outcomes(one: tuple[object, ...], other: tuple[object, ...]) -> Difference:
    if isinstance(one[0], str) or isinstance(other[0], str) or len(one) != len(other):
        return Difference.between("outcome", "the outcomes differ: ", _ending(one), _ending(other))
    part, a, b = next((part, a, b) for part, a, b in zip(PARTS, one, other, strict=False) if not _alike(a, b))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        number, left, right = _first_apart(a, b)
        return Difference.between("outcome", f"the {part} differ, first number {number}: ", left, right)
    return Difference.between("outcome", f"the {part} differ: ", short(a), short(b))


def _ending(outcome: tuple[object, ...]) -> str:
    if outcome[0] == "refused":
        return f"the refusal {outcome[1]} ({short(outcome[2])})"
    if outcome[0] == "failed":
        return f"the error {outcome[1]} ({short(outcome[2])})"
    return "an answer"


def _first_apart(one: Sequence[object], other: Sequence[object]) -> tuple[int, str, str]:
    """The position, from 1, of the first item that differs, and the item on both sides."""
    missing = object()
    for position, (a, b) in enumerate(itertools.zip_longest(one, other, fillvalue=missing), start=1):
        if not _alike(a, b):
            left, right = ("nothing" if item is missing else short(item) for item in (a, b))
            return position, left, right
    raise AssertionError("they are the same")


def _uncharged(run: Run) -> Difference | None:
    """What left must not cost more than was charged."""
    if not run.calls or not run.costed:
        return None
    losses = [
        passed.mechanism.loss_for(passed.sensitivity) if isinstance(passed, Call) else passed.mechanism.loss
        for passed in run.calls
    ]
    charged = compose(*run.charges) if run.charges else Pure(0)
    cost = compose(charged.times(Fraction(0)), *losses)  # in the currency of the charge
    if charged.bounds(cost):
        return None
    drawn, given = cost.words, charged.words
    return Difference("cost", f"noise worth {drawn} was drawn and {given} charged", f"at most {given}", drawn)


def _failed(run: Run) -> Difference | None:
    if run.outcome[:1] != ("failed",):
        return None
    return Difference(
        "error", f"the question fails on both sides: {_ending(run.outcome)}", "an answer", _ending(run.outcome)
    )


def _charges(run: Run) -> str:
    return " and ".join(loss.words for loss in run.charges) or "nothing"
