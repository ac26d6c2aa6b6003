"""Distances, and centres to begin with."""

from __future__ import annotations

import numpy as np

from discreet.exit import Exit
from discreet.learn.box import Box, Floats
from discreet.mechanisms.arrays import Integers

BLOCK = 8192
"""Rows that are compared with all centres at once: they stay in the processor's cache."""
TRIES = 100
HALVINGS = 20


def squared_distances(rows: Floats, centres: Floats) -> Floats:
    """From every row to every centre.

    Feature by feature, never as a matrix product: that would round a row by where it stands among the others, and the
    presence of one unit could move another one to the next cluster.
    """
    squares = np.zeros((len(centres), len(rows)))
    for start in range(0, len(rows), BLOCK):
        columns = np.ascontiguousarray(rows[start : start + BLOCK].T)
        part = squares[:, start : start + BLOCK]
        for column, places in zip(columns, centres.T, strict=True):
            with np.errstate(over="ignore"):  # rows to predict may lie anywhere
                part += (column - places[:, None]) ** 2
    return squares.T


def nearest(rows: Floats, centres: Floats) -> Integers:
    """The place of the centre that is nearest to each row, the first one of several."""
    blocks = [squared_distances(rows[start : start + BLOCK], centres) for start in range(0, len(rows), BLOCK)]
    return np.concatenate([block.argmin(axis=1) for block in blocks] or [np.zeros(0, dtype=np.int64)]).astype(np.int64)


def closest(rows: Floats, centres: Floats) -> Integers:
    """The same for rows and centres of about length 1, where |c|²/2 − x·c tells it as well, with half of the work."""
    places = np.zeros(len(rows), dtype=np.int64)
    halves = (centres**2).sum(axis=1)[:, None] / 2
    for start in range(0, len(rows), BLOCK):
        columns = np.ascontiguousarray(rows[start : start + BLOCK].T)
        far = np.broadcast_to(halves, (len(centres), columns.shape[1])).copy()
        product = np.empty_like(far)
        for column, sides in zip(columns, centres.T, strict=True):
            far -= np.multiply(column, sides[:, None], out=product)
        part, least = places[start : start + BLOCK], far[0].copy()
        for centre, each in enumerate(far[1:], start=1):
            part[each < least] = centre
            np.minimum(least, each, out=least)
    return places


def anywhere(count: int, box: Box, exit_: Exit, margin: float = 0.0) -> Floats:
    """Uniform points of the box, or of its inner part."""
    shares = exit_.below(2**53, (count, box.width)) / 2**52 - 1
    return box.points(shares * (1 - margin))


def packed(count: int, box: Box, exit_: Exit) -> Floats:
    """Centres as far from each other and from the walls as random tries allow.

    Source   Su, Cao, Li, Bertino & Jin 2016, §3.2. No data is used.
    """
    best = anywhere(count, box, exit_)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        radius = (low + high) / 2
        centres = _apart(count, radius, box, exit_)
        if centres is None:
            high = radius
        else:
            best, low = centres, radius
    return best


def _apart(count: int, radius: float, box: Box, exit_: Exit) -> Floats | None:
    """Points at least 2·radius apart, in units of half-widths; None if many tries find no place for one of them."""
    chosen = np.zeros((0, box.width))
    for _ in range(count):
        tried = (exit_.below(2**53, (TRIES, box.width)) / 2**52 - 1) * (1 - radius)
        free = (squared_distances(tried, chosen) >= (2 * radius) ** 2).all(axis=1)
        if not free.any():
            return None
        chosen = np.vstack([chosen, tried[free.argmax()]])
    return box.points(chosen)
