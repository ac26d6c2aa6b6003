"""The distributions, built on `interval`. Array in, array out; `discreet.noise` wraps these for callers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from discreet.late import np
from discreet.noise.bits import Bits
from discreet.noise.interval import (
    SLACK,
    WIDEST,
    Booleans,
    Exponentials,
    exceeds,
    floors,
    odds_threshold,
    rational,
    symmetric_offset,
)
from discreet.noise.uniform import Integers

BLOCK: Final = 2**15
"""Draws made at a time: the working arrays stay in the processor's cache."""


def geometric(bits: Bits, count: int, scale: Fraction) -> Integers:
    """P(Y = y) ∝ exp(−y/scale), y ≥ 0.

    Proof   Y = ⌊E·scale⌋ for a standard exponential E: P(Y ≥ y) = P(E ≥ y/scale) = exp(−y/scale). Above WIDEST, write
            y = u + block·v: the weight splits into exp(−u/scale)·exp(−v·block/scale), so v is geometric of scale
            scale/block, and u is uniform below block, kept with probability exp(−u/scale).
    """
    return _filled(count, 1.0, lambda n: _geometric(bits, n, scale)[0])


def _geometric(bits: Bits, count: int, scale: Fraction) -> tuple[Integers, Booleans]:
    """Geometric variables, each with a coin; for wide scales possibly a few fewer than `count`."""
    exponentials = Exponentials.draw(bits, count)
    if scale <= WIDEST:
        return floors(exponentials, scale), exponentials.coins()
    width = math.ceil(scale / WIDEST - 1).bit_length()
    high = floors(exponentials, scale / 2**width)
    if count and int(high.max()) >= 2 ** (62 - width):
        raise OverflowError(f"noise of scale {float(scale):g} does not fit 64-bit integers: use a coarser step")
    low = (bits.words(count) >> np.uint64(64 - width)).view(np.int64)
    thresholds = low / float(scale)
    accepted = exceeds(
        Exponentials.draw(bits, count), thresholds, SLACK * thresholds, lambda i: rational(int(low[i]) / scale)
    )
    return (high * 2**width + low)[accepted], exponentials.coins()[accepted]


def laplace(bits: Bits, count: int, scale: Fraction) -> Integers:
    """P(Z = z) ∝ exp(−|z|/scale), over all integers.

    Proof   With q = exp(−1/scale), P(|Z| ≥ k) = 2qᵏ/(1 + q) for k ≥ 1, so |Z| = ⌊(E + ln(2/(1 + q)))·scale⌋; the offset
            times the scale is below 1, since 2q < 1 + q. The sign is the word's own coin. One word for each draw,
            whatever its value. Above WIDEST: sign and geometric size, −0 thrown away (Canonne, Kamath & Steinke 2020).
    """
    if scale > WIDEST:
        return _filled(count, 1.0, lambda n: _wide_laplace(bits, n, scale))
    offset = symmetric_offset(scale)

    def block(n: int) -> Integers:
        exponentials = Exponentials.draw(bits, n)
        return signed(floors(exponentials, scale, offset), exponentials.coins())

    return _filled(count, 1.0, block)


def _wide_laplace(bits: Bits, count: int, scale: Fraction) -> Integers:
    sizes, negative = _geometric(bits, count, scale)
    accepted = ~(negative & (sizes == 0))
    drawn: Integers = signed(sizes, negative)[accepted]
    return drawn


def signed(sizes: Integers, negative: Booleans) -> Integers:
    """−size where negative, else size; by the same steps for both, since who skips one tells the sign by his time.

    Proof   In two's complement −x = ~x + 1, and x ^ −1 = ~x, x ^ 0 = x: with m = −1 or 0, (x ^ m) − m is −x or x.
    """
    masks = -negative.astype(np.int64)
    return (sizes ^ masks) - masks


def gaussian(bits: Bits, count: int, variance: Fraction) -> Integers:
    """P(Z = z) ∝ exp(−z²/2σ²), over all integers; `variance` is σ² (the variance is just below it).

    Proof   Draw y from the discrete Laplace of scale t = ⌊σ⌋ + 1 and keep it with probability
            exp(−(|y| − σ²/t)²/2σ²): the product is exp(−y²/2σ²) times a constant (Canonne, Kamath & Steinke 2020).
            More than 44 % are kept, and how many are thrown away says nothing about those that stay.
    """
    scale = math.isqrt(math.floor(variance)) + 1
    centre, spread = float(variance) / scale, 2 * float(variance)

    def some(n: int) -> Integers:
        drawn = laplace(bits, n, Fraction(scale))
        sizes = np.abs(drawn).astype(np.float64)
        gaps = sizes - centre
        thresholds = gaps * gaps / spread
        slips = (sizes + centre) * 2.0**-51
        margins = (2 * np.abs(gaps) + slips) * slips / spread + SLACK * thresholds
        accepted = exceeds(
            Exponentials.draw(bits, n),
            thresholds,
            margins,
            lambda i: rational((abs(int(drawn[i])) - variance / scale) ** 2 / (2 * variance)),
        )
        return drawn[accepted]

    return _filled(count, 0.6, some)


def bernoulli_exp(bits: Bits, gammas: list[Fraction]) -> Booleans:
    """For each γ ≥ 0 true with probability exp(−γ): [E > γ]."""
    thresholds = np.array([float(gamma) for gamma in gammas], dtype=np.float64)
    return exceeds(Exponentials.draw(bits, len(gammas)), thresholds, SLACK * thresholds, lambda i: rational(gammas[i]))


def untruths(bits: Bits, count: int, epsilon: Fraction, others: int) -> Booleans:
    """True with probability others/(exp(ε) + others): when to answer one of the `others` instead of the truth."""
    threshold = odds_threshold(epsilon, others)

    def block(n: int) -> Integers:
        draw = Exponentials.draw(bits, n)
        return exceeds(draw, threshold.approximate, threshold.margin, lambda _: threshold).astype(np.int64)

    return _filled(count, 1.0, block).astype(np.bool_)


def _filled(count: int, accepted: float, draw: Callable[[int], Integers]) -> Integers:
    """`count` draws, block by block, by a sampler that gives about the share `kept` of what it is asked for."""
    spare = 8 if accepted < 1 else 0
    parts: list[Integers] = []
    missing = count
    while True:
        parts.append(draw(min(BLOCK, math.ceil(missing / accepted) + spare))[:missing])
        missing -= parts[-1].size
        if not missing:
            return parts[0] if len(parts) == 1 else np.concatenate(parts)
