"""The mean of a private column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.accounting.combination import Terms, width_up_to
from discreet.accounting.fieller import ratio
from discreet.accounting.losses import Loss, Sensitivity, compose
from discreet.accounting.relations import Relation
from discreet.exact import Number, probability, whole
from discreet.mechanisms.calibrated import Additive, additive, noise_of
from discreet.mechanisms.column import Column, exact_sum
from discreet.mechanisms.estimate import Estimate
from discreet.noise import Bits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_HALF = Fraction(1, 2)
_ENOUGH = Fraction(1001, 1000)
"""By how much each guess at an error lies above what the last one asked for."""


@dataclass(frozen=True, init=False, slots=True)
class BoundedMean:
    """A noisy sum about the middle of the bounds, over a noisy count.

    Theorem  ε-DP or ρ-zCDP: count and sum take half of the cost each. A unit moves the count by 1 and the sum about
             the middle by (high − low)/2. With `size` the number of units is public, two data sets are neighbours if
             one unit's number is replaced (the loss says REPLACE_ONE), and the sum alone costs: it moves by
             high − low.
    Proof    Composition; for `size`, clamped numbers differ by high − low at most. Nothing is promised there to whoever
             hides that they are among the units: the number of values must be `size`, and everybody knows it.
    Error    From both noises together: with Y on the sum and Z on the count, the noisy sum − mean·count is Y − mean·Z
             (Fieller 1954; see `accounting.fieller`).
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
        return self._mean(*self._noisy(values, bits))

    def estimate(self, values: ArrayLike, confidence: Number = 0.95, bits: Bits | None = None) -> Estimate[float]:
        """The noisy mean with the interval that the noisy sum and count allow."""
        total, count = self._noisy(values, bits)
        return Estimate(self._mean(total, count), self._interval(total, count, confidence))

    def error(self, confidence: Number = 0.95, *, size: int | None = None) -> float:
        """How far the mean of so many units is off at most; without `size`, of the number that was declared.

        Proof   |sum/count − mean| ≤ t where ±Y − (t ± mean)·Z ≤ t·n. On either side that fails with half of what may
                be missed if t·n is the width for weights 1 and r + t, r the largest mean.
        """
        units = self.size if size is None else whole(size, "size")
        if units is None:
            raise TypeError("size is private here: pass error(confidence, size=…) with the number you expect")
        widest = Fraction(self.column.high - self.column.low)
        off = Fraction(0)
        while off < widest:
            wanted = width_up_to(self._terms(self.column.radius + off), probability(confidence, "confidence")) / units
            if wanted <= off:
                break
            off = wanted * _ENOUGH
        return float(min(off, widest) * self.column.grid.step)

    def _noisy(self, values: ArrayLike, bits: Bits | None) -> tuple[int, int]:
        """The noisy sum about the middle, and the noisy count."""
        steps = self.column.steps(values) - self.column.middle
        if self.size is not None and steps.size != self.size:
            raise ValueError(f"values must hold size = {self.size} numbers, not {steps.size}: declare the true size")
        total = self.total.release(exact_sum(steps), bits)
        return total, steps.size if self.count is None else self.count.release(steps.size, bits)

    def _terms(self, mean: Fraction) -> Terms:
        """The noises that the sum less so many times the count has."""
        total = noise_of(self.total), Fraction(1)
        return (total,) if self.count is None else (total, (noise_of(self.count), mean))

    def _interval(self, total: int, count: int, confidence: Number) -> tuple[float, float]:
        one, none = Fraction(1), Fraction(0)
        terms = [(noise_of(self.total), one, none)]
        if self.count is not None:
            terms.append((noise_of(self.count), none, one))
        within = Fraction(self.column.low - self.column.middle), Fraction(self.column.high - self.column.middle)
        miss = 1 - probability(confidence, "confidence")
        low, high = ratio(Fraction(total), Fraction(count), terms, miss, within) or within
        return self._shown(low), self._shown(high)

    def _mean(self, total: int, count: int) -> float:
        return self._shown(Fraction(total, max(count, 1)))

    def _shown(self, about_middle: Fraction) -> float:
        """A mean in its own units, clamped."""
        middle = self.column.grid.value(self.column.middle)
        return self.column.clamp(middle + float(about_middle * self.column.grid.step))
