"""What the statistical tests share: exact laws, and verdicts with a stated rate of false alarms.

A verdict is a p-value, and the test fails if it is below ALARM = 10⁻¹⁰. The chi-square tail is an approximation
there, but every bin expects at least LEAST_EXPECTED draws, for which the true rate is below 10⁻⁹ (`test_statistics.py`
computes it). A session makes fewer than 500 verdicts, so all of them together raise a false alarm at a rate below 10⁻⁶.
"""
# ruff: noqa: A005 (tests is a package: nothing is shadowed)

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

ALARM: Final = 1e-10
LEAST_EXPECTED: Final = 200
MOST_BINS: Final = 64

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Law:
    """A distribution on the integers first, first + 1, …; what is left out beyond the ends is below 10⁻¹⁶."""

    first: int
    probabilities: Floats

    def wrapped(self, modulus: int) -> Law:
        """The law of the remainder."""
        places = (self.first + np.arange(self.probabilities.size)) % modulus
        return Law(0, np.bincount(places, weights=self.probabilities, minlength=modulus).astype(np.float64))


def law(probabilities: Sequence[float]) -> Law:
    """The law on 0, 1, … with these probabilities."""
    return Law(0, np.array(probabilities, dtype=np.float64))


def laplace_law(scale: Fraction | int) -> Law:
    sensitivity = math.ceil(40 * scale) + 1
    sizes = np.abs(np.arange(-sensitivity, sensitivity + 1))
    return Law(-sensitivity, math.tanh(1 / (2 * float(scale))) * np.exp(-sizes / float(scale)))


def geometric_law(scale: Fraction | int) -> Law:
    sensitivity = math.ceil(40 * scale) + 1
    return Law(0, -math.expm1(-1 / float(scale)) * np.exp(-np.arange(sensitivity + 1) / float(scale)))


def gaussian_law(variance: Fraction | int) -> Law:
    sensitivity = math.ceil(9 * math.sqrt(variance)) + 1
    weights = np.exp(-(np.arange(-sensitivity, sensitivity + 1) ** 2) / (2 * float(variance)))
    return Law(-sensitivity, weights / weights.sum())


def bernoulli_law(probability: float) -> Law:
    return law([1 - probability, probability])


def misfit(values: ArrayLike, expected: Law) -> float:
    """The chi-square p-value of independent integer draws. A draw outside the law's range has p-value 0."""
    places = np.asarray(values, dtype=np.int64).ravel() - expected.first
    if places.min() < 0 or places.max() >= expected.probabilities.size:
        return 0.0
    counts = np.bincount(places, minlength=expected.probabilities.size)
    starts = bins(places.size * expected.probabilities)
    seen = np.add.reduceat(counts, starts)
    due = np.add.reduceat(places.size * expected.probabilities, starts)
    if due.size == 1:
        raise ValueError("too few draws to tell anything: all of them fall in one bin")
    return float(stats.chi2.sf(np.sum((seen - due) ** 2 / due), due.size - 1))


def bins(due: Floats) -> NDArray[np.intp]:
    """Where each bin starts: not many more than MOST_BINS, finer towards the tails, none below LEAST_EXPECTED."""
    before = np.concatenate([[0.0], np.cumsum(due)])
    total, starts = float(before[-1]), [0]
    while True:
        done = float(before[starts[-1]])
        need = max(LEAST_EXPECTED, min(total / MOST_BINS, done, (total - done) / 2))
        place = int(np.searchsorted(before, done + need))
        if place >= due.size or total - before[place] < LEAST_EXPECTED:
            break
        starts.append(place)
    return np.array(starts)


def strays(values: NDArray[np.int64], cdf: Callable[..., Any]) -> float:
    """The Kolmogorov–Smirnov p-value of draws so wide that their steps do not show against a continuous law."""
    return float(stats.kstest(values.astype(np.float64), cdf, method="asymp").pvalue)


def fair(heads: int, tosses: int) -> float:
    """The exact p-value of `heads` under a fair coin."""
    return float(stats.binomtest(heads, tosses).pvalue)
