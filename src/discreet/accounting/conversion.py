"""From one measure of privacy to another, each bound rounded to the safe side.

zCDP and (ε, δ)   A ρ-zCDP release is (ε, δ)-DP for every x > 0 with
                      ε = (1 + x)·ρ + (ln(1/δ) + x·ln x − (1 + x)·ln(1 + x))/x.
                  Source: Canonne, Kamath & Steinke 2020, Proposition 12 (with α = 1 + x). The best x solves
                  ρ·x² = ln(1/δ) − ln(1 + x). Any x gives a true bound, so x is found in float64 and only the formula
                  is evaluated with care.
ε-DP and zCDP     An ε-DP release is ρ-zCDP with ρ = ε·tanh(ε/2) ≤ ε²/2: randomised response is the worst case, and
                  D_α/α is largest as α → 1, where D is its KL divergence. Source: Bun & Steinke 2016 (ε²/2);
                  Harrison & Manurangsi 2025 (the exact value).
(ε, δ) and zCDP   An (ε, δ)-DP release is δ-approximate ε·tanh(ε/2)-zCDP: outside an event of probability δ it is an
                  ε-DP release. Source: Kairouz, Oh & Viswanath 2015, with the line above; Bun & Steinke 2016 (ε²/2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from discreet.accounting.rounding import NEAREST, context, decimal, down, up

REMEMBERED: Final = 4096
"""Conversions are functions of two numbers, and the same ones are wanted again and again."""

LEAST: Final = Fraction(1, 10**20)
"""Below it, ε²/2 is the value to 40 digits, and 1 − e^−ε would lose too many."""


def rho_of_pure(epsilon: Fraction) -> Fraction:
    """The ρ at which an ε-DP release enters a concentrated budget: ε·tanh(ε/2) rounded up, never above ε²/2."""
    if epsilon < LEAST:
        return epsilon**2 / 2
    cost = decimal(epsilon)
    shrunk = NEAREST.exp(cost.copy_negate())
    tanh = NEAREST.divide(NEAREST.subtract(1, shrunk), NEAREST.add(1, shrunk))
    return min(up(NEAREST.multiply(cost, tanh)), epsilon**2 / 2)


@lru_cache(maxsize=REMEMBERED)
def epsilon_of_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """The least ε for which ρ-zCDP is known to imply (ε, δ)-DP, rounded up."""
    if rho == 0:
        return rho
    log, cost = _log_inverse(delta), float(decimal(rho))
    x = _falling_root(lambda x: (log - math.log1p(x)) / x**2 - cost)
    wide = _wide(x)
    return max(up(wide.fma(wide.add(1, x), decimal(rho, wide), _rest(x, delta, wide))), Fraction(0))


@lru_cache(maxsize=REMEMBERED)
def rho_of_epsilon(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ for which ρ-zCDP is known to imply (ε, δ)-DP, rounded down."""
    log, cost = _log_inverse(delta), float(epsilon)
    x = _falling_root(lambda x: (1 + 2 * x) * (log - math.log1p(x)) / x**2 - math.log1p(1 / x) - cost)
    wide = _wide(x)
    left = wide.subtract(decimal(epsilon, wide), _rest(x, delta, wide))
    return max(down(wide.divide(left, wide.add(1, x))), Fraction(0))


def _wide(x: Decimal) -> Context:
    """Enough digits: x lies between 10⁻⁸⁷ and 10⁸⁷, and cancellation takes at most twice the digits of its exponent."""
    return context(110 + 2 * abs(x.adjusted()))


def _rest(x: Decimal, delta: Fraction, wide: Context) -> Decimal:
    """(ln(1/δ) + x·ln x − (1 + x)·ln(1 + x))/x"""
    above = wide.add(1, x)
    gain = wide.subtract(wide.multiply(x, wide.ln(x)), wide.multiply(above, wide.ln(above)))
    return wide.divide(wide.subtract(gain, wide.ln(decimal(delta, wide))), x)


def _log_inverse(delta: Fraction) -> float:
    return -float(NEAREST.ln(decimal(delta)))


def _falling_root(function: Callable[[float], float]) -> Decimal:
    """Where a falling function on (0, ∞) crosses zero, to about 10⁻¹², by bisection of ln x."""
    low, high = -200.0, 200.0
    for _ in range(50):
        middle = (low + high) / 2
        if function(math.exp(middle)) > 0:
            low = middle
        else:
            high = middle
    return Decimal.from_float(math.exp((low + high) / 2))
