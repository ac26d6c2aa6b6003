"""The lecture's private k-means: T rounds, a T-th of ε each, half of it for counts and half for sums.

Points are whole numbers in a square of 0 to 100, or the same with the middle as its origin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import number
from discreet.lab.invented import uniform
from discreet.mechanisms import Laplace

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SIDE: Final = 100
MIDDLES: Final = {
    "far": ((20, 20), (80, 25), (50, 80)),
    "near": ((40, 45), (55, 45), (48, 60)),
}
"""Of three invented clusters."""
START: Final = ((10, 50), (50, 10), (90, 90))
"""Where all runs begin: it depends on no point."""
WIDTH: Final = 6
"""About how far points stray from the middle of their cluster."""


@cache
def points(many: int, where: str) -> Integers:
    """Invented points, a third of them about each middle."""
    u, v = uniform(f"k-means radius {where}", many), uniform(f"k-means angle {where}", many)
    radius = WIDTH * np.sqrt(-2 * np.log(u))
    offsets = np.stack([radius * np.cos(2 * math.pi * v), radius * np.sin(2 * math.pi * v)], axis=1)
    middles = np.array(MIDDLES[where])[np.arange(many) % len(MIDDLES[where])]
    return np.asarray(np.clip(np.rint(middles + offsets), 0, SIDE), dtype=np.int64)


def nearest(rows: Integers, centres: Floats) -> Integers:
    """For each point the number of its nearest centre."""
    return np.asarray(((rows[:, None, :] - centres[None]) ** 2).sum(axis=2).argmin(axis=1), dtype=np.int64)


def cost(rows: Integers, centres: Floats) -> float:
    """The mean squared distance of points from their nearest centre."""
    return float(((rows - centres[nearest(rows, centres)]) ** 2).sum(axis=1).mean())


def plain(rows: Integers, rounds: int) -> Floats:
    """k-means without privacy, from the same start."""
    centres = np.array(START, dtype=np.float64)
    for _ in range(rounds):
        labels = nearest(rows, centres)
        for cluster in range(len(centres)):
            if (labels == cluster).any():
                centres[cluster] = rows[labels == cluster].mean(axis=0)
    return centres


@dataclass(frozen=True, slots=True)
class Private:
    """Centres after each round, and the noise that made them."""

    path: tuple[Floats, ...]
    counts: Laplace
    sums: Laplace

    @property
    def centres(self) -> Floats:
        return self.path[-1]


def domain(centred: bool) -> int:
    """|dom|: the largest L1 norm of a point, which is how far one point moves a sum of points."""
    return SIDE if centred else 2 * SIDE


def private(rows: Integers, rounds: int, epsilon: float, *, centred: bool) -> Private:
    """The lecture's algorithm.

    Theorem  ε-DP for adding or removing one point.
    Proof    A round assigns points by centres that are noisy already: post-processing. One point is in one cluster: it
             moves one count by 1 and one sum by |dom| in L1. Both have ε/(2T), and T rounds add up to ε.
    """
    share = number(epsilon, "epsilon") / (2 * rounds)
    counts, sums = Laplace(epsilon=share, sensitivity=1), Laplace(epsilon=share, sensitivity=domain(centred))
    origin = SIDE // 2 if centred else 0
    centres = np.array(START, dtype=np.float64)
    path = [centres]
    for _ in range(rounds):
        labels = nearest(rows, centres)
        exact_counts = np.bincount(labels, minlength=len(centres)).astype(np.int64)
        exact_sums = np.zeros((len(centres), 2), dtype=np.int64)
        np.add.at(exact_sums, labels, rows - origin)
        noisy_counts = np.asarray(counts.release(exact_counts), dtype=np.float64)
        noisy_sums = np.asarray(sums.release(exact_sums.ravel()), dtype=np.float64).reshape(-1, 2)
        moved = origin + noisy_sums / np.maximum(noisy_counts, 1)[:, None]
        centres = np.where((noisy_counts >= 1)[:, None], np.clip(moved, 0, SIDE), centres)
        path.append(centres)
    return Private(tuple(path), counts, sums)
