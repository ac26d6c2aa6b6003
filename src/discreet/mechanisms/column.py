"""A private column of bounded numbers, one for each unit, as integers on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.accounting.losses import Sensitivity
from discreet.exact import Number, interval
from discreet.late import np
from discreet.mechanisms.arrays import Integers, column
from discreet.mechanisms.calibrated import spread
from discreet.mechanisms.grid import FARTHEST, Grid

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Column:
    """Numbers clamped to bounds, in steps. Clamping comes last, so nothing in the data can reach beyond the bounds."""

    bounds: tuple[Fraction, Fraction]
    grid: Grid

    @classmethod
    def of(
        cls, bounds: tuple[Number, Number], step: Number | None, *, epsilon: Number | None, rho: Number | None
    ) -> Column:
        """The step given; or a power of two so small that rounding disappears in the noise, yet fits 64 bits."""
        low, high = interval(bounds)
        largest = max(abs(low), abs(high))
        size = spread(Sensitivity.cells(1, largest), epsilon=epsilon, rho=rho)
        fine = max((high - low) / 2**36, largest / 2**48, size / 2**37)
        grid = Grid.at_most(min(fine, (high - low) / 4)) if step is None else Grid.of(step)
        if grid.nearest(high) <= grid.nearest(low):
            raise ValueError(f"step must be smaller than the bounds are apart, not {step}")
        if largest / grid.step > FARTHEST - 3:
            # else some data would be refused and other data not
            raise ValueError("bounds must be less than 2**51 steps from zero: pass a larger step, or shift the values")
        return cls((low, high), grid)

    @property
    def low(self) -> int:
        return self.grid.nearest(self.bounds[0])

    @property
    def high(self) -> int:
        return self.grid.nearest(self.bounds[1])

    @property
    def middle(self) -> int:
        return (self.low + self.high) // 2

    @property
    def radius(self) -> int:
        """How far from the middle a value can be, in steps."""
        return self.high - self.middle

    @property
    def largest(self) -> int:
        """How far from zero a value can be, in steps."""
        return max(abs(self.low), abs(self.high))

    def steps(self, values: ArrayLike) -> Integers:
        return self.grid.clipped(column(values), self.low, self.high)

    def clamp(self, value: float) -> float:
        return min(max(value, float(self.bounds[0])), float(self.bounds[1]))


def exact_sum(values: Integers) -> int:
    """The sum as a Python integer, whatever its size: high and low halves are summed apart."""
    high = values >> 31
    return int(high.sum()) * 2**31 + int((values - (high << 31)).sum(dtype=np.int64))
