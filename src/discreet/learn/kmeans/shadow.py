"""k-means on many features: find the clusters in a projection to a few dimensions, then their means in all of them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from discreet.learn.box import Box, Floats
from discreet.learn.kmeans.geometry import nearest
from discreet.learn.kmeans.grid import clustered, histogram
from discreet.learn.kmeans.lloyd import Found, Setting, about, means, turn
from discreet.learn.price import Allowance

DIMENSIONS = 12


def shadow(exact: Floats, setting: Setting, allowance: Allowance) -> Found:
    size, left = about(exact, setting, allowance)
    box = setting.box
    cast = _cast(exact, box, allowance)
    flat = replace(setting, box=Box(np.full(DIMENSIONS, -1.5), np.full(DIMENSIONS, 1.5)))
    part = left / 3
    centres = clustered(cast, size, flat, allowance, part)
    start = np.tile(box.middle, (setting.clusters, 1))
    found, counts = means(exact, nearest(cast, centres), start, box, allowance, part)
    return Found(*turn(exact, found, box, allowance, part), 2)


def _cast(exact: Floats, box: Box, allowance: Allowance) -> Floats:
    signs = allowance.below(2, (box.width, DIMENSIONS)) * 2 - 1
    found = np.zeros((len(exact), DIMENSIONS))
    for column, low, half, middle, sign in zip(exact.T, box.low, box.half, box.middle, signs, strict=True):
        share = (np.clip(column, low, low + 2 * half) - middle) / half
        found += share[:, None] * sign
    return found / math.sqrt(box.width)
