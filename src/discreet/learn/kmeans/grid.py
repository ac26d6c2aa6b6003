"""k-means on a noisy grid: counted once, clustered as often as one likes, and rounds of Lloyd where they help."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np
import sklearn.cluster

from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn.box import Floats
from discreet.learn.kmeans.cells import clearly, counted, inner_points, outer_points, shaped
from discreet.learn.kmeans.directions import Directions, Flat, centred, finds, fixed, principal, shows_means
from discreet.learn.kmeans.geometry import closest, nearest
from discreet.learn.kmeans.lloyd import Found, Setting
from discreet.learn.kmeans.rounds import Start, rounds, turns_for
from discreet.learn.sizing import ONE, SIZING, THOROUGH, sized
from discreet.mechanisms.simplex import projected

FINDING: Final = Fraction(1, 4)
"""What principal directions may take of the cost,"""
MOVING: Final = Fraction(7, 20)
"""and what rounds of Lloyd may."""


def grid(exact: Floats, setting: Setting, exit_: Exit) -> Found:
    """Count rows in the cells of a grid along few directions, cluster the cells, and move the centres to their rows.

    Theorem  The declared loss. Proof: `sized` takes its part; by the number of rows that it finds, and by public facts,
             it is decided which of `principal`, `centred` and `rounds` are worth shares of the rest; the cells of
             `clustered` have what is left. Shares add up to 1. Where a row is seen depends on that row and on released
             numbers alone.
    Source   Su, Cao, Li, Bertino & Jin 2016 (EUGkM and the hybrid).

    Narrower bounds only say where most rows are: those beyond are where they were, and are counted in wider cells.
    """
    begun = sized(exact, setting.box, exit_, setting.expected, THOROUGH)
    flat, size, left, cost = Flat(setting.box, begun.box), begun.size, begun.left, exit_.cost
    rows = flat.rows(exact)
    finding, moving = left * FINDING, left * MOVING
    if finds(flat.near, size, cost, finding):
        directions, left = principal(exact, flat, size, exit_, finding), left - finding
    elif shows_means(flat.near, size, cost, finding):
        directions, left = centred(exact, flat, size, exit_, finding), left - finding
    else:
        directions = fixed(flat, exit_)
    turns = turns_for(flat.box.width, setting.clusters, size, cost, moving)
    seen = directions.seen(rows)
    cells = clustered(seen, directions, size, setting, exit_, left - moving if turns else left)
    start = replace(cells, centres=directions.points(cells.centres))
    if not turns:
        return Found(flat.points(start.centres), start.counts, 0)
    centres, counts = rounds(rows, closest(seen, cells.centres), start, flat.ends, turns, exit_, moving)
    return Found(flat.points(centres), counts, turns)


def clustered(
    seen: Floats, directions: Directions, size: float, setting: Setting, exit_: Exit, share: Fraction
) -> Start:
    """Centres, and the weight at each, from a coarse and a fine noisy histogram.

    Theorem  A row moves either histogram by at most 1 in both norms. Proof: it is in one coarse or one outer cell, and
             in one fine cell or none. The rest is post-processing.

    The fine cells of a coarse one add up to its number: so what noise adds to empty cells cannot pile up far from all
    rows, and rows that are spread thinly, which no fine cell shows, still have their weight.
    """
    cost, half = exit_.cost, share / 2
    shape = shaped(directions, size, 4 * setting.clusters, math.sqrt(2) / cost.deviation(ONE, share))
    inside, outside = counted(seen, shape)
    first = exit_.release(np.concatenate([inside.sum(axis=1), outside]), ONE, half).astype(np.float64)
    noisy = exit_.release(inside, ONE, half).astype(np.float64)
    above, far = first[: len(inside)], clearly(first[len(inside) :], cost, cost.deviation(ONE, half))
    # both tell how many rows a coarse cell has: the sum of its fine ones, with the noise of all of them
    above = (above * noisy.shape[1] + noisy.sum(axis=1)) / (noisy.shape[1] + 1)
    total = _total(above, size - float(far.sum()), cost, half, known=setting.expected is not None)
    weights = projected(noisy, projected(above[None, :], np.array([total]))[0])
    points, heavy = inner_points(shape, weights, setting.clusters)
    sides = np.tile(shape.sides, (len(points), 1))
    if far.any():
        others, wider = outer_points(shape, np.flatnonzero(far))
        points, sides = np.vstack([points, others]), np.vstack([sides, wider])
        heavy = np.concatenate([heavy, far[far > 0]])
    centres = _centres(points, heavy, setting, exit_)
    places = nearest(points, centres)
    apart = ((points - centres[places]) ** 2).sum(axis=1) + (sides**2).sum(axis=1) / 12 + directions.rest
    counts, sums = (np.bincount(places, weights=each, minlength=setting.clusters) for each in (heavy, heavy * apart))
    return Start(centres, counts.astype(np.float64), sums / np.maximum(counts, 1e-9))


def _total(above: Floats, size: float, cost: Cost, share: Fraction, *, known: bool) -> float:
    """The number of rows, by whichever is less noisy: the release of it, or the sum of all cells."""
    apart = cost.deviation(ONE, SIZING)
    added = cost.deviation(ONE, share) * math.sqrt(above.size)
    return max(float(above.sum()) if known or added < apart else size, 1.0)


def _centres(points: Floats, weights: Floats, setting: Setting, exit_: Exit) -> Floats:
    """scikit-learn's k-means on released weights: it may draw from a seed of ours, since nothing here is private."""
    model = sklearn.cluster.KMeans(setting.clusters, n_init=setting.restarts, random_state=exit_.seed())
    centres: Floats = model.fit(points, sample_weight=weights / weights.mean()).cluster_centers_
    return centres
