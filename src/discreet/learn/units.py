"""Rows in units of their own: where features lie and how widely they spread, as one release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self

import numpy as np

from discreet.accounting.losses import Reach
from discreet.learn.box import Box, Floats
from discreet.learn.gram import BLOCK, FINEST, Size, lengths, radius, shortened
from discreet.learn.price import Allowance, Price
from discreet.mechanisms.arrays import Integers

FARTHEST: Final = 10
"""No unit is shorter than a tenth of what a feature may span, so that values are at most so many units from zero."""
GRAIN: Final = 2**10
"""Steps for what is asked about noise before any are chosen."""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """What becomes zero and what becomes one of every feature, and how long a usual row then is.

    A value depends on itself and on public or released numbers alone, in elementwise arithmetic.
    """

    box: Box
    middle: Floats
    unit: Floats
    most: int
    """No value is more units from zero."""
    length: Fraction
    """About Σ|aᵢ| of a usual row (1, x), or Σaᵢ² where the noise goes by that."""

    @classmethod
    def plain(cls, box: Box, constant: int) -> Self:
        """The middle and the half-width of the box; rows may be as long as in a corner of it."""
        return cls(box, box.middle, box.half, 1, Fraction(constant + box.width))

    @property
    def finest(self) -> int:
        """The most steps to the unit with which numbers keep to `gram.FINEST` bits."""
        return int(2 ** (FINEST - math.ceil(math.log2(self.most))))

    def rows(self, exact: Floats, steps: int, constant: int) -> Integers:
        """Rows (1, x), or x where `constant` is 0, in steps."""
        shares = (np.clip(exact, self.box.low, self.box.high) - self.middle) / self.unit
        far = self.most * steps
        ones = np.full((len(exact), constant), steps, dtype=np.int64)
        return np.hstack([ones, np.clip(np.rint(shares * steps), -far, far).astype(np.int64)])

    def limit(self, steps: int, norm: int) -> int:
        """The norm of a usual row, in steps."""
        return _norm(self.length, steps, norm)

    def size(self, side: int, steps: int, norm: int) -> Size:
        """Of rows that were shortened to that."""
        return Size.within([self.most * steps] * side, self.limit(steps, norm), norm)


def blur(price: Price, features: int, norm: int, share: Fraction) -> float:
    """About the noise in every mean that `measured` would find, times the number of rows."""
    return price.deviation(reach(features, GRAIN, norm), share) / GRAIN


def reach(features: int, steps: int, norm: int) -> Reach:
    """How far a row moves the sums of (1, x, x²), in steps.

    Theorem  l1 or l2² of `gram.Size.within`: no number is above `steps`, and rows are shortened to the limit.
    """
    return Size.within([steps] * (2 * features + 1), _shortest(features, steps, norm), norm).times(1)


def measured(exact: Floats, box: Box, constant: int, norm: int, allowance: Allowance, share: Fraction) -> Units:
    """Means and standard deviations of all features as zero and unit; without a constant, zero stays where it is.

    Theorem  A share of the price. Proof: one release of the sums of rows (1, x, x²), with the reach of `reach`.

    A long row is shortened as a whole: it has less weight in all means alike. Where noise hides how widely a feature
    spreads, its unit is longer.
    """
    near, features = _around(box), box.width
    steps = radius(allowance.price, lambda steps: reach(features, steps, norm), share)
    moved = reach(features, steps, norm)
    noisy = allowance.release(_sums(exact, box, near, steps, norm), moved, share) / steps
    count = max(float(noisy[0]), 1.0)
    least = np.rint((box.low - near.middle) / near.half)
    means = np.clip(noisy[1 : features + 1] / count, least, 1)
    squares = np.clip(noisy[features + 1 :] / count, 0, 1)
    noise = allowance.price.deviation(moved, share) / steps / count
    room = (means - least) * (1 - means)  # more than that no variance can be, and no mean distance twice that
    middles = means * constant
    variances = np.clip(squares - middles**2, 0, room if constant else 1)
    shortest = np.maximum((1 - least) / FARTHEST, min(2 * math.sqrt(noise), 1))
    widths = np.sqrt(np.maximum(variances, shortest**2))
    typical = np.sqrt(variances) / widths
    if norm == 1 and constant:
        typical = np.minimum(typical, 2 * room / (1 - least) / widths)
    length = constant + float((typical**norm).sum())
    middle, unit = near.middle + middles * near.half, widths * near.half
    return Units(box, middle, np.maximum(unit, np.finfo(np.float64).tiny), FARTHEST, Fraction(length))


def _sums(exact: Floats, box: Box, near: Box, steps: int, norm: int) -> Integers:
    """The exact sums of (1, x, x²), every row shortened by what it is alone."""
    total = np.zeros(2 * box.width + 1, dtype=np.int64)
    limit = _shortest(box.width, steps, norm)
    for start in range(0, len(exact), BLOCK):
        part = near.steps(np.clip(exact[start : start + BLOCK], box.low, box.high), steps)
        ones = np.full((len(part), 1), steps, dtype=np.int64)
        rows = np.hstack([ones, part, part * part // steps])
        total += shortened(rows, lengths(rows, norm), limit).sum(axis=0)
    return total


def _around(box: Box) -> Box:
    """The box, with zero in its middle where it is a bound: of values from zero up, many often are zero.

    A row of indicators then has few numbers that are not zero, and asks for little noise.
    """
    low, high = np.where(box.low == 0, -box.high, box.low), np.where(box.high == 0, -box.low, box.high)
    return Box(low, high)


def _shortest(features: int, steps: int, norm: int) -> int:
    """The norm that rows (1, x, x²) are shortened to: about that of rather small ones."""
    return _norm(1 + Fraction(14 * features, 100), steps, norm)


def _norm(length: Fraction, steps: int, norm: int) -> int:
    found = math.floor(length * steps) if norm == 1 else math.isqrt(math.floor(length * steps**2))
    return max(found, 1)
