"""Strategies on one attribute: integers A that are measured instead of the queries, and least squares back from them.

Every class here has the same methods.

    rows              how many numbers are measured
    sensitivity       how far one row of the data moves them: the largest L1 norm of a column, and of its L2 norm²
    measured(x)       A·x, of integers along the last axis: exact
    solved(y)         (AᵀA)⁻¹Aᵀ·y, the least-squares estimate of the cells
    trace(queries)    tr(W (AᵀA)⁻¹ Wᵀ): the variance of all answers together, for noise of variance 1
    variance(q)       q (AᵀA)⁻¹ qᵀ, of one query

Theorem  For y = A·x + z with independent noise of mean 0 and variance v, W·solved(y) is unbiased for W·x, has the
         summed variance v·trace(queries), and no other linear unbiased estimate from y has less.
Proof    solved(A·x) = x, since AᵀA has full rank, and E z = 0. The covariance of solved(y) is v·(AᵀA)⁻¹; the rest is
         the theorem of Gauss and Markov.
Source   Li, Hay, Rastogi, Miklau & McGregor 2010 (matrix mechanism).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.losses import Sensitivity
from discreet.mechanisms.arrays import Integers
from discreet.release.codec import demand_type, stored
from discreet.release.queries import DENSE, Floats, Queries

Number = TypeVar("Number", np.int64, np.float64)
MOST_ENTRY: Final = 2**21
"""Of an integer strategy."""


@stored
@dataclass(frozen=True, eq=False)
class Matrix:
    """Any integer matrix of full column rank."""

    entries: NDArray[np.int64]
    name: str = "matrix"

    def __post_init__(self) -> None:
        demand_type(entries=(self.entries, np.ndarray), name=(self.name, str))
        entries = self.entries
        if entries.ndim != 2 or entries.dtype.kind != "i" or not 0 < entries.shape[1] <= min(DENSE, len(entries)):
            raise ValueError("a strategy is a matrix of integers, with as many rows as cells or more")
        if len(entries) > 2 * DENSE or np.abs(entries).max() > MOST_ENTRY:
            raise ValueError("a strategy is not so large")

    @property
    def cells(self) -> int:
        return int(self.entries.shape[1])

    @property
    def rows(self) -> int:
        return len(self.entries)

    @property
    def sensitivity(self) -> Sensitivity:
        """Proof   A row of the data adds a column of A, or takes it away."""
        wide = self.entries.astype(np.int64)
        return Sensitivity(Fraction(int(np.abs(wide).sum(axis=0).max())), Fraction(int((wide**2).sum(axis=0).max())))

    def measured(self, exact: Integers) -> Integers:
        return exact @ self.entries.T.astype(np.int64)

    @cached_property
    def inverse(self) -> Floats:
        """(AᵀA)⁻¹."""
        real = self.entries.astype(np.float64)
        return np.asarray(np.linalg.inv(real.T @ real), dtype=np.float64)

    def solved(self, values: Floats) -> Floats:
        return values @ self.entries.astype(np.float64) @ self.inverse

    def trace(self, queries: Queries) -> float:
        return float((self.inverse * queries.gram).sum())

    def variance(self, query: Floats) -> float:
        return float(query @ self.inverse @ query)


@stored
@dataclass(frozen=True, eq=False)
class Tree:
    """Sums over the nodes of a tree of equal width, each level l times an integer weight w_l; 0 leaves a level out.

    The cells are filled up with empty ones to width^depth. Level 0 is the sum of all, the last one the cells.

    Theorem  A row moves the measurements by Σw_l in L1, and Σw_l² in L2². On V_l, the functions of cells that
             are constant on the nodes of level l and add up to 0 over the children of each node above, AᵀA is λ_l times
             the identity, λ_l = Σ_{m≥l} w_m²·s_m with s_m the cells under a node of level m.
    Proof    A row is in one node of each level. B_mᵀB_m, for the sums B_m of level m, is s_m times the projection onto
             functions that are constant on its nodes; those contain V_l for l ≤ m, and are orthogonal to it for l > m.
    Source   Hay, Rastogi, Miklau & Suciu 2010; weights: Li & Miklau 2012, Qardaji, Yang & Li 2013.
    """

    cells: int
    width: int
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        demand_type(cells=(self.cells, int), width=(self.width, int), weights=(self.weights, tuple))
        for weight in self.weights:
            demand_type(weight=(weight, int))
        sound = 0 < self.cells <= 2**20 and 2 <= self.width <= 2**20 and 1 <= len(self.weights) <= 22
        if not sound or not self.cells <= self.width ** (len(self.weights) - 1) < 2**26:
            raise ValueError("a tree has enough levels for its cells")
        if min(self.weights) < 0 or self.weights[-1] == 0 or max(self.weights) > MOST_ENTRY:
            raise ValueError("weights of a tree are not negative, and cells have one")

    @property
    def name(self) -> str:
        used = sum(weight > 0 for weight in self.weights)
        return "identity" if used == 1 else f"tree of width {self.width}, {used} levels"

    @property
    def depth(self) -> int:
        return len(self.weights) - 1

    @property
    def padded(self) -> int:
        return int(self.width**self.depth)

    @property
    def rows(self) -> int:
        return sum(self.width**level for level, weight in enumerate(self.weights) if weight)

    @property
    def sensitivity(self) -> Sensitivity:
        weights = self.weights
        return Sensitivity(Fraction(sum(weights)), Fraction(sum(weight**2 for weight in weights)))

    def measured(self, exact: Integers) -> Integers:
        parts, sums = [], _filled(exact, self.padded)
        for level in range(self.depth, -1, -1):
            if self.weights[level]:
                parts.append(self.weights[level] * sums)
            sums = sums.reshape(*sums.shape[:-1], -1, self.width).sum(axis=-1) if level else sums
        return np.concatenate(parts[::-1], axis=-1)

    @property
    def eigenvalues(self) -> Floats:
        """λ_l."""
        return tree_eigenvalues(np.array(self.weights, dtype=np.float64) ** 2, self.width)

    def solved(self, values: Floats) -> Floats:
        """Σ_l P_l·Aᵀy/λ_l, with P_l the projection onto V_l: level by level."""
        back, start = np.zeros((*values.shape[:-1], 1)), 0
        for level, weight in enumerate(self.weights):  # Aᵀy as a function of the cells
            back = np.repeat(back, self.width if level else 1, axis=-1)
            if weight:
                back = back + weight * values[..., start : start + self.width**level]
                start += self.width**level
        return spectral(back, self.eigenvalues, self.width)[..., : self.cells]

    def trace(self, queries: Queries) -> float:
        return float((energies(queries, self.width, self.depth) / self.eigenvalues).sum())

    def variance(self, query: Floats) -> float:
        return float(query @ spectral(_filled(query, self.padded), self.eigenvalues, self.width)[: self.cells])


@stored
@dataclass(frozen=True, eq=False)
class Haar:
    """The sum of all cells, and for each node of a binary tree its left half less its right half, weighted by level.

    Theorem  A row moves the measurements by Σw_l in L1, and Σw_l² in L2². On V_l (see `Tree`) AᵀA is λ_l times the
             identity, λ_l = w_l² times the cells under a node that level l splits, and for l = 0 times all cells.
    Proof    A row is in one node of each level, with +1 or −1. The rows of A are orthogonal, and those of level l span
             V_l; each has as many entries ±1 as its node has cells.
    Source   Xiao, Wang & Gehrke 2010 (Privelet).
    """

    cells: int
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        demand_type(cells=(self.cells, int), weights=(self.weights, tuple))
        for weight in self.weights:
            demand_type(weight=(weight, int))
        if not 0 < self.cells <= 2**20 or len(self.weights) > 22 or not self.cells <= 2 ** (len(self.weights) - 1):
            raise ValueError("wavelets have enough levels for their cells")
        if min(self.weights) < 1 or max(self.weights) > MOST_ENTRY:
            raise ValueError("weights of wavelets are above 0")

    name = "Haar wavelet"

    @property
    def depth(self) -> int:
        return len(self.weights) - 1

    @property
    def rows(self) -> int:
        return int(2**self.depth)

    @property
    def sensitivity(self) -> Sensitivity:
        return Sensitivity(Fraction(sum(self.weights)), Fraction(sum(weight**2 for weight in self.weights)))

    def measured(self, exact: Integers) -> Integers:
        parts, sums = [], _filled(exact, self.rows)
        for level in range(self.depth, 0, -1):
            halves = sums.reshape(*sums.shape[:-1], -1, 2)
            parts.append(self.weights[level] * (halves[..., 0] - halves[..., 1]))
            sums = halves.sum(axis=-1)
        return np.concatenate([self.weights[0] * sums, *parts[::-1]], axis=-1)

    @property
    def eigenvalues(self) -> Floats:
        """λ_l."""
        return haar_eigenvalues(np.array(self.weights, dtype=np.float64) ** 2)

    def solved(self, values: Floats) -> Floats:
        back = self.weights[0] * values[..., :1] / self.eigenvalues[0]
        for level in range(1, self.depth + 1):
            start = 2 ** (level - 1)
            part = self.weights[level] * values[..., start : 2 * start] / self.eigenvalues[level]
            back = np.stack([back + part, back - part], axis=-1).reshape(*values.shape[:-1], -1)
        cells: Floats = back[..., : self.cells]
        return cells

    def trace(self, queries: Queries) -> float:
        return float((energies(queries, 2, self.depth) / self.eigenvalues).sum())

    def variance(self, query: Floats) -> float:
        return float(query @ spectral(_filled(query, self.rows), self.eigenvalues, 2)[: self.cells])


Strategy = Matrix | Tree | Haar


# the spaces V_l


def tree_eigenvalues(squares: Floats, width: int) -> Floats:
    """λ_l of a tree by the squares of its weights."""
    sizes = float(width) ** np.arange(len(squares) - 1, -1, -1)
    values: Floats = np.cumsum((squares * sizes)[::-1])[::-1]
    return values


def haar_eigenvalues(squares: Floats) -> Floats:
    """λ_l of wavelets by the squares of their weights."""
    depth = len(squares) - 1
    values: Floats = squares * 2.0 ** np.array([depth, *range(depth, 0, -1)])
    return values


def energies(queries: Queries, width: int, depth: int) -> Floats:
    """tr(WᵀW·P_l) for each l: what the queries need of V_l."""
    sums = [queries.energy(width ** (depth - level)) / width ** (depth - level) for level in range(depth + 1)]
    return np.maximum(np.diff(np.array(sums), prepend=0.0), 0.0)


def spectral(cells: Floats, eigenvalues: Floats, width: int) -> Floats:
    """Σ_l P_l·x/λ_l."""
    means = [cells]
    for _ in eigenvalues[1:]:
        means.append(means[-1].reshape(*cells.shape[:-1], -1, width).mean(axis=-1))
    means.reverse()
    total: Floats = means[0] / eigenvalues[0]
    for level in range(1, len(eigenvalues)):
        above = np.repeat(means[level - 1], width, axis=-1)
        total = np.repeat(total, width, axis=-1) + (means[level] - above) / eigenvalues[level]
    return total


def _filled(cells: NDArray[Number], size: int) -> NDArray[Number]:
    """With empty cells at the end."""
    missing = [(0, 0)] * (cells.ndim - 1) + [(0, size - cells.shape[-1])]
    return np.pad(cells, missing)
