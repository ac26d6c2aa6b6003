"""What classes give away although they are large: the attacks on k-anonymity, l-diversity and t-closeness as numbers.

Whoever attacks knows the quasi-identifiers of somebody and that the table has a row about them. Then the class of that
row is known, and the shares of sensitive values in it are what can be believed: the posterior. The prior is the share
in the whole table.

Source  homogeneity and background knowledge: Machanavajjhala et al. 2007; skewness and similarity: Li, Li &
        Venkatasubramanian 2007; intersection of two releases: Ganta, Kasiviswanathan & Smith 2008.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from discreet.errors import Refused
from discreet.lab.classes import Classes, Spread
from discreet.lab.invented import Integers
from discreet.lab.measures import Published

NEAR: Final = 0.1
"""Values are near each other that lie within this part of the range of all."""
FACTOR: Final = 2.0
"""A value that became this many times as likely as before is counted as given away by skewness."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Whom an attack hits."""

    people: int
    classes: int


@dataclass(frozen=True, slots=True)
class Skew:
    """How much more likely a class makes a value than it was before: posterior over prior."""

    ratio: float
    """The largest."""
    value: Any
    size: int
    """Rows in the class where it is largest."""
    people: int
    """Whose own value became at least twice as likely."""

    @property
    def epsilon(self) -> float:
        """The ε for which differential privacy would allow that ratio, and no more."""
        return math.log(self.ratio)


@dataclass(frozen=True, slots=True)
class Disclosure:
    """How many people each attack hits, in a table of so many rows."""

    rows: int
    homogeneity: Hit
    """Their class has one value: it is known."""
    background: tuple[Hit, Hit]
    """It is known to whoever can rule out one other value of the class, and two."""
    skewness: Skew
    similarity: Hit | None
    """All values of their class are near each other; None where values are words without a hierarchy."""


def disclosure(table: Published, *, near: float = NEAR, factor: float = FACTOR) -> Disclosure:
    """
    >>> from discreet.lab.measures import published
    >>> ages, ills = ["60-70"] * 3 + ["50-60"] * 2, ["flu", "ulcer", "flu", "HIV", "HIV"]
    >>> got = disclosure(published({"age": ages, "ill": ills}, quasi=["age"], sensitive="ill"))
    >>> got.homogeneity.people, got.background[0].people, got.skewness.ratio, got.skewness.value
    (2, 5, 2.5, 'HIV')
    """
    distinct = table.spread.distinct
    return Disclosure(
        rows=table.rows,
        homogeneity=_hit(table.classes, distinct == 1),
        background=(_hit(table.classes, distinct <= 2), _hit(table.classes, distinct <= 3)),
        skewness=_skewness(table, factor),
        similarity=_similarity(table, near),
    )


def _hit(classes: Classes, which: Any) -> Hit:
    return Hit(int(classes.sizes[which].sum()), int(np.count_nonzero(which)))


def _skewness(table: Published, factor: float) -> Skew:
    spread = table.spread
    ratio = spread.share / table.prior[spread.value]
    worst = int(np.argmax(ratio))
    return Skew(
        ratio=float(ratio[worst]),
        value=table.sensitive.values[int(spread.value[worst])],
        size=int(spread.sizes[spread.group[worst]]),
        people=int(spread.count[ratio >= factor].sum()),
    )


def _similarity(table: Published, near: float) -> Hit | None:
    """Classes whose values all lie within a small part of the range, or in one group of a hierarchy.

    A class with one value is homogeneous, and counted here too: what is known exactly is known roughly.
    """
    spread = table.spread
    if table.levels:
        smallest = table.levels[1] if len(table.levels) > 1 else table.levels[0]
        return _hit(table.classes, spread.grouped(smallest).distinct == 1)
    if not table.sensitive.ordered:
        return None
    position = table.sensitive.positions()[spread.value]
    width = np.maximum.reduceat(position, spread.starts) - np.minimum.reduceat(position, spread.starts)
    missing = np.logical_or.reduceat(spread.value < table.sensitive.gaps, spread.starts) & (spread.distinct > 1)
    return _hit(table.classes, (width <= near) & ~missing)


@dataclass(frozen=True, slots=True)
class Intersection:
    """What two releases about the same people give away together, beside what each gives away alone."""

    people: int
    """Who are in both."""
    alone: tuple[int, int]
    """Whose value is known from the first, and from the second."""
    together: int
    """Whose value is known from both."""


def intersection(first: Published, second: Published, people: Sequence[tuple[int, int]] | None = None) -> Intersection:
    """Of people with a row in each of two releases, whose sensitive value only one remains that both allow.

    people   pairs of rows that are about the same person; row by row if left out.
    """
    if people is None and first.rows != second.rows:
        reason = f"one release has {first.rows} rows and the other {second.rows}"
        raise Refused("table-invalid", reason, "say which rows are about the same person")
    rows = np.array(people if people is not None else [(i, i) for i in range(first.rows)], dtype=np.int64)
    left, right = rows.reshape(-1, 2).T
    one, other = first.classes.of[left], second.classes.of[right]
    a, b = first.spread, _translated(second, first)
    meeting, of = np.unique(one * b.sizes.size + other, return_inverse=True)
    many = _common(a, b, meeting // b.sizes.size, meeting % b.sizes.size)
    return Intersection(
        people=int(left.size),
        alone=(int((a.distinct[one] == 1).sum()), int((b.distinct[other] == 1).sum())),
        together=int((many[of] == 1).sum()) if left.size else 0,
    )


def _translated(table: Published, to: Published) -> Spread:
    """The spread of a table with the codes of another; values that only it has come after those.

    Where one column is of numbers and the other of words, values are the same that are written alike.
    """
    alike = table.sensitive.kind is to.sensitive.kind
    here, there = ([v if alike or v is None else str(v) for v in t.sensitive.values] for t in (table, to))
    known = {value: code for code, value in enumerate(there)}
    codes: Integers = np.array([known.setdefault(value, len(known)) for value in here], dtype=np.int64)
    return table.spread.grouped(codes)


def _common(a: Spread, b: Spread, one: Integers, other: Integers) -> Integers:
    """How many values the classes of each pair of classes have in common."""
    most = int(max(a.value.max(), b.value.max())) + 1
    left, right = (pair * most + value for pair, value in (a.held(one), b.held(other)))
    common = np.intersect1d(left, right, assume_unique=True)
    return np.bincount(common // most, minlength=one.size).astype(np.int64)


def rows_of_people(first: Sequence[Any], second: Sequence[Any]) -> list[tuple[int, int]]:
    """The pairs of rows with the same key in two tables; a key that is twice in one of them is an error of the caller.

    >>> rows_of_people(["a", "b"], ["b", "c"])
    [(1, 0)]
    """
    for keys in (first, second):
        if len(set(keys)) < len(keys):
            raise Refused("table-invalid", "a person has two rows in one release", "name a column that is unique")
    row_of = {key: row for row, key in enumerate(second)}
    return [(row, row_of[key]) for row, key in enumerate(first) if key in row_of]
