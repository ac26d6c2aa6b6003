"""Where ratios and central moments of noisy sums lie: every value that they may have is tested (Fieller 1954).

Narrower than interval arithmetic on the intervals of the sums: the test of one value is about one weighted sum of all
noises, which strays less than all of them at their worst (see `combination`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.accounting.combination import deviation, width, width_of_sum, width_up_to
from discreet.accounting.distributions import Noise

Ends = tuple[Fraction, Fraction]
ROUNDS: Final = 4
ENOUGH: Final = Fraction(19, 20)
"""Of a width: what a round leaves where another is not worth it."""
COARSE: Final = 12
"""Noise that deviates by so little has steps that are large beside it."""
CELL: Final = 25
"""So small a part of what may be missed is for how far a cell's other values stray, and so short are cells for it."""
MOST_CELLS: Final = 40
"""That are looked at from either end: what is not looked at is not left out."""
FIRST: Final = Fraction(1, 20)
"""Of what an interval of a central moment may miss: the part of the means, and again that of the moment about 0."""


@dataclass(frozen=True, slots=True)
class Noisy:
    """A noisy number: the exact one plus noise."""

    value: Fraction | int
    noise: Noise


Term = tuple[Noise, Fraction, Fraction]
"""A noise, with its weights in the numerator and in the denominator."""


def ratio(
    top: Fraction,
    bottom: Fraction,
    terms: Sequence[Term],
    miss: Fraction,
    within: Ends | None = None,
    *,
    cells: bool = True,
) -> Ends | None:
    """Where μ = A/B lies, from A + Σ aZ and B + Σ bZ; None where B may be 0.

    `within` are ends between which μ lies anyway, given where B may be 0. Without `cells` it may be wider, but its
    width is known to grow with the distance of μ from where the weights are least.

    Theorem  It misses μ with probability at most `miss`.
    Proof    The noisy A − μB is Σ(a − μb)Z. Let w(μ) be `width_up_to` for these weights: |A' − μB'| ≤ w(μ) except with
             probability `miss`. Let that be so. w is at most the sum of widths Σ|a − μb|t, so |μ| is at most
             (|A'| + Σ|a|t)/(|B'| − Σ|b|t) if that is positive. If μ lies between two ends, every weight is at most the
             larger of those at the ends, so w(μ) is at most the width h for these, as it grows with the weights: μ lies
             within h/B' of A'/B'. That is repeated, always about the same event.
    """
    if bottom < 0:
        top, bottom, terms = -top, -bottom, [(noise, -a, -b) for noise, a, b in terms]
    if within is None:
        widths = [width(noise, 1 - miss / len(terms)) for noise, _, _ in terms]
        above = sum((abs(a) * t for (_, a, _), t in zip(terms, widths, strict=True)), Fraction(0))
        below = sum((abs(b) * t for (_, _, b), t in zip(terms, widths, strict=True)), Fraction(0))
        if bottom <= below:
            return None
        most = (abs(top) + above) / (bottom - below)
        within = -most, most
    if bottom <= 0:
        return within

    def tested(low: Fraction, high: Fraction) -> Ends:
        weights = tuple((noise, max(abs(a - low * b), abs(a - high * b))) for noise, a, b in terms)
        half = width_up_to(weights, 1 - miss)
        return (top - half) / bottom, (top + half) / bottom

    ends = narrowed(within, tested)
    coarse = cells and all(deviation(noise) <= COARSE for noise, _, _ in terms)
    return _in_cells(top, bottom, terms, miss, ends) if coarse else ends


def _in_cells(top: Fraction, bottom: Fraction, terms: Sequence[Term], miss: Fraction, ends: Ends) -> Ends:
    """The ends once more, where noise moves in steps that are large beside it: then `width_up_to` gives much away.

    Theorem  With these ends, too, μ is missed with probability at most `miss`.
    Proof    The line is cut into cells of one length h, which depends on terms and `miss` alone. For μ in the cell that
             begins at c, Σ(a − μb)Z differs from Σ(a − cb)Z by at most h·|Σ bZ|. So it exceeds the exact width v(μ) of
             the latter, for a little less than `miss`, plus h times that of Σ bZ, for what is spared, with probability
             at most `miss`. `ratio` leaves out μ only where |A' − μB'| exceeds w(μ), and this only where it exceeds
             v(μ): for each μ that is one event or the other, whichever holds more often, and not both added up.
    """
    spare = miss / CELL
    drift = width_of_sum(tuple((noise, b) for noise, _, b in terms), 1 - spare)
    usual = width_of_sum(tuple((noise, a) for noise, a, _ in terms), 1 - miss)
    if not drift or not usual:
        return ends
    length = Fraction(2) ** math.floor(math.log2(usual / (CELL * drift)))

    def half(cell: int) -> Fraction:
        weights = tuple((noise, a - cell * length * b) for noise, a, b in terms)
        return width_of_sum(weights, 1 - miss + spare) + length * drift

    low, high = ends
    first, last = math.floor(low / length), math.floor(high / length)
    for cell in range(first, min(first + MOST_CELLS, last + 1)):
        low = held((top - half(cell)) / bottom, (low, min((cell + 1) * length, high)))
        if low < (cell + 1) * length:
            break
    for cell in range(last, max(last - MOST_CELLS, first - 1), -1):
        high = held((top + half(cell)) / bottom, (max(cell * length, low), high))
        if high > cell * length:
            break
    return low, high


@dataclass(frozen=True, slots=True)
class Sums:
    """The noisy sums of rows (x, y) with |x| and |y| up to a radius; for y None, y is x.

    Σxy is scale·product + shift·n.
    """

    count: Noisy
    x: Noisy
    y: Noisy | None
    product: Noisy
    radii: tuple[int, int]
    scale: Fraction = Fraction(1)
    shift: Fraction = Fraction(0)

    def covariance(self, miss: Fraction) -> Ends:
        """Where the covariance C of x and y lies, or the variance.

        Theorem  It misses C with probability at most `miss`.
        Proof    Let m and k be the means of x and y. Σ((x − m)(y − k) − C) = 0, so Σxy − mΣy − kΣx + (mk − C)n of the
                 noisy sums is the same of their noises: a sum of noises with weights 1, m, k and mk − C. Divided by the
                 noisy n it is C' + (m − m')(k − k') − C, with C', m' and k' computed from the noisy sums. The means
                 have intervals of their own, by `ratio`; within them, and within what is known of C already, the
                 weights have bounds, and `width_up_to` grows with them. Repeated, it is about the same events. That is
                 for groups that are large beside the noise; for small ones C = Σxy/n − mk, with `ratio` for Σxy/n too.
                 All events together miss as often as `miss` says, so C lies in both intervals; C', which is shown, is
                 put in as well.
        """
        most = Fraction(self.radii[0] * self.radii[1])
        ends = Fraction(0) if self.y is None else -most, most
        if self.count.value <= 0:
            return ends
        others = [self.x] if self.y is None else [self.x, self.y]
        each = FIRST * miss / len(others)
        means = [self._over_n(one, (-radius, radius), each) for one, radius in zip(others, self.radii, strict=False)]
        middles = [Fraction(total.value) / self.count.value for total in others]
        if self.y is None:
            means, middles = means * 2, middles * 2
        low, high = self._about_zero(means, FIRST * miss)
        ends = held(low, ends), held(high, ends)
        plain = self.scale * self.product.value / self.count.value + self.shift - middles[0] * middles[1]
        shifts = [(mean[0] - middle, mean[1] - middle) for mean, middle in zip(means, middles, strict=True)]
        crossed = product(shifts, squared=self.y is None)

        def tested(low: Fraction, high: Fraction) -> Ends:
            half = width_up_to(self._weights(means, (low, high)), 1 - miss * (1 - 2 * FIRST)) / self.count.value
            return plain + crossed[0] - half, plain + crossed[1] + half

        ends = narrowed(ends, tested)
        shown = held(plain, (Fraction(0) if self.y is None else -most, most))
        return min(ends[0], shown), max(ends[1], shown)

    def mean(self, axis: int, miss: Fraction) -> Ends:
        """Where the mean of x (0) or y (1) lies."""
        total = self.x if axis == 0 or self.y is None else self.y
        return self._over_n(total, (-self.radii[axis], self.radii[axis]), miss)

    def _over_n(self, total: Noisy, within: tuple[int, int], miss: Fraction) -> Ends:
        """Where a sum over the number of rows lies."""
        one, none = Fraction(1), Fraction(0)
        terms = [(total.noise, one, none), (self.count.noise, none, one)]
        bounds = Fraction(within[0]), Fraction(within[1])
        return ratio(Fraction(total.value), Fraction(self.count.value), terms, miss, bounds) or bounds

    def _about_zero(self, means: Sequence[Ends], miss: Fraction) -> Ends:
        """C from Σxy/n, less the product of the means."""
        most = self.radii[0] * self.radii[1]
        low, high = self._over_n(self.product, (-most, most), miss)
        least, largest = product(means, squared=self.y is None)
        return self.scale * low + self.shift - largest, self.scale * high + self.shift - least

    def _weights(self, means: Sequence[Ends], ends: Ends) -> tuple[tuple[Noise, Fraction], ...]:
        m, k = (max(abs(mean[0]), abs(mean[1])) for mean in means)
        low, high = product(means, squared=self.y is None)
        far = max(abs(low + self.shift - ends[1]), abs(high + self.shift - ends[0]))
        first = ((self.product.noise, self.scale), (self.count.noise, far))
        if self.y is None:
            return (*first, (self.x.noise, 2 * m))
        return (*first, (self.x.noise, k), (self.y.noise, m))


def narrowed(ends: Ends, tested: Callable[[Fraction, Fraction], Ends]) -> Ends:
    """Ends of what lies between these, and between those that a test finds for it, repeated while it is worth it."""
    for _ in range(ROUNDS):
        before, (low, high) = ends, tested(*ends)
        ends = held(low, before), held(high, before)
        if ends[1] - ends[0] >= ENOUGH * (before[1] - before[0]):
            break
    return ends


def held(value: Fraction, ends: Ends) -> Fraction:
    """The nearest value between two ends."""
    return min(max(value, ends[0]), ends[1])


def product(factors: Sequence[Ends], *, squared: bool) -> Ends:
    """Where a product lies; of two factors that are the same, where the square does."""
    corners = [a * b for a in factors[0] for b in factors[1]]
    low, high = min(corners), max(corners)
    return (max(low, Fraction(0)), high) if squared else (low, high)
