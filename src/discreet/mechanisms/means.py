"""The mean of a private column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from numpy.typing import ArrayLike

from discreet.accounting.losses import Loss, Sensitivity, compose
from discreet.accounting.relations import Relation
from discreet.exact import Number, probability, whole
from discreet.mechanisms.calibrated import Additive, additive
from discreet.mechanisms.column import Column, exact_sum
from discreet.mechanisms.estimate import Estimate
from discreet.noise import Bits

_HALF = Fraction(1, 2)


@dataclass(frozen=True, init=False, slots=True)
class BoundedMean:
    """A noisy sum about the middle of the bounds, over a noisy count.

    Theorem  ε-DP or ρ-zCDP: count and sum take half of the cost each. A unit moves the count by 1 and the sum about
             the middle by (high − low)/2. With `size` the number of units is public, two data sets are neighbours if
             one unit's number is replaced (the loss says REPLACE_ONE), and the sum alone costs: it moves by
             high − low.
    Proof    Composition; for `size`, clamped numbers differ by high − low at most. Nothing is promised there to whoever
             hides that they are among the units: the number of values must be `size`, and everybody knows it.
    Error    |sum/count − mean| ≤ (b + r·a)/(n − a) where the noise stays below a on the count and b on the sum.
    Source   Li, Lyu, Su & Yang 2016, §2.5; with `size`, the lecture's (high − low)/n.
    """

    column: Column
    size: int | None
    total: Additive
    count: Additive | None

    def __init__(
        self,
        *,
        bounds: tuple[Number, Number],
        epsilon: Number | None = None,
        rho: Number | None = None,
        size: int | None = None,
        step: Number | None = None,
    ) -> None:
        column = Column.of(bounds, step, epsilon=epsilon, rho=rho)
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "size", None if size is None else whole(size, "size"))
        share = Fraction(1) if size is not None else _HALF
        sensitivity = Sensitivity.cells(1, column.radius if size is None else column.high - column.low)
        object.__setattr__(self, "total", additive(sensitivity, epsilon=epsilon, rho=rho, share=share))
        one = None if size is not None else additive(Sensitivity.cells(1, 1), epsilon=epsilon, rho=rho, share=share)
        object.__setattr__(self, "count", one)

    @property
    def loss(self) -> Loss:
        if self.count is None:
            return replace(self.total.loss, relation=Relation.REPLACE_ONE)
        return compose(self.total.loss, self.count.loss)

    def release(self, values: ArrayLike, bits: Bits | None = None) -> float:
        """The noisy mean of one number for each unit."""
        total, count = self._noisy(values, bits)
        return self._mean(total, (max(count, 1),) * 2)

    def estimate(self, values: ArrayLike, confidence: Number = 0.95, bits: Bits | None = None) -> Estimate[float]:
        """The noisy mean with the interval that the noisy sum and count allow."""
        total, count = self._noisy(values, bits)
        least, most, slip = self._ranges(count, confidence)
        if least <= 0:
            ends = float(self.column.bounds[0]), float(self.column.bounds[1])
        else:
            ends = self._mean(total - slip, (most, least)), self._mean(total + slip, (least, most))
        return Estimate(self._mean(total, (max(count, 1),) * 2), ends)

    def error(self, confidence: Number = 0.95, *, size: int | None = None) -> float:
        """The half-width of the interval for so many units; without `size`, for the number that was declared."""
        units = self.size if size is None else whole(size, "size")
        if units is None:
            raise TypeError("size is private here: pass error(confidence, size=…) with the number you expect")
        least, most, slip = self._ranges(units, confidence)
        widest = self.column.high - self.column.low
        if least <= 0:
            return self.column.grid.value(widest)
        return min((slip + self.column.radius * (most - units)) / least, widest) * float(self.column.grid.step)

    def _noisy(self, values: ArrayLike, bits: Bits | None) -> tuple[int, int]:
        """The noisy sum about the middle, and the noisy count."""
        steps = self.column.steps(values) - self.column.middle
        if self.size is not None and steps.size != self.size:
            raise ValueError(f"values must hold size = {self.size} numbers, not {steps.size}: declare the true size")
        total = self.total.release(exact_sum(steps), bits)
        return total, steps.size if self.count is None else self.count.release(steps.size, bits)

    def _ranges(self, count: int, confidence: Number) -> tuple[int, int, int]:
        """Bounds on the count, and the noise on the sum, that hold together with this confidence."""
        if self.count is None:
            return count, count, round(self.total.error(confidence))
        both = 1 - (1 - probability(confidence, "confidence")) / 2
        slack = round(self.count.error(both))
        return count - slack, count + slack, round(self.total.error(both))

    def _mean(self, total: int, counts: tuple[int, int]) -> float:
        """The mean in its own units, clamped; the first count divides positive totals, the second negative ones."""
        middle = self.column.grid.value(self.column.middle)
        return self.column.clamp(middle + total / counts[total < 0] * float(self.column.grid.step))
