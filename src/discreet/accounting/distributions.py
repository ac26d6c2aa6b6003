"""The exact tails of the discrete noise, as bounds that hold with certainty.

Intervals, thresholds and δ are computed from these, never from continuous formulas: at ε = 8 the continuous analytic
Gaussian exceeds its δ threefold when its noise is discrete.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Final

from discreet.accounting.rounding import NEAREST, context, decimal
from discreet.exact import Number, probability

Bounds = tuple[Decimal, Decimal]

_SLIP: Final = Decimal("1e-45")
"""Relative room for the roundings of a sum of a few thousand terms at 60 digits."""
_SMOOTH: Final = 128**2
"""Above this variance, sums are replaced by integrals with Euler and Maclaurin's corrections."""
_BERNOULLI: Final = tuple(
    Fraction(*pair)
    for pair in (
        (1, 6),
        (-1, 30),
        (1, 42),
        (-1, 30),
        (5, 66),
        (-691, 2730),
        (7, 6),
        (-3617, 510),
        (43867, 798),
        (-174611, 330),
    )
)


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """P(Z = z) ∝ qᵏ with k = |z| and q = exp(−1/scale)."""

    scale: Fraction

    def tail(self, least: int) -> Bounds:
        """P(Z ≥ least) = q^least/(1 + q) for least ≥ 0, and by symmetry below."""
        if least < 0:
            return _complement(self.tail(1 - least))
        ratio = NEAREST.exp(decimal(-1 / self.scale))
        power = NEAREST.exp(decimal(-least / self.scale))
        return _around(NEAREST.divide(power, NEAREST.add(1, ratio)))

    def width(self, confidence: Number) -> int:
        """The least t with P(|Z| ≤ t) ≥ confidence."""
        return self.least(_spare(confidence)) - 1

    def least(self, limit: Decimal) -> int:
        """The least m ≥ 1 with P(Z ≥ m) ≤ limit."""
        return _least(self.tail, limit, -float(self.scale) * (_ln(limit) + math.log(2)))

    @property
    def variance(self) -> float:
        """2q/(1 − q)², just below 2·scale²."""
        return 0.5 / math.sinh(min(0.5 / float(self.scale), 300)) ** 2


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """P(Z = z) ∝ exp(−z²/(2·spread)); `spread` is σ², just above the variance."""

    spread: Fraction

    def tail(self, least: int) -> Bounds:
        """P(Z ≥ least)."""
        if least < 1:
            return _complement(self.tail(1 - least))
        return _smooth_tail(self.spread, least) if self.spread > _SMOOTH else _summed_tail(self.spread, least)

    def width(self, confidence: Number) -> int:
        """The least t with P(|Z| ≤ t) ≥ confidence."""
        return self.least(_spare(confidence)) - 1

    def least(self, limit: Decimal) -> int:
        """The least m ≥ 1 with P(Z ≥ m) ≤ limit."""
        sigma = math.sqrt(self.spread)
        if limit < Decimal("1e-12"):
            return _least(self.tail, limit, sigma * math.sqrt(-2 * _ln(limit)))
        return _least(self.tail, limit, -sigma * NormalDist().inv_cdf(min(float(limit), 0.5)))


Noise = DiscreteLaplace | DiscreteGaussian


def _around(value: Decimal) -> Bounds:
    room = NEAREST.multiply(value, _SLIP)
    return NEAREST.subtract(value, room), NEAREST.add(value, room)


def _complement(bounds: Bounds) -> Bounds:
    low, high = bounds
    above = min(NEAREST.add(NEAREST.subtract(1, low), _SLIP), Decimal(1))
    return max(NEAREST.subtract(NEAREST.subtract(1, high), _SLIP), Decimal(0)), above


def _spare(confidence: Number) -> Decimal:
    """What may lie on each side of a width."""
    return NEAREST.divide(decimal(1 - probability(confidence, "confidence")), 2)


def _least(tail: Callable[[int], Bounds], limit: Decimal, guess: float) -> int:
    """The least m ≥ 1 with tail(m) ≤ limit: from a guess outwards by doubling, then by halving. Guesses are near."""
    start = max(1, math.floor(min(guess, 1e300)))
    step, low, high = 1, 0, start
    if tail(start)[1] <= limit:
        while high > 1 and tail(max(high - step, 1))[1] <= limit:
            high, step = max(high - step, 1), 2 * step
        low = max(high - step, 0)
    else:
        while tail(start + step)[1] > limit:
            step *= 2
        low, high = (start if step == 1 else start + step // 2), start + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tail(middle)[1] <= limit else (middle, high)
    return high


def _ln(limit: Decimal) -> float:
    return float(NEAREST.ln(limit))


def _summed_tail(spread: Fraction, least: int) -> Bounds:
    total = NEAREST.fma(2, _sum_from(spread, 1), 1)
    return _around(NEAREST.divide(_sum_from(spread, least), total))


@lru_cache(maxsize=1024)
def _sum_from(spread: Fraction, least: int) -> Decimal:
    """Σ exp(−z²/(2·spread)) over z ≥ least ≥ 1, until what is left is below 10⁻⁵⁵ of it."""
    term = NEAREST.exp(decimal(-Fraction(least**2) / (2 * spread)))
    ratio = NEAREST.exp(decimal(-Fraction(2 * least + 1) / (2 * spread)))
    shrink = NEAREST.exp(decimal(-1 / spread))
    total, negligible = Decimal(0), NEAREST.multiply(term, Decimal("1e-60"))
    while term > negligible:
        total = NEAREST.add(total, term)
        term = NEAREST.multiply(term, ratio)
        ratio = NEAREST.multiply(ratio, shrink)
    return total


def _smooth_tail(spread: Fraction, least: int) -> Bounds:
    """Σ over z ≥ m of exp(−z²/2σ²), divided by σ√(2π).

    Theorem  With x = m/σ, φ the normal density, Q its tail and Heₙ the Hermite polynomials, the sum is
             Q(x) + φ(x)·(1/(2σ) + Σⱼ B₂ⱼ/(2j)!·He₂ⱼ₋₁(x)/σ²ʲ) + R with j ≤ 10,
             and |R| ≤ |B₂₀|/20!·√(20!)·σ⁻²⁰ < 10⁻⁶·σ⁻²⁰, and from x = 8 on also at most the last term.
             The full sum is σ√(2π) within a factor 1 ± exp(−2π²σ²·0.99) (Poisson), which is far below the digits here.
    Proof    Euler–Maclaurin: |R| ≤ |B₂₀|/20!·∫|f⁽²⁰⁾|. The n-th derivative of φ is (−1)ⁿHeₙφ, and E|Heₙ| ≤ √(n!) for a
             normal variable. The zeros of He₂₀ lie below 8, and beyond them ∫He₂₀φ from x on is He₁₉(x)·φ(x).
    """
    sigma = NEAREST.sqrt(decimal(spread))
    x = NEAREST.divide(least, sigma)
    density = NEAREST.divide(NEAREST.exp(NEAREST.divide(NEAREST.multiply(x, x.copy_negate()), 2)), _root_two_pi())
    series = NEAREST.divide(Decimal("0.5"), sigma)
    hermite, previous, factorial = x, Decimal(1), 1
    for j, bernoulli in enumerate(_BERNOULLI, start=1):
        factorial *= (2 * j - 1) * (2 * j)
        share = NEAREST.divide(decimal(bernoulli / factorial), NEAREST.power(sigma, 2 * j))
        term = NEAREST.multiply(share, hermite)
        series = NEAREST.add(series, term)
        for n in (2 * j - 1, 2 * j):
            hermite, previous = NEAREST.fma(x, hermite, NEAREST.multiply(-n, previous)), hermite
    low, high = _around(NEAREST.fma(density, series, _normal_tail(x)))
    relative = NEAREST.multiply(density, term.copy_abs())
    remainder = relative if x > 8 else NEAREST.divide(Decimal("1e-6"), NEAREST.power(sigma, 20))
    return max(NEAREST.subtract(low, remainder), Decimal(0)), NEAREST.add(high, remainder)


def _normal_tail(x: Decimal) -> Decimal:
    """Q(x) for x ≥ 0: ½ − φ(x)·Σ x²ᵏ⁺¹/(1·3·…·(2k + 1)), with digits to spare for the cancellation.

    Far out it is φ(x)/x·Σ (−1)ᵏ·1·3·…·(2k − 1)/x²ᵏ, whose error is below the first term left out: 3·10⁻⁴⁸ at x = 60.
    """
    if x > 60:
        return _far_normal_tail(x)
    wide = context(75 + math.ceil(float(x) ** 2 / 4))
    square = wide.multiply(x, x)
    term = total = x
    k = 1
    while term > wide.scaleb(total, -wide.prec):
        term = wide.divide(wide.multiply(term, square), 2 * k + 1)
        total = wide.add(total, term)
        k += 1
    density = wide.divide(wide.exp(wide.divide(square, -2)), _root_two_pi(wide.prec))
    return NEAREST.plus(wide.subtract(Decimal("0.5"), wide.multiply(density, total)))


def _far_normal_tail(x: Decimal) -> Decimal:
    square = NEAREST.multiply(x, x)
    term, total = Decimal(1), Decimal(0)
    for k in range(20):
        total = NEAREST.add(total, term)
        term = NEAREST.divide(NEAREST.multiply(term, -(2 * k + 1)), square)
    density = NEAREST.divide(NEAREST.exp(NEAREST.divide(square, -2)), _root_two_pi())
    return NEAREST.divide(NEAREST.multiply(density, total), x)


@lru_cache(maxsize=64)
def _root_two_pi(digits: int = 60) -> Decimal:
    """√(2π), π by the arithmetic–geometric mean."""
    wide = context(digits + 10)
    a, b, t, p = Decimal(1), wide.divide(1, wide.sqrt(Decimal(2))), Decimal("0.25"), 1
    while wide.subtract(b, a).adjusted() > -digits - 5 and a != b:
        mean = wide.divide(wide.add(a, b), 2)
        b = wide.sqrt(wide.multiply(a, b))
        t = wide.subtract(t, wide.multiply(p, wide.power(wide.subtract(a, mean), 2)))
        a, p = mean, 2 * p
    return wide.sqrt(wide.divide(wide.multiply(2, wide.power(wide.add(a, b), 2)), wide.multiply(4, t)))
