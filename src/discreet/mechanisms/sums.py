"""The sum of a private column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.accounting.losses import Loss, Sensitivity
from discreet.exact import Number
from discreet.mechanisms.calibrated import Additive, additive
from discreet.mechanisms.column import Column, exact_sum
from discreet.noise import Bits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, init=False, slots=True)
class BoundedSum:
    """Clamp every unit's number to the bounds, sum in integers, add noise, divide once.

    Theorem  ε-DP (Laplace noise), or ρ-zCDP (Gaussian noise): adding or removing a unit moves the sum by
             max(|low|, |high|) at most, exactly, since numbers are clamped after they are rounded to the grid.
    Error    That of the noise. The bias of clamping is not part of it, nor known to anyone but the owner.
    """

    column: Column
    mechanism: Additive

    def __init__(
        self,
        *,
        bounds: tuple[Number, Number],
        epsilon: Number | None = None,
        rho: Number | None = None,
        step: Number | None = None,
    ) -> None:
        column = Column.of(bounds, step, epsilon=epsilon, rho=rho)
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "mechanism", additive(Sensitivity.cells(1, column.largest), epsilon=epsilon, rho=rho))

    @property
    def loss(self) -> Loss:
        return self.mechanism.loss

    def release(self, values: ArrayLike, bits: Bits | None = None) -> float:
        """The noisy sum of one number for each unit."""
        return self.column.grid.value(self.mechanism.release(exact_sum(self.column.steps(values)), bits))

    def error(self, confidence: Number = 0.95) -> float:
        """The half-width of the interval around the sum of the clamped numbers."""
        return self.column.grid.value(round(self.mechanism.error(confidence)))
