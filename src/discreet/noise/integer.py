"""The same distributions by integers alone: the algorithms of Canonne, Kamath & Steinke (2020), vectorised.

No logarithm and no float is used anywhere. It is an order of magnitude slower than `samplers` and serves to check it:
two constructions that share nothing but the source of bits agree in distribution.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.late import np
from discreet.noise.bits import Bits
from discreet.noise.interval import Booleans
from discreet.noise.uniform import Integers, below

_ROOM = 2**62


def bernoulli_exp(bits: Bits, tops: Integers, bottom: int) -> Booleans:
    """True with probability exp(−top/bottom), for each top ≥ 0 (their Algorithm 1).

    Proof   For γ ≤ 1, let K be the first k for which a coin of probability γ/k fails: P(K > k) = γᵏ/k!, so
            P(K odd) = 1 − γ + γ²/2! − … = exp(−γ). For γ > 1, exp(−γ) = exp(−1)^⌊γ⌋ · exp(−(γ − ⌊γ⌋)).
    """
    wholes, rests = np.divmod(tops, bottom)
    out = _bernoulli_exp_small(bits, rests, bottom)
    for step in range(int(wholes.max(initial=0))):
        live = np.flatnonzero(out & (wholes > step))
        if not live.size:
            break
        out[live] = _bernoulli_exp_small(bits, np.ones(live.size, dtype=np.int64), 1)
    return out


def _bernoulli_exp_small(bits: Bits, tops: Integers, bottom: int) -> Booleans:
    first_failure = np.ones(tops.size, dtype=np.int64)
    live = np.arange(tops.size)
    while live.size:
        limits = _product(bottom, first_failure[live])
        live = live[below(bits, limits) < tops[live]]
        first_failure[live] += 1
    odd: Booleans = first_failure % 2 == 1
    return odd


def geometric(bits: Bits, count: int, scale: Fraction) -> Integers:
    """P(Y = y) ∝ exp(−y/scale), y ≥ 0, in chunks that may come up short (the first half of their Algorithm 2)."""
    low = below(bits, np.full(count, scale.numerator, dtype=np.int64))
    low = low[bernoulli_exp(bits, low, scale.numerator)]
    high = np.zeros(low.size, dtype=np.int64)
    live = np.arange(low.size)
    while live.size:
        live = live[_bernoulli_exp_small(bits, np.ones(live.size, dtype=np.int64), 1)]
        high[live] += 1
    return (_product(scale.numerator, high) + low) // scale.denominator


def laplace(bits: Bits, count: int, scale: Fraction) -> Integers:
    """P(Z = z) ∝ exp(−|z|/scale) (their Algorithm 2)."""
    parts: list[Integers] = []
    while (missing := count - sum(part.size for part in parts)) > 0:
        sizes = geometric(bits, 2 * missing + 16, scale)
        negative = below(bits, np.full(sizes.size, 2, dtype=np.int64)) == 1
        parts.append(np.where(negative, -sizes, sizes)[~(negative & (sizes == 0))][:missing])
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def gaussian(bits: Bits, count: int, variance: Fraction) -> Integers:
    """P(Z = z) ∝ exp(−z²/(2·variance)) (their Algorithm 3)."""
    scale = math.isqrt(math.floor(variance)) + 1
    top, bottom = variance.numerator, variance.denominator
    parts: list[Integers] = []
    while (missing := count - sum(part.size for part in parts)) > 0:
        drawn = laplace(bits, 2 * missing + 16, Fraction(scale))
        gaps = np.abs(_product(bottom * scale, np.abs(drawn)) - top)
        # (|y| − σ²/t)²/2σ² as one fraction: gaps² / (2·top·bottom·scale²)
        _product(int(gaps.max()), gaps)
        accepted = bernoulli_exp(bits, gaps * gaps, 2 * top * bottom * scale**2)
        parts.append(drawn[accepted][:missing])
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _product(factor: int, values: Integers) -> Integers:
    """factor·values, refusing before it wraps."""
    if factor * int(values.max(initial=0)) >= _ROOM:
        raise OverflowError("this scale is too fine or too wide for the integer construction in 64 bits")
    return values * factor
