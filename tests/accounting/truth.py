"""The same figures by other means, for comparison only: sums and formulas in mpmath at 100 digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import mpmath

from discreet.accounting import DiscreteGaussian, DiscreteLaplace
from discreet.accounting.distributions import Noise

Real = Any
"""An mpmath number."""

mp: Any = mpmath.MPContext()
mp.dps = 100


def meant(value: float) -> Fraction:
    """The number that a float stands for: its shortest decimal."""
    return Fraction(repr(float(value)))


def real(value: float | Decimal | Fraction) -> Real:
    if isinstance(value, Decimal):
        digits, exponent = value.as_tuple()[1:]
        return mp.mpf(int("".join(map(str, digits)))) * mp.mpf(10) ** exponent
    exact = meant(value) if isinstance(value, float) else Fraction(value)
    return mp.mpf(exact.numerator) / exact.denominator


@lru_cache(maxsize=256)
def gaussian_sum(spread: Fraction, least: int) -> Real:
    """Σ exp(−z²/2σ²) over z ≥ least ≥ 0, term by term, until a term is below 10⁻⁹⁵ of the first."""
    return mp.fsum(_gaussian_terms(spread, least))


def _gaussian_terms(spread: Fraction, least: int) -> list[Real]:
    unit = 1 / (2 * real(spread))
    term, ratio, shrink = mp.exp(-(least**2) * unit), mp.exp(-(2 * least + 1) * unit), mp.exp(-2 * unit)
    terms, negligible = [], term * mp.mpf("1e-95")
    while term > negligible:
        terms.append(term)
        term, ratio = term * ratio, ratio * shrink
    return terms


def tail(noise: Noise, least: int) -> Real:
    """P(Z ≥ least)"""
    if least < 1:
        return 1 - tail(noise, 1 - least)
    if isinstance(noise, DiscreteGaussian):
        return gaussian_sum(noise.spread, least) / (2 * gaussian_sum(noise.spread, 0) - 1)
    ratio = mp.exp(-1 / real(noise.scale))
    return ratio**least * mp.tanh(1 / (2 * real(noise.scale))) / (1 - ratio)


@lru_cache(maxsize=256)
def masses(noise: Noise, most: int) -> list[Real]:
    """P(Z = z) for z = 0, …, most, divided by what all integers weigh, not by a formula."""
    if isinstance(noise, DiscreteLaplace):
        weights = [mp.exp(-z / real(noise.scale)) for z in range(most + 1)]
    else:
        weights = [mp.exp(-(z**2) / (2 * real(noise.spread))) for z in range(most + 1)]
    total = 2 * mp.fsum(weights) - weights[0]
    return [weight / total for weight in weights]


def hockey_stick(noise: Noise, shift: int, epsilon: Fraction) -> Real:
    """Σ max(0, P(Z = y) − e^ε·P(Z = y − shift)), outcome by outcome; what is left out is below 10⁻⁶⁰."""
    sensitivity = (
        math.ceil(140 * noise.scale if isinstance(noise, DiscreteLaplace) else 17 * math.sqrt(noise.spread)) + 1
    )
    mass = masses(noise, sensitivity + abs(shift))
    factor = mp.exp(real(epsilon))
    gaps = (mass[abs(y)] - factor * mass[abs(y - shift)] for y in range(-sensitivity, sensitivity + 1))
    return mp.fsum(gap for gap in gaps if gap > 0)


def epsilon_of_rho(rho: Real, delta: Real) -> Real:
    """The least of ρα + ln(1/(αδ))/(α − 1) + ln(1 − 1/α) over α > 1.

    Source   Canonne, Kamath & Steinke 2020, Proposition 12.
    """

    def bound(log: Real) -> Real:
        x = mp.exp(log)
        alpha = 1 + x
        return rho * alpha - mp.ln(alpha * delta) / x + mp.ln(x / alpha)

    with mp.workdps(60):
        return max(least_of(bound, mp.mpf(-50), mp.mpf(80)), mp.mpf(0))


def least_of(function: Callable[[Real], Real], low: Real, high: Real) -> Real:
    """The least value of a function that falls and then rises, by golden section to 10⁻²⁰ in its argument."""
    golden = (mp.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > mp.mpf("1e-20"):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = function(right)
    return min(at_left, at_right)
