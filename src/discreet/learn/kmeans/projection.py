"""k-means on many features: clusters are found in a few random directions, and their means in all of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np

from discreet.exit import Exit
from discreet.learn.box import Box, Floats
from discreet.learn.kmeans.geometry import BLOCK, nearest
from discreet.learn.kmeans.grid import clustered
from discreet.learn.kmeans.lloyd import Found, Setting, about, means
from discreet.mechanisms.arrays import Integers

DIMENSIONS: Final = 12
"""Two cells along each of them are few enough to count and enough to tell clusters apart."""


def projection(exact: Floats, setting: Setting, exit_: Exit) -> Found:
    """Cluster the rows in random directions by a grid; then the mean of each cluster, in all features.

    Theorem  The declared loss. Proof: a fiftieth is for the number of rows (unless `expected_n` says it), a third of
             the rest for the histogram of `clustered`, two thirds for one release with the sensitivity of
             `turn_sensitivity`. Where a row is projected to, and which centre is nearest there, depends on
             that row alone.
    Source   Random signs: Achlioptas 2003. Clustering a projection, then averaging: Balcan et al. 2017, much reduced.
    """
    size, left = about(exact, setting, exit_)
    signs = 2 * exit_.below(2, (setting.box.width, DIMENSIONS)) - 1
    seen = _projected(exact, setting.box, signs)
    flat = replace(setting, box=Box(np.full(DIMENSIONS, -1.0), np.full(DIMENSIONS, 1.0)))
    centres, _ = clustered(seen, size, flat, exit_, left / 3)
    middles = np.tile(setting.box.middle, (setting.clusters, 1))
    return Found(*means(exact, nearest(seen, centres), middles, setting.box, exit_, left * 2 / 3), 1)


def _projected(exact: Floats, box: Box, signs: Integers) -> Floats:
    """Sums of features in half-widths with random signs, over √D; feature by feature, so that each row stands alone."""
    projections = np.zeros((DIMENSIONS, len(exact)))
    for start in range(0, len(exact), BLOCK):
        rows = np.clip(exact[start : start + BLOCK], box.low, box.high)
        part = projections[:, start : start + BLOCK]
        for column, sign in zip(((rows - box.middle) / box.half).T, signs, strict=True):
            part += np.ascontiguousarray(column) * sign[:, None]
    return projections.T / math.sqrt(box.width)
