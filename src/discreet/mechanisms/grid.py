"""Real numbers live on a grid: values and noise are integer numbers of steps until one last multiplication.

Theorem  Rounding half up to multiples of a step moves two numbers that are Δ apart to at most ⌈Δ/step⌉ steps apart.
Proof    r(a) = ⌊a + ½⌋ is monotone and r(a + k) = r(a) + k for integers k ≥ Δ/step.

Division by a power of two is exact in float64. Division by any other step is off by less than half a step below 2⁵¹
steps, which costs one step more at most; `Grid.distance` counts it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.exact import Number, extent
from discreet.late import np
from discreet.mechanisms.arrays import Array, Integers

FARTHEST: Final = 2**51
"""Steps from zero within which a quotient in float64, by a step in float64, is off by less than half."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Multiples of `step`."""

    step: Fraction

    @classmethod
    def of(cls, step: Number) -> Grid:
        return cls(extent(step, "step"))

    @classmethod
    def at_most(cls, step: Fraction) -> Grid:
        """The grid of the largest power of two that is not above the step wanted."""
        exponent = math.floor(math.log2(step.numerator) - math.log2(step.denominator))
        exponent += Fraction(2) ** (exponent + 1) <= step
        exponent -= Fraction(2) ** exponent > step
        return cls(Fraction(2) ** exponent)

    @property
    def dyadic(self) -> bool:
        """Whether the step is a power of two, so that division by it is exact."""
        top, bottom = self.step.numerator, self.step.denominator
        return top & (top - 1) == 0 and bottom & (bottom - 1) == 0

    def nearest(self, value: Fraction) -> int:
        """A number in steps, rounded half up."""
        return math.floor(value / self.step + Fraction(1, 2))

    def distance(self, most: Fraction) -> Fraction:
        """How many steps apart two numbers can land that are at most so far apart; integers stay as they are."""
        if self is INTEGERS:
            return most
        return Fraction(math.ceil(most / self.step) + (not self.dyadic))

    def steps(self, values: Array, name: str) -> Integers:
        """Numbers in steps, rounded half up."""
        points = values.astype(np.float64) / float(self.step)
        if points.size and np.abs(points).max() >= FARTHEST:
            raise OverflowError(f"{name} is too large for steps of {float(self.step):g}: pass a larger step")
        floors = np.floor(points)
        return floors.astype(np.int64) + (points - floors >= 0.5)

    def clipped(self, values: Array, low: int, high: int) -> Integers:
        """Numbers in steps, clamped to two bounds; however large they are."""
        bounded = np.clip(values, self.value(low - 1), self.value(high + 1))
        return np.clip(self.steps(bounded, "values"), low, high)

    def value(self, steps: int) -> float:
        return float(steps * self.step)

    def values(self, steps: Array) -> Array:
        return steps.astype(np.float64) * self.step.numerator / self.step.denominator


INTEGERS: Final = Grid(Fraction(1))
