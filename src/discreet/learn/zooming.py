"""Where nearly all rows lie, if the declared bounds are far too wide: one private histogram for every feature."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from statistics import NormalDist
from typing import Final

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn.box import NARROWEST, Box, Floats
from discreet.learn.gram import radius
from discreet.learn.rulers import blocks
from discreet.mechanisms.arrays import Integers

PARTS: Final = 256
"""A cell is such a part of the bounds, but near the anchor."""
NEAR: Final = tuple(2.0**power for power in (-12, -10, -8, -6, -4, -2, -1, 0, 1, 2, 3))
"""There cells end so many parts from it: an anchor is 0, or the bound next to it."""
SHIFT: Final = 45
"""A float64 without so many last bits has the 7 after the point that tell one part from the next up to 2⁸."""
USUAL: Final = (2.0, 3.0, 4.0)
"""Noise is at most so many deviations below zero where rows lie: the first that finds something counts."""
UNUSUAL: Final = 11.0
"""In one place of e¹¹ it is above what is called unusual."""
RARE: Final = 0.005
"""So many of the rows may lie elsewhere, however little noise there is."""
LEAST: Final = 0.25
"""A window must hold so many of the rows even if its noise is unusual."""
FARTHEST: Final = 4.0
"""Bounds are so many standard deviations from the middle of rows that are about normal,"""
BESIDE: Final = 1.5
"""and so many times as far for those that are not."""
NARROW: Final = 0.25
"""Bounds stay as they are declared unless what was found is at most so much of them."""
Run = tuple[int, Floats, float]
LENGTHS: Final = sorted({math.ceil(1.2**power) for power in range(31)})
"""Windows have so many cells."""
SHARES: Final = (Fraction(1, 80), Fraction(1, 40), Fraction(1, 20), Fraction(1, 10))
"""What a search may take of the cost, where the number of rows is known."""
CELLS, SURELY = 20, 1.5
"""Of windows that are thirty times narrower than the bounds; and how many times as many rows as find them at best."""
FINEST: Final = 2.0**-40
"""A box is at least so much of its distance from zero wide: float64 has numbers enough in it."""


def sensitivity(width: int) -> Sensitivity:
    """How far a row moves the cells of so many features and the number of rows: it is in one cell of each."""
    return Sensitivity.cells(width + 1, 1)


def check(width: int, cost: Cost, share: Fraction) -> None:
    """Refuse, before the charge, what could not be drawn after it."""
    radius(cost, lambda _: sensitivity(width), share)


def promising(count: float, width: int, cost: Cost, share: Fraction) -> bool:
    """Whether about so many rows are enough to find anything, were they all in one cell.

    Public and released numbers decide: who knows a count can spare itself the share.
    """
    return _certain(count, 1, cost.deviation(sensitivity(width), share))


def share_for(count: float, width: int, cost: Cost, cells: int = CELLS, surely: float = SURELY) -> Fraction:
    """The least of `SHARES` that finds windows of so many cells among about so many rows; 0 if none does."""
    few = count / surely
    enough = (share for share in SHARES if _certain(few, cells, cost.deviation(sensitivity(width), share)))
    return next(enough, Fraction(0))


def zoomed(exact: Floats, box: Box, exit_: Exit, share: Fraction) -> Box:
    """A box within `box` that holds nearly all rows; the sides of a feature stay unless they are clearly too wide.

    Theorem  A share of the cost. Proof: there is one release, of how many rows there are and how many lie in each cell
             of each feature. A row adds a one for itself and a one in each feature, at a place that depends on its own
             value and on public bounds alone, in elementwise arithmetic: so it moves them by `sensitivity`. All else is
             post-processing.
    Source   Karwa & Vadhan 2018 and Smith 2011 find a range by the cells of a histogram in which rows are; narrowing
             it before the estimate is the zooming of Biswas, Dong, Kamath & Ullman 2020 (CoinPress).

    Cells are equal parts of the bounds, and powers of two around the anchor. The window is the narrowest that holds all
    rows as far as noise lets one see; more noise, wider margins around it. Rows that share one value (zeros of a rare
    indicator) say nothing about how far others lie: only others do, or a second such value.
    """
    grids = [Grid(float(low), float(high)) for low, high in zip(box.low, box.high, strict=True)]
    moved = sensitivity(box.width)
    noisy = exit_.release(counted(exact, box, grids), moved, share).astype(np.float64)
    deviation = exit_.cost.deviation(moved, share)
    count, *each = np.split(noisy, np.cumsum([1, *(grid.cells for grid in grids)])[:-1])
    sides = [_sides(grid, cells, float(count[0]), deviation) for grid, cells in zip(grids, each, strict=True)]
    low, high = np.array(sides, dtype=np.float64).reshape(box.width, 2).T
    return Box(low, high)


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of a feature, from its lower to its upper bound."""

    low: float
    high: float
    anchor: float = field(init=False)
    part: float = field(init=False)
    below: int = field(init=False)
    """Cells below that of the anchor."""
    cells: int = field(init=False)

    def __post_init__(self) -> None:
        anchor = min(max(0.0, self.low), self.high)
        part = self.high / PARTS - self.low / PARTS
        below, above = (_rings((end - anchor) / part if part else 0.0) for end in (self.low, self.high))
        for name, value in {"anchor": anchor, "part": part, "below": below, "cells": below + 1 + above}.items():
            object.__setattr__(self, name, value)

    @property
    def edges(self) -> Floats:
        """One more than there are cells."""
        beyond = NEAR[-1] + 1 + np.arange(max(self.cells - len(NEAR), 0))
        rings = np.concatenate([NEAR, beyond])
        below, above = rings[: self.below + 1], rings[: self.cells - self.below]
        return np.clip(self.anchor + self.part * np.concatenate([-below[::-1], above]), self.low, self.high)


def counted(exact: Floats, box: Box, grids: list[Grid]) -> Integers:
    """How many rows there are, and how many in each cell, feature after feature.

    Values beyond the bounds are in the cells next to them, and what is no number is in the anchor's.
    """
    anchors, parts = np.array([[grid.anchor, grid.part] for grid in grids]).T[:, :, None]
    below, sizes = np.array([[grid.below, grid.cells] for grid in grids], dtype=np.int64).T
    # the cell of a bound is that of what is just inside
    low, high = (np.nextafter((end[:, None] - anchors) / parts, 0) for end in (box.low, box.high))
    middle = (np.cumsum(sizes) - sizes + 1 + below)[:, None]
    rings = _signed_rings()
    counts = np.zeros(1 + int(sizes.sum()), dtype=np.int64)
    counts[0] = len(exact)
    for part in blocks(len(exact), box.width):
        shares = np.subtract(exact[part].T, anchors, order="C")
        shares /= parts
        np.clip(shares, low, high, out=shares)
        places = rings.take((shares.view(np.uint64) >> SHIFT).view(np.int64), mode="clip")
        places += middle
        counts += np.bincount(places.ravel(), minlength=len(counts))
    return counts


@cache
def _signed_rings() -> Integers:
    """How many cells from the anchor, upwards or downwards, by the first bits of a float64: sign, exponent and 7 more.

    By powers of two, and by whole parts beyond the last of them. What cannot be is 0, and takes no memory.
    """
    table = np.zeros(2 ** (64 - SHIFT), dtype=np.int64)
    first, last = (np.array([NEAR[0], 2.0 * PARTS]).view(np.int64) >> SHIFT).tolist()
    distances = (np.arange(first, last) << SHIFT).view(np.float64)
    rings = np.searchsorted(NEAR, distances, side="right") + np.maximum(distances.astype(np.int64) - int(NEAR[-1]), 0)
    above, below = np.split(table, 2)
    above[first:last], below[first:last] = rings, -rings
    return table


def _rings(distance: float) -> int:
    """How many cells there are beyond that of the anchor, if a bound is so many parts from it."""
    return len(NEAR) - 1 + max(math.ceil(abs(distance)) - int(NEAR[-1]), 0) if distance else 0


# what noisy cells say: all of it is post-processing


def _sides(grid: Grid, noisy: Floats, count: float, deviation: float) -> tuple[float, float]:
    """The bounds of a feature: narrower ones where its cells show them clearly."""
    cells, points = noisy.copy(), []
    for cell in (grid.below, _peak(grid, noisy)):
        least = max(_unusual(1, deviation), count / 2 if cell != grid.below else 0)
        if cells[cell] > least:  # many rows share about one value: the others say how widely values spread
            points.append(cell)
            count -= float(cells[cell])
            cells[cell] = 0
    edges = grid.edges
    runs = _runs(cells, count, deviation)
    windows = [_window(runs, edges, count, deviation, usual) for usual in USUAL]
    if len(points) > 1 and count < _unusual(2, deviation):
        windows.append((float(edges[min(points)]), float(edges[max(points) + 1]), 1.0))
    alike = [edge for cell in points for edge in edges[cell : cell + 2]]
    sides = (grid.low, grid.high)
    for low, high, held in windows:
        if held:  # a wider window than the first was needed by chance if the next is much narrower
            sides = _around(sides, min(low, *alike, high), max(high, *alike, low), held)
    return sides


def _around(sides: tuple[float, float], low: float, high: float, held: float) -> tuple[float, float]:
    """Bounds around a window that holds such a share of the rows; those known so far unless they are much narrower."""
    margin = BESIDE * (high - low) / 2 * (FARTHEST / NormalDist().inv_cdf((1 + min(held, 1 - RARE)) / 2) - 1)
    low, high = max(low - margin, sides[0]), min(high + margin, sides[1])
    fine = max(NARROWEST, FINEST * max(abs(low), abs(high)))
    is_narrow = high - low <= NARROW * (sides[1] - sides[0]) and high / 2 - low / 2 >= fine
    return (low, high) if is_narrow else sides


def _peak(grid: Grid, noisy: Floats) -> int:
    """The fullest of the equal parts; the anchor if there are none."""
    equal = np.abs(np.arange(grid.cells) - grid.below) >= len(NEAR)
    return int(np.where(equal, noisy, -np.inf).argmax()) if equal.any() else grid.below


def _runs(cells: Floats, count: float, deviation: float) -> list[Run]:
    """Runs of so many cells, the rows in each, and the most of these; no longer ones than may be certain."""
    sums = np.concatenate([[0.0], np.cumsum(cells)])
    lengths = [length for length in LENGTHS if length <= len(cells) and _certain(count, length, deviation)]
    inside = [sums[length:] - sums[:-length] for length in lengths]
    return [(length, each, float(each.max())) for length, each in zip(lengths, inside, strict=True)]


def _window(runs: list[Run], edges: Floats, count: float, deviation: float, usual: float) -> tuple[float, float, float]:
    """The narrowest run of cells with as many rows as there are, but for the noise; and about the share that it holds.

    The share is 0 where noise hides the rows.
    """
    low, high, held = -math.inf, math.inf, 0.0
    for length, inside, most in runs:
        if not _certain(count, length, deviation, usual):
            break
        noise = math.sqrt(length + 1) * deviation
        enough = count - max(usual * noise, RARE * count)
        if most < enough:
            continue
        widths = np.where(inside >= enough, edges[length:] - edges[:-length], np.inf)
        first = int(widths.argmin())
        if widths[first] < high - low:
            low, high = float(edges[first]), float(edges[first + length])
            held = max(float(inside[first]) - noise, enough) / count
    return low, high, held


def _unusual(length: int, deviation: float) -> float:
    """What noise on so many cells, Laplace's or a Gaussian's, is above once in about e¹¹ windows."""
    normal, exponential = math.sqrt(2 * UNUSUAL * length), math.sqrt(UNUSUAL * length) + UNUSUAL / math.sqrt(2)
    return deviation * max(normal, exponential)


def _certain(count: float, length: int, deviation: float, usual: float = USUAL[0]) -> bool:
    """Whether a window of so many cells that seems to hold all rows does hold some."""
    return count - usual * math.sqrt(length + 1) * deviation - _unusual(length, deviation) >= LEAST * count
