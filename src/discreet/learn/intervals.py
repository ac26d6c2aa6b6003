"""Where ratios of noisy sums lie, and the area under a curve of noisy counts: every value is tested (Fieller 1954).

As `accounting.fieller`, for one vector of many cells with the same noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final

import numpy as np

from discreet.accounting.combination import width_up_to
from discreet.accounting.distributions import DiscreteLaplace, Noise
from discreet.accounting.fieller import ENOUGH, ROUNDS
from discreet.learn.box import Floats

Ends = tuple[float, float]
FEW: Final = 2
"""Laplace noises whose sum is looked at exactly; of more, floats would cancel."""
ROOM: Final = 1 + 1e-6
"""For the roundings of floats, with much to spare."""
LEAST_SIGMA: Final = 2.0
LEAST_MISS: Final = Fraction(1, 10**14)
TILTS: Final = 1 - np.logspace(-4, -0.002, 80)
"""Of what an exponential moment of Laplace noise may be tilted by."""
CUTS: Final = 32
"""Cells that a line of values is cut into, and the cells at its ends again."""


@dataclass(frozen=True, slots=True)
class Width:
    """How far a weighted sum of independent noises strays.

    Theorem  P(|Σ vZ| > t) ≤ miss for all weights |v| ≤ |w|, with t what it gives for w; it grows with every weight.
    Proof    For few Laplace noises that is the theorem of `width_up_to`. For Gaussian ones of σ ≥ 2 it is as proven
             there: |Σ vZ| is at most a normal variable of deviation σ‖v‖, plus Σ|v|. And for all, by Markov's
             inequality, P(Σ vZ > t) ≤ exp(−θt)·Π E exp(θvZ) for any θ. A discrete Gaussian has E exp(xZ) ≤ exp(σ²x²/2)
             (Canonne, Kamath & Steinke 2020, Lemma 21), a discrete Laplace (1 − q)²/((1 − q·e^x)(1 − q·e^−x)) with
             q = exp(−1/scale), for |x| < 1/scale. Both are even and grow with |x|. Twice that for both sides. The last
             t holds for the largest of all partial sums in one order, too, which `partial` asks for (Doob's inequality
             for the submartingale exp(θ·Σ vZ)).
    """

    noise: Noise
    miss: Fraction

    def __call__(self, weights: Floats, *, partial: bool = False) -> float:
        nonzero = np.abs(weights[weights != 0])
        if not nonzero.size:
            return 0.0
        if isinstance(self.noise, DiscreteLaplace):
            tail = _laplace_tail(float(self.noise.scale), nonzero, math.log(2 / self.miss))
            if not partial and nonzero.size <= FEW:
                terms = tuple((self.noise, Fraction(weight)) for weight in nonzero.tolist())
                tail = min(tail, float(width_up_to(terms, 1 - self.miss)))
            return tail * ROOM
        length, sigma = math.sqrt(float(nonzero @ nonzero)), math.sqrt(self.noise.spread)
        tail = length * sigma * math.sqrt(2 * math.log(2 / self.miss))
        if not partial and sigma >= LEAST_SIGMA and self.miss > LEAST_MISS:
            normal = -NormalDist().inv_cdf(float(self.miss) / 2)
            tail = min(tail, normal * length * sigma + float(nonzero.sum()))
        return tail * ROOM


def _laplace_tail(scale: float, weights: Floats, log: float) -> float:
    """The least t over some θ. (1 − q·e^x)(1 − q·e^−x) is (1 − q)² − 4q·sinh²(x/2): only its ratio to (1 − q)²."""
    tilts = TILTS / (scale * weights.max())
    grown = 4 * np.sinh(np.multiply.outer(tilts, weights) / 2) ** 2
    parts = math.exp(-1 / scale) * grown / math.expm1(-1 / scale) ** 2
    moments = np.where(parts < 1 - 1e-12, -np.log1p(-np.minimum(parts, 1 - 1e-12)), np.inf).sum(axis=1)
    return float(((moments + log) / tilts).min())


def ratio(cells: Floats, top: Floats, bottom: Floats, width: Width, within: Ends) -> Ends:
    """Where Σ top·x / Σ bottom·x lies, of exact cells x that these are with noise; `within` where it lies anyway.

    Theorem  It misses with probability at most `width.miss`. Proof: that of `accounting.fieller.ratio`.
    """
    above, below = float(top @ cells), float(bottom @ cells)
    if below <= 0:
        return within

    def tested(low: float, high: float) -> Ends:
        half = width(np.maximum(np.abs(top - low * bottom), np.abs(top - high * bottom)))
        return (above - half) / below, (above + half) / below

    return narrowed(within, tested)


def narrowed(ends: Ends, tested: Callable[[float, float], Ends]) -> Ends:
    """Ends of what lies between these, and between those that a test finds for it, repeated while it is worth it."""
    for _ in range(ROUNDS):
        before, (low, high) = ends, tested(*ends)
        ends = min(max(low, before[0]), before[1]), min(max(high, before[0]), before[1])
        if ends[1] - ends[0] >= float(ENOUGH) * (before[1] - before[0]):
            break
    return ends


# the area under the curve


def area(positive: Floats, negative: Floats, noise: Noise, miss: Fraction) -> Ends:
    """Where the area under the ROC curve lies, of noisy counts of either class by the bins of their scores, in order.

    Theorem  It misses the area of the exact scores with probability at most `miss`; what bins do not tell is in it.
    Proof    Let P and N be the exact counts and θ the area: of P·N pairs, θ are in order, ties counted by half. Pairs
             of one bin may be in any order, so PᵀLN ≤ θ|P||N| ≤ PᵀUN with L = [j < i] and U = [j ≤ i]. So
             Pᵀ(L − θ)N ≤ 0 and Pᵀ(U − θ)N ≥ 0. With noises Y on P and Z on N, and P', N' the noisy counts,
             P'ᵀAN' = PᵀAN + (AᵀP)ᵀZ + (AN)ᵀY + YᵀAZ. The weights of the two sums in the midst are those of P' and N'
             but for sums of Y or Z from or to some bin, and θ times all of them: at most (1 + θ) times the largest of
             such sums. So are the weights AZ that Y has in the last one, given Z. Five events: the largest sums of Y,
             those of Z, and the last sum, with a twentieth of `miss` each; and for either matrix the sum of all 2k
             noises, on the one side that matters, with 17/40. θ is tested in cells, with the larger weights of the two
             ends of each.
    """
    bins = np.ones(len(positive))
    stray = Width(noise, miss / 20)(bins, partial=True)
    width, last = Width(noise, miss * Fraction(17, 20)), Width(noise, miss / 20)(bins)

    def room(order: Floats, ends: Ends) -> float:
        off = (1 + ends[1]) * stray
        first = np.maximum(*(np.abs((order - end) @ negative) for end in ends))
        second = np.maximum(*(np.abs((order - end).T @ positive) for end in ends))
        return width(np.concatenate([first, second]) + off) + off * last

    lower, upper = np.tri(len(positive), k=-1), np.tri(len(positive))
    pairs = float(positive.sum() * negative.sum())
    fewest, most = (float(positive @ order @ negative) for order in (lower, upper))

    def possible(low: float, high: float) -> bool:
        """Whether an area in this cell passes both tests."""
        least, largest = min(low * pairs, high * pairs), max(low * pairs, high * pairs)
        return fewest - largest <= room(lower, (low, high)) and most - least >= -room(upper, (low, high))

    cuts = np.linspace(0, 1, CUTS + 1)
    low = _first(cuts, possible)
    high = 1 - _first(cuts, lambda one, other: possible(1 - other, 1 - one))
    return (low, high) if low < high else (0.0, 1.0)


def _first(cuts: Floats, possible: Callable[[float, float], bool]) -> float:
    """Where the first possible cell begins, of the cells between cuts and then of finer ones within it; 1 if none."""
    for finer in (True, False):
        for low, high in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            if possible(low, high):
                break
        else:
            return 1.0
        if finer:
            cuts = np.linspace(low, high, CUTS + 1)
    return float(low)
