"""Noise calibrated to a sensitivity: Laplace noise for ε, Gaussian noise for ρ."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.accounting.distributions import Noise
from discreet.accounting.losses import Sensitivity
from discreet.exact import Number
from discreet.exact import epsilon as positive
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace

Additive = Laplace | Gaussian


def additive(
    sensitivity: Sensitivity, *, epsilon: Number | None, rho: Number | None, share: Fraction = Fraction(1)
) -> Additive:
    """Noise on integers for this sensitivity, for a share of the cost."""
    if (epsilon is None) == (rho is None):
        raise TypeError("give either epsilon (Laplace noise) or rho (Gaussian noise)")
    if epsilon is not None:
        return Laplace(positive(epsilon) * share, sensitivity=sensitivity.l1)
    return Gaussian(rho=positive(rho, "rho") * share, sensitivity=root(sensitivity.l2_squared))


def spread(sensitivity: Sensitivity, *, epsilon: Number | None, rho: Number | None) -> Fraction:
    """The size of the noise that this sensitivity would need at the whole cost."""
    return additive(sensitivity, epsilon=epsilon, rho=rho).spread


def noise_of(mechanism: Additive) -> Noise:
    """The distribution of the noise on integers."""
    return mechanism.noise(mechanism.sensitivity, 1)


def root(square: Fraction) -> Fraction:
    """A square root, rounded up at the fifteenth decimal."""
    scaled = math.ceil(square * 10**30)
    least = math.isqrt(scaled)
    return Fraction(least + (least**2 < scaled), 10**15)
