"""Where exact values lie, as far as the noise tells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.distributions import Noise
from discreet.composed import Sql
from discreet.policy import Kind
from discreet.sql.arguments import Aggregate
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr
from discreet.sql.formulas import Added, Interval, Listing, Part
from discreet.sql.linear import Form, Forms, Linear
from discreet.sql.measures import Measure
from discreet.sql.release import Release
from discreet.sql.released import numbers

Noises = Mapping[Measure, Noise | None]
Values = Mapping[Measure, Sequence[int]]
Around = Callable[[int], Interval | None]
"""The interval of a part of an expression in the row of this index; None if it has none."""
Width = Callable[[Sequence[int]], Interval | None]
"""The interval of a part of an expression around noisy numbers."""
Ends = tuple[float, float]
"""The (low, high) of one number."""
Known = Ends | list[Ends]
"""What is known of a noisy cell: the ends of its number, or of each count of its list, in the order of the list."""


@dataclass(frozen=True, slots=True)
class Made:
    """What an expression is made of: sums and ratios of noisy numbers, and other aggregates, by their texts."""

    forms: Mapping[Sql, Form]
    others: Mapping[Sql, Aggregate]

    def miss(self, confidence: Fraction) -> Fraction:
        """How often each form, and each measure of the others, may miss, so that all hold with the confidence."""
        return (1 - confidence) / max(len(self.forms) + len(self._parts), 1)

    @property
    def _parts(self) -> set[tuple[Measure, type]]:
        """What shares measures and formula shares its events too: a variance and its root."""
        return {(measure, type(a.formula)) for a in self.others.values() for measure in a.measures}


def made_of(release: Release, expr: Expr) -> Made:
    used = aggregates_in(release, expr)
    others = {sql: aggregate for sql, aggregate in used.items() if not isinstance(aggregate.formula, Added)}
    return Made(Forms(used).within(expr), others)


class Intervals:
    """Intervals of expressions from those of the parts that they are made of.

    Theorem  An interval of an expression holds with the confidence 1 − β asked for.
    Proof    Sums and ratios of noisy numbers have intervals of their own (`linear`), from all their noises together;
             they and the measures of all other aggregates share β evenly, so all hold but with probability β. The rules
             of interval arithmetic do the rest.
    """

    def __init__(
        self, release: Release, noises: Noises, values: Values, confidence: Fraction, *, widest: bool = False
    ) -> None:
        self._release = release
        self._noises = noises
        self._values = values
        self._confidence = confidence
        self._widest = widest
        self._made: dict[Sql, Made] = {}
        self._formed: dict[Sql, tuple[Fraction, list[tuple[Sql, Form, Width]]]] = {}
        self._around: dict[Sql, list[tuple[Sql, Around]]] = {}

    def over(self, values: Values) -> Intervals:
        """The same over other values: what does not follow from values is not computed again."""
        other = Intervals(self._release, self._noises, values, self._confidence, widest=self._widest)
        other._made, other._formed = self._made, self._formed
        return other

    def known(self, expr: Expr, index: int) -> Known | None:
        """The interval of a number, or those of the counts of a list: each holds by itself."""
        aggregate = self._within(expr).others.get(expr.sql)
        if aggregate is None or not isinstance(aggregate.formula, Listing):
            return self.interval(expr, index)
        (part,) = self._parts(aggregate, 1 - self._confidence)(index)
        return [(_plain(low), _plain(high)) for low, high in aggregate.formula.intervals(part)]

    def interval(self, expr: Expr, index: int) -> Ends | None:
        """Where a number lies; whole numbers, of whole numbers."""
        ends = self.ends(expr, index)
        form = self._within(expr).forms.get(expr.sql)
        if ends is None or not isinstance(form, Linear) or not form.rounding or expr.domain.kind is not Kind.INTEGER:
            return ends
        return math.ceil(ends[0]), math.floor(ends[1])  # there is one between: see `Linear.interval`

    def ends(self, expr: Expr, index: int) -> Ends | None:
        """The same before it is rounded: as wide wherever a value with this noise lies."""
        facts = {}
        for sql, around in self._of_parts(expr):
            ends = around(index)
            if ends is None:
                return None
            facts[sql] = _domain(ends)
        low, high = expr.under(facts).numbers
        if low is None or high is None:
            return None
        return _plain(low), _plain(high)

    def _within(self, expr: Expr) -> Made:
        """What an expression is made of: the same in every row."""
        if expr.sql not in self._made:
            self._made[expr.sql] = made_of(self._release, expr)
        return self._made[expr.sql]

    def _of_parts(self, expr: Expr) -> list[tuple[Sql, Around]]:
        """The intervals of what an expression is made of. What is the same in every row is computed once."""
        if expr.sql not in self._around:
            made, (miss, forms) = self._within(expr), self._forms(expr)
            others = [(sql, self._of_aggregate(aggregate, miss)) for sql, aggregate in made.others.items()]
            self._around[expr.sql] = [*others, *((sql, self._of_form(form, width)) for sql, form, width in forms)]
        return self._around[expr.sql]

    def _of_aggregate(self, aggregate: Aggregate, miss: Fraction) -> Around:
        parts = self._parts(aggregate, miss)
        return lambda index: aggregate.formula.interval(parts(index))

    def _forms(self, expr: Expr) -> tuple[Fraction, list[tuple[Sql, Form, Width]]]:
        """How often each part of an expression may miss, and its forms with their widths: whatever the values are."""
        if expr.sql not in self._formed:
            made = self._within(expr)
            miss = made.miss(self._confidence)
            forms = [(sql, form, self._width(form, miss)) for sql, form in made.forms.items()]
            self._formed[expr.sql] = miss, forms
        return self._formed[expr.sql]

    def _of_form(self, form: Form, around: Width) -> Around:
        held = [(self._values[measure], measure.length, number) for measure, number in form.indices]
        return lambda index: around([values[index * length + number] for values, length, number in held])

    def _width(self, form: Form, miss: Fraction) -> Width:
        noises = []
        for measure, _ in form.indices:
            noise = self._noises[measure]
            assert noise is not None
            noises.append(noise)
        return form.interval(noises, miss)

    def _parts(self, aggregate: Aggregate, miss: Fraction) -> Callable[[int], list[Part]]:
        noisy, noises = numbers(aggregate, self._values), [self._noises[measure] for measure in aggregate.measures]
        return lambda index: [
            Part(values, noise, miss, self._widest) for values, noise in zip(noisy(index), noises, strict=True)
        ]


def aggregates_in(release: Release, expr: Expr) -> dict[Sql, Aggregate]:
    """The aggregates that an expression is made of, by their columns."""
    used = sorted(expr.columns() & release.leaves.keys(), key=lambda column: (len(column.text), column.text))
    return {column: release.leaves[column] for column in used}


def _domain(interval: Interval) -> Domain:
    low, high = interval
    return Domain(Kind.NUMBER, low, high, certain=True)


def _plain(edge: Fraction) -> int | float:
    whole = edge.numerator
    return whole if edge.denominator == 1 and abs(whole) < 2**53 else float(edge)
