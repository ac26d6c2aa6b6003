"""How far a weighted sum of independent noises can stray: narrower than adding up the width of each.

Theorem  P(|Σ wᵢZᵢ| > t) ≤ 1 − confidence for the t that `width_of_sum` gives.
Proof    The noises are symmetric, so twice P(Σ wᵢZᵢ > t) with weights |wᵢ| does. Each |wᵢ|Zᵢ is rounded up to a grid,
         which only adds to the sum, by a distribution whose tail is at least the exact one; the rounded ones are
         convolved, and what lies beyond the grid counts as a miss.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.distributions import DiscreteLaplace, Noise

Floats = NDArray[np.float64]
Terms = tuple[tuple[Noise, Fraction], ...]
CELLS: Final = 400
"""Grid cells to a standard deviation of the sum."""
_LEAST_MISS: Final = 1e-7
_LEAST_SIGMA: Final = 2.0
_ROOM: Final = 1 + 1e-9
_SLIP: Final = 1e-10
"""For the roundings of floats and Fourier transforms, with much to spare."""


@lru_cache(maxsize=2048)
def width_of_sum(terms: Terms, confidence: Fraction) -> Fraction:
    """t with P(|Σ wᵢZᵢ| ≤ t) ≥ confidence."""
    kept = tuple((noise, abs(weight)) for noise, weight in terms if weight)
    miss = 1 - confidence
    if not kept:
        return Fraction(0)
    apart = sum((weight * noise.width(1 - miss / len(kept)) for noise, weight in kept), Fraction(0))
    if len(kept) == 1 or float(miss) < _LEAST_MISS or not all(_known(noise) for noise, _ in kept):
        return apart
    together = _convolved(kept, float(miss) / 2)
    return apart if together is None else min(apart, together)


def _known(noise: Noise) -> bool:
    """Whether the float bounds below are close; else each noise is counted apart."""
    return isinstance(noise, DiscreteLaplace) or float(noise.spread) >= _LEAST_SIGMA**2


def _deviation(noise: Noise) -> float:
    return math.sqrt(2) * float(noise.scale) if isinstance(noise, DiscreteLaplace) else math.sqrt(noise.spread)


def _convolved(terms: Terms, miss: float) -> Fraction | None:
    deviations = [float(weight) * _deviation(noise) for noise, weight in terms]
    if not all(math.isfinite(size) and size > 0 for size in deviations):
        return None
    step = math.hypot(*deviations) / CELLS
    reach = math.ceil(20 * max(deviations) / step)
    total, beyond = np.ones(1), 0.0
    for noise, weight in terms:
        edges = np.arange(-reach, reach + 1, dtype=np.float64) * step
        above = _above(noise, np.asarray(edges / float(weight), dtype=np.float64))
        beyond += float(above[-1])
        masses = np.concatenate([[1 - above[0]], above[:-1] - above[1:]])
        total = _sum_of(total, np.maximum(masses, 0.0))
    tails = np.concatenate([np.cumsum(total[::-1])[::-1][1:], [0.0]]) * _ROOM + beyond + _SLIP
    first = int(np.argmax(tails <= miss))
    if tails[first] > miss:
        return None
    return Fraction(math.ceil((first - reach * len(terms)) * step * _ROOM * 2**20), 2**20)


def _sum_of(a: Floats, b: Floats) -> Floats:
    """The distribution of a sum, by Fourier transforms."""
    length = len(a) + len(b) - 1
    size = 1 << (length - 1).bit_length()
    return np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size)[:length]


def _above(noise: Noise, points: Floats) -> Floats:
    """At least P(Z > x) for each x, and falling."""
    least = np.floor(points - 1e-9 * (1 + np.abs(points))) + 1
    if isinstance(noise, DiscreteLaplace):
        q = math.exp(-1 / float(noise.scale)) if noise.scale > Fraction(1, 700) else 0.0
        rate = -1 / float(noise.scale)
        right = np.exp(rate * np.maximum(least, 1)) / (1 + q)
        left = 1 - np.exp(rate * np.maximum(1 - least, 0)) / (1 + q)
        return np.asarray(np.where(least >= 1, right, np.maximum(left, right)) * _ROOM)
    sigma = math.sqrt(noise.spread)
    # Σ exp(−z²/2σ²) from m on lies between the integrals from m and from m − 1; its normaliser is σ√(2π) within 10⁻³⁰
    right = _normal((least - 1) / sigma)
    left = 1 - _normal((1 - least) / sigma)
    return np.asarray(np.where(least >= 1, right, np.maximum(left, 0.5)) * _ROOM)


def _normal(x: Floats) -> Floats:
    """P(N > x) for a normal variable."""
    return np.array([0.5 * math.erfc(value / math.sqrt(2)) for value in x])
