"""The Laplace mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet import noise as sampler
from discreet.accounting.distributions import DiscreteLaplace
from discreet.accounting.losses import Pure, Sensitivity
from discreet.exact import Number, extent
from discreet.exact import epsilon as positive
from discreet.mechanisms.additive import Additive
from discreet.mechanisms.arrays import Integers
from discreet.noise import Bits


@dataclass(frozen=True, init=False, slots=True)
class Laplace(Additive):
    """Add Z with P(Z = z) ∝ exp(−|z|/scale), over the integers (or over the multiples of a step).

    Theorem  sensitivity/scale-DP, where `sensitivity` bounds the L1 norm of what one unit can change.
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

    def __init__(self, epsilon: Number, *, sensitivity: Number, step: Number | None = None) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon))
        object.__setattr__(self, "sensitivity", extent(sensitivity, "sensitivity"))
        object.__setattr__(self, "step", None if step is None else extent(step, "step"))

    @property
    def scale(self) -> Fraction:
        return self.sensitivity / self.epsilon

    @property
    def spread(self) -> Fraction:
        return self.scale

    @property
    def promise(self) -> Pure:
        """What it was built with."""
        return Pure(self.epsilon)

    @property
    def loss(self) -> Pure:
        return self.promise

    def loss_for(self, sensitivity: Sensitivity) -> Pure:
        """What the same noise costs on integers where one unit reaches that far."""
        self._need_integers()
        return Pure(sensitivity.l1 / self.scale)

    def variance(self) -> float:
        """The mean squared error on integers, at most 2·(sensitivity/ε)²."""
        return DiscreteLaplace(self.scale).variance

    def noise(self, moved: Fraction, length: int) -> DiscreteLaplace:  # noqa: ARG002  (the same for any length)
        return DiscreteLaplace(moved / self.epsilon)

    def slack(self, length: int) -> int:
        return length

    def draw(self, noise: DiscreteLaplace, length: int, bits: Bits | None) -> Integers:
        return sampler.laplace(noise.scale, length, bits=bits)
