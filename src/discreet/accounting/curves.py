"""The exact (ε, δ) of discrete noise on integers, and the least noise for a given (ε, δ).

Theorem  Let Z be integer noise whose probabilities are log-concave and symmetric. Adding Z to an integer that a unit
         moves by at most Δ is (ε, δ)-DP for δ = max over c of P(Z ≥ c) − e^ε·P(Z ≥ c + Δ), and for no smaller δ.
Proof    The likelihood ratio of Z and Z − Δ is monotone, so the worst event is a half line {z ≥ c}. A unit that moves
         it by less than Δ makes P(Z ≥ c + …) larger, hence δ smaller, for every c. Symmetry gives the other direction.
Source   Canonne, Kamath & Steinke 2020, Theorem 7 (Gaussian, Δ = 1); Ghosh et al. 2009 (Laplace).
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction

from discreet.accounting.distributions import DiscreteGaussian, Noise
from discreet.accounting.rounding import NEAREST, context, decimal, float_up
from discreet.exact import MOST_EPSILON, Number, number, probability, whole
from discreet.exact import epsilon as positive
from discreet.late import np


def delta_of(noise: Noise, sensitivity: int, epsilon: Number) -> float:
    """The exact δ at ε of the noise on an integer of that sensitivity, rounded up."""
    exact = number(epsilon, "epsilon")
    if not 0 <= exact <= MOST_EPSILON:
        raise ValueError(f"epsilon must lie between 0 and 1e9, not {epsilon}")
    return float_up(_delta(noise, whole(sensitivity, "sensitivity"), exact))


def _delta(noise: Noise, shift: int, epsilon: Fraction) -> Decimal:
    cut = _cut(noise, shift, epsilon)
    if cut is None:
        return Decimal(0)
    near, far = noise.tail(cut)[1], noise.tail(cut + shift)[0]
    gap = NEAREST.subtract(near, NEAREST.multiply(NEAREST.exp(decimal(epsilon)), far))
    return max(gap, Decimal(0))


def _cut(noise: Noise, shift: int, epsilon: Fraction) -> int | None:
    """The least z at which the privacy loss exceeds ε."""
    if isinstance(noise, DiscreteGaussian):
        return math.floor(epsilon * noise.spread / shift - Fraction(shift, 2)) + 1
    if epsilon * noise.scale >= shift:
        return None
    return math.floor((epsilon * noise.scale - shift) / 2) + 1


def gaussian_spread(epsilon: Number, delta: Number, sensitivity: int) -> Fraction:
    """A σ² for which the discrete Gaussian on one integer is (ε, δ)-DP, while a hundredth of a percent less is not.

    float64 finds it; the exact δ decides: the result is enlarged until that is at most the δ asked for. The verdict
    holds for this σ² only, so never round it, not even up: δ does not always fall as σ grows (at ε = 42 it rises from
    10⁻¹⁸ at σ = 0.11 to 10⁻⁷ at σ = 0.18, until the next outcome is safe).
    """
    cost, shift = positive(epsilon), whole(sensitivity, "sensitivity")
    allowed = decimal(probability(delta, "delta"), context(40, ROUND_FLOOR))
    sigma = _search(float(cost), float(allowed), shift)
    step = 1e-6
    while True:
        spread = Fraction(float(f"{sigma:.12e}")) ** 2
        if _delta(DiscreteGaussian(spread), shift, cost) <= allowed:
            return spread
        sigma *= 1 + step
        step *= 2


def _search(epsilon: float, delta: float, shift: int) -> float:
    low, high = -14.0, 30.0 + math.log(shift)
    for _ in range(60):
        middle = (low + high) / 2
        if _float_delta(math.exp(middle), shift, epsilon) > delta:
            low = middle
        else:
            high = middle
    return math.exp(high)


def _float_delta(sigma: float, shift: int, epsilon: float) -> float:
    """δ in float64, to about ten digits: a guide for the search, never the verdict."""
    centre = epsilon * sigma**2 / shift - shift / 2
    if sigma > 64:
        near, far = _log_normal_tail(centre / sigma), _log_normal_tail((centre + shift) / sigma)
        return math.exp(near) - math.exp(min(epsilon + far, near))
    cut = math.floor(centre) + 1
    width = math.ceil(40 * sigma) + 2
    z = np.arange(max(cut, -width), max(cut, -width) + 2 * width, dtype=np.float64)
    whole_mass = np.exp(-(np.arange(-width, width + 1) ** 2) / (2 * sigma**2)).sum()
    # each outcome z ≥ cut is likelier than its shifted twin by more than e^ε
    gains = np.exp(-(z**2) / (2 * sigma**2)) * -np.expm1(np.minimum((centre - z) * shift / sigma**2, 0))
    return float(gains.sum() / whole_mass)


def _log_normal_tail(x: float) -> float:
    if x < 30:
        return math.log(math.erfc(x / math.sqrt(2)) / 2)
    return -x * x / 2 - math.log(x * math.sqrt(2 * math.pi))
