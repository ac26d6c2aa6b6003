"""Where exact values lie, as far as the noise tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from discreet.accounting.distributions import Noise
from discreet.composed import Sql
from discreet.policy import Kind
from discreet.sql.arguments import Aggregate
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr
from discreet.sql.formulas import Both, GeometricMean, Interval, Listing, Mean, Part, Recentred
from discreet.sql.measures import Measure
from discreet.sql.release import Release
from discreet.sql.released import numbers

Noises = Mapping[Measure, Noise | None]
Values = Mapping[Measure, Sequence[int]]
Ends = tuple[float, float]
"""The (low, high) of one number."""
Known = Ends | list[Ends]
"""What is known of a noisy cell: the ends of its number, or of each count of its list, in the order of the list."""


class Intervals:
    """Intervals of aggregates from those of their measures.

    Theorem  An interval of an expression over m measures holds with the confidence 1 − β asked for.
    Proof    Each measure lies in its own interval except with probability β/m, all of them except with β; the rules of
             interval arithmetic do the rest. Sums of noises have intervals of their own and count as further measures.
    """

    def __init__(self, release: Release, noises: Noises, values: Values, confidence: Fraction) -> None:
        self._release = release
        self._noises = noises
        self._values = values
        self._confidence = confidence
        self._used: dict[Sql, tuple[dict[Sql, Aggregate], Fraction]] = {}

    def known(self, expr: Expr, index: int) -> Known | None:
        """The interval of a number, or those of the counts of a list: each holds by itself."""
        aggregate = self._within(expr)[0].get(expr.sql)
        if aggregate is None or not isinstance(aggregate.formula, Listing):
            return self.interval(expr, index)
        (part,) = self._parts(aggregate, index, 1 - self._confidence)
        return [(_plain(low), _plain(high)) for low, high in aggregate.formula.intervals(part)]

    def interval(self, expr: Expr, index: int) -> Ends | None:
        used, miss = self._within(expr)
        facts = {}
        for sql, aggregate in used.items():
            ends = aggregate.formula.interval(self._parts(aggregate, index, miss))
            if ends is None:
                return None
            facts[sql] = _domain(ends)
        low, high = expr.under(facts).numbers
        if low is None or high is None:
            return None
        return _plain(low), _plain(high)

    def _within(self, expr: Expr) -> tuple[dict[Sql, Aggregate], Fraction]:
        """The aggregates of an expression and how often each measure may miss: the same in every row."""
        cached = self._used.get(expr.sql)
        if cached is None:
            used = aggregates_in(self._release, expr)
            cached = self._used[expr.sql] = used, missing(used.values(), self._confidence)
        return cached

    def _parts(self, aggregate: Aggregate, index: int, miss: Fraction) -> list[Part]:
        noisy = numbers(aggregate, self._values, index)
        return [
            Part(values, self._noises[measure], miss) for measure, values in zip(aggregate.measures, noisy, strict=True)
        ]


def aggregates_in(release: Release, expr: Expr) -> dict[Sql, Aggregate]:
    """The aggregates that an expression is made of, by their columns."""
    used = sorted(expr.columns() & release.leaves.keys(), key=lambda column: (len(column.text), column.text))
    return {column: release.leaves[column] for column in used}


def missing(used: Iterable[Aggregate], confidence: Fraction) -> Fraction:
    """How often the interval of each measure may miss, so that all of them hold with the confidence."""
    summed = (Both, GeometricMean, Mean, Recentred)
    parts = {(m, type(a.formula) if isinstance(a.formula, summed) else None) for a in used for m in a.measures}
    return (1 - confidence) / max(len(parts), 1)


def _domain(interval: Interval) -> Domain:
    low, high = interval
    return Domain(Kind.NUMBER, low, high, certain=True)


def _plain(edge: Fraction) -> int | float:
    return int(edge) if edge.denominator == 1 and abs(edge) < 2**53 else float(edge)
