"""The bias of a coin by the exponential mechanism: a posterior sample in which every toss counts for very little."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Exponential, Laplace

Floats = NDArray[np.float64]
CELLS: Final = 400
"""Of the range of biases: the candidates are their middles."""
FINE: Final = 1000
"""Scores are whole thousandths, so that they are exact; rounding moves them by less than one."""


def sensitivity(low: float) -> float:
    """How far one toss moves the log-likelihood of any bias from `low` to 1 − `low`; infinite from 0 to 1.

    >>> round(sensitivity(0.1), 2), sensitivity(0)
    (2.3, inf)
    """
    return -math.log(low) if low > 0 else math.inf


def weight(epsilon: float, low: float) -> float:
    """What each toss counts for: ε/(2Δ).

    >>> round(weight(0.1, 0.1), 3)
    0.022
    """
    return epsilon / (2 * sensitivity(low))


def biases(low: float) -> Floats:
    """The candidates."""
    return np.asarray(low + (1 - 2 * low) * (np.arange(CELLS) + 0.5) / CELLS)


def density(heads: int, tails: int, epsilon: float, low: float) -> Floats:
    """Of each candidate: a Beta(1 + w·heads, 1 + w·tails) cut to the range, for w the weight of a toss."""
    each, w = biases(low), weight(epsilon, low)
    logs = w * (heads * np.log(each) + tails * np.log1p(-each))
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def chosen(heads: int, tails: int, epsilon: float, low: float) -> float:
    """A bias by the exponential mechanism: ε-private for adding or removing one toss.

    Scores are rounded to whole thousandths, each by half of one at most: a toss moves them by 1000·Δ + 1 at most.
    """
    each = biases(low)
    scores = np.rint(FINE * (heads * np.log(each) + tails * np.log1p(-each))).astype(np.int64)
    mechanism = Exponential(epsilon=epsilon, sensitivity=math.ceil(FINE * sensitivity(low)) + 1)
    return float(each[mechanism.choose(scores)])


@dataclass(frozen=True, slots=True)
class Counted:
    """The bias from two noisy counts."""

    heads: int
    tails: int
    bias: float
    mechanism: Laplace


def counted(heads: int, tails: int, epsilon: float) -> Counted:
    """Heads and tails with Laplace noise: one toss moves one of the two by one."""
    mechanism = Laplace(epsilon=epsilon, sensitivity=1)
    noisy = [max(int(value), 0) for value in mechanism.release([heads, tails])]
    return Counted(noisy[0], noisy[1], noisy[0] / sum(noisy) if sum(noisy) else 0.5, mechanism)


def spread_by_choice(tosses: int, share: float, epsilon: float, low: float) -> float:
    """The root of the expected squared error of the exponential mechanism about the share of heads."""
    heads = round(tosses * share)
    chances = density(heads, tosses - heads, epsilon, low)
    return float(np.sqrt((chances * (biases(low) - share) ** 2).sum()))


def spread_by_counts(tosses: int, share: float, epsilon: float) -> float:
    """The same of noisy counts, to first order: noise of variance 2/ε² on heads and on tails."""
    variance = Laplace(epsilon=epsilon, sensitivity=1).variance()
    return math.sqrt(variance * ((1 - share) ** 2 + share**2)) / tosses
