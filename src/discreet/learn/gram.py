"""Sums of products of whole numbers: exact ones, how far a row moves them, and how fine a grid may be."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.errors import Refused
from discreet.exact import LEAST_EPSILON
from discreet.exit.cost import WHOLE, WIDEST, Cost
from discreet.learn.box import Box, Floats
from discreet.learn.rulers import Ruler, blocks, lengths, shorten
from discreet.mechanisms.arrays import Integers

FINEST: Final = 15
"""Numbers are at most so many bits long: 2³² products of two of them add up in 63."""
MOST_FEATURES: Final = 2**16
"""Squares of so many numbers add up below 2⁵⁰."""
WIDEST_MATRIX: Final = 2**12
"""Features of which all products fit into memory."""


def products(exact: Floats, ruler: Ruler, limit: int, norm: int, beside: int = 0) -> Integers:
    """The exact Σ aᵀa of rows in steps, each shortened to the limit by itself (`rulers.shorten`).

    So many of the last numbers of a row do not count for how long it is, and are shortened with it. Numbers have
    `FINEST` bits: sums of a block's products stay below 2¹³·2³⁰, where float64 adds exactly, in any order.
    """
    side = ruler.ones + len(ruler.zero)
    total = np.zeros((side, side), dtype=np.int64)
    for part in blocks(len(exact), side):
        columns = ruler.columns(exact[part])
        shorten(columns, lengths(columns[: side - beside], norm), limit)
        total += (columns @ columns.T).astype(np.int64)
    return total


@dataclass(frozen=True, slots=True)
class Size:
    """How large a row a can be: bounds on Σ|aᵢ|, Σaᵢ² and Σaᵢ⁴."""

    l1: int
    l2_squared: int
    l4: int

    @classmethod
    def of(cls, radii: Sequence[int]) -> Self:
        """Of rows with |aᵢ| ≤ radiusᵢ."""
        times = Counter(radii).items()
        return cls(*(sum(many * radius**power for radius, many in times) for power in (1, 2, 4)))

    @classmethod
    def within(cls, radii: Sequence[int], limit: int, norm: int) -> Self:
        """Of such rows whose L1 or L2 norm is at most `limit`.

        Proof   With r the largest radius, Σaᵢ² ≤ r·Σ|aᵢ| and Σaᵢ⁴ ≤ r²·Σaᵢ²; Cauchy and Schwarz: (Σ|aᵢ|)² ≤ p·Σaᵢ².
                Σaᵢ⁴ ≤ (Σaᵢ²)², because the other products of squares are not negative.
        """
        box, most = cls.of(radii), max(radii)
        square = min(box.l2_squared, limit**2, most * limit if norm == 1 else limit**2)
        total = min(box.l1, limit if norm == 1 else math.isqrt(len(radii) * square))
        return cls(total, square, min(box.l4, most**2 * square, square**2))

    @property
    def gram(self) -> Sensitivity:
        """How far a row moves the upper triangle of Σ aᵀa.

        Theorem  l1 ≤ ((Σ|aᵢ|)² + Σaᵢ²)/2 and l2² ≤ ((Σaᵢ²)² + Σaᵢ⁴)/2.
        Proof    The triangle has |aᵢaⱼ| for i ≤ j: half of (Σ|aᵢ|)² and half of its diagonal; so for squares.
        Source   Dwork, Talwar, Thakurta & Zhang 2014 (Analyze Gauss), whose bound on the whole matrix is (Σaᵢ²)².
        """
        return Sensitivity(
            Fraction(self.l1**2 + self.l2_squared, 2),
            Fraction(self.l2_squared**2 + self.l4, 2),
        )

    def times(self, most: int) -> Sensitivity:
        """How far a row moves Σ y·a with |y| ≤ most."""
        return Sensitivity(Fraction(self.l1 * most), Fraction(self.l2_squared * most**2))


def radius(cost: Cost, sensitivity_of: Callable[[int], Sensitivity], share: Fraction = WHOLE) -> int:
    """How many steps 1 has: as many as numbers may be long, unless the noise on their products got too wide to draw."""
    amount = cost.amount
    for bits in range(FINEST if amount * share >= LEAST_EPSILON else 0, 0, -1):
        if cost.noise(sensitivity_of(2**bits), share).spread <= 2**WIDEST:
            return int(2**bits)
    raise Refused("cost-invalid", "the noise would be too large to draw", "allow the fit a higher cost")


def norm_for(cost: Cost) -> int:
    """The norm in which rows are shortened: that of the noise at this cost."""
    return 1 if cost.pure else 2


def centred(box: Box, constant: int) -> Box:
    """The box; without an intercept, the smallest around it whose middle is zero."""
    if constant:
        return box
    most = np.maximum(np.abs(box.low), np.abs(box.high))
    return Box(-most, most)


def triangle(side: int, width: int | None = None) -> tuple[Integers, Integers]:
    """The places of an upper triangle, with all columns beyond the square."""
    return np.triu_indices(side, m=width)


def square(values: Floats, side: int) -> Floats:
    """The symmetric matrix with this upper triangle."""
    matrix = np.zeros((side, side))
    matrix[triangle(side)] = values
    return matrix + np.triu(matrix, 1).T
