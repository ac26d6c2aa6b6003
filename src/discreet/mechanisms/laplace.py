"""The Laplace mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet import noise as sampler
from discreet.accounting.conversion import epsilon_of_laplace, rho_of_laplace
from discreet.accounting.distributions import DiscreteLaplace
from discreet.accounting.losses import Concentrated, Pure, Sensitivity
from discreet.exact import Number, extent
from discreet.exact import epsilon as positive
from discreet.mechanisms.additive import Additive
from discreet.mechanisms.arrays import Integers
from discreet.noise import Bits


@dataclass(frozen=True, init=False, slots=True)
class Laplace(Additive):
    """Add Z with P(Z = z) ∝ exp(−|z|/scale), over the integers (or over the multiples of a step).

    Theorem  sensitivity/scale-DP, where `sensitivity` bounds the L1 norm of what one unit can change. Built with rho,
             ρ-zCDP by the exact divergence of the noise on integers (`accounting.conversion.rho_of_laplace`).
    Proof    P(x + Z = o)/P(x' + Z = o) = exp((|o − x'| − |o − x|)/scale) ≤ exp(|x − x'|/scale); cells multiply.
    Error    P(|Z| > t) = 2·q^(t + 1)/(1 + q) with q = exp(−1/scale), for integers t ≥ 0; E Z² = 2q/(1 − q)² < 2·scale².
    Source   Dwork, McSherry, Nissim & Smith 2006; Ghosh, Roughgarden & Sundararajan 2009.

    >>> blue_eyes = Laplace(epsilon=0.1, sensitivity=1)
    >>> blue_eyes.scale, blue_eyes.error(0.95), blue_eyes.loss
    (Fraction(10, 1), 30, Pure(epsilon=0.1))
    >>> type(blue_eyes.release(42))
    <class 'int'>
    """

    epsilon: Fraction
    sensitivity: Fraction
    step: Fraction | None
    rho: Fraction | None

    def __init__(
        self,
        epsilon: Number | None = None,
        *,
        sensitivity: Number,
        step: Number | None = None,
        rho: Number | None = None,
    ) -> None:
        if (epsilon is None) == (rho is None):
            raise TypeError("give either epsilon or rho")
        moved = extent(sensitivity, "sensitivity")
        amount = None if rho is None else positive(rho, "rho")
        if amount is not None and (step is not None or moved < 1):
            raise ValueError("rho is for integers: leave step out and use a sensitivity of at least 1")
        cost = positive(epsilon) if amount is None else epsilon_of_laplace(amount, moved)
        object.__setattr__(self, "epsilon", cost)
        object.__setattr__(self, "sensitivity", moved)
        object.__setattr__(self, "step", None if step is None else extent(step, "step"))
        object.__setattr__(self, "rho", amount)

    @property
    def scale(self) -> Fraction:
        return self.sensitivity / self.epsilon

    @property
    def spread(self) -> Fraction:
        return self.scale

    @property
    def promise(self) -> Pure | Concentrated:
        """What it was built with."""
        return Pure(self.epsilon) if self.rho is None else Concentrated(self.rho)

    @property
    def loss(self) -> Pure | Concentrated:
        return self.promise

    def loss_for(self, sensitivity: Sensitivity) -> Pure | Concentrated:
        """What the same noise costs on integers where one unit reaches that far."""
        self._need_integers()
        epsilon = sensitivity.l1 / self.scale
        if self.rho is None or sensitivity.l1 < 1:
            return Pure(epsilon)
        return Concentrated(rho_of_laplace(epsilon, sensitivity.l1))

    def variance(self) -> float:
        """The mean squared error on integers, at most 2·(sensitivity/ε)²."""
        return DiscreteLaplace(self.scale).variance

    def noise(self, moved: Fraction, length: int) -> DiscreteLaplace:  # noqa: ARG002  (the same for any length)
        return DiscreteLaplace(moved / self.epsilon)

    def slack(self, length: int) -> int:
        return length

    def draw(self, noise: DiscreteLaplace, length: int, bits: Bits | None) -> Integers:
        return sampler.laplace(noise.scale, length, bits=bits)
