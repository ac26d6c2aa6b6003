"""Lloyd's algorithm with noisy counts and sums: the lecture's, and one that spends its cost better."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn.box import Box, Floats
from discreet.learn.kmeans.geometry import anywhere, nearest, packed
from discreet.learn.moments import sums
from discreet.learn.sizing import about
from discreet.mechanisms.arrays import Integers

TURNS: Final = 10
"""Of the lecture's algorithm, unless the caller says how many."""
SPREAD: Final = 0.225
"""How far centres lie from the middle of the box, on average, in half-widths (Su et al. 2016)."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a method releases: centres, about how many rows are nearest to each, and the rounds that it took."""

    centres: Floats
    counts: Floats
    turns: int


@dataclass(frozen=True, slots=True)
class Setting:
    """What is public about a fit."""

    clusters: int
    box: Box
    turns: int | None
    expected: int | None
    restarts: int


def lecture(exact: Floats, setting: Setting, exit_: Exit) -> Found:
    """T rounds of: assign to the nearest centre, divide noisy sums by noisy counts.

    Theorem  Laplace noise of scale 2T/ε on counts and 2T·|dom|/ε on sums is ε-DP, where |dom| bounds the L1 norm of a
             row in the centred box: the sum of its half-widths.
    Proof    A row is in one cluster: it moves one count by 1 and the sums of one cluster by |dom| in L1. Half of each
             round's ε/T covers either; centres are made of released values, so the rounds compose. Half-widths are
             whole numbers of one step, the same for all features, and so is |dom|.
    Source   Blum, Dwork, McSherry & Nissim 2005; McSherry 2009.
    """
    box, turns = setting.box, setting.turns or TURNS
    exact = np.clip(exact, box.low, box.high)
    share = Fraction(1, 2 * turns)
    ratios = [Fraction(half / box.half.max()) for half in box.half]
    domain = sum(ratios, Fraction(0))
    fine = exit_.cost.fineness(Sensitivity(max(domain, WHOLE), WHOLE * box.width), share)
    radii = np.array([math.ceil(ratio * fine) for ratio in ratios], dtype=np.int64)
    steps = box.steps(exact, radii)
    moved = Sensitivity(Fraction(int(radii.sum())), Fraction(sum(int(radius) ** 2 for radius in radii)))
    centres = anywhere(setting.clusters, box, exit_)
    counts = np.zeros(setting.clusters)
    ones = np.ones((len(steps), 1), dtype=np.int64)
    for _ in exit_.watched(range(turns), turns, "rounds"):
        places = nearest(exact, centres)
        exact_counts = sums(places, ones, setting.clusters)
        counts = exit_.release(exact_counts, Sensitivity.cells(1, 1), share)[:, 0].astype(np.float64)
        totals = exit_.release(sums(places, steps, setting.clusters), moved, share)
        centres = divided(totals / radii, counts, centres, box)
    return Found(centres, counts, turns)


def improved(exact: Floats, setting: Setting, exit_: Exit) -> Found:
    """Fewer rounds, centres packed into the box to begin with, and counts that take what is best for them.

    Theorem  The declared loss. Proof: a fiftieth is for the number of rows, unless `expected_n` says it; the rest is
             shared by the rounds, each with the sensitivity of `turn`.
    Source   Su, Cao, Li, Bertino & Jin 2016.
    """
    size, left = about(exact, exit_, setting.expected)
    exact = np.clip(exact, setting.box.low, setting.box.high)
    turns = setting.turns or _turns(size, setting, exit_.cost)
    centres, counts = packed(setting.clusters, setting.box, exit_), np.zeros(setting.clusters)
    for _ in exit_.watched(range(turns), turns, "rounds"):
        centres, counts = turn(exact, centres, setting.box, exit_, left / turns)
    return Found(centres, counts, turns)


def turn_sensitivity(count: int, width: int) -> Sensitivity:
    """How far a row moves the vector (w·1, x₁ … x_D) of its cluster, with |x| ≤ 1.

    Theorem  l1 ≤ w + D and l2² ≤ w² + D. Proof: one cluster has the row, and each |x| ≤ 1.
    """
    return Sensitivity(Fraction(count + width), Fraction(count**2 + width))


def turn(exact: Floats, centres: Floats, box: Box, exit_: Exit, share: Fraction) -> tuple[Floats, Floats]:
    """One round: new centres and the noisy number of rows at each."""
    return means(exact, nearest(exact, centres), centres, box, exit_, share)


def means(
    exact: Floats, places: Integers, before: Floats, box: Box, exit_: Exit, share: Fraction
) -> tuple[Floats, Floats]:
    """The mean and the number of the rows in each place, as one release with the sensitivity of `turn_sensitivity`."""
    cost = exit_.cost
    # counts are worth less than sums; quarters keep the weight a whole number of steps
    quarters = max(1, round(4 * _count_weight(cost, box.width)))
    units = turn_sensitivity(1, box.width)
    fine = max(cost.fineness(units, share), 4)
    count = quarters * fine // 4
    moved = Sensitivity(Fraction(count + box.width * fine), Fraction(count**2 + box.width * fine**2))
    columns = np.hstack([np.full((len(exact), 1), count, dtype=np.int64), box.steps(exact, fine)])
    noisy = exit_.release(sums(places, columns, len(before)), moved, share).astype(np.float64)
    counts = noisy[:, 0] / count
    return divided(noisy[:, 1:] / fine, counts, before, box), counts


def divided(totals: Floats, counts: Floats, before: Floats, box: Box) -> Floats:
    """Sums of shares over counts, as points of the box; where hardly anybody is, the centre stays where it was."""
    return np.where((counts > 1)[:, None], box.points(totals / np.maximum(counts, 1)[:, None]), before)


def _count_weight(cost: Cost, width: int) -> float:
    """A count's accuracy beside that of a sum: Su et al. for Laplace noise, a fifth of ρ for Gaussian noise."""
    return float(np.cbrt(4 * width * SPREAD**2)) if cost.pure else math.sqrt(width) / 2


def _turns(size: float, setting: Setting, cost: Cost) -> int:
    """Two to seven rounds, as many as leave each of them enough to see a cluster."""
    width = setting.box.width
    epsilon = math.sqrt(2) * width / cost.deviation(turn_sensitivity(0, width))
    least = math.sqrt(500 * setting.clusters**3 / size**2 * (width + np.cbrt(4 * width * SPREAD**2)) ** 3)
    return int(np.clip(epsilon // least, 2, 7))
