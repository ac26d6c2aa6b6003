"""Where a number lies whose noisy value is seen only because it passed a threshold."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from discreet.accounting.distributions import Noise
from discreet.accounting.rounding import NEAREST, decimal

_PARTS: Final = 64
"""Parts of a usual width: how far above the threshold a value lies is rounded to one of them."""
_RARE: Final = Fraction(1, 100)
"""Where so few values of a number would not have passed, a little more confidence makes up for it."""

_SURE: Final = 1 - Fraction(1, 10**40)
"""Room for the roundings of decimals."""


def interval(value: int, threshold: int, noise: Noise, miss: Fraction) -> tuple[int, int]:
    """Where n ≥ 1 lies, of which n + Z = value was seen because it is at least the threshold τ.

    Theorem  Given that n + Z passes, the interval misses n with probability at most `miss`, for every n.
    Proof    n is left out above where P(n + Z ≤ value | n + Z ≥ τ) ≤ miss/2, below where P(n + Z ≥ value | n + Z ≥ τ)
             ≤ miss/2. For each n either happens with probability at most miss/2 given that it passed, as the
             distribution function of a variable is at most t with probability at most t. It remains that these n are
             all those beyond an end. The noise is log-concave, so the ratio of the probabilities of n + 1 + Z and n + Z
             grows with what is seen, also where only values from τ on are looked at: given that it passed, n + Z grows
             with n in distribution. With n = value − d the second probability is P(Z ≥ d)/P(Z ≥ d − gap), where
             gap = value − τ: it falls with the gap, and likewise the first one grows with it. So a gap that is rounded
             down for the lower end, and up for the upper one, leaves out less. The value itself is put in.
    Error    Far above the threshold it is the usual interval, for a hundredth less of `miss`: the numbers at its ends
             pass but for one time in a hundred. Near it the lower end falls, to 1: who passes by luck does so narrowly.
    Source   Inverting tests of a truncated family: Lehmann & Romano 2005, §3.5; the likelihood ratio: Karlin 1968.
    """
    half, far = _usual(noise, miss)
    gap = max(value - threshold, 0)
    if gap >= far:
        return max(value - half, 1), value + half
    part = max(far // _PARTS, 1)
    below = _down(noise, threshold + far, gap - gap % part, miss)
    above = _up(noise, min(gap + -gap % part, far), miss)
    return max(value - below, 1), value + above


@lru_cache(maxsize=1024)
def _usual(noise: Noise, miss: Fraction) -> tuple[int, int]:
    """A half-width, and how far above the threshold it holds."""
    half = noise.width(1 - miss * (1 - _RARE))
    return half, half + noise.width(1 - 2 * _RARE) + 1


@lru_cache(maxsize=4096)
def _down(noise: Noise, most: int, gap: int, miss: Fraction) -> int:
    """The least d ≥ 0 such that n = value − d − 1 is left out, or `most`, which is as far as n can lie below."""

    def is_out(d: int) -> bool:
        return _at_most(noise.tail(d + 1)[1], noise.tail(d + 1 - gap)[0], miss)

    return _least(is_out, most)


@lru_cache(maxsize=4096)
def _up(noise: Noise, gap: int, miss: Fraction) -> int:
    """The least e ≥ 0 such that n = value + e + 1 is left out."""

    def is_out(e: int) -> bool:
        passing = noise.tail(-gap - e - 1)
        seen = NEAREST.subtract(passing[1], noise.tail(-e)[0])
        return _at_most(seen, passing[0], miss)

    return _least(is_out, None)


def _at_most(part: Decimal, whole: Decimal, miss: Fraction) -> bool:
    """Whether a conditional probability is at most half of `miss`; not, where that is not sure."""
    return part <= NEAREST.multiply(decimal(miss / 2 * _SURE), whole)


def _least(is_out: Callable[[int], bool], most: int | None) -> int:
    """The least number for which it is so, or `most`: by doubling, then by halving."""
    high = 1
    if is_out(0):
        return 0
    while (most is None or high < most) and not is_out(high):
        high *= 2
    low, high = high // 2, high if most is None else min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_out(middle) else (middle, high)
    return high
