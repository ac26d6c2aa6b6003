"""How far a weighted sum of independent noises can stray: narrower than adding up the width of each.

Theorem  P(|Σ wᵢZᵢ| > t) ≤ 1 − confidence for the t that `width_of_sum` gives.
Proof    The noises are symmetric, so twice P(Σ wᵢZᵢ > t) with weights |wᵢ| does. Each |wᵢ|Zᵢ is rounded up to a grid,
         which only adds to the sum, by a distribution whose tail is at least the exact one; the rounded ones are
         convolved, and what lies beyond the grid counts as a miss. Wide noises are compared with continuous ones
         instead: see `_dominated`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, TypeAlias

from discreet.accounting.distributions import DiscreteLaplace, Noise
from discreet.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Terms = tuple[tuple[Noise, Fraction], ...]
CELLS: Final = 400
"""Grid cells to a standard deviation of the sum."""
_LEAST_MISS: Final = 1e-7
_LEAST_SIGMA: Final = 2.0
"""From here on the normaliser of a discrete Gaussian is that of the continuous one, within 10⁻³⁰."""
_SUMMED: Final = 128.0
"""Up to this σ its tails are added up; beyond, they are compared with those of the continuous one."""
_MOST: Final = 10**60
"""Weights and scales up to here, and down to one part in it, have floats whose squares are floats too."""
_NARROW: Final = Fraction(1, 50)
"""Of a width, what may be given away for a quick answer."""
_ROOM: Final = 1 + 1e-9
_POINTS: Final = 512
_CHORD: Final = 0.25 / (8 * _POINTS**2)
"""Between points of the normal curve, whose second derivative is below ¼."""
_APART: Final = 1.02
"""How far apart scales are made, so that floats do not cancel."""
_SLIP: Final = 1e-10
"""For the roundings of floats and Fourier transforms, with much to spare."""


@lru_cache(maxsize=2048)
def width_of_sum(terms: Terms, confidence: Fraction) -> Fraction:
    """t with P(|Σ wᵢZᵢ| ≤ t) ≥ confidence."""
    nonzero = tuple((noise, abs(weight)) for noise, weight in terms if weight)
    miss = 1 - confidence
    if not nonzero:
        return Fraction(0)
    if len(nonzero) == 1 or float(miss) < _LEAST_MISS or not all(_known(*term) for term in nonzero):
        return _apart(nonzero, miss)
    simple = _dominated(nonzero, float(miss) / 2)
    if simple is not None and sum(weight for _, weight in nonzero) <= _NARROW * simple:
        return simple
    together, apart = _convolved(nonzero, float(miss) / 2), _apart(nonzero, miss)
    return apart if together is None else min(apart, together)


def width_up_to(terms: Terms, confidence: Fraction) -> Fraction:
    """t with P(|Σ vᵢZᵢ| ≤ t) ≥ confidence for all weights |vᵢ| ≤ |wᵢ|; it grows with every weight.

    Weights are rounded up to a few digits first: many groups have nearly the same.

    Proof   Widths that are added up grow with the weights. So does the width of continuous noises that dominate: these
            are symmetric and unimodal, and so is the sum of all but one, which is as likely to stay within t as the
            last one moves it less (Anderson 1955). `_dominated` holds for whatever weights, with the sum of them added.
    """
    return _width_up_to(tuple((noise, _rounded_up(abs(weight))) for noise, weight in terms if weight), confidence)


def _rounded_up(weight: Fraction) -> Fraction:
    """Twelve bits of it, not below."""
    bits = weight.numerator.bit_length() - weight.denominator.bit_length() - 12
    scale = Fraction(2) ** bits
    return math.ceil(weight / scale) * scale


@lru_cache(maxsize=4096)
def _width_up_to(terms: Terms, confidence: Fraction) -> Fraction:
    if not terms:
        return Fraction(0)
    apart = _apart(terms, 1 - confidence)
    if not all(_known(*term) for term in terms) or 1 - confidence < _LEAST_MISS:
        return apart
    simple = _dominated(terms, float(1 - confidence) / 2)
    return apart if simple is None else min(apart, simple)


def _apart(terms: Terms, miss: Fraction) -> Fraction:
    """Each noise within a width of its own."""
    return sum((weight * width(noise, 1 - miss / len(terms)) for noise, weight in terms), Fraction(0))


@lru_cache(maxsize=4096)
def width(noise: Noise, confidence: Fraction) -> int:
    """Half of the smallest interval that holds with this confidence."""
    return noise.width(confidence)


def _dominated(terms: Terms, miss: float) -> Fraction | None:
    """The width by continuous noises, for terms of one kind; None for others.

    Proof   Discrete noise is at most continuous noise of the same scale plus 1, in distribution: for m ≥ 1,
            P(Z ≥ m) ≤ P(X ≥ m − 1), as the sum of a falling density lies below its integral, and for m ≤ 0 the
            complement says the same, as the sum lies above the next integral. So Σ wZ is at most Σ wX + Σ w. That
            takes normalisers that are the same: none for narrow Gaussians.
    """
    if any(not isinstance(noise, DiscreteLaplace) and noise.spread < _LEAST_SIGMA**2 for noise, _ in terms):
        return None
    sizes = [float(weight) * _scale(noise) for noise, weight in terms]
    slack = sum((weight for _, weight in terms), Fraction(0))
    if all(isinstance(noise, DiscreteLaplace) for noise, _ in terms):
        half_width = _two_laplaces(sizes[0], sizes[1], miss) if len(sizes) == 2 else _laplaces(sizes, miss)
    elif any(isinstance(noise, DiscreteLaplace) for noise, _ in terms):
        return None
    else:
        half_width = -NormalDist().inv_cdf(miss) * math.hypot(*sizes)
    return Fraction(half_width * (1 + 1e-6)) + slack


def _scale(noise: Noise) -> float:
    return float(noise.scale) if isinstance(noise, DiscreteLaplace) else math.sqrt(noise.spread)


def _two_laplaces(a: float, b: float, miss: float) -> float:
    """t with P(X + Y > t) ≤ miss for Laplace variables of scales a and b.

    P(X + Y > t) = (a²·exp(−t/a) − b²·exp(−t/b)) / (2(a² − b²)), and (2 + t/a)·exp(−t/a)/4 for a = b; it grows with
    either scale, so scales that are nearly the same may be made the same.
    """
    if abs(a - b) < 1e-4 * (a + b):
        a = b = max(a, b)

    def beyond(t: float) -> float:
        if a == b:
            return (2 + t / a) * math.exp(-t / a) / 4
        return (a * a * math.exp(-t / a) - b * b * math.exp(-t / b)) / (2 * (a * a - b * b))

    return _where(beyond, miss, a + b)


def _laplaces(sizes: Sequence[float], miss: float) -> float:
    """t with P(X₁ + … > t) ≤ miss for Laplace variables of these scales.

    The characteristic function Π 1/(1 + a²x²) has partial fractions: P(Σ > t) = Σ ½·A·exp(−t/a) with A the product of
    a²/(a² − b²) over the other scales b. Scales that are nearly the same are first made larger, until they differ.
    """
    apart: list[float] = []
    for size in sorted(sizes):
        apart.append(max(size, apart[-1] * _APART) if apart else size)
    parts = [(math.prod(1 / (1 - (b / a) ** 2) for b in apart if b != a) / 2, a) for a in apart]

    def beyond(t: float) -> float:
        return math.fsum(part * math.exp(-t / a) for part, a in parts)

    return _where(beyond, miss, math.fsum(apart))


def _where(beyond: Callable[[float], float], miss: float, start: float) -> float:
    """Where a falling probability is no more than this."""
    low, high = 0.0, start
    while beyond(high) > miss:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle) > miss else (low, middle)
    return high


def _known(noise: Noise, weight: Fraction) -> bool:
    """Whether the float bounds below are close; else each noise is counted apart."""
    size = noise.scale if isinstance(noise, DiscreteLaplace) else noise.spread
    return all(Fraction(1, _MOST) <= number <= _MOST for number in (size, weight))


def deviation(noise: Noise) -> float:
    return math.sqrt(2) * float(noise.scale) if isinstance(noise, DiscreteLaplace) else math.sqrt(noise.spread)


def _convolved(terms: Terms, miss: float) -> Fraction | None:
    grid = rounded_up(terms)
    tails = np.concatenate([np.cumsum(grid.masses[::-1])[::-1][1:], [0.0]]) * _ROOM + grid.beyond
    first = int(np.argmax(tails <= miss))
    if tails[first] > miss:
        return None
    return Fraction(math.ceil((first + grid.first) * grid.step * _ROOM * 2**20), 2**20)


@dataclass(frozen=True, slots=True, eq=False)
class Rounded:
    """A sum of noises, rounded up to the points (first + i)·step of a grid."""

    masses: Floats
    """Of each point."""
    first: int
    step: float
    beyond: float
    """At least what lies beyond the last point, with room for roundings."""

    def most(self, rising: Callable[[Floats], Floats]) -> float:
        """At least E f(Σ wᵢZᵢ), for a rising function f with values from 0 to 1."""
        points = (np.arange(len(self.masses), dtype=np.float64) + self.first) * self.step
        return float(np.maximum(self.masses, 0.0) @ rising(points)) * _ROOM + self.beyond


def rounded_up(terms: Terms) -> Rounded:
    """The distribution of Σ |wᵢ|Zᵢ with each term rounded up to a grid: its tails are at least the exact ones."""
    deviations = [float(weight) * deviation(noise) for noise, weight in terms]
    step = math.hypot(*deviations) / CELLS
    cells = math.ceil(20 * max(deviations) / step)
    parts, beyond = [], 0.0
    for noise, weight in terms:
        edges = np.arange(-cells, cells + 1, dtype=np.float64) * step
        tail = above(noise, np.asarray(edges / float(weight), dtype=np.float64))
        beyond += float(tail[-1])
        masses = np.concatenate([[1 - tail[0]], tail[:-1] - tail[1:]])
        parts.append(np.maximum(masses, 0.0))
    return Rounded(reduce(sum_of, parts), -cells * len(terms), step, beyond + _SLIP)


def sum_of(a: Floats, b: Floats) -> Floats:
    """The distribution of a sum, by Fourier transforms."""
    length = len(a) + len(b) - 1
    size = 1 << (length - 1).bit_length()
    return np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size)[:length]


def above(noise: Noise, points: Floats) -> Floats:
    """At least P(Z > x) for each x, and falling."""
    least = np.floor(points - 1e-9 * (1 + np.abs(points))) + 1
    if isinstance(noise, DiscreteLaplace):
        q = math.exp(-1 / float(noise.scale)) if noise.scale > Fraction(1, 700) else 0.0
        rate = -1 / float(noise.scale)
        right = np.exp(rate * np.maximum(least, 1)) / (1 + q)
        left = 1 - np.exp(rate * np.maximum(1 - least, 0)) / (1 + q)
        return np.asarray(np.where(least >= 1, right, np.maximum(left, right)) * _ROOM)
    sigma = math.sqrt(noise.spread)
    if sigma <= _SUMMED:
        tails = _summed(sigma)
        right = tails[np.clip(least, 1, len(tails) - 1).astype(np.int64)] * _ROOM
        left = 1 - tails[np.clip(1 - least, 1, len(tails) - 1).astype(np.int64)] / _ROOM
        return np.asarray(np.where(least >= 1, right, left) * _ROOM)
    # Σ exp(−z²/2σ²) from m on lies between the integrals from m and from m − 1; its normaliser is σ√(2π) within 10⁻³⁰
    right = _normal(np.maximum(least - 1, 0) / sigma)
    left = 1 - _normal(np.maximum(1 - least, 0) / sigma) + _CHORD
    return np.asarray(np.where(least >= 1, right, np.maximum(left, 0.5)) * _ROOM)


@lru_cache(maxsize=64)
def _summed(sigma: float) -> Floats:
    """P(Z ≥ m) of a discrete Gaussian for each m ≥ 0, as far as floats go, and within 10⁻¹¹ of it."""
    weights = np.exp(-(np.arange(math.ceil(38 * sigma) + 2) ** 2) / (2 * sigma * sigma))
    from_each = np.cumsum(weights[::-1])[::-1]
    return np.asarray(from_each / (weights[0] + 2 * from_each[1]))


def _normal(x: Floats) -> Floats:
    """At least P(N > x) for a normal variable and x ≥ 0, and at most `_CHORD` above: a convex curve lies below its
    chords."""
    points, tails = _normal_tails()
    return np.interp(x, points, tails)


@lru_cache(maxsize=1)
def _normal_tails() -> tuple[Floats, Floats]:
    points = np.arange(0, 39 * _POINTS + 1) / _POINTS
    return points, np.array([0.5 * math.erfc(float(x) / math.sqrt(2)) for x in points])
