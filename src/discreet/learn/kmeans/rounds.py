"""Rounds of Lloyd around centres that are about right: rows count by how far they are from theirs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn.box import Floats
from discreet.learn.gram import Size, norm_for
from discreet.learn.kmeans.geometry import closest
from discreet.learn.rulers import BLOCK, MOST_ROWS
from discreet.learn.shortening import shortened
from discreet.mechanisms.arrays import Integers

ROUNDS: Final = 2
SHORT: Final = 0.7
"""Rows farther from their centre than so much of what is usual are drawn nearer: that asks for less noise."""
WEIGHT: Final = Fraction(3, 10)
"""What a count is worth beside the longest row."""
FINE: Final = 2**13
"""Steps to the limit."""
LEAST: Final = 16
"""Rounds may bring the mean squared distance down to such a part of what it was."""


def sensitivity(width: int, steps: int, norm: int) -> Sensitivity:
    """How far a row moves the vector (w, x₁ … x_D) of its cluster, with a norm of x of at most `steps`.

    Theorem  l1 ≤ w + Σ|x| and l2² ≤ w² + Σx²; other clusters do not move. Proof: one cluster has the row; the bounds
             on x are those of `gram.Size.within`.
    """
    count = _count(steps)
    row = Size.within([steps] * width, steps, norm).times(1)
    return Sensitivity(row.l1 + count, row.l2_squared + count**2)


def expected_error(width: int, clusters: int, size: float, cost: Cost, share: Fraction) -> float:
    """About how far noise moves the centre of an average cluster, in root mean square distances of its rows."""
    norm = norm_for(cost)
    limit = SHORT * _usual(width, norm) / FINE
    moved = cost.deviation(sensitivity(width, FINE, norm), share / ROUNDS)
    return moved * limit * math.sqrt(width) * clusters / size


def rounds(
    rows: Floats, places: Integers, centres: Floats, spread: float, half: Floats, exit_: Exit, share: Fraction
) -> tuple[Floats, Floats]:
    """Every centre moved to about the mean of its rows, twice, and the number of rows at each.

    Theorem  A share of the cost. Proof: each round has an equal part of it, for one release with this sensitivity:
             the difference of a row from its centre, which was released before, in whole steps is shortened to the
             limit (`shortening.shortened`), and depends on that row alone. How long the limit is follows from released
             numbers, and so do the centres.
    Source   Su, Cao, Li, Bertino & Jin 2016, for rounds after a grid; James & Stein 1961 for how far they move.

    `spread` is about the mean squared distance of rows from their centres.
    """
    norm, width, first = norm_for(exit_.cost), rows.shape[1], spread
    part, counts = share / ROUNDS, np.zeros(len(centres))
    steps = min(exit_.cost.fineness(sensitivity(width, 1, norm), part), FINE)
    moved = sensitivity(width, steps, norm)
    for turn in range(ROUNDS):
        places = closest(rows, centres) if turn else places
        limit = SHORT * _usual(width, norm) * math.sqrt(spread)
        noisy = exit_.release(_sums(rows, places, centres, limit, steps, norm), moved, part).astype(np.float64)
        counts = noisy[:, 0] / _count(steps)
        heavy = np.maximum(counts, 1)
        noise = exit_.cost.deviation(moved, part) / steps * limit / heavy
        shifts = np.where((counts > 1)[:, None], _shrunk(noisy[:, 1:] / steps * limit / heavy[:, None], noise), 0)
        after = np.clip(centres + shifts, -half, half)
        gained = float(heavy @ ((after - centres) ** 2).sum(axis=1) / heavy.sum())
        centres, spread = after, max(spread - gained, first / LEAST)
    return centres, counts


def _usual(width: int, norm: int) -> float:
    """The norm of a row, in root mean square distances: beside L2, L1 is up to √D times as long."""
    return math.sqrt(width) if norm == 1 else 1.25


def _count(steps: int) -> int:
    return max(math.floor(WEIGHT * steps), 1)


def _shrunk(shifts: Floats, noise: Floats) -> Floats:
    """How far centres move: less far where noise alone would move them, and in two dimensions as they are.

    Source   James & Stein 1961, the positive part: for three coordinates and more, always nearer in the mean.
    """
    squares = np.maximum((shifts**2).sum(axis=1), np.finfo(np.float64).tiny)
    trust = np.maximum(1 - max(shifts.shape[1] - 2, 0) * noise**2 / squares, 0)
    shrunk: Floats = shifts * trust[:, None]
    return shrunk


def _sums(rows: Floats, places: Integers, centres: Floats, limit: float, steps: int, norm: int) -> Integers:
    """For each centre the exact number of its rows, in counts, and the sums of their differences from it, in steps.

    Whole numbers below 2¹⁴ of fewer than 2³² rows stay below 2⁵³, where float64 adds exactly, in any order.
    """
    if len(rows) >= MOST_ROWS:
        raise OverflowError("more than 2**32 rows cannot be summed: fit a part of them")
    groups, width = centres.shape
    total = np.zeros((width + 1, groups))
    for start in range(0, len(rows), BLOCK):
        part = places[start : start + BLOCK]
        differences = rows[start : start + BLOCK].T - centres.T[:, part]
        short = shortened(differences, steps / limit, steps, norm)
        total[0] += _count(steps) * np.bincount(part, minlength=groups)
        for index, column in enumerate(short, start=1):
            total[index] += np.bincount(part, weights=column, minlength=groups)
    return total.T.astype(np.int64)
