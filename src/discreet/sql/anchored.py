"""Counts, sums and moments of a column from one release: rows are shared out among a few public anchors.

A row of value k adds weights to anchors, such that they add up to `whole` and, times the anchors, to `whole`·k. So the
noisy weights give the count and the sum at once, and with a third anchor the sum of squares.

Theorem  Let w be the weights of a row at all anchors. Σ|w| is at most `most`, whatever the row holds: the vector of all
         groups moves by at most `most` times what a count of rows moves, in L1 and in L2.
Proof    Two anchors, the bounds: high − k and k − low, neither negative, of which the sum is high − low. Three, at
         −r, 0 and r about the middle: y(y − r), 2(r² − y²) and y(y + r) for |y| ≤ r; the absolute values add up to
         2(r² + |y|r − y²), which is largest at |y| = ⌊r/2⌋ or ⌈r/2⌉, 5r²/2 at most. Of two columns the weights of
         pairs of anchors are products, so their absolute values add up to the product of both sums. Rows that are NULL
         add nothing, or `whole` to a number of their own, or count as 0: one of these, for all of them. Within a group
         the L2 norm is at most the L1 norm, and rows add up: the rest is as for counts of rows.
Factor   Under Laplace noise of the same ε. Released apart, a sum about the middle and a count take ε/2 each, and
         the mean at t half-ranges from the middle has a variance of 2(R/εn)²(1 + t²), R the range; from two anchors
         (R/εn)²(1 + t²): √2 less error, at any mean. The count has √2 less, too. Covariances, of n, Σx, Σy and Σxy
         with a quarter of ε each, have exactly twice the error of those from four pairs of anchors. Gaussian noise
         has the same variance either way, as the vectors are one another's rotations; what is gained there is a SUM
         beside a COUNT, and a COUNT(*) beside an AVG. docs/decisions/050 has measured factors.
Source   The weights are Lagrange's basis. For two anchors: Σ(x − low) and Σ(high − x), Li, Lyu, Su & Yang 2016, §2.5.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Any, Final

from discreet.accounting.combination import width_of_sum, width_up_to
from discreet.accounting.distributions import Noise
from discreet.accounting.losses import Sensitivity
from discreet.accounting.points import Points
from discreet.composed import Sql, form, sql
from discreet.sql.formulas import ROWS, Added, Interval, Part, Spread, spared
from discreet.sql.measures import Contribution, Steps, grown
from discreet.sql.related import Related

HALF: Final = Fraction(1, 2)


class Nulls(Enum):
    """What rows without a value count for."""

    LEFT_OUT = "left out"
    APART = "apart"
    ZERO = "zero"


@dataclass(frozen=True, slots=True)
class Axis:
    """One column, and its two or three anchors."""

    steps: Steps
    points: int

    @property
    def origin(self) -> int:
        """From where steps are counted."""
        return self.steps.low if self.points == 2 else self.steps.middle

    @property
    def anchors(self) -> tuple[int, ...]:
        """In steps from the origin."""
        radius = self.steps.radius
        return (0, max(self.steps.high - self.steps.low, 1)) if self.points == 2 else (-radius, 0, radius)

    @property
    def whole(self) -> int:
        """What the weights of a row add up to."""
        return self.anchors[1] if self.points == 2 else 2 * self.steps.radius**2

    @property
    def most(self) -> int:
        """What their absolute values add up to at most."""
        r = self.steps.radius
        return self.whole if self.points == 2 else 2 * (r * r + (r // 2) * (r - r // 2))

    @property
    def basis(self) -> tuple[tuple[int, ...], ...]:
        """For each anchor the weight as a polynomial in the steps from the origin, lowest power first."""
        if self.points == 2:
            return (self.whole, -1), (0, 1)
        r = self.steps.radius
        return (0, -r, 1), (2 * r * r, 0, -2), (0, r, 1)


@dataclass(frozen=True, slots=True)
class Anchored:
    """The weights of rows at the anchors of one column, or at the pairs of anchors of two. The theorem is above."""

    axes: tuple[Axis, ...]
    nulls: Nulls
    words: str = field(compare=False)

    @property
    def length(self) -> int:
        return len(self.anchors) + (self.nulls is Nulls.APART)

    @property
    def adds(self) -> int:
        return self.length

    @property
    def detail(self) -> str:
        return f"{[axis.points for axis in self.axes]} {self.nulls.value}"

    @property
    def anchors(self) -> list[tuple[int, ...]]:
        return list(itertools.product(*(axis.anchors for axis in self.axes)))

    @property
    def size(self) -> int:
        """What the weights of a row add up to."""
        return math.prod(axis.whole for axis in self.axes)

    @property
    def most(self) -> int:
        return math.prod(axis.most for axis in self.axes)

    @property
    def argument(self) -> Sql:
        columns = [axis.steps.sql(axis.origin) for axis in self.axes]
        return columns[0] if len(columns) == 1 else sql("struct_pack(a := {}, b := {})", *columns)

    def windowed(self, column: Sql, partition: Sql | None) -> Sql | None:  # noqa: ARG002
        return None

    def sql(self, column: Sql, unit: Sql | None) -> Sql:  # noqa: ARG002
        """Sums of powers, lowest first; COUNT(*) last, where rows without a value count."""
        points = tuple(axis.points for axis in self.axes)
        if len(points) == 1:
            return _SUMS[points]([column])
        a, b = sql("struct_extract({}, 'a')", column), sql("struct_extract({}, 'b')", column)
        # a row in which either is NULL must add nothing to any of the sums: the theorem is about whole rows
        return _SUMS[points]([sql("({} + 0 * {})", a, b), sql("({} + 0 * {})", b, a)])

    def vector(self, value: Any) -> Sequence[int]:
        powers = list(itertools.product(*(range(axis.points) for axis in self.axes)))
        *sums, rows = (int(number or 0) for number in value or [0] * (len(powers) + 1))
        moments = dict(zip(powers, sums, strict=True))
        missing = rows - sums[0]
        if self.nulls is Nulls.ZERO:
            (axis,) = self.axes
            moments = {power: moment + missing * (-axis.origin) ** power[0] for power, moment in moments.items()}
        weights = [
            sum(
                math.prod(factors) * moments[power]
                for factors, power in zip(itertools.product(*basis), powers, strict=True)
            )
            for basis in itertools.product(*(axis.basis for axis in self.axes))
        ]
        return [*weights, self.size * missing] if self.nulls is Nulls.APART else weights

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        return grown(contribution, self.most)

    def count(self, *, every: bool) -> Weighted:
        """The number of rows: of those with a value, or of every one."""
        with_value = [Fraction(1, self.size)] * len(self.anchors)
        apart = [Fraction(1, self.size) if every else Fraction(0)] if self.nulls is Nulls.APART else []
        return Weighted((*with_value, *apart), whole=True)

    def total(self) -> Weighted:
        """The sum of the only column."""
        (axis,) = self.axes
        step = axis.steps.step
        factors = [(axis.origin + anchor) * step / self.size for anchor in axis.anchors]
        apart = [Fraction(0)] if self.nulls is Nulls.APART else []
        return Weighted((*factors, *apart), whole=step == 1)

    def about_middles(self, values: Sequence[int], noise: Noise | None) -> Points:
        """The noisy weights at points about the middles of the bounds; a single column is both x and y."""
        assert noise is not None
        shifts = [axis.origin - axis.steps.middle for axis in self.axes]
        points = [tuple(anchor + shift for anchor, shift in zip(at, shifts, strict=True)) for at in self.anchors]
        return Points(tuple((point[0], point[-1]) for point in points), values[: len(points)], noise)

    def moments(self, values: Sequence[int], *squared: int) -> list[list[float]]:
        """n, Σx (and Σy, Σxy of two columns) and Σ(2x² − r²) of some of them, as if they had been released apart."""
        shifts = [axis.origin - axis.steps.middle for axis in self.axes]
        points = [tuple(anchor + shift for anchor, shift in zip(at, shifts, strict=True)) for at in self.anchors]
        polynomials = [[1] * len(points), *([point[axis] for point in points] for axis in range(len(self.axes)))]
        if len(self.axes) > 1:
            polynomials.append([math.prod(point) for point in points])
        for axis in squared:
            radius = self.axes[axis].steps.radius
            polynomials.append([2 * point[axis] ** 2 - radius**2 for point in points])
        return [
            [sum(factor * value for factor, value in zip(factors, values, strict=False)) / self.size]
            for factors in polynomials
        ]


_SUMS: Final[dict[tuple[int, ...], Callable[[Sequence[Sql]], Sql]]] = {
    (2,): form("[COUNT({0}), SUM({0}), COUNT(*)]"),
    (3,): form("[COUNT({0}), SUM({0}), SUM({0} * {0}), COUNT(*)]"),
    (2, 2): form("[COUNT({0}), SUM({1}), SUM({0}), SUM({0} * {1}), COUNT(*)]"),
    (3, 2): form("[COUNT({0}), SUM({1}), SUM({0}), SUM({0} * {1}), SUM({0} * {0}), SUM({0} * {0} * {1}), COUNT(*)]"),
    (3, 3): form(
        "[COUNT({0}), SUM({1}), SUM({1} * {1}), SUM({0}), SUM({0} * {1}), SUM({0} * {1} * {1}), "
        "SUM({0} * {0}), SUM({0} * {0} * {1}), SUM({0} * {0} * {1} * {1}), COUNT(*)]"
    ),
}
"""Of one column Σ aⁱ, of two Σ aⁱbʲ, for all i and j that their anchors need."""


# what is made of it


@dataclass(frozen=True, slots=True)
class Weighted(Added):
    """A count or a sum: a weighted sum of noisy weights, rounded where it is a whole number."""

    factors: tuple[Fraction, ...]
    whole: bool

    @property
    def weights(self) -> Mapping[tuple[int, int], Fraction]:
        return {(0, index): factor for index, factor in enumerate(self.factors) if factor}

    @property
    def rounding(self) -> Fraction:
        return HALF if self.whole and any(factor.denominator != 1 for factor in self.factors) else Fraction(0)

    def value(self, noisy: Sequence[Sequence[int]]) -> int | float:
        total = sum((factor * value for factor, value in zip(self.factors, noisy[0], strict=True)), Fraction(0))
        return round(total) if self.whole else float(total)


@dataclass(frozen=True, slots=True)
class AnchoredMean:
    """The mean of the anchors, as the noisy weights say, clamped to the bounds; NULL where no rows are left.

    Interval  With μ the exact mean, the noisy Σ(anchor − μ)·weight is Σ(anchor − μ)Z: see `fieller.ratio`.
    """

    measure: Anchored

    @property
    def step(self) -> Fraction:
        return self._steps.step

    @property
    def _steps(self) -> Steps:
        return self.measure.axes[0].steps

    @property
    def _bounds(self) -> Interval:
        """About the middle."""
        steps = self._steps
        return Fraction(steps.low - steps.middle), Fraction(steps.high - steps.middle)

    def value(self, noisy: Sequence[Sequence[int]]) -> float | None:
        weights = noisy[0][: len(self.measure.anchors)]
        if sum(weights) < self.measure.size * HALF:
            return None
        (axis,), steps = self.measure.axes, self._steps
        total = sum(anchor * weight for anchor, weight in zip(axis.anchors, weights, strict=True))
        mean = axis.origin + Fraction(total, sum(weights))
        return float(min(max(mean, Fraction(steps.low)), Fraction(steps.high)) * self.step)

    def interval(self, parts: Sequence[Part]) -> Interval | None:
        (part,) = parts
        points = self.measure.about_middles(part.values, part.noise)
        if points.rows < self.measure.size * HALF:
            return None
        low, high = points.mean(0, part.miss, self._bounds, cells=not part.widest)
        return (self._steps.middle + low) * self.step, (self._steps.middle + high) * self.step

    def widest(self, noise: Noise, miss: Fraction, rows: int) -> list[int]:
        """Weights of so many rows for which the interval is about the widest: its end just reaches a bound."""
        (axis,) = self.measure.axes
        most = axis.anchors[-1] - axis.anchors[0]
        half = width_up_to(((noise, Fraction(most)),), 1 - miss) / (self.measure.size * rows)
        mean = max(Fraction(most) - half, Fraction(most, 2))
        upper = math.floor(self.measure.size * rows * mean / most)
        middle = [0] * (len(axis.anchors) - 2)
        apart = [0] * (self.measure.length - len(axis.anchors))
        return [self.measure.size * rows - upper, *middle, upper, *apart]


@dataclass(frozen=True, slots=True)
class AnchoredSpread:
    """A variance, or its root, from three anchors."""

    measure: Anchored
    spread: Spread

    def value(self, noisy: Sequence[Sequence[int]]) -> float | None:
        return self.spread.value(self.measure.moments(noisy[0], 0))

    def interval(self, parts: Sequence[Part]) -> Interval | None:
        (part,) = parts
        points, rows = self.measure.about_middles(part.values, part.noise), _rows(self.measure, part)
        if points.rows < self.measure.size * (self.spread.fewest - HALF):
            return None
        return self.spread.between(points.covariance(spared(parts), (self.spread.radius,) * 2), rows)


@dataclass(frozen=True, slots=True)
class AnchoredRelated:
    """Covariance, correlation, slope and intercept from pairs of anchors."""

    measure: Anchored
    related: Related

    def value(self, noisy: Sequence[Sequence[int]]) -> float | None:
        squared = [index for index, axis in enumerate(self.measure.axes) if axis.points == 3]
        return self.related.value(self.measure.moments(noisy[0], *squared))

    def interval(self, parts: Sequence[Part]) -> Interval | None:
        (part,) = parts
        points, rows = self.measure.about_middles(part.values, part.noise), _rows(self.measure, part)
        if points.rows < self.measure.size * (self.related.fewest - HALF):
            return None
        known = _Pairs(points, (self.related.x.radius, self.related.y.radius))
        return self.related.between(known, spared(parts), rows, self.value([part.values]))


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Moments of two columns, off pairs of anchors: of an axis with three of them its variance, too."""

    points: Points
    radii: tuple[int, int]

    def covariance(self, miss: Fraction) -> Interval:
        return self.points.covariance(miss, self.radii)

    def variance(self, axis: int, miss: Fraction) -> Interval:
        return self.points.alone(axis).covariance(miss, (self.radii[axis],) * 2)

    def mean(self, axis: int, miss: Fraction) -> Interval:
        radius = Fraction(self.radii[axis])
        return self.points.mean(axis, miss, (-radius, radius))


def _rows(measure: Anchored, part: Part) -> Interval:
    """Where the number of rows with a value lies."""
    assert part.noise is not None
    weight = Fraction(1, measure.size)
    half = width_of_sum(((part.noise, weight),) * len(measure.anchors), 1 - ROWS * part.miss)
    rows = sum(part.values[: len(measure.anchors)]) * weight
    return rows - half, rows + half
