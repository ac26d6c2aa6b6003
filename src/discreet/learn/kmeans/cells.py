"""Cells that rows are counted in: coarse and fine ones where nearly all rows are, and wide ones around them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.exit.cost import Cost
from discreet.learn.box import Floats
from discreet.learn.kmeans.directions import Directions
from discreet.mechanisms.arrays import Integers

MOST_CELLS: Final = 200_000
MOST_OUTER: Final = 20_000
"""Cells around the grid."""
ROWS: Final = 3
"""By so many rows for each ε the number of cells is chosen."""
LITTLE: Final = 0.01
"""A box that goes on by less than such a part is at its end."""
SELDOM: Final = 1e4
"""In one fit of so many, noise alone makes any outer cell look as if rows were there."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Into how many coarse cells each direction is cut, each of those into fine ones, and the rings on either side.

    The first ring goes from the end of the grid to twice that distance from its middle, the next one twice as far.
    """

    directions: Directions
    coarse: Integers
    parts: Integers
    below: Integers
    above: Integers

    @property
    def inner(self) -> tuple[int, int]:
        """How many coarse cells there are, and how many fine ones in each."""
        return int(self.coarse.prod()), int(self.parts.prod())

    @property
    def outer(self) -> int:
        """Cells of rings; the one in which no direction is outside has nobody, and is counted as well."""
        return int((self.below + 1 + self.above).prod())

    @property
    def sides(self) -> Floats:
        """Of a fine cell."""
        sides: Floats = (self.directions.high - self.directions.low) / (self.coarse * self.parts)
        return sides


def shaped(directions: Directions, size: float, least: int, epsilon: float) -> Shape:
    """About (Nε/3)^(2D/(2+D)) fine cells in D directions, at least so many, not too many, and as many rings as fit.

    All cells of the grid are about as long as they are wide.
    """
    extents = directions.high - directions.low
    power = 2 * len(extents) / (2 + len(extents))
    wanted = math.exp(min(power * math.log(size * epsilon / ROWS), math.log(MOST_CELLS)))
    most = max(wanted, least)
    coarse = cut(extents, math.sqrt(most))
    below, above = _rings(directions)
    return Shape(directions, coarse, cut(extents / coarse, most / float(coarse.prod())), below, above)


def cut(extents: Floats, most: float) -> Integers:
    """Parts of each extent, about equally long, whose product is at most `most`: always the longest one is cut."""
    parts = np.ones(len(extents), dtype=np.int64)
    low, high = 0.0, math.log(max(most, 1)) + 1
    for _ in range(50):  # of all equal lengths, the shortest
        middle = (low + high) / 2
        tried = np.ceil(extents / extents.max() * math.exp(middle)).astype(np.int64)
        if tried.prod(dtype=np.float64) <= max(most, 1):  # of so many exactly: logarithms are off by a rounding
            parts, low = tried, middle
        else:
            high = middle
    while True:
        longest = int((extents / parts).argmax())
        if float(parts.prod()) * (parts[longest] + 1) / parts[longest] > most:
            return parts
        parts[longest] += 1


def _rings(directions: Directions) -> tuple[Integers, Integers]:
    """How many rings there are on either side: enough to reach the end of the box, or as many as fit."""
    middle, half = (directions.low + directions.high) / 2, (directions.high - directions.low) / 2
    floor, ceiling = directions.ends
    far = np.maximum(np.stack([middle - floor, ceiling - middle]) / half, 1)
    wanted = np.ceil(np.log2(far) - LITTLE)
    rings = np.zeros_like(wanted, dtype=np.int64)
    for turn in range(int(wanted.max())):
        for side, direction in np.argwhere(turn < wanted.T)[:, ::-1]:
            more = rings.copy()
            more[side, direction] += 1
            if float((more.sum(axis=0) + 1.0).prod()) <= MOST_OUTER:
                rings = more
    return rings[0], rings[1]


def counted(seen: Floats, shape: Shape) -> tuple[Integers, Integers]:
    """How many rows are in each fine cell of each coarse one, and in each outer cell.

    Which one it is depends on the row alone. Rows beyond a side without rings are in the cell next to it.
    """
    fine, rings = np.zeros(len(seen), dtype=np.int64), np.zeros(len(seen), dtype=np.int64)
    cells, is_outer = shape.coarse * shape.parts, np.zeros(len(seen), dtype=bool)
    directions = shape.directions
    for index, column in enumerate(seen.T):
        low, high = directions.low[index], directions.high[index]
        shares = (column - low) / (high - low)
        fine = fine * cells[index] + np.clip(
            (np.clip(shares, 0, 1) * cells[index]).astype(np.int64), 0, cells[index] - 1
        )
        below, above = int(shape.below[index]), int(shape.above[index])
        rings = rings * (below + 1 + above) + below
        for side, most in ((shares < 0, -below), (shares > 1, above)):
            if most:
                far = np.flatnonzero(side)
                ring = np.clip(np.frexp(np.abs(2 * shares[far] - 1))[1], 1, abs(most))
                rings[far] += np.sign(most) * ring
                is_outer[far] = True
    inside = np.bincount(fine[~is_outer], minlength=int(cells.prod())).astype(np.int64)
    return _nested(inside, shape), np.bincount(rings[is_outer], minlength=shape.outer).astype(np.int64)


def _nested(cells: Integers, shape: Shape) -> Integers:
    """A number for each cell of the whole grid, as a row for each coarse cell."""
    width = len(shape.coarse)
    paired = cells.reshape([int(side) for pair in zip(shape.coarse, shape.parts, strict=True) for side in pair])
    order = [*range(0, 2 * width, 2), *range(1, 2 * width, 2)]
    return paired.transpose(order).reshape(shape.inner)


def clearly(noisy: Floats, cost: Cost, deviation: float) -> Floats:
    """Numbers of outer cells that noise does not explain; the others are called empty.

    Far from all rows, a few that are not there would have a centre of their own.
    """
    unlikely = math.log(SELDOM * len(noisy))
    least = deviation * (unlikely / math.sqrt(2) if cost.pure else math.sqrt(2 * unlikely))
    return np.where(noisy > least, noisy, 0.0)


def inner_points(shape: Shape, weights: Floats, least: int) -> tuple[Floats, Floats]:
    """The middles of the fine cells that have any weight, and at least so many of the heaviest."""
    flat = weights.ravel()
    cells = np.flatnonzero(flat > 0)
    if len(cells) < least:
        cells = np.argsort(-flat, kind="stable")[:least]
    above, below = np.divmod(cells, weights.shape[1])
    outer = np.stack(np.unravel_index(above, tuple(shape.coarse)), axis=1)
    inner = np.stack(np.unravel_index(below, tuple(shape.parts)), axis=1)
    points = shape.directions.low + (outer * shape.parts + inner + 0.5) * shape.sides
    return points, np.maximum(flat[cells], 1e-9)


def outer_points(shape: Shape, cells: Integers) -> tuple[Floats, Floats]:
    """The middles of outer cells, and how long they are."""
    places = np.stack(np.unravel_index(cells, tuple(shape.below + 1 + shape.above)), axis=1) - shape.below
    middle = (shape.directions.low + shape.directions.high) / 2
    half = (shape.directions.high - shape.directions.low) / 2
    floor, ceiling = shape.directions.ends
    end = np.where(places < 0, middle - floor, ceiling - middle)
    rings = np.abs(places)
    most = np.where(places < 0, shape.below, shape.above)
    near = half * 2.0 ** (rings - 1)
    far = np.where(rings == most, end, np.minimum(2 * near, end))
    inside = rings == 0
    points = middle + np.where(inside, 0, np.sign(places) * (near + far) / 2)
    return points, np.where(inside, 2 * half, far - near)
