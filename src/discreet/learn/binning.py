"""Bins of features as their rows lie: many fine cells, counted once with noise, and merged into few."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.learn.box import Box, Floats
from discreet.learn.counting import counted
from discreet.mechanisms.arrays import Integers
from discreet.mechanisms.simplex import projected

Codes = NDArray[np.uint8]
FINEST: Final = 1024
"""Cells of a feature's range, at most."""
DENSITY: Final = Fraction(1, 10), Fraction(1, 4)
"""The shares of the cost of which one tells how many rows are in each cell: the larger if rows are few."""
CLEAR: Final = 16
"""Noise on all cells of a feature together is such a part of the rows, or there are no more cells than bins."""
SAFE: Final = 0.5
"""Bins are taken to have more rows than it seems, by so much of the noise: then curves are moved less, not too far."""
EVERYWHERE: Final = 0.02
"""Such a part of the rows is taken to lie anywhere within the bounds."""
PASS: Final = 2**14
"""So many rows are worked on at once: what is computed of them stays in the cache."""
GRID: Final = 2**20
"""Steps of half a range, for the cell of a value."""


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Where the bins of every feature begin and end, and about how many rows are in each: released numbers alone."""

    edges: Floats
    """A line for each feature, from its lower to its upper bound."""
    counts: Floats

    @classmethod
    def equal(cls, box: Box, bins: int, rows: float) -> Bins:
        """Equal parts of the bounds, with as many rows in each."""
        cuts = np.tile(np.arange(bins + 1), (box.width, 1))
        return cls(_edges(box, cuts, bins), np.full((box.width, bins), rows / bins))

    def codes(self, exact: Floats) -> Codes:
        """The bin of every value, a line for each feature: how many inner edges are not above it.

        A comparison rounds nothing: it is the same for a value wherever it stands, in a fit and after it. The last line
        is that of the constant, which is the same for all rows.
        """
        codes = np.zeros((len(self.edges) + 1, len(exact)), dtype=np.uint8)
        for line, edges, values in zip(codes, self.edges, exact.T, strict=False):
            for start in range(0, len(values), PASS):
                some = slice(start, start + PASS)
                line[some] = np.searchsorted(edges[1:-1], values[some], side="right")
        return codes


def density(width: int) -> Sensitivity:
    """How far a row moves the cells of so many features: it is in one cell of each."""
    return Sensitivity.cells(width, 1)


def merged(exact: Floats, box: Box, rows: float, bins: int, exit_: Exit) -> tuple[Bins, Fraction]:
    """So many bins of about as many rows each, made of cells; a cell with more rows than that is a bin alone.
    And what share of the cost they took.

    Theorem  That share. Proof: one release, of how many rows are in each cell of each feature; a row is in one of each,
             by its own value and public or released bounds. All else is post-processing.
    """
    moved = density(box.width)
    share = next((some for some in DENSITY if _clear(exit_.cost.deviation(moved, some), bins, rows)), DENSITY[-1])
    deviation, cells = exit_.cost.deviation(moved, share), FINEST
    while cells > bins and not _clear(deviation, cells, rows):
        cells //= 2
    noisy = counted(_histograms(exact, box, cells), moved, exit_, share)
    grown = np.cumsum(projected(noisy, np.full(box.width, rows)), axis=1)
    even = EVERYWHERE * rows * np.arange(1, cells + 1) / cells
    cuts = np.array([_cuts((line + even) / (line + even)[-1], bins, cells) for line in grown])
    sums = np.take_along_axis(np.hstack([np.zeros((box.width, 1)), grown]), cuts, axis=1)
    return Bins(_edges(box, cuts, cells), np.diff(sums) + SAFE * deviation * math.sqrt(cells / bins)), share


def _clear(deviation: float, cells: int, rows: float) -> bool:
    return deviation * math.sqrt(cells) * CLEAR <= rows


def _histograms(exact: Floats, box: Box, cells: int) -> Integers:
    """How many rows are in each cell of each feature; a cell depends on its own value alone."""
    counts = np.zeros((box.width, cells), dtype=np.int64)
    first = np.arange(box.width) * cells
    size = max(PASS // max(box.width, 1), 1)
    for start in range(0, len(exact), size):
        places = np.minimum((box.steps(exact[start : start + size], GRID) + GRID) * cells // (2 * GRID), cells - 1)
        counts += np.bincount((places + first).ravel(), minlength=counts.size).reshape(counts.shape)
    return counts


def _cuts(grown: Floats, bins: int, cells: int) -> Integers:
    """Above the cells in which equal shares are reached, and all of them apart.

    Where several would be above the same cell, it is full: the first of them is below it.
    """
    inner = np.searchsorted(grown, np.arange(1, bins) / bins - 1e-12) + 1
    above = np.append(inner[1:], cells)
    inner = np.maximum(inner - ((above == inner) & (np.append(0, inner[:-1]) < inner)), 1)
    steps = np.arange(bins - 1)
    inner = np.maximum.accumulate(inner - steps) + steps
    inner = np.minimum(inner, cells - bins + 1 + steps)
    return np.concatenate([[0], inner, [cells]])


def _edges(box: Box, cuts: Integers, cells: int) -> Floats:
    edges: Floats = box.points((2 * cuts.T - cells) / cells).T
    return edges
