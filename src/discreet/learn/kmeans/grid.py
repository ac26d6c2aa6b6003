"""k-means on a noisy histogram: one release, then as many restarts as one likes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import sklearn.cluster

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn.box import Box, Floats
from discreet.learn.kmeans.geometry import nearest
from discreet.learn.kmeans.lloyd import SIZING, Found, Setting, about, turn, turn_sensitivity
from discreet.mechanisms.arrays import Integers
from discreet.mechanisms.simplex import projected

MOST_CELLS = 200_000
ONE = Sensitivity.cells(1, 1)


def grid(exact: Floats, setting: Setting, exit_: Exit) -> Found:
    """Count rows in the cells of a grid, project the noisy counts, cluster the cells; if it helps, one round of Lloyd.

    Theorem  The declared loss. Proof: a fiftieth is for the number of rows (unless `expected_n` says it), which
             decides how many cells there are and whether half of the rest is kept for one round with the sensitivity of
             `turn_sensitivity`; the other releases are those of `clustered`. Shares add up to 1.
    Source   Su, Cao, Li, Bertino & Jin 2016 (EUGkM and the hybrid).
    """
    size, left = about(exact, setting, exit_)
    if _refines(size, setting, exit_.cost, left / 2):
        centres, _ = clustered(exact, size, setting, exit_, left / 2)
        return Found(*turn(exact, centres, setting.box, exit_, left / 2), 1)
    return Found(*clustered(exact, size, setting, exit_, left), 0)


def clustered(exact: Floats, size: float, setting: Setting, exit_: Exit, share: Fraction) -> tuple[Floats, Floats]:
    """Centres, and the weight at each, from one noisy histogram.

    Theorem  A row moves the histogram by 1 in both norms. Proof: it is in one cell. The rest is post-processing.
    """
    box, cost = setting.box, exit_.cost
    sides = _sides(size, setting, cost, share)
    noisy = exit_.release(_histogram(exact, box, sides), ONE, share).astype(np.float64)
    total = _total(noisy, size, cost, share) if setting.expected is None else max(float(noisy.sum()), 1.0)
    weights = projected(noisy[None, :], np.array([total]))[0]
    points, heavy = _cells(box, sides, weights, setting.clusters)
    centres = _centres(points, heavy, setting, exit_)
    held = np.bincount(nearest(points, centres), weights=heavy, minlength=setting.clusters)
    return centres, held.astype(np.float64)


def _sides(size: float, setting: Setting, cost: Cost, share: Fraction) -> int:
    """Cells along each axis: (Nε/10)^(2/(2+D)), with ε read off the noise; enough for the clusters, not too many."""
    width = setting.box.width
    epsilon = math.sqrt(2) / cost.deviation(ONE, share)
    wanted = round(math.pow(size * epsilon / 10, 2 / (2 + width)))
    least = math.ceil(math.pow(2 * setting.clusters, 1 / width))
    most = math.floor(math.pow(MOST_CELLS, 1 / width))
    return max(min(max(wanted, least, 2), most), 2)


def _refines(size: float, setting: Setting, cost: Cost, share: Fraction) -> bool:
    """Whether noise moves the mean of an average cluster by less than a tenth of a cell."""
    width, sides = setting.box.width, _sides(size, setting, cost, share)
    moved = cost.deviation(turn_sensitivity(1, width), share) * setting.clusters / size
    return moved < 0.1 * 2 / sides


def _histogram(exact: Floats, box: Box, sides: int) -> Integers:
    """How many rows are in each cell; which one depends on the row alone."""
    places = np.zeros(len(exact), dtype=np.int64)
    for column, low, high in zip(exact.T, box.low, box.high, strict=True):
        shares = (np.clip(column, low, high) / 2 - low / 2) / (high / 2 - low / 2)
        places = places * sides + np.clip((shares * sides).astype(np.int64), 0, sides - 1)
    return np.bincount(places, minlength=sides**box.width).astype(np.int64)


def _total(noisy: Floats, size: float, cost: Cost, share: Fraction) -> float:
    """The number of rows, by whichever is less noisy: the release of it, or the sum of all cells."""
    apart = cost.deviation(ONE, SIZING)
    added = cost.deviation(ONE, share) * math.sqrt(noisy.size)
    return max(float(noisy.sum()) if added < apart else size, 1.0)


def _cells(box: Box, sides: int, weights: Floats, least: int) -> tuple[Floats, Floats]:
    """The middles of the cells that have any weight, and at least so many of the heaviest."""
    cells = np.flatnonzero(weights > 0)
    if len(cells) < least:
        cells = np.argsort(-weights, kind="stable")[:least]
    shares = (np.stack(np.unravel_index(cells, (sides,) * box.width), axis=1) + 0.5) / sides * 2 - 1
    return box.points(shares), np.maximum(weights[cells], 1e-9)


def _centres(points: Floats, weights: Floats, setting: Setting, exit_: Exit) -> Floats:
    """scikit-learn's k-means on released weights: it may draw from a seed of ours, since nothing here is private."""
    half = setting.box.half.max()
    model = sklearn.cluster.KMeans(setting.clusters, n_init=setting.restarts, random_state=exit_.seed())
    centres: Floats = model.fit(points / half, sample_weight=weights / weights.mean()).cluster_centers_ * half
    return np.clip(centres, setting.box.low, setting.box.high)
