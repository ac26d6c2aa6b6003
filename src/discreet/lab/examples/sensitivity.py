"""Sensitivity by trying: every small database, every neighbour, and how far a query moves between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Final

Database = tuple[int, ...]
"""A value for each person, in order: neighbours do not depend on who is who."""
Vector = Sequence[Fraction | int]
BUCKETS: Final = 3
REPEATS: Final = 5
"""Rows of one person, where somebody may send five complaints."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query with the values that people may have, and what the lectures say of it."""

    values: Callable[[int], Sequence[int]]
    """For a bound: the values that matter."""
    answer: Callable[[Database], Vector]
    lecture: str
    unbounded: bool = False
    """Whether it grows without end as the bound does."""


def _mean(people: Database) -> Vector:
    return (Fraction(sum(people), len(people)) if people else Fraction(0),)


def _histogram(people: Database) -> Vector:
    return [people.count(bucket) for bucket in range(BUCKETS)]


def _bits(bound: int) -> Sequence[int]:  # noqa: ARG001  (the same for any bound)
    return (0, 1)


def _ends(bound: int) -> Sequence[int]:
    return (0, 1, bound) if bound > 1 else (0, 1)


QUERIES: Final[Mapping[str, Query]] = {
    "count": Query(_bits, lambda people: (sum(people),), "1"),
    "histogram": Query(lambda _: range(BUCKETS), _histogram, "1"),
    "binary-mean": Query(_bits, _mean, "1/n"),
    "complaints": Query(lambda _: (0, 1, REPEATS), lambda people: (sum(people),), "5"),
    "sum": Query(_ends, lambda people: (sum(people),), "the bound", unbounded=True),
    "mean": Query(_ends, _mean, "unbounded", unbounded=True),
    "maximum": Query(_ends, lambda people: (max(people, default=0),), "–", unbounded=True),
}


@dataclass(frozen=True, slots=True)
class Moved:
    """The largest change of a query between neighbours, in L1, and two databases that show it."""

    change: Fraction
    before: Database
    after: Database


def _distance(first: Vector, second: Vector) -> Fraction:
    return sum((abs(Fraction(a) - b) for a, b in zip(first, second, strict=True)), Fraction(0))


@cache
def replaced(name: str, people: int, bound: int) -> Moved:
    """The sensitivity where one of so many people is replaced by another: the number of people is public.

    >>> replaced("binary-mean", 4, 1).change, replaced("count", 4, 1).change, replaced("histogram", 4, 1).change
    (Fraction(1, 4), Fraction(1, 1), Fraction(2, 1))
    """
    query = QUERIES[name]
    values = query.values(bound)
    worst = Moved(Fraction(-1), (), ())
    for others in combinations_with_replacement(values, people - 1):
        for old in values:
            for new in values:
                change = _distance(query.answer((*others, old)), query.answer((*others, new)))
                if change > worst.change:
                    worst = Moved(change, (*others, old), (*others, new))
    return worst


@cache
def removed(name: str, people: int, bound: int) -> Moved:
    """The sensitivity where one person is added or removed, over all databases of up to so many people.

    >>> removed("histogram", 4, 1).change, removed("complaints", 4, 1).change, removed("sum", 4, 9).change
    (Fraction(1, 1), Fraction(5, 1), Fraction(9, 1))
    """
    query = QUERIES[name]
    values = query.values(bound)
    worst = Moved(Fraction(-1), (), ())
    for others_count in range(people):
        for others in combinations_with_replacement(values, others_count):
            for new in values:
                change = _distance(query.answer(others), query.answer((*others, new)))
                if change > worst.change:
                    worst = Moved(change, others, (*others, new))
    return worst


def scale(change: Fraction, epsilon: float) -> float:
    """Of the Laplace noise that hides such a change."""
    return float(change) / epsilon if change else 0.0
