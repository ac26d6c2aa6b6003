"""Counting queries over the cells of one attribute, by what a strategy needs to know of them: their Gram matrix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refused

Floats = NDArray[np.float64]
DENSE: Final = 2048
"""Cells up to which a Gram matrix is made."""
MOST_QUERIES: Final = 2**24
"""Answers that are made at once."""


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows W over `cells` cells, of which the last is NULL where `null` is 1: it has no order and is asked alone."""

    kind: str
    """identity (each cell), total (all cells), prefixes, ranges (from each cell to each), matrix."""
    cells: int
    null: int = 0
    matrix: Floats | None = None

    @property
    def ordered(self) -> int:
        """Cells that have an order."""
        return self.cells - self.null

    @property
    def is_marginal(self) -> bool:
        return self.kind in ("identity", "total") or self.cells == 1

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells them apart."""
        own = None if self.matrix is None else (self.matrix.shape, self.matrix.tobytes())
        return (self.kind, self.cells, self.null, own)

    @cached_property
    def count(self) -> int:
        """How many queries there are."""
        n = self.ordered
        known = {"identity": self.cells, "total": 1, "prefixes": n + self.null, "ranges": n * (n + 1) // 2 + self.null}
        return known[self.kind] if self.matrix is None else len(self.matrix)

    @cached_property
    def gram(self) -> Floats:
        """WᵀW.

        A range contains cells i ≤ j where it begins at i or before and ends at j or after: (i + 1)·(n − j) of them;
        a prefix where it ends at j or after: n − j.
        """
        if self.cells > DENSE:
            raise ValueError("too many cells for a matrix")
        if self.matrix is not None:
            given: Floats = self.matrix.T @ self.matrix
            return given
        if self.kind == "identity":
            return np.eye(self.cells)
        if self.kind == "total":
            return np.ones((self.cells, self.cells))
        n = self.ordered
        cells = np.arange(n)
        first, last = np.minimum.outer(cells, cells), np.maximum.outer(cells, cells)
        gram = np.zeros((self.cells, self.cells), dtype=np.float64)
        gram[:n, :n] = (n - last) * (first + 1.0 if self.kind == "ranges" else 1.0)
        if self.null:
            gram[n, n] = 1.0
        return gram

    def energy(self, size: int) -> float:
        """Σ |W·1_B|² over the blocks B of so many cells, which are left to right, the last one perhaps shorter.

        Of ranges, |W·1_B|² is Σ_{i<j} (P_j − P_i)² = (n + 1)·ΣP² − (ΣP)² with P the n + 1 sums of 1_B up to each place.
        """
        starts = np.arange(0, self.cells, size, dtype=np.float64)
        if self.kind == "identity":
            return float(self.cells)
        if self.kind == "total":
            return float(
                (np.minimum(starts + size, self.cells) - starts) @ (np.minimum(starts + size, self.cells) - starts)
            )
        if self.matrix is not None:
            sums = np.add.reduceat(self.matrix, starts.astype(np.int64), axis=1)
            return float((sums**2).sum())
        n = self.ordered
        starts = starts[starts < n]
        s = np.minimum(starts + size, n) - starts
        after = n - starts - s
        total = s * (s + 1) / 2 + s * after
        squares = s * (s + 1) * (2 * s + 1) / 6 + s**2 * after
        each = squares if self.kind == "prefixes" else (n + 1) * squares - total**2
        return float(each.sum()) + self.null

    def answered(self, cells: Floats) -> Floats:
        """W times cells, which lie along the last axis."""
        if self.kind == "identity":
            return cells
        if self.kind == "total":
            return np.asarray(cells.sum(axis=-1, keepdims=True))
        if self.matrix is not None:
            product: Floats = cells @ self.matrix.T
            return product
        sums = np.cumsum(cells[..., : self.ordered], axis=-1)
        if self.kind == "ranges":
            first, last = self.ends
            sums = sums[..., last] - np.where(first > 0, sums[..., first - 1], 0.0)
        return np.concatenate([sums, cells[..., self.ordered :]], axis=-1)

    @cached_property
    def rows(self) -> Floats:
        """W itself."""
        demand_few(self.count * self.cells)
        return self.answered(np.eye(self.cells)).T

    @property
    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of ranges: the first and the last cell of each."""
        first, last = np.triu_indices(self.ordered)
        return first.astype(np.int64), last.astype(np.int64)


def combined(parts: Iterable[Floats]) -> Floats:
    """A Kronecker product."""
    product: Floats = np.ones((1, 1))
    for part in parts:
        product = np.asarray(np.kron(product, part), dtype=np.float64)
    return product


def demand_few(count: int) -> None:
    """Refuse to make more answers than fit into memory."""
    if count > MOST_QUERIES:
        raise Refused("too-complex", f"these are {count:,} answers at once", "ask for some of them, or use the cells")
