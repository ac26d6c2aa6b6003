"""Rounds of Lloyd around centres that are about right: rows count by how far they are from theirs."""

from __future__ import annotations

import math
from dataclasses import dataclass
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

ROUNDS: Final = (4, 3, 2)
ACCURATE: Final = 0.03
"""More than two rounds are taken if noise then moves a centre by less than so much of the distance of its rows,"""
WORTH: Final = 0.3
"""and none if two would move it by more than that."""
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


def turns_for(width: int, clusters: int, size: float, cost: Cost, share: Fraction) -> int:
    """How many rounds so many rows are enough for, by public and released numbers; 0 if noise would spoil them."""
    errors = {turns: expected_error(width, clusters, size, cost, share / turns) for turns in ROUNDS}
    fewest = ROUNDS[-1] if errors[ROUNDS[-1]] < WORTH else 0
    return next((turns for turns, error in errors.items() if error < ACCURATE), fewest)


def expected_error(width: int, clusters: int, size: float, cost: Cost, share: Fraction) -> float:
    """About how far noise moves the centre of an average cluster, in root mean square distances of its rows."""
    norm = norm_for(cost)
    limit = SHORT * _usual(width, norm) / FINE
    return cost.deviation(sensitivity(width, FINE, norm), share) * limit * math.sqrt(width) * clusters / size


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Released before the first round."""

    centres: Floats
    counts: Floats
    spreads: Floats
    """About the mean squared distance of the rows of each centre from it."""


def rounds(
    rows: Floats, places: Integers, start: Start, ends: tuple[Floats, Floats], turns: int, exit_: Exit, share: Fraction
) -> tuple[Floats, Floats]:
    """Every centre moved to about the mean of its rows, so many times, and the number of rows at each.

    Theorem  A share of the cost. Proof: each round has an equal part of it, for one release with this sensitivity:
             the difference of a row from its centre, which was released before, in whole steps is shortened to the
             limit of that centre (`shortening.shortened`), and depends on that row alone. How long limits are follows
             from released numbers, and so do the centres.
    Source   Su, Cao, Li, Bertino & Jin 2016, for rounds after a grid; James & Stein 1961 for how far they move.
    """
    norm, width, part = norm_for(exit_.cost), rows.shape[1], share / turns
    centres, counts, spreads = start.centres, start.counts, start.spreads
    steps = min(exit_.cost.fineness(sensitivity(width, 1, norm), part), FINE)
    moved = sensitivity(width, steps, norm)
    for turn in range(turns):
        places = closest(rows, centres) if turn else places
        limits = _limits(counts, spreads, width, norm)
        noisy = exit_.release(_sums(rows, places, centres, limits, steps, norm), moved, part).astype(np.float64)
        counts = noisy[:, 0] / _count(steps)
        heavy = np.maximum(counts, 1)
        scale = limits / steps / heavy
        noise = exit_.cost.deviation(moved, part) * scale
        shifts = np.where((counts > 1)[:, None], _shrunk(noisy[:, 1:] * scale[:, None], noise), 0)
        after = np.clip(centres + shifts, *ends)
        gained = ((after - centres) ** 2).sum(axis=1)
        centres, spreads = after, np.maximum(spreads - gained, start.spreads / LEAST)
    return centres, counts


def _limits(counts: Floats, spreads: Floats, width: int, norm: int) -> Floats:
    """How long rows may be: half by what their cluster shows, half by what all do."""
    usual = float(np.average(spreads, weights=np.maximum(counts, 1)))
    limits: Floats = SHORT * _usual(width, norm) * np.sqrt((spreads + usual) / 2)
    return limits


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


def _sums(rows: Floats, places: Integers, centres: Floats, limits: Floats, steps: int, norm: int) -> Integers:
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
        short = shortened(differences, steps / limits[part], steps, norm)
        total[0] += _count(steps) * np.bincount(part, minlength=groups)
        for index, column in enumerate(short, start=1):
            total[index] += np.bincount(part, weights=column, minlength=groups)
    return total.T.astype(np.int64)
