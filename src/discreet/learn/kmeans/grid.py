"""k-means on a noisy grid: counted once, clustered as often as one likes, and rounds of Lloyd where they help."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import sklearn.cluster

from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn.box import Floats
from discreet.learn.kmeans.directions import Directions, Flat, finds, fixed, principal
from discreet.learn.kmeans.geometry import closest, nearest
from discreet.learn.kmeans.lloyd import Found, Setting
from discreet.learn.kmeans.rounds import ROUNDS, expected_error, rounds
from discreet.learn.sizing import ONE, SIZING, Search, sized
from discreet.mechanisms.arrays import Integers
from discreet.mechanisms.simplex import projected

MOST_CELLS: Final = 200_000
SEARCH: Final = Search(least=Fraction(1, 10), narrow=1 / 8)
"""Bounds are narrowed where they are very much too wide: a small cluster far from all others is not to be cut off."""
FINDING: Final = Fraction(1, 4)
"""What principal directions may take of the cost,"""
MOVING: Final = Fraction(7, 20)
"""and what rounds of Lloyd may."""
WORTH: Final = 0.3
"""Rounds help where noise moves a centre by less than so much of the distance of its rows."""
ROWS: Final = 3
"""By so many rows for each ε the number of cells is chosen."""


def grid(exact: Floats, setting: Setting, exit_: Exit) -> Found:
    """Count rows in the cells of a grid along few directions, cluster the cells, and move the centres to their rows.

    Theorem  The declared loss. Proof: `sized` takes its part; by the number of rows that it finds, and by public facts,
             it is decided which of `principal` and `rounds` are worth their shares of the rest; the cells of
             `clustered` have what is left. Shares add up to 1. Where a row is seen depends on that row and on released
             numbers alone.
    Source   Su, Cao, Li, Bertino & Jin 2016 (EUGkM and the hybrid).
    """
    begun = sized(exact, setting.box, exit_, setting.expected, SEARCH)
    flat, size, left, cost = Flat(begun.box), begun.size, begun.left, exit_.cost
    rows = flat.rows(exact)
    finding, moving = left * FINDING, left * MOVING
    if finds(flat.box, size, cost, finding):
        directions, left = principal(exact, flat, size, exit_, finding), left - finding
    else:
        directions = fixed(flat, exit_)
    is_moved = expected_error(flat.box.width, setting.clusters, size, cost, moving) < WORTH
    seen = directions.seen(rows)
    cells = clustered(seen, directions, size, setting, exit_, left - moving if is_moved else left)
    centres = directions.points(cells.centres)
    if not is_moved:
        return Found(flat.points(centres), cells.counts, 0)
    centres, counts = rounds(rows, closest(seen, cells.centres), centres, cells.spread, flat.half, exit_, moving)
    return Found(flat.points(centres), counts, ROUNDS)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """What a noisy grid says."""

    centres: Floats
    counts: Floats
    spread: float
    """About the mean squared distance of rows from their centres."""


def clustered(
    seen: Floats, directions: Directions, size: float, setting: Setting, exit_: Exit, share: Fraction
) -> Cells:
    """Centres, and the weight at each, from a coarse and a fine noisy histogram.

    Theorem  A row moves either histogram by 1 in both norms. Proof: it is in one cell of each. The rest is
             post-processing.

    The fine cells of a coarse one add up to its number: so what noise adds to empty cells cannot pile up far from all
    rows, and rows that are spread thinly, which no fine cell shows, still have their weight.
    """
    cost, half = exit_.cost, share / 2
    coarse, parts = _parts(directions, size, setting, cost, share)
    exact = _histogram(seen, directions, coarse, parts)
    above = exit_.release(exact.sum(axis=1), ONE, half).astype(np.float64)
    noisy = exit_.release(exact, ONE, half).astype(np.float64)
    # both tell how many rows a coarse cell has: the sum of its fine ones, with the noise of all of them
    above = (above * noisy.shape[1] + noisy.sum(axis=1)) / (noisy.shape[1] + 1)
    total = _total(above, size, cost, half) if setting.expected is None else max(float(above.sum()), 1.0)
    weights = projected(noisy, projected(above[None, :], np.array([total]))[0])
    points, heavy = _cells(directions, coarse, parts, weights, setting.clusters)
    centres = _centres(points, heavy, setting, exit_)
    places = nearest(points, centres)
    counts = np.bincount(places, weights=heavy, minlength=setting.clusters).astype(np.float64)
    within = float(heavy @ ((points - centres[places]) ** 2).sum(axis=1) / heavy.sum())
    sides = (directions.high - directions.low) / (coarse * parts)
    return Cells(centres, counts, within + float((sides**2).sum()) / 12 + directions.rest)


def _parts(
    directions: Directions, size: float, setting: Setting, cost: Cost, share: Fraction
) -> tuple[Integers, Integers]:
    """Into how many coarse cells each direction is cut, and each of those into fine ones.

    There are about (Nε/3)^(2D/(2+D)) fine cells in D directions, with ε read off the noise; enough for the clusters,
    not too many. All are about as long as they are wide.
    """
    extents = directions.high - directions.low
    epsilon = math.sqrt(2) / cost.deviation(ONE, share)
    power = 2 * len(extents) / (2 + len(extents))
    wanted = math.exp(min(power * math.log(size * epsilon / ROWS), math.log(MOST_CELLS)))
    most = max(wanted, 4 * setting.clusters)
    coarse = _cut(extents, math.sqrt(most))
    return coarse, _cut(extents / coarse, most / float(coarse.prod()))


def _cut(extents: Floats, most: float) -> Integers:
    """Parts of each extent, about equally long, whose product is at most `most`: always the longest one is cut."""
    parts = np.ones(len(extents), dtype=np.int64)
    low, high = 0.0, math.log(max(most, 1)) + 1
    for _ in range(50):  # of all equal lengths, the shortest
        middle = (low + high) / 2
        tried = np.ceil(extents / extents.max() * math.exp(middle)).astype(np.int64)
        if np.log(tried).sum() <= math.log(max(most, 1)):
            parts, low = tried, middle
        else:
            high = middle
    while True:
        longest = int((extents / parts).argmax())
        if float(parts.prod()) * (parts[longest] + 1) / parts[longest] > most:
            return parts
        parts[longest] += 1


def _histogram(seen: Floats, directions: Directions, coarse: Integers, parts: Integers) -> Integers:
    """How many rows are in each fine cell of each coarse one; which one depends on the row alone."""
    places = np.zeros(len(seen), dtype=np.int64)
    sides = coarse * parts
    for column, low, high, cells in zip(seen.T, directions.low, directions.high, sides, strict=True):
        shares = (column - low) / (high - low)
        places = places * cells + np.clip((np.clip(shares, 0, 1) * cells).astype(np.int64), 0, cells - 1)
    counts = np.bincount(places, minlength=int(sides.prod())).astype(np.int64)
    return _nested(counts, coarse, parts)


def _nested(cells: Integers, coarse: Integers, parts: Integers) -> Integers:
    """A number for each cell of the whole grid, as a row for each coarse cell."""
    width = len(coarse)
    paired = cells.reshape([int(side) for pair in zip(coarse, parts, strict=True) for side in pair])
    order = [*range(0, 2 * width, 2), *range(1, 2 * width, 2)]
    return paired.transpose(order).reshape(int(coarse.prod()), int(parts.prod()))


def _total(above: Floats, size: float, cost: Cost, share: Fraction) -> float:
    """The number of rows, by whichever is less noisy: the release of it, or the sum of all cells."""
    apart = cost.deviation(ONE, SIZING)
    added = cost.deviation(ONE, share) * math.sqrt(above.size)
    return max(float(above.sum()) if added < apart else size, 1.0)


def _cells(
    directions: Directions, coarse: Integers, parts: Integers, weights: Floats, least: int
) -> tuple[Floats, Floats]:
    """The middles of the fine cells that have any weight, and at least so many of the heaviest."""
    flat = weights.ravel()
    cells = np.flatnonzero(flat > 0)
    if len(cells) < least:
        cells = np.argsort(-flat, kind="stable")[:least]
    above, below = np.divmod(cells, weights.shape[1])
    outer = np.stack(np.unravel_index(above, tuple(coarse)), axis=1)
    inner = np.stack(np.unravel_index(below, tuple(parts)), axis=1)
    shares = (outer * parts + inner + 0.5) / (coarse * parts)
    return directions.low + shares * (directions.high - directions.low), np.maximum(flat[cells], 1e-9)


def _centres(points: Floats, weights: Floats, setting: Setting, exit_: Exit) -> Floats:
    """scikit-learn's k-means on released weights: it may draw from a seed of ours, since nothing here is private."""
    model = sklearn.cluster.KMeans(setting.clusters, n_init=setting.restarts, random_state=exit_.seed())
    centres: Floats = model.fit(points, sample_weight=weights / weights.mean()).cluster_centers_
    return centres
