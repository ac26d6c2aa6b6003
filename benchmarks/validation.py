"""How often validated training accepts a model of a given true loss: computed, not sampled.

10,000 rows, ε 0.1 for the test, η 0.05, losses of 0 or 1, goal 0.2. Ours beside the test of Sage (Lecuyer et al. 2019:
Laplace noise of half the cost on each of sum and count, a tail bound for each and Bernstein's for the draws, a third of
η for each of the three), and beside no corrections at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr
from scipy.stats import binom

from benchmarks.figures import Figure, at_least
from discreet.accounting.distributions import DiscreteLaplace
from discreet.stream.validation import Pair

Floats = NDArray[np.float64]
ROWS: Final = 10_000
EPSILON: Final = Fraction(1, 10)
ETA: Final = Fraction(1, 20)
GOAL: Final = Fraction(1, 5)
LOSSES: Final = (0.2, 0.19, 0.18, 0.17)
POINTS: Final = 1000
"""Quantiles of the noise on the count, for Sage's."""
APART: Final = 40
"""Noisy counts between which our threshold, which is nearly a line there, is interpolated."""


def figures() -> Iterator[Figure]:
    for loss in LOSSES:
        ours, theirs = accepted(loss, binary=False), sage(loss)
        what = f"a model of loss {loss} is accepted (goal {float(GOAL)}, {ROWS:,} rows, ε {float(EPSILON)})"
        peer = f"Sage {theirs:.3f}, uncorrected {uncorrected(loss):.2f}"
        if loss >= float(GOAL):
            yield Figure(what, f"{ours:.4f}", peer, ours / float(ETA), "at most η", ours <= float(ETA))
        else:
            yield at_least(what, f"{ours:.3f}", peer, ours / theirs, 1.0)
        exact = accepted(loss, binary=True)
        yield Figure(f"accuracies: {what}", f"{exact:.3f}", f"losses {ours:.3f}", exact / ours, "≥ 1×", exact >= ours)


# Sage's


def sage(loss: float) -> float:
    """The chance that Sage's test accepts, for losses of 0 and 1."""
    scale, third = 2 / float(EPSILON), float(ETA) / 3
    stray = scale * math.log(1 / (2 * third))

    def most(count: Floats) -> Floats:
        rows = np.maximum(count - stray, 1.0)
        room = math.log(1 / third) / rows
        inner = 2 * room + 4 * (float(GOAL) - 4 * room)
        root = (np.sqrt(np.maximum(inner, 0)) - np.sqrt(2 * room)) / 2
        return np.where(root > 0, root**2 * rows - stray, -np.inf)

    return _laplace_pair(loss, scale, most)


def uncorrected(loss: float) -> float:
    """The chance that the noisy mean is at most the goal."""
    return _laplace_pair(loss, 2 / float(EPSILON), lambda count: float(GOAL) * count)


def _laplace_pair(loss: float, scale: float, most: Callable[[Floats], Floats]) -> float:
    """P(S + Laplace ≤ most(n + Laplace)), by quantiles of the second noise and over all S."""
    quantiles = (np.arange(POINTS) + 0.5) / POINTS
    noise = np.where(quantiles < 0.5, np.log(2 * quantiles), -np.log(2 * (1 - quantiles))) * scale
    limit = most(ROWS + noise)
    sums = np.arange(*_range(loss))
    chances = binom.pmf(sums, ROWS, loss)
    by = (limit[:, None] - sums[None, :]) / scale
    below = np.where(by < 0, np.exp(np.minimum(by, 0)) / 2, 1 - np.exp(-np.maximum(by, 0)) / 2)
    return float((below @ chances).mean())


def _range(loss: float) -> tuple[int, int]:
    wide = 8 * math.sqrt(ROWS * loss * (1 - loss))
    return math.floor(ROWS * loss - wide), math.ceil(ROWS * loss + wide)


# ours


def accepted(loss: float, *, binary: bool) -> float:
    """The chance that our test accepts at η: as one of losses in general, or (accuracies) of losses of 0 and 1."""
    noise = DiscreteLaplace(1 / EPSILON)
    wide = noise.width(1 - Fraction(1, 10**6))
    totals, limits = _limits(wide, binary=binary)
    noises = np.arange(-wide, wide + 1)
    chances = np.exp(-np.abs(noises) / float(noise.scale))
    chances /= chances.sum()
    either = noises[:, None] + noises[None, :]
    limit = np.floor(np.interp(ROWS + either, totals, limits)) - noises[:, None]
    return float(chances @ bdtr(np.maximum(limit, 0), ROWS, loss) @ chances)


@lru_cache
def _limits(wide: int, *, binary: bool) -> tuple[Floats, Floats]:
    """Noisy numbers of rows, and the largest noisy sum of losses that is accepted with each."""
    totals = np.arange(ROWS - 2 * wide, ROWS + 2 * wide + APART, APART, dtype=np.float64)
    return totals, np.array([most_lost(int(total), binary=binary) for total in totals], dtype=np.float64)


def most_lost(total: int, *, binary: bool) -> int:
    fine = 1 if binary else 2**20
    steps = DiscreteLaplace(fine / EPSILON)

    def fits(lost: int) -> bool:
        return Pair(lost * fine, (total - lost) * fine, fine, steps, binary=binary).is_below(GOAL, ETA)

    low, high = 0, math.ceil(total * GOAL)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
