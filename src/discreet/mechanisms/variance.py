"""The variance of a private column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.accounting.combination import width, width_up_to
from discreet.accounting.fieller import Noisy, Sums
from discreet.accounting.losses import Loss, Sensitivity, compose
from discreet.exact import Number, interval, probability, whole
from discreet.mechanisms.calibrated import Additive, additive, noise_of, root, spread
from discreet.mechanisms.column import Column, exact_sum
from discreet.mechanisms.estimate import Estimate
from discreet.mechanisms.grid import Grid
from discreet.noise import Bits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_THIRD = Fraction(1, 3)


@dataclass(frozen=True, init=False, slots=True)
class Variance:
    """The population variance from noisy n, Σy and Σ(2y² − r²), with y the distance from the middle of the bounds.

    Theorem  ε-DP or ρ-zCDP: each of the three moments takes a third. A unit moves them by 1, r and r² at most, with r
             half the width of the bounds: 2y² − r² lies between −r² and r².
    Proof    Composition. Everything is an integer until the division.
    Error    From the three noises together (see `accounting.fieller`).
    """

    column: Column
    count: Additive
    total: Additive
    square: Additive

    def __init__(
        self,
        *,
        bounds: tuple[Number, Number],
        epsilon: Number | None = None,
        rho: Number | None = None,
        step: Number | None = None,
    ) -> None:
        chosen = (
            _fine(interval(bounds), spread(Sensitivity.cells(1, 1), epsilon=epsilon, rho=rho)) if step is None else step
        )
        column = Column.of(bounds, chosen, epsilon=epsilon, rho=rho)
        if column.radius > 2**30:
            raise ValueError("step must be at least a billionth of the bounds' width: squares are summed in 64 bits")
        object.__setattr__(self, "column", column)
        for name, size in (("count", 1), ("total", column.radius), ("square", column.radius**2)):
            part = additive(Sensitivity.cells(1, size), epsilon=epsilon, rho=rho, share=_THIRD)
            object.__setattr__(self, name, part)

    @property
    def loss(self) -> Loss:
        return compose(self.count.loss, self.total.loss, self.square.loss)

    def release(self, values: ArrayLike, bits: Bits | None = None) -> float:
        """The noisy variance of one number for each unit: never negative, never NaN."""
        return self._variance(*self._noisy(values, bits))

    def estimate(self, values: ArrayLike, confidence: Number = 0.95, bits: Bits | None = None) -> Estimate[float]:
        """The noisy variance with the interval that the three noisy moments allow."""
        count, total, square = self._noisy(values, bits)
        r = self.column.radius
        noisy = (Noisy(value, noise_of(part)) for value, part in zip((count, total, square), self._parts, strict=True))
        n, x, product = noisy
        sums = Sums(n, x, None, product, (r, r), Fraction(1, 2), Fraction(r**2, 2))
        low, high = sums.covariance(1 - probability(confidence, "confidence"))
        value = self._variance(count, total, square)
        return Estimate(value, (min(self._clamped(low), value), max(self._clamped(high), value)))

    @property
    def _parts(self) -> tuple[Additive, Additive, Additive]:
        return self.count, self.total, self.square

    def error(self, confidence: Number = 0.95, *, size: int) -> float:
        """How far the variance of so many units is off at most, whatever their numbers.

        Proof   It is off by L/n', less the square of how far the mean is off: the identity in `Sums.covariance`, where
                L has the noises with weights ½, 2r and 3r²/2 at most. The noisy n' is at least n − a; the mean is off
                by (b + ra)/n' at most. The three events share what may be missed.
        """
        units, r = whole(size, "size"), self.column.radius
        count, total, square = map(noise_of, self._parts)
        spare = (1 - probability(confidence, "confidence")) / 5
        left = units - width(count, 1 - spare)
        if left <= 0:
            return self._clamped(r**2)
        weights = ((square, Fraction(1, 2)), (total, Fraction(2 * r)), (count, Fraction(3 * r**2, 2)))
        mean = width_up_to(((total, Fraction(1)), (count, Fraction(r))), 1 - spare) / left
        return self._clamped(width_up_to(weights, 1 - 3 * spare) / left + mean**2)

    def _noisy(self, values: ArrayLike, bits: Bits | None) -> tuple[int, int, int]:
        """The three noisy moments."""
        steps = self.column.steps(values) - self.column.middle
        count = self.count.release(steps.size, bits)
        total = self.total.release(exact_sum(steps), bits)
        return count, total, self.square.release(exact_sum(2 * steps * steps - self.column.radius**2), bits)

    def _variance(self, count: int, total: int, square: int) -> float:
        units = max(count, 1)
        return self._clamped((square / units + self.column.radius**2) / 2 - (total / units) ** 2)

    def _clamped(self, steps: float | Fraction) -> float:
        """Between 0 and r² (Popoviciu 1935), in the column's own units."""
        return float(min(max(steps, 0), self.column.radius**2)) * float(self.column.grid.step) ** 2


def _fine(bounds: tuple[Fraction, Fraction], noise: Fraction) -> Fraction:
    """A step so small that rounding disappears in the noise, yet not so small that the noise on the squares gets too
    large for the sampler; `noise` is that of a count at the whole cost."""
    low, high = bounds
    least = max(Fraction(1, 2**19), root(3 * noise / 2**38)) * (high - low)
    return Grid.at_most(min(max(least, max(-low, high) / 2**48), (high - low) / 4)).step
