"""Rows in units of their own: where features lie and how widely they spread, as one release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn.box import Box, Floats
from discreet.learn.gram import FINEST, Size, radius
from discreet.learn.rulers import Ruler, blocks, lengths, shorten
from discreet.mechanisms.arrays import Integers

FARTHEST: Final = 10
"""No unit is shorter than a tenth of what a feature may span, so that values are at most so many units from zero."""
GRAIN: Final = 2**10
"""Steps for what is asked about noise before any are chosen."""


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """What becomes zero and what becomes one of every feature, and how long a usual row then is.

    A value depends on itself and on public or released numbers alone, in elementwise arithmetic.
    """

    box: Box
    middle: Floats
    width: Floats
    most: int
    """No value is more units from zero."""
    length: Fraction
    """About Σ|aᵢ| of a usual row (1, x), or Σaᵢ² where the noise goes by that."""
    count: float = 0.0
    """About how many rows were measured, long ones less than once each."""
    sure: tuple[float, ...] = ()
    """What is left of every unit if its square is less by a deviation of the noise: 0 where noise hides the spread."""
    doubt: tuple[float, ...] = ()
    """How far noise may have moved what became zero: its deviation, in units."""

    @classmethod
    def plain(cls, box: Box, constant: int) -> Self:
        """The middle and the half-width of the box; rows may be as long as in a corner of it."""
        return cls(box, box.middle, box.half, 1, Fraction(constant + box.width))

    @classmethod
    def largest(cls, box: Box, constant: int) -> Self:
        """What `measured` may find at most, to refuse before anything is charged."""
        return cls(box, box.middle, box.half, FARTHEST, Fraction(constant + box.width))

    @property
    def finest(self) -> int:
        """The most steps to the unit with which numbers keep to `gram.FINEST` bits."""
        return int(2 ** (FINEST - math.ceil(math.log2(self.most))))

    def ruler(self, steps: int, constant: int) -> Ruler:
        """Rows (1, x), or x where `constant` is 0, in steps."""
        return Ruler.of(self.box, self.middle, self.width, steps, self.most * steps, constant)

    def limit(self, steps: int, norm: int) -> int:
        """The norm of a usual row, in steps."""
        return _norm(self.length, steps, norm)

    def size(self, side: int, steps: int, norm: int) -> Size:
        """Of rows that were shortened to that."""
        return Size.within([self.most * steps] * side, self.limit(steps, norm), norm)


def mean_noise(cost: Cost, features: int, norm: int, share: Fraction) -> float:
    """About the noise in every mean that `measured` would find, times the number of rows."""
    return cost.deviation(sensitivity(features, GRAIN, norm), share) / GRAIN


def sensitivity(features: int, steps: int, norm: int) -> Sensitivity:
    """How far a row moves the sums of `_sums`, in steps.

    Theorem  l1 and l2² of `gram.Size.within`: no number is above `steps`, and rows are shortened to the limit.
    """
    return Size.within([steps] * (2 * features + 1), _shortest(features, steps, norm), norm).times(1)


def measured(exact: Floats, box: Box, constant: int, norm: int, exit_: Exit, share: Fraction) -> Scaling:
    """Means and standard deviations of all features as zero and unit; without a constant, zero stays where it is.

    Theorem  A share of the cost. Proof: one release of `_sums`, with this sensitivity; the rest follows.

    A long row is shortened as a whole: it has less weight in all means alike. Where noise hides how widely a feature
    spreads, its unit is longer.
    """
    near, cost = _around(box), exit_.cost
    steps = radius(cost, lambda steps: sensitivity(box.width, steps, norm), share)
    moved = sensitivity(box.width, steps, norm)
    noisy = exit_.release(_sums(exact, box, near, steps, norm), moved, share) / steps
    return _scaling(noisy, cost.deviation(moved, share) / steps, box, near, constant, norm)


def _scaling(noisy: Floats, deviation: float, box: Box, near: Box, constant: int, norm: int) -> Scaling:
    """What noisy sums say, in shares of the half-widths of `near`; all of it is post-processing."""
    count = max(float(noisy[0]), 1.0)
    first, second = np.split(noisy[1:] / count, 2)
    least = np.rint((box.low - near.middle) / near.half)
    noise, centre = deviation / count, (1 + least) / 2
    means = centre + (np.clip(first, least, 1) - centre) / (1 + (2 * noise) ** 2)
    squares = np.clip(np.where(least == 0, means - second, second), 0, 1)
    room = (means - least) * (1 - means)  # more than that no variance can be, and no mean distance twice that
    middles = means * constant
    variances = np.clip(squares - middles**2, 0, room if constant else 1)
    shortest = np.maximum((1 - least) / FARTHEST, min(math.sqrt(2 * noise), 1))
    widths = np.sqrt(np.maximum(variances, shortest**2))
    typical = np.sqrt(variances) / widths
    if norm == 1 and constant:
        typical = np.minimum(typical, 2 * room / (1 - least) / widths)
    length = constant + Fraction(float((typical**norm).sum()))
    sure = tuple((np.sqrt(np.maximum(variances - noise, 0)) / widths).tolist())
    doubt = tuple((constant * noise / widths).tolist())
    return Scaling(box, near.middle + middles * near.half, widths * near.half, FARTHEST, length, count, sure, doubt)


def _sums(exact: Floats, box: Box, near: Box, steps: int, norm: int) -> Integers:
    """The exact sums of 1, of x and of x², or of x − x² where x begins at 0, every row shortened by what it is alone.

    All of them lie within ±1, and x − x² is 0 for an indicator.
    """
    begins, width = (near.middle == box.low).astype(np.float64)[:, None], box.width
    total = np.zeros(2 * width + 1, dtype=np.int64)
    limit = _shortest(width, steps, norm)
    ruler = Ruler.of(box, near.middle, near.half, steps, steps, 1)
    for part in blocks(len(exact), 2 * width):
        columns = ruler.columns(exact[part], width)
        first, second = np.split(columns[1:], 2)
        ruler.squares(first, second)
        if begins.any():
            np.abs(np.subtract(begins * first, second, out=second), out=second)
        shorten(columns, lengths(columns, norm), limit)
        total += columns.sum(axis=1).astype(np.int64)
    return total


def _around(box: Box) -> Box:
    """The box, with zero in its middle where it begins at zero: there, many values often are zero.

    A row of indicators then has few numbers that are not zero, and asks for little noise.
    """
    return Box(np.where(box.low == 0, -box.high, box.low), box.high)


def _shortest(features: int, steps: int, norm: int) -> int:
    """The norm that rows of `_sums` are shortened to: about that of rather small ones."""
    return _norm(1 + Fraction(features, 10), steps, norm)


def _norm(length: Fraction, steps: int, norm: int) -> int:
    norm_steps = math.floor(length * steps) if norm == 1 else math.isqrt(math.floor(length * steps**2))
    return max(norm_steps, 1)
