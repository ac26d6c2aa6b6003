"""Bounds that nobody knows: found with a share of the cost, before what they bound is released.

A query that leaves bounds out is planned twice. The first plan says what is searched for; what is found is noisy, and
with it the same text is planned again, as if somebody had written the bounds into it.

Theorem  A search and what is released with its bounds together cost at most the cost of the query, which follows from
         the text alone.
Proof    Text and policy say what is searched for, so they say how the cost is split: `SHARE` of it for all searches,
         the rest for the second plan. Each search is a vector of counts with noise of its share. The second plan is a
         function of text, policy and what was found; for any bounds its releases cost the rest at most, because noise
         is chosen from the share and the sensitivity at these bounds (`exit.Cost`). That is adaptive composition, which
         the exit adds up (`exit.Exit`).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Protocol

from discreet.accounting.distributions import Noise
from discreet.accounting.losses import Sensitivity
from discreet.composed import Sql, double, joined, name, sql
from discreet.errors import Refused
from discreet.policy.model import Kind
from discreet.sql.arguments import Bounds, bounds_of
from discreet.sql.expression import Expr
from discreet.sql.nodes import Node
from discreet.sql.nodes.node import labelled

VERSION: Final = 1
"""Of what a key covers: counts up when the same text starts to mean another search."""
SHARE: Final = Fraction(1, 5)
"""Of the cost, for all searches of a query together."""
CHANCE: Final = Fraction(1, 10**4)
"""That of all bins which nobody is in, one passes for its noise."""
INTEGERS: Final = range(64)
"""Exponents of the bounds of whole numbers."""
NUMBERS: Final = range(-64, 128)
"""Exponents of the bounds of all other numbers."""
NEARLY_ALL: Final = Fraction(99, 100)
"""Of the units, for contribution bounds."""
LN_2: Final = double(math.log(2))
RELEASED: Final = "discreet_released_"
"""In queries over rows that earlier releases chose."""


@dataclass(frozen=True, slots=True)
class Range:
    """What a search found; where too few units were there to find anything, what is taken instead."""

    low: Fraction
    high: Fraction
    passed: bool = True

    @property
    def words(self) -> str:
        return f"[{float(self.low):g}, {float(self.high):g}]"


Found = Mapping[str, Range]
"""What was found, by the keys of the searches."""


class Unknown(Protocol):
    """One search: counts of units in bins."""

    @property
    def key(self) -> str:
        """The digest of what is searched, in which rows."""

    @property
    def words(self) -> str: ...
    @property
    def first(self) -> bool:
        """Whether other searches look at rows that depend on what this one finds."""

    @property
    def length(self) -> int:
        """How many bins there are."""

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one unit moves all bins together."""

    @property
    def extremes(self) -> tuple[Range, Range]:
        """The narrowest and the widest that can be found."""

    def sql(self) -> Sql: ...
    def counts(self, rows: Sequence[tuple[Any, ...]]) -> list[int]:
        """The bins, from what the engine gave."""

    def read(self, noisy: Sequence[int], noise: Noise) -> Range:
        """What noisy bins say: post-processing."""

    def note(self, bounds: Range, unit: str) -> str: ...


def threshold(noise: Noise, bins: int) -> int:
    """What a bin must have to be believed: a bin without units passes with a chance of `CHANCE` over all of them."""
    return noise.width(1 - 2 * CHANCE / bins) + 1


def within(value: Sql, exponents: range) -> Sql:
    """A number above 0, clamped to the powers of two of these exponents; else NULL."""
    first, last = double(Fraction(2) ** exponents[0]), double(Fraction(2) ** exponents[-1])
    return sql("CASE WHEN {0} > 0 THEN LEAST(GREATEST({0}, {1}), {2}) END", value, first, last)


def binned(columns: Sequence[Sql], rows: Sql) -> Sql:
    """Of numbers above 0 the least exponents of two whose powers they do not exceed, and how many rows have them.

    The engine's logarithm may be off by less than one; comparisons with powers of two, which are exact, correct it.
    """
    exponents = [name(f"e{index}") for index in range(len(columns))]
    guesses, exact = [], []
    for column, exponent in zip(columns, exponents, strict=True):
        guesses.append(sql("CEIL(LN({}) / {}) AS {}", column, LN_2, exponent))
        slip = sql(
            "CASE WHEN {0} > POWER(2e0, {1}) THEN 1 WHEN {0} <= POWER(2e0, {1} - 1) THEN -1 ELSE 0 END",
            column,
            exponent,
        )
        exact.append(sql("CAST({0} + {1} AS INTEGER) AS {0}", exponent, slip))
    guessed = sql("SELECT *, {} FROM ({})", joined(", ", guesses), rows)
    corrected, keys = joined(", ", exact), joined(", ", exponents)
    return sql("SELECT {0}, COUNT(*) FROM (SELECT {1} FROM ({2})) GROUP BY {0}", keys, corrected, guessed)


@dataclass(frozen=True)
class Extremes:
    """The bounds of a value: how many units have their largest value up to each power of two, and their smallest.

    Theorem  One unit moves at most `sides` bins, each by 1: l1 = l2² = sides, of which there are two at most.
    Proof    From a unit's rows two numbers are made, the largest and the smallest value, whatever the rows of others
             are. Where the largest is above 0 it counts in one bin, where the smallest is below 0 in another; of one
             row only one of both can be. NaN was NULL before, and adds nothing; what is infinite is in an outermost
             bin.
    """

    source: Node
    value: Expr
    """NULL in rows that FILTER leaves out."""
    shown: str

    first = False

    @cached_property
    def key(self) -> str:
        return _digest("extremes", self.source.sql().text, self.value.sql.text, *map(str, self._known))

    @property
    def words(self) -> str:
        return f"bounds of {self.shown}"

    @property
    def exponents(self) -> range:
        return INTEGERS if self.value.domain.kind is Kind.INTEGER else NUMBERS

    @property
    def _known(self) -> tuple[Fraction | None, Fraction | None]:
        return self.value.domain.numbers

    @property
    def _sides(self) -> tuple[bool, bool]:
        """Whether values above 0 are looked at, and values below."""
        low, high = self._known
        return high is None or high > 0, low is None or low < 0

    @property
    def length(self) -> int:
        return sum(self._sides) * len(self.exponents)

    @property
    def sensitivity(self) -> Sensitivity:
        assert self.source.rows is not None, "rows are bounded before they are searched"
        return Sensitivity.cells(min(sum(self._sides), self.source.rows), 1)

    @property
    def extremes(self) -> tuple[Range, Range]:
        above, below = map(Fraction, self._sides)
        least, most = (Fraction(2) ** exponent for exponent in (self.exponents[0], self.exponents[-1]))
        narrow = (Fraction(0), least) if above else (-least, Fraction(0))
        return self._range(*narrow), self._range(-most * below, most * above)

    def sql(self) -> Sql:
        value, unit, x, high, low = self.value.sql, self.source.owner.column, name("x"), name("high"), name("low")
        if unit is None:
            rows = sql("SELECT CAST({} AS DOUBLE) AS {} FROM ({})", value, x, self.source.sql())
            ends = sql("SELECT {0} AS {1}, {0} AS {2} FROM ({3})", x, high, low, rows)
        else:
            rows = sql(
                "SELECT {} AS {}, CAST({} AS DOUBLE) AS {} FROM ({})", unit, name("u"), value, x, self.source.sql()
            )
            ends = sql("SELECT MAX({0}) AS {1}, MIN({0}) AS {2} FROM ({3}) GROUP BY {4}", x, high, low, rows, name("u"))
        above, below = within(high, self.exponents), within(sql("(-{})", low), self.exponents)
        sides = sql("SELECT {} AS {}, {} AS {} FROM ({})", above, name("above"), below, name("below"), ends)
        return binned([name("above"), name("below")], sides)

    def counts(self, rows: Sequence[tuple[Any, ...]]) -> list[int]:
        sides = [dict.fromkeys(self.exponents, 0) for _ in self._sides]
        for *exponents, count in rows:
            for side, exponent in zip(sides, exponents, strict=True):
                if exponent is not None:
                    side[exponent] += count
        looked_at = (side for side, looked_at in zip(sides, self._sides, strict=True) if looked_at)
        return [count for side in looked_at for count in side.values()]

    def read(self, noisy: Sequence[int], noise: Noise) -> Range:
        least, bins = threshold(noise, self.length), len(self.exponents)
        parts = iter([noisy[start : start + bins] for start in range(0, len(noisy), bins)])
        above, below = (self._outermost(next(parts), least) if looked_at else Fraction(0) for looked_at in self._sides)
        if not above and not below:
            unit = [Fraction(looked_at) for looked_at in self._sides]
            return self._range(-unit[1], unit[0], passed=False)
        return self._range(-below, above)

    def _outermost(self, noisy: Sequence[int], least: int) -> Fraction:
        """The largest power of two that enough units have; 0 if there is none."""
        passed = [exponent for exponent, count in zip(self.exponents, noisy, strict=True) if count >= least]
        return Fraction(2) ** passed[-1] if passed else Fraction(0)

    def _range(self, low: Fraction, high: Fraction, *, passed: bool = True) -> Range:
        """With the bound that is known, if there is one; never empty."""
        known_low, known_high = self._known
        low, high = known_low if known_low is not None else low, known_high if known_high is not None else high
        if low >= high and known_low is not None:
            high = low + abs(low) + 1
        elif low >= high:
            low = high - abs(high) - 1
        return Range(low, high, passed)

    def note(self, bounds: Range, unit: str) -> str:
        if bounds.passed:
            return f"{self.words} were left out, and found with noise: {bounds.words}"
        return (
            f"{self.words} were left out, and not found: too few units ({unit}); {bounds.words} was taken, which says "
            f"nothing about {self.shown}: state bounds, such as CLAMP({self.shown}, 0, 100)"
        )


@dataclass(frozen=True)
class Contributions:
    """How many rows, or groups, of a unit count: the least power of two that is enough for nearly all units.

    Theorem  One unit moves one bin by 1. Proof: it has one number of rows, and one of groups.
    """

    source: Node
    keys: tuple[Sql, ...]
    """Of the groups; none where rows are counted."""
    most: int
    """That the policy or the query allows."""

    @property
    def first(self) -> bool:
        return not self.keys

    @cached_property
    def key(self) -> str:
        return _digest("contributions", self.source.sql().text, str(self.most), *(key.text for key in self.keys))

    @property
    def words(self) -> str:
        return "max_groups" if self.keys else "max_rows"

    @property
    def length(self) -> int:
        return (self.most - 1).bit_length() + 1

    @property
    def sensitivity(self) -> Sensitivity:
        return Sensitivity.cells(1, 1)

    @property
    def extremes(self) -> tuple[Range, Range]:
        return self._upto(0), self._upto(self.length - 1)

    def sql(self) -> Sql:
        columns = joined(", ", [sql("{} AS {}", self._unit, name("u")), *labelled(self.keys, "k")])
        rows = sql("SELECT DISTINCT {} FROM ({})" if self.keys else "SELECT {} FROM ({})", columns, self.source.sql())
        counted = sql("SELECT CAST(COUNT(*) AS DOUBLE) AS {} FROM ({}) GROUP BY {}", name("n"), rows, name("u"))
        return binned([name("n")], counted)

    @property
    def _unit(self) -> Sql:
        assert self.source.owner.column is not None, "rows that are their own unit are not bounded"
        return self.source.owner.column

    def counts(self, rows: Sequence[tuple[Any, ...]]) -> list[int]:
        bins = [0] * self.length
        for exponent, count in rows:
            bins[min(exponent, self.length - 1)] += count
        return bins

    def read(self, noisy: Sequence[int], noise: Noise) -> Range:
        """Of the bins that pass, so many from below that they hold nearly all of their units."""
        least = threshold(noise, self.length)
        believed = [count if count >= least else 0 for count in noisy]
        if not any(believed):
            return replace(self._upto(self.length - 1), passed=False)
        wanted = NEARLY_ALL * sum(believed)
        sums = itertools.accumulate(believed)
        return self._upto(next(index for index, upto in enumerate(sums) if upto >= wanted))

    def _upto(self, exponent: int) -> Range:
        return Range(Fraction(1), Fraction(min(2**exponent, self.most)))

    def note(self, bounds: Range, unit: str) -> str:
        how = "found with noise" if bounds.passed else f"not found: too few units ({unit}); the limit was taken"
        return f"{self.words} {int(bounds.high)}, at most {self.most}, was {how}"


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps([VERSION, *parts]).encode()).hexdigest()


class Search:
    """What one planning knows of bounds that were left out, and what it still has to find."""

    def __init__(self, bounds: Found, *, allowed: bool) -> None:
        self._found = bounds
        self._allowed = allowed
        self._unknown: dict[str, Unknown] = {}

    @property
    def unknown(self) -> tuple[Unknown, ...]:
        return tuple(self._unknown.values())

    def bounds(self, source: Node, value: Expr, word: str, shown: str) -> Bounds:
        """The bounds that were found; until then some that stand for them. Refused where the policy does not allow it,
        and of rows that earlier releases choose: bounds found for them would be found for other rows the next time.
        """
        if not self._allowed or _depends(source.sql(), value.sql):
            bounds_of(value, word, shown, owner=not self._allowed)
        bounds = self._of(Extremes(source, value, shown))
        return bounds.low, bounds.high

    def contributions(self, source: Node, keys: Sequence[Sql], most: int) -> int:
        """How many rows or groups of a unit count."""
        if most == 1:
            return most
        if not self._allowed or _depends(source.sql(), *keys):
            owner = "" if self._allowed else "; owners can allow it: implicit_bounds = true in the policy"
            raise Refused(
                "undeclared-bounds", "contribution bounds are not found for this query", f"say a number{owner}"
            )
        return int(self._of(Contributions(source, tuple(keys), most)).high)

    def _of(self, unknown: Unknown) -> Range:
        if unknown.key not in self._found:
            self._unknown.setdefault(unknown.key, unknown)
        return self._found.get(unknown.key, unknown.extremes[1])  # the widest: nothing more can be unknown then


def _depends(*parts: Sql) -> bool:
    """Whether earlier releases of the same query say which rows these are."""
    return any(RELEASED in part.text for part in parts)
