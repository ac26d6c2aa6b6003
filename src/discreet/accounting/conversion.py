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


def rho_of_laplace(epsilon: Fraction, shift: Fraction) -> Fraction:
    """The ρ of Laplace noise of scale shift/ε on integers that one unit moves by `shift` ≥ 1 in all, rounded up.

    Theorem  Let q = e^(−1/scale). Noise on integers whose moves x add up to Δ = Σ|xᵢ| at most is ρ-zCDP for
             ρ = (Δ − 2q(1 − q^Δ)/(1 − q²))/scale, and for no smaller ρ: ε·tanh(ε/2) for Δ = 1, and less beyond.
    Proof    One number. With P the noise and R the noise moved by Δ, (α − 1)·D_α(P‖R) = ln Σ P^α·R^(1−α) =: G(u) with
             u = α − ½. G is even, as reflection exchanges P and R, and 0 at u = ½. Up to a factor, e^G is
             y^Δ + y^−Δ + (1 − q)·(y^(Δ−2) + … + y^(2−Δ)) with y = e^(u/scale): divided by 1 − q and with x = y², a
             polynomial A·x^Δ + x^(Δ−1) + … + x + A, A = 1/(1 − q) ≥ 1. On the unit circle, at the angles 2πj/Δ, it is
             x^(Δ/2) times (−1)^j·(2A − 1) for 0 < j < Δ, and times 2A + Δ − 1 in size with the signs of j = 0 and j = Δ
             at the ends: Δ changes of sign, hence Δ zeros, all of them on the circle. So all zeros of e^G are imaginary
             u, e^G is a constant times Π(1 + u²/a²) (Hadamard), and G is a concave function of u². It lies below
             its tangent at u² = ¼: G(u) ≤ (u² − ¼)·G'(½), that is D_α ≤ α·D₁ for all α > 1, with D₁ = G'(½) the
             Kullback–Leibler divergence: ρ = D₁ = (E|Z − Δ| − E|Z|)/scale, where E|Z − x| = x + 2q^(x+1)/(1 − q²).
             Vectors. Divergences of cells add up, and D₁(x) is convex in x ≥ 0 (so is E|Z − x|) and 0 at 0: ΣD₁(|xᵢ|)
             ≤ D₁(Σ|xᵢ|). Shifts that are no integers stand for their floor, and the formula grows with Δ.
    Factor   The scale is 1.18 times smaller for ρ = 5 than by ε·tanh(ε/2), 1.1 times for ρ = 10, where Δ is large.
    """
    if epsilon < LEAST:
        return epsilon**2 / 2
    cost, inverse = decimal(epsilon), decimal(epsilon / shift)
    q = NEAREST.exp(inverse.copy_negate())
    weight = NEAREST.divide(
        NEAREST.multiply(2, NEAREST.multiply(inverse, q)), NEAREST.subtract(1, NEAREST.multiply(q, q))
    )
    gain = NEAREST.multiply(NEAREST.subtract(1, NEAREST.exp(cost.copy_negate())), weight)
    return min(up(NEAREST.subtract(cost, gain)), rho_of_pure(epsilon))


@lru_cache(maxsize=REMEMBERED)
def epsilon_of_laplace(rho: Fraction, shift: Fraction) -> Fraction:
    """Nearly the largest ε with `rho_of_laplace` at most ρ."""
    low, high = 0.0, float(rho) + 2 * math.sqrt(float(rho)) + 1
    for _ in range(80):
        middle = (low + high) / 2
        inverse = middle / float(shift)
        weight = inverse / math.sinh(inverse) if 0 < inverse < 700 else float(not inverse)
        low, high = (middle, high) if middle + math.expm1(-middle) * weight <= rho else (low, middle)
    for slack in (10**-12, 10**-9, 10**-6, 10**-3):
        epsilon = Fraction(low * (1 - slack)).limit_denominator(10**12)
        if epsilon > 0 and rho_of_laplace(epsilon, shift) <= rho:
            return epsilon
    raise ValueError(f"rho is too small for Laplace noise: {float(rho):g}")


@lru_cache(maxsize=REMEMBERED)
def epsilon_of_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """The least ε for which ρ-zCDP is known to imply (ε, δ)-DP, rounded up."""
    if rho == 0:
        return rho
    log, cost = _log_inverse(delta), float(decimal(rho))
    x = _falling_root(lambda x: (log - math.log1p(x)) / x**2 - cost)
    wide = _wide(x)
    return max(up(wide.fma(wide.add(1, x), decimal(rho, wide), _rest(x, delta, wide))), Fraction(0))


def epsilon_nearby(rho: Fraction, delta: Fraction) -> float:
    """About `epsilon_of_rho`, to some 14 digits and to no side, in a tenth of the time; 0 where float64 is not enough:
    there the terms are large beside their sum.
    """
    log, cost = _log_inverse(delta), float(decimal(rho))
    x = _near_root(log, cost)
    terms = (1 + x) * cost, (log - math.log1p(x)) / x, -math.log1p(1 / x)
    nearby = math.fsum(terms)
    return nearby if nearby > max(map(abs, terms)) / 8 else 0.0


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
    return wide.divide(wide.subtract(gain, _log(delta, wide.prec)), x)


@lru_cache(maxsize=REMEMBERED)
def _log(delta: Fraction, digits: int) -> Decimal:
    """ln δ: of one budget it is always the same."""
    wide = context(digits)
    return wide.ln(decimal(delta, wide))


@lru_cache(maxsize=REMEMBERED)
def _log_inverse(delta: Fraction) -> float:
    return -float(NEAREST.ln(decimal(delta)))


def _near_root(log: float, cost: float) -> float:
    """About where cost·x² + ln(1 + x) = log, by Newton's steps in ln x. ε is least there, so that it hardly depends on
    x. Where they do not arrive, or where there is no such x because nothing is left, by bisection.
    """
    if log > 0 and cost > 0:
        x = math.sqrt(log / cost)
        for _ in range(8):
            square = cost * x * x
            step = (log - square - math.log1p(x)) / (2 * square + x / (1 + x))
            x *= math.exp(max(-2.0, min(2.0, step)))
            if abs(step) < 1e-7:
                return x
    return float(_falling_root(lambda x: (log - math.log1p(x)) / x**2 - cost))


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
