"""Counts, sums and sums of squares of bounded features in groups of rows, as one release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn.box import Box, Floats
from discreet.learn.rulers import MOST_ROWS, Ruler, blocks
from discreet.mechanisms.arrays import Integers

FEW = 16
"""Groups of which a product of matrices makes sums faster than going through the rows."""


def sums(places: Integers, columns: Integers | Floats, groups: int) -> Integers:
    """The exact sum of every column in each group; rows whose place is −1 are in none.

    Integers below 2²¹ of fewer than 2³² rows stay below 2⁵³, where float64 adds exactly, in any order.
    """
    if len(places) >= MOST_ROWS:
        raise OverflowError("more than 2**32 rows cannot be summed: fit a part of them")
    shifted = places + 1
    totals = [np.bincount(shifted, weights=column, minlength=groups + 1) for column in columns.T]
    return np.array(totals, dtype=np.float64).reshape(columns.shape[1], groups + 1).T[1:].astype(np.int64)


def weight(cost: Cost, width: int) -> int:
    """How many times a sum's accuracy a count gets: means are divided by it, and it takes about a sixth of the cost.

    Laplace noise is shared by l1 and Gaussian noise by l2², hence D/4 and √D/2.
    """
    return max(1, width // 4 if cost.pure else math.isqrt(width) // 2)


def sensitivity(count: int, width: int) -> Sensitivity:
    """How far one row moves the vector (w·1, x₁ … x_D, x₁² − ½ … x_D² − ½) of its group, with |x| ≤ 1.

    Theorem  l1 ≤ w + 3D/2 and l2² ≤ w² + 5D/4; other groups do not move.
    Proof    |x| + |x² − ½| and x² + (x² − ½)² = x⁴ + ¼ are largest at |x| = 1: 3/2 and 5/4. In m steps to the unit
             the square is q = ⌊s²/m⌋ − m/2 with |s| ≤ m. Where q ≥ 0, rounding made it shorter. Where q < 0,
             s² < m²/2 and |q| ≤ m/2: then s² + q² < 3m²/4 and |s| + |q| < 5m/4.
    """
    return Sensitivity(count + Fraction(3, 2) * width, count**2 + Fraction(5, 4) * width)


def affordable(cost: Cost, width: int | None, share: Fraction = WHOLE) -> None:
    """Refuse a cost that is too small for so many features, before it is charged."""
    cost.fineness(moved(cost, width or 1), share)


def moved(cost: Cost, width: int) -> Sensitivity:
    """How far one row moves all moments of its group, with the weight that its count gets at this cost."""
    return sensitivity(weight(cost, width), width)


@dataclass(frozen=True, slots=True)
class Moments:
    """Released: for each group the number of rows, and mean and mean square of every feature in shares of the box."""

    counts: Floats
    means: Floats
    squares: Floats
    deviation: float
    """Of the noise on a sum."""
    seen: NDArray[np.bool_]
    """Whether a group has more than half a row, with the noise on its count."""

    @property
    def variances(self) -> Floats:
        """Between 0 and 1."""
        return np.clip(self.squares - self.means**2, 0, 1)

    @property
    def square_noise(self) -> Floats:
        """About the noise in each mean square, for every group."""
        errors: Floats = np.minimum(self.deviation / self.counts, 1)[:, None]
        return errors


def moments(exact: Floats, places: Integers, groups: int, box: Box, exit_: Exit, share: Fraction = WHOLE) -> Moments:
    """The moments of every group, noisy also where there is nobody; the sensitivity is that of `sensitivity`."""
    cost = exit_.cost
    count, units = weight(cost, box.width), moved(cost, box.width)
    fine = cost.fineness(units, share)
    vector = _vector(exact, places, groups, box, fine)
    vector[:, 0] *= count
    steps = Sensitivity(units.l1 * fine, units.l2_squared * fine**2)
    noisy = exit_.release(vector, steps, share).astype(np.float64) / fine
    deviation = cost.deviation(units, share)
    rows = noisy[:, 0] / count
    counts = np.maximum(rows, 1)
    first, second = np.split(noisy[:, 1:] / counts[:, None], 2, axis=1)
    squares = np.clip(second + 0.5, 0, 1)
    return Moments(counts, np.clip(first, -1, 1), squares, deviation, rows > 0.5)


def _vector(exact: Floats, places: Integers, groups: int, box: Box, fine: int) -> Integers:
    """For each group the exact count, sums and sums of squares, in steps."""
    total = np.zeros((groups, 1 + 2 * box.width), dtype=np.int64)
    ruler = Ruler.of(box, box.middle, box.half, fine, fine, 1)
    for part in blocks(len(exact), 2 * box.width):
        columns = ruler.columns(exact[part], box.width)
        first, second = np.split(columns[1:], 2)
        ruler.squares(first, second)
        second -= fine // 2
        total += _summed(columns, places[part], groups)
    return total


def _summed(columns: Floats, places: Integers, groups: int) -> Integers:
    """The sums of a block: below 2¹³·2²⁰, so that a product of matrices is exact, too."""
    if groups > FEW:
        return sums(places, columns.T, groups)
    members = np.equal.outer(np.arange(groups), places).astype(np.float64)
    return np.asarray((members @ columns.T).astype(np.int64))
