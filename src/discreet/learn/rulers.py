"""Rows as whole numbers, some thousand at a time: features are rows of an array here, and rows are its columns.

NumPy is several times as fast along thousands of values of one feature as along the few values of one row, and blocks
that stay in the processor's cache are read from memory once. Whole numbers are held by float64, which adds and
multiplies them exactly, in any order, as long as they stay below 2⁵³: what is summed so depends neither on the order of
rows nor on how a library adds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.learn.box import Box, Floats

MOST_ROWS: Final = 2**32
"""Fewer rows are summed: whole numbers below 2²¹ of so many add up below 2⁵³, and products of 15 bits in an int64."""
BLOCK: Final = 2**13
"""Rows at a time, at most: sums of 2¹³ products of numbers of 20 bits stay below 2⁵³."""
VALUES, FEWEST = 2**17, 2**9
"""Where there are many features a block has fewer rows, so that it has about so many values; but at least so many."""
UPWARDS: Final = 1 + 2.0**-50
"""More than float64 rounds off."""


def blocks(rows: int, width: int) -> Iterator[slice]:
    """Which rows are taken together, of fewer than 2³² in all."""
    if rows >= MOST_ROWS:
        raise OverflowError("more than 2**32 rows cannot be summed: fit a part of them")
    size = min(BLOCK, max(VALUES // max(width, 1), FEWEST))
    return (slice(start, start + size) for start in range(0, rows, size))


def beside(exact: Floats, last: Floats) -> Floats:
    """Rows with one more value, as an array that has the values of a feature one after another."""
    both = np.empty((exact.shape[1] + 1, len(exact)))
    for part in blocks(*exact.shape):
        both[:-1, part] = exact[part].T
    both[-1] = last
    return both.T


@dataclass(frozen=True, slots=True, eq=False)
class Ruler:
    """Where features have their zero and how long a step is, and within how many steps of zero they are held.

    Theorem  A value becomes a whole number of steps between `low` and `high`, by its own feature and itself alone.
    Proof    All operations are elementwise, and clipping comes last; what is no number becomes `low`.
    """

    zero: Floats
    step: Floats
    low: Floats
    high: Floats
    unit: int
    """So many steps are one,"""
    ones: int
    """and so many numbers before the features are that."""

    @classmethod
    def of(cls, box: Box, zero: Floats, width: Floats, steps: int, far: int, ones: int = 0) -> Ruler:
        """A width is so many steps, a power of two; values are clamped to the box, and to `far` steps from zero.

        Rounding and clamping commute, because both are monotone.
        """
        zero, step = zero[:, None], (width / steps)[:, None]
        low, high = (np.clip(np.rint((end[:, None] - zero) / step), -far, far) for end in (box.low, box.high))
        return cls(zero, step, low, high, steps, ones)

    def columns(self, exact: Floats, beside: int = 0) -> Floats:
        """Some rows, one in each column, with so many numbers after the features that are to be filled in."""
        first, last = self.ones, self.ones + len(self.zero)
        columns = np.empty((last + beside, len(exact)))
        columns[:first] = self.unit
        values = columns[first:last]
        with np.errstate(all="ignore"):  # which value overflows is private, and so is whether one does
            np.subtract(exact.T, self.zero, out=values)
            values /= self.step
        np.rint(values, out=values)
        np.clip(values, self.low, self.high, out=values)
        if math.isnan(values.sum()):  # nobody lets NaN through; if somebody did, it would spoil all sums
            np.copyto(values, self.low, where=np.isnan(values))
        return columns

    def squares(self, values: Floats, out: Floats) -> None:
        """⌊v²/unit⌋ of whole numbers of at most 26 bits."""
        np.multiply(values, values, out=out)
        out /= self.unit
        np.floor(out, out=out)


def lengths(columns: Floats, norm: int) -> Floats:
    """The L1 norm of each column of whole numbers, or the L2 norm rounded up; squares add up to less than 2⁵⁰.

    √(k² + 1) − k > 1/(2k + 1), and below k = 2²⁵ that is more than float64 rounds off: the ceiling is the true one.
    """
    if norm == 1:
        return np.asarray(np.abs(columns).sum(axis=0))
    return np.asarray(np.ceil(np.sqrt(np.einsum("ij,ij->j", columns, columns))))


def shorten(columns: Floats, sizes: Floats, limit: int) -> None:
    """Every column of whole numbers times limit/size where its size is above the limit, cut towards zero.

    Theorem  A column a of norm at most s ends with a norm of at most `limit`, and no number grows.
    Assumes  |aᵢ|·s < 2⁴⁸ and |aᵢ|·limit < 2⁴⁸.
    Proof    Each |aᵢ| becomes ⌊|aᵢ|·limit/s⌋, exactly. Float64 finds |aᵢ|·limit/s·(1 + 2⁻⁵⁰) within a share of 3·2⁻⁵³:
             at least the quotient, and above it by a share of less than 2⁻⁴⁹. A quotient that is below a whole
             k ≤ |aᵢ| is so by 1/s at least, a share of 1/(k·s) > 2⁻⁴⁸: it stays below. What is not long is multiplied
             by 1 + 2⁻⁵⁰ and cut to what it was.
    """
    columns *= limit * UPWARDS / np.maximum(sizes, limit)
    np.trunc(columns, out=columns)
