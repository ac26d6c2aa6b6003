"""Curves from noisy sums: what is likely of a feature, given what was released of it. All of it is post-processing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.learn.box import Floats
from discreet.mechanisms.arrays import Integers

VARIANCES: Final = np.concatenate([[0.0], 4.0 ** np.arange(-5, 1)])
"""How much a curve may vary, in parts of the most that it does,"""
LIKELY: Final = np.concatenate([[0.5], np.full(6, 1 / 12)])
"""and how likely each is: half of all features have none."""
ROUGH: Final = 0.02
"""So much of that is for each bin by itself."""


def contrasts(bins: int) -> Integers:
    """Halves of the range against each other, halves of the halves, and so on: Haar's wavelets.

    Each bin is in as many of them as `bins` can be halved, with the sign 1 or −1. Broad ones have no more noise than
    narrow ones, and it is broad ones that most curves are made of.
    """
    lines = []
    length = bins
    while length > 1:
        for start in range(0, bins, length):
            line = np.zeros(bins, dtype=np.int64)
            line[start : start + length // 2], line[start + length // 2 : start + length] = 1, -1
            lines.append(line)
        length //= 2
    return np.array(lines, dtype=np.int64).reshape(bins - 1, bins)


@dataclass(frozen=True, slots=True, eq=False)
class Smoother:
    """The mean of what a feature's curve may be, given noisy sums of what its bins lack.

    Before anything is released a curve is a random walk over the rows in the order of the feature, with the mean 0 and
    one of several variances (Wahba 1978: its mean given data is a smoothing spline). Sums of a bin are
    about counts·curvature·curve, plus what rows vary within it, plus noise. How likely each variance is, given the
    sums, is its weight: a curve that noise hides goes to zero, and a clear one is left as it is.
    """

    ahead: Floats
    values: Floats
    back: Floats
    most: float

    @classmethod
    def of(
        cls, matrix: Integers, counts: Floats, curvature: float, spread: float, noise: float, most: float
    ) -> Smoother:
        """For sums matrix·s of bins with so many rows, in which each varies by `spread`, plus noise: variances both."""
        sums = matrix * counts
        prior = _walk(counts)
        seen = sums * curvature
        other = (sums * spread) @ matrix.T + noise * np.eye(len(matrix))
        root = np.linalg.cholesky(other)
        scaled = np.linalg.solve(root, seen)
        values, vectors = np.linalg.eigh(scaled @ prior @ scaled.T)
        ahead = np.linalg.solve(root.T, vectors).T
        return cls(ahead, np.maximum(values, 0.0), prior @ scaled.T @ vectors, most)

    def curve(self, noisy: Floats) -> Floats:
        """A column for each column of noisy sums; all have the same variance."""
        seen = self.ahead @ noisy
        grown = 1 + self.most * VARIANCES[:, None] * self.values
        misfit = ((seen**2).sum(axis=1) / grown).sum(axis=1) + noisy.shape[1] * np.log(grown).sum(axis=1)
        weights = LIKELY * np.exp((misfit.min() - misfit) / 2)
        gains = (weights / weights.sum()) @ (self.most * VARIANCES[:, None] / grown)
        curve: Floats = self.back @ (gains[:, None] * seen)
        return curve


def _walk(counts: Floats) -> Floats:
    """The covariance of a random walk, less its mean over the rows; 1 at most."""
    share = counts / counts.sum()
    middle = np.cumsum(share) - share / 2
    walk = (1 - ROUGH) * (1 - 2 * np.abs(middle[:, None] - middle)) + ROUGH * np.eye(len(counts))
    centred = np.eye(len(counts)) - share
    covariance: Floats = centred @ walk @ centred.T
    return covariance
