"""Strategies for workloads: which one has the least error, by public facts alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.mechanisms.arrays import Integers
from discreet.release.codec import demand_type, stored
from discreet.release.marginals import Marginals, Subset, needs, residual_weights
from discreet.release.optimal import MOST_OPTIMAL, best_matrix, listed
from discreet.release.queries import DENSE, Floats, Queries, combined
from discreet.release.remembered import Remembered
from discreet.release.strategies import Haar, Matrix, Strategy, Tree

MOST_TERMS: Final = 20_000
MARGINAL_SCALE: Final = 2**24


@dataclass(frozen=True)
class Term:
    """Queries of each attribute, all of them combined: a Kronecker product."""

    queries: tuple[Queries, ...]

    @property
    def count(self) -> int:
        return math.prod(each.count for each in self.queries)

    @property
    def subset(self) -> Subset | None:
        """The attributes of a marginal; None if it is something else. Those with one cell need not be named."""
        if not all(each.is_marginal for each in self.queries):
            return None
        return tuple(i for i, each in enumerate(self.queries) if each.kind == "identity" and each.cells > 1)

    @property
    def gram(self) -> Floats:
        """WᵀW over all cells."""
        return combined(each.gram for each in self.queries)

    @property
    def rows(self) -> Floats:
        """W over all cells."""
        return combined(each.rows for each in self.queries)

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(each.key for each in self.queries)


@stored
@dataclass(frozen=True, eq=False)
class Product:
    """A strategy for each attribute, all of them combined; `flat`: one for all cells in a row.

    Theorem  Norms of columns, traces with Kronecker products of queries, and least squares are products of those of the
             attributes. Proof: (A⊗B)ᵀ(A⊗B) = AᵀA⊗BᵀB, and columns of A⊗B are products of columns.
    """

    factors: tuple[Strategy, ...]
    shape: tuple[int, ...]
    """Of the domain."""

    def __post_init__(self) -> None:
        demand_type(factors=(self.factors, tuple), shape=(self.shape, tuple))
        for factor in self.factors:
            demand_type(factor=(factor, (Matrix, Tree, Haar)))
        cells = tuple(factor.cells for factor in self.factors)
        if not cells or cells not in (self.shape, (math.prod(self.shape),)):
            raise ValueError("a strategy has the cells of its domain")

    @property
    def name(self) -> str:
        return " × ".join(factor.name for factor in self.factors)

    @property
    def is_flat(self) -> bool:
        return len(self.factors) != len(self.shape)

    @property
    def rows(self) -> int:
        return math.prod(factor.rows for factor in self.factors)

    @cached_property
    def sensitivity(self) -> Sensitivity:
        each = [factor.sensitivity for factor in self.factors]
        return Sensitivity(math.prod(one.l1 for one in each), math.prod(one.l2_squared for one in each))  # type: ignore[arg-type]

    def measured(self, exact: Integers) -> Integers:
        table = exact.reshape([factor.cells for factor in self.factors])
        for axis, factor in enumerate(self.factors):
            table = np.moveaxis(factor.measured(np.moveaxis(table, axis, -1)), -1, axis)
        return table.ravel()

    def solved(self, values: Floats) -> Floats:
        """The least-squares estimate of all cells."""
        table = values.reshape([factor.rows for factor in self.factors])
        for axis, factor in enumerate(self.factors):
            table = np.moveaxis(factor.solved(np.moveaxis(table, axis, -1)), -1, axis)
        return table.reshape(self.shape)

    def trace(self, term: Term) -> float:
        queries = (flattened(term),) if self.is_flat else term.queries
        return math.prod(factor.trace(each) for factor, each in zip(self.factors, queries, strict=True))


Plan = Product | Marginals


def traced(plan: Plan, term: Term) -> float:
    """The variance of all answers of a term together, for noise of variance 1."""
    if isinstance(plan, Product):
        return plan.trace(term)
    subset = term.subset
    assert subset is not None
    return plan.trace(needs(plan.shape, {subset: 1.0}))


def flattened(term: Term) -> Queries:
    """The same queries over all cells in a row, by their Gram matrix."""
    return _of_gram(term.gram)


def _of_gram(gram: Floats) -> Queries:
    """Any queries with this Gram matrix."""
    values, vectors = np.linalg.eigh(gram)
    return Queries("matrix", len(gram), matrix=(vectors * np.sqrt(np.maximum(values, 0))).T)


def size_of(plan: Plan, terms: Sequence[Term], *, pure: bool) -> float:
    """The sum of squared errors at ε = 1, or at one unit of Gaussian noise: what is made small."""
    moved = plan.sensitivity
    per_cost = 2 * float(moved.l1) ** 2 if pure else float(moved.l2_squared)
    if isinstance(plan, Marginals):
        return per_cost * plan.trace(needs(plan.shape, _wanted(terms)))
    return per_cost * sum(plan.trace(term) for term in terms)


def _wanted(terms: Sequence[Term]) -> dict[Subset, float]:
    wanted: dict[Subset, float] = {}
    for term in terms:
        assert term.subset is not None
        wanted[term.subset] = wanted.get(term.subset, 0.0) + 1.0
    return wanted


# the search

_SEARCHED: Remembered[Plan] = Remembered()


def best_plan(terms: Sequence[Term], *, pure: bool, scale: int) -> Plan:
    """Of all strategies that are tried the one with the least error; remembered, since some take seconds."""

    def search() -> Plan:
        return min(candidates(terms, pure=pure, scale=scale), key=lambda plan: size_of(plan, terms, pure=pure))

    return _SEARCHED.get((tuple(term.key for term in terms), pure, scale), search)


def candidates(terms: Sequence[Term], *, pure: bool, scale: int) -> Iterator[Plan]:
    """Strategies for a workload. Marginals are never tabled over all attributes unless these have few cells."""
    shape = tuple(each.cells for each in terms[0].queries)
    cells = math.prod(shape)
    if all(term.subset is not None for term in terms):
        yield from _of_marginals(shape, terms, pure=pure)
        if cells > MOST_OPTIMAL or not pure:  # residuals are optimal for Gaussian noise
            return
    if len(terms) == 1 or cells > MOST_OPTIMAL:
        yield from _of_products(shape, terms, pure=pure, scale=scale)
    if cells <= MOST_OPTIMAL and len(terms) > 1:
        yield from _of_products(shape, terms, pure=pure, scale=scale)
        if not pure:
            yield Product((best_matrix(np.sum([term.gram for term in terms], axis=0), scale),), shape)


def _of_products(shape: tuple[int, ...], terms: Sequence[Term], *, pure: bool, scale: int) -> Iterator[Product]:
    """For each attribute the best strategy for its own queries; of several terms, for all of them alike."""
    each = max(8, int(scale ** (1 / len(shape))))
    yield Product(tuple(Tree(cells, max(cells, 2), (0, 1)) for cells in shape), shape)
    factors = []
    for index in range(len(shape)):
        kinds = {term.queries[index].key: term.queries[index] for term in terms}
        queries = next(iter(kinds.values())) if len(kinds) == 1 else _together(list(kinds.values()))
        factors.append(_best_factor(queries, each, pure=pure))
    yield Product(tuple(factors), shape)


def _together(kinds: list[Queries]) -> Queries:
    """Several kinds of queries of one attribute, each kind with the same weight."""
    if kinds[0].cells > DENSE:
        return max(kinds, key=lambda queries: queries.count)
    return _of_gram(np.sum([queries.gram / np.trace(queries.gram) for queries in kinds], axis=0))


def _best_factor(queries: Queries, scale: int, *, pure: bool) -> Strategy:
    return min(factors_for(queries, scale, pure=pure), key=lambda factor: factor_size(factor, queries, pure=pure))


def factors_for(queries: Queries, scale: int, *, pure: bool) -> list[Strategy]:
    """All strategies that are tried for one attribute."""
    strategies = list(listed(queries, scale, pure=pure))
    if not pure and 1 < queries.cells <= MOST_OPTIMAL and queries.kind not in ("identity", "total"):
        strategies.append(best_matrix(queries.gram, scale))
    return strategies


def factor_size(factor: Strategy, queries: Queries, *, pure: bool) -> float:
    """The squared errors of all queries together, per unit of cost: strategies are compared by it."""
    moved = factor.sensitivity
    return (2 * float(moved.l1) ** 2 if pure else float(moved.l2_squared)) * factor.trace(queries)


def _of_marginals(shape: tuple[int, ...], terms: Sequence[Term], *, pure: bool) -> Iterator[Marginals]:
    wanted = _wanted(terms)
    needed = needs(shape, wanted)
    yield _weighted(shape, residual_weights(shape, needed, pure=pure), residual=True)
    if pure:
        tables = {subset: float(math.prod(shape[i] for i in subset)) ** (1 / 3) for subset in wanted}
        yield _weighted(shape, tables, residual=False)
        yield _weighted(shape, dict.fromkeys(wanted, 1.0), residual=False)


def _weighted(shape: tuple[int, ...], weights: Mapping[Subset, float], *, residual: bool) -> Marginals:
    """With whole weights, fine enough for tables with many cells."""
    sizes = {subset: math.prod(shape[i] for i in subset) if residual else 1 for subset in weights}
    largest = max(weight * sizes[subset] for subset, weight in weights.items())
    scale = MARGINAL_SCALE if residual else 64
    whole = tuple(max(1, round(scale * weight / largest)) for weight in weights.values())
    return Marginals(shape, tuple(weights), whole, residual)
