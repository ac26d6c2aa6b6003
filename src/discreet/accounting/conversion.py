"""From one measure of privacy to another, each bound rounded to the safe side.

zCDP and (ε, δ)   A ρ-zCDP release is (ε, δ)-DP for every x > 0 with
                      ε = (1 + x)·ρ + (ln(1/δ) + x·ln x − (1 + x)·ln(1 + x))/x.
                  Source: Canonne, Kamath & Steinke 2020, Proposition 12 (with α = 1 + x). The best x solves
                  ρ·x² = ln(1/δ) − ln(1 + x). Any x gives a true bound, so x is found in float64 and only the formula
                  is evaluated with care.
ε-DP and zCDP     An ε-DP release is ρ-zCDP with ρ = ε·tanh(ε/2) ≤ ε²/2: randomised response is the worst case, and
                  D_α/α is largest as α → 1, where D is its KL divergence. Source: Bun & Steinke 2016 (ε²/2);
                  Harrison & Manurangsi 2025 (the exact value).
(ε, δ) and zCDP   An (ε, δ)-DP release is δ-approximate ε²/2-zCDP. Source: Bun & Steinke 2016.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Final

from discreet.accounting.rounding import NEAREST, context, decimal, down, up

WIDE: Final = context(300)
"""x lies between 10⁻⁸⁷ and 10⁸⁷, so that cancellation takes at most 2·87 digits."""

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


def epsilon_of_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """The least ε for which ρ-zCDP is known to imply (ε, δ)-DP, rounded up."""
    if rho == 0:
        return rho
    log, cost = _log_inverse(delta), float(decimal(rho))
    x = _falling_root(lambda x: (log - math.log1p(x)) / x**2 - cost)
    return max(up(WIDE.fma(WIDE.add(1, x), decimal(rho, WIDE), _rest(x, delta))), Fraction(0))


def rho_of_epsilon(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ for which ρ-zCDP is known to imply (ε, δ)-DP, rounded down."""
    log, cost = _log_inverse(delta), float(epsilon)
    x = _falling_root(lambda x: (1 + 2 * x) * (log - math.log1p(x)) / x**2 - math.log1p(1 / x) - cost)
    left = WIDE.subtract(decimal(epsilon, WIDE), _rest(x, delta))
    return max(down(WIDE.divide(left, WIDE.add(1, x))), Fraction(0))


def _rest(x: Decimal, delta: Fraction) -> Decimal:
    """(ln(1/δ) + x·ln x − (1 + x)·ln(1 + x))/x"""
    above = WIDE.add(1, x)
    gain = WIDE.subtract(WIDE.multiply(x, WIDE.ln(x)), WIDE.multiply(above, WIDE.ln(above)))
    return WIDE.divide(WIDE.subtract(gain, WIDE.ln(decimal(delta, WIDE))), x)


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
