"""Where means and central moments lie that are read off noisy weights at public points (see `sql.anchored`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.accounting.combination import width_up_to
from discreet.accounting.distributions import Noise
from discreet.accounting.fieller import Ends, held, narrowed, product, ratio

MEANS: Final = Fraction(1, 20)
"""Of what an interval of a central moment may miss: the part of the means, and again that of the moment about 0."""


@dataclass(frozen=True, slots=True)
class Points:
    """Points (x, y) with the noisy sum of the weights that rows have at them; for a variance, y is x.

    A row's weights, times x, y or xy of the points, add up to its own x, y or xy; so Σf over rows is Σ f(point)·weight
    for these f, and for 1 up to a constant that ratios do not show.
    """

    points: tuple[tuple[int, int], ...]
    values: Sequence[int]
    noise: Noise

    @property
    def rows(self) -> int:
        """The noisy sum of all weights."""
        return sum(self.values)

    def alone(self, axis: int) -> Points:
        """The same weights with one of both as x and as y: the weights along the other add up to a constant."""
        return Points(tuple((point[axis],) * 2 for point in self.points), self.values, self.noise)

    def mean(self, axis: int, miss: Fraction, within: Ends, *, cells: bool = True) -> Ends:
        """Where the mean of x, or of y, lies. The theorem is that of `fieller.ratio`."""
        return self._ratio([point[axis] for point in self.points], miss, within, cells=cells)

    def covariance(self, miss: Fraction, radii: tuple[int, int]) -> Ends:
        """Where the covariance C of x and y lies, or the variance, for |x| and |y| up to the radii.

        Theorem  It misses C with probability at most `miss`.
        Proof    Let m and k be the means of x and y. Σ((x − m)(y − k) − C) = 0 over rows, so of the noisy weights it is
                 a sum of noises, that at a point with the weight (x − m)(y − k) − C. Divided by the noisy sum of all it
                 is C' + (m − m')(k − k') − C, with C', m' and k' computed from the noisy weights. The rest is as in
                 `fieller.Sums.covariance`: intervals of the means bound the weights, and `width_up_to` grows with them.
        """
        most = Fraction(radii[0] * radii[1])
        same = all(x == y for x, y in self.points)
        bounds = Fraction(0) if same else -most, most
        if self.rows <= 0:
            return bounds
        each = MEANS * miss if same else MEANS * miss / 2
        means = [
            self.mean(axis, each, (Fraction(-radii[axis]), Fraction(radii[axis])))
            for axis in ((0,) if same else (0, 1))
        ]
        middles = [Fraction(self._sum([point[axis] for point in self.points]), self.rows) for axis in (0, 1)]
        if same:
            means = means * 2
        squares = [x * y for x, y in self.points]
        low, high = self._ratio(squares, MEANS * miss, (-most, most))
        least, largest = product(means, squared=same)
        ends = held(low - largest, bounds), held(high - least, bounds)
        plain = Fraction(self._sum(squares), self.rows) - middles[0] * middles[1]
        shifts = [(mean[0] - middle, mean[1] - middle) for mean, middle in zip(means, middles, strict=True)]
        crossed = product(shifts, squared=same)

        def tested(low: Fraction, high: Fraction) -> Ends:
            weights = tuple((self.noise, self._weight(point, means, (low, high), same=same)) for point in self.points)
            half = width_up_to(weights, 1 - miss * (1 - 2 * MEANS)) / self.rows
            return plain + crossed[0] - half, plain + crossed[1] + half

        ends = narrowed(ends, tested)
        shown = held(plain, bounds)
        return min(ends[0], shown), max(ends[1], shown)

    def _ratio(self, tops: Sequence[int], miss: Fraction, within: Ends, *, cells: bool = True) -> Ends:
        terms = [(self.noise, Fraction(top), Fraction(1)) for top in tops]
        return ratio(Fraction(self._sum(tops)), Fraction(self.rows), terms, miss, within, cells=cells) or within

    def _sum(self, factors: Sequence[int]) -> int:
        return sum(factor * value for factor, value in zip(factors, self.values, strict=True))

    def _weight(self, point: tuple[int, int], means: Sequence[Ends], ends: Ends, *, same: bool) -> Fraction:
        """The largest |(x − m)(y − k) − C| within what is known of m, k and C."""
        apart = [(at - mean[1], at - mean[0]) for at, mean in zip(point, means, strict=True)]
        low, high = product(apart, squared=same)
        return max(abs(low - ends[1]), abs(high - ends[0]))
