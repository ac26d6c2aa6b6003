"""Intervals for many shares at once."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
BLOCK: Final = 4
"""Terms of a continued fraction that are made at once, before it is looked whether they still matter."""


def clopper_pearson_all(counts: Integers, trials: int, confidence: float) -> tuple[Floats, Floats]:
    """For each count the interval of its probability, so that all of them hold together at least this often.

    Proof   Each interval fails with probability at most (1 − confidence)/k (Clopper & Pearson 1934), and k of them
            together at most k times as often (Bonferroni), however they depend on each other.
    """
    distinct, back = np.unique(counts, return_inverse=True)
    side = (1 - confidence) / (2 * max(len(counts), 1))
    low = _lower(distinct, trials, side)
    high = 1 - _lower(trials - distinct, trials, side)
    return low[back], high[back]


def _lower(counts: Integers, trials: int, side: float) -> Floats:
    """The probability at which so many or more come with probability `side`; 0 of none.

    By Newton's method on ln I_x(k, n − k + 1), which is concave in x: after the first step, from wherever, it comes
    from below, so that where it stops is a little too low, and the interval a little too wide. It begins where the
    normal approximation ends (Wilson 1927), a step or two away.
    """
    inside = counts > 0
    a = counts[inside].astype(np.float64)
    b = trials - a + 1
    x = np.clip(_wilson(a, trials, side), a / (1000 * trials), np.minimum(a / trials, (a + 1) / (a + b + 2)))
    logs = _log_gamma(a + b) - _log_gamma(a) - _log_gamma(b)
    for _ in range(60):
        total = _fraction(x, a, b)
        excess = logs + a * np.log(x) + b * np.log1p(-x) + np.log(total / a) - math.log(side)
        x = np.maximum(x - excess * x * (1 - x) * total / a, x / 10)
        if (np.abs(excess) <= 1e-5).all():  # the step just made has squared that
            break
    lower = np.zeros(len(counts))
    lower[inside] = x * (1 - 1e-9)
    return lower


def _wilson(counts: Floats, trials: int, side: float) -> Floats:
    """About where the lower end is."""
    z = -NormalDist().inv_cdf(min(side, 0.5))
    half = z * np.sqrt(counts * (1 - counts / trials) + z * z / 4)
    return np.asarray((counts + z * z / 2 - half) / (trials + z * z))


def _fraction(x: Floats, a: Floats, b: Floats) -> Floats:
    """The continued fraction of the incomplete beta function; I_x(a, b) is it times x^a·(1 − x)^b/(a·B(a, b))."""
    c = np.ones_like(x)
    d = 1 / (1 - (a + b) * x / (a + 1))
    total = d.copy()
    for first in range(1, 20_000, BLOCK):
        last = total.copy()
        m = np.arange(first, first + BLOCK, dtype=np.float64)[:, None]
        order = a + 2 * m
        even = m * (b - m) * x / ((order - 1) * order)
        odd = -(a + m) * (a + b + m) * x / (order * (order + 1))
        for pair in zip(even, odd, strict=True):
            for term in pair:
                d = 1 / (1 + term * d)
                c = 1 + term / c
                total *= c * d
        if np.all(np.abs(total - last) <= BLOCK * 1e-11 * np.abs(total)):
            break
    return total


def _log_gamma(values: Floats) -> Floats:
    """By Stirling's series, moved up by eight where it is too short; good to 14 digits."""
    shift = np.where(values < 8, 8.0, 0.0)
    moved = values + shift
    inverse = 1 / moved
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
    large: Floats = (moved - 0.5) * np.log(moved) - moved + 0.9189385332046728 + series
    product = np.ones_like(values)
    for step in range(8):
        product = np.where(shift > 0, product * (values + step), product)
    return large - np.log(product)


def normal_quantile(confidence: float, among: int = 1) -> float:
    """z for intervals that hold together with this confidence, if each is of a normal variable."""
    return NormalDist().inv_cdf(1 - (1 - confidence) / (2 * among))
