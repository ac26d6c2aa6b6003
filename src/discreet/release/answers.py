"""What a workload publishes: noisy measurements, and every answer that follows from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refused
from discreet.mechanisms.simplex import projected
from discreet.release.core import Published, demand_type, stored
from discreet.release.marginals import Marginals
from discreet.release.plans import Plan, Product, Term
from discreet.release.queries import Floats, demand_few

if TYPE_CHECKING:
    from discreet.release.workload import Workload


@stored
@dataclass(frozen=True, kw_only=True, eq=False)
class Answers(Published):
    """The measurements of a workload, and answers by least squares: unbiased, and consistent with each other.

    Answers add up (a range is the sum of its cells, in every answer), since all of them come from one estimate of the
    cells. They may be negative. `nonnegative=True` takes the nearest estimate that is not, with the same sum: errors
    get smaller where most cells are empty, and small counts too large on average, which is a bias. The measurements
    themselves stay in `values`.
    """

    workload: Workload
    plan: Plan
    values: NDArray[Any]
    """What was measured: whole numbers."""
    variance: float
    """Of the noise on each."""

    def __post_init__(self) -> None:
        from discreet.release.workload import Workload

        demand_type(workload=(self.workload, Workload), plan=(self.plan, (Product, Marginals)))
        demand_type(values=(self.values, np.ndarray), variance=(self.variance, float))
        if self.workload.domain is None or self.plan.shape != self.workload.domain.shape:
            raise ValueError("a strategy has the cells of its domain")
        if self.values.shape != (self.plan.rows,) or self.values.dtype != np.int64 or not self.variance >= 0:
            raise ValueError("a strategy has as many measurements as rows")

    @cached_property
    def estimate(self) -> Floats:
        """The least-squares estimate of every cell, in the shape of the domain."""
        if isinstance(self.plan, Product):
            return self.plan.solved(self.values.astype(np.float64))
        if math.prod(self.plan.shape) > 2**20:
            raise Refused("release-invalid", "only marginals were measured", "ask for marginal(…)")
        return self.marginal(*self.workload.columns)

    def cells(self, *, nonnegative: bool = False) -> Floats:
        """The estimate; `nonnegative`: the nearest without negative counts, which is biased (see above)."""
        if not nonnegative:
            return self.estimate
        total = np.maximum(np.array([self.estimate.sum()]), 0.0)
        return projected(self.estimate.reshape(1, -1), total).reshape(self.estimate.shape)

    def answers(self, part: int = 0, *, nonnegative: bool = False) -> Floats:
        """The answers to one family of queries; of marginals all tables one after the other."""
        terms = self.workload.grouped[part]
        demand_few(sum(term.count for term in terms))
        if isinstance(self.plan, Marginals):
            tables = [self.marginal(*self._names(term), nonnegative=nonnegative) for term in terms]
            return np.concatenate([table.ravel() for table in tables])
        cells = self.cells(nonnegative=nonnegative)
        return np.concatenate([_answered(term, cells).ravel() for term in terms])

    def _names(self, term: Term) -> list[str]:
        pairs = zip(self.workload.columns, term.queries, strict=True)
        return [name for name, queries in pairs if queries.kind == "identity"]

    @cached_property
    def _components(self) -> Any:
        assert isinstance(self.plan, Marginals)
        return self.plan.components(self.values.astype(np.float64))

    def marginal(self, *columns: str, nonnegative: bool = False) -> Floats:
        """The table over some columns."""
        domain = self.workload.settled
        indices = [domain.index(name) for name in columns]
        if isinstance(self.plan, Product):
            others = tuple(i for i in range(len(domain.known)) if i not in indices)
            table = self.estimate.sum(axis=others)
        else:
            several = tuple(i for i in sorted(set(indices)) if domain.shape[i] > 1)
            table = self.plan.table(self._components, several).reshape([domain.shape[i] for i in sorted(set(indices))])
        table = np.transpose(table, np.argsort(np.argsort(indices))) if len(indices) > 1 else table
        if nonnegative:
            total = np.maximum(np.array([table.sum()]), 0.0)
            return projected(table.reshape(1, -1), total).reshape(table.shape)
        return table

    @property
    def error(self) -> dict[str, float]:
        """Of each family of queries the root of the expected squared error of an answer."""
        from discreet.release.workload import mean_squares

        squares = mean_squares(self.workload, self.plan, self.variance)
        return {part.words: math.sqrt(square) for part, square in zip(self.workload.parts, squares, strict=True)}

    @property
    def columns(self) -> tuple[str, ...]:
        """Of `rows`."""
        return (*self.workload.settled.names, "count")

    def rows(self, *, nonnegative: bool = False) -> list[tuple[Any, ...]]:
        """For each cell what stands for it, and its estimated count."""
        counts = self.cells(nonnegative=nonnegative).ravel().tolist()
        return [(*label, count) for label, count in zip(self.workload.settled.labels(), counts, strict=True)]


def _answered(term: Term, cells: Floats) -> Floats:
    if len(term.queries) != cells.ndim:  # over all cells in a row
        cells = cells.reshape(-1)
    for axis, queries in enumerate(term.queries):
        cells = np.moveaxis(queries.answered(np.moveaxis(cells, axis, -1)), -1, axis)
    return cells
