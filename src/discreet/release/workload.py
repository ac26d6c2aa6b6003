"""Workloads: many counting queries over one domain, measured together by the strategy with the least error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Final, Self

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.errors import Refused
from discreet.exit import Cost, Exit
from discreet.mechanisms.arrays import Array
from discreet.release.answers import Answers
from discreet.release.attributes import Cut
from discreet.release.core import (
    Expected,
    Publication,
    demand_affordable,
    demand_type,
    noise_words,
    stored,
    variance_of,
)
from discreet.release.domain import Bins, Domain
from discreet.release.marginals import MOST_NUMBERS, Marginals
from discreet.release.plans import MOST_TERMS, Plan, Product, Term, best_plan, size_of, traced
from discreet.release.queries import DENSE, Queries
from discreet.release.rows import Rows
from discreet.sql.nodes import Field

KINDS: Final = ("histogram", "totals", "ranges", "prefixes", "marginals", "product", "matrix")
FACTORS: Final = ("identity", "total", "ranges", "prefixes")
MOST_SCALE: Final = 2**16
"""Entries of a strategy are whole numbers up to about this."""
Z: Final = 1.96
"""Half-widths of 95 % in standard deviations: an answer adds up many noises."""


@stored
@dataclass(frozen=True, eq=False)
class Part:
    """One family of queries."""

    kind: str
    ways: int | None = None
    """Of marginals: over so many attributes each."""
    factors: tuple[tuple[str, Any], ...] = ()
    """Of a product: for each attribute that is named the kind of its queries, or a matrix; for others their total."""
    matrix: Array | None = None
    """A row for each query, over all cells with the last attribute running fastest."""

    def __post_init__(self) -> None:
        demand_type(kind=(self.kind, str), ways=(self.ways, (int, type(None))), factors=(self.factors, tuple))
        demand_type(matrix=(self.matrix, (np.ndarray, type(None))))
        if self.kind not in KINDS or (self.kind == "marginals") != (self.ways is not None):
            raise ValueError(f"families of queries are: {', '.join(KINDS)}")
        if (self.kind == "matrix") != (self.matrix is not None) or (self.kind == "product") != bool(self.factors):
            raise ValueError("a matrix and a product say what they are made of")
        for factor in self.factors:
            demand_type(factor=(factor, tuple))
            name, queried = factor
            demand_type(name=(name, str), queries=(queried, (str, np.ndarray)))
            if isinstance(queried, str) and queried not in FACTORS:
                raise ValueError(f"queries of one attribute are a matrix or one of: {', '.join(FACTORS)}")

    @property
    def words(self) -> str:
        return f"{self.ways}-way marginals" if self.kind == "marginals" else self.kind

    def terms(self, domain: Domain) -> list[Term]:
        """Its queries over a domain."""
        names = range(len(domain.known))
        if self.kind == "marginals":
            return [_term(domain, dict.fromkeys(chosen, "identity")) for chosen in self._chosen(domain)]
        if self.kind == "product":
            return [_term(domain, {domain.index(name): factor for name, factor in self.factors})]
        if self.kind == "totals":
            return [_term(domain, {})]
        if self.kind == "histogram":
            return [_term(domain, dict.fromkeys(names, "identity"))]
        ordered = {i: self.kind if isinstance(domain.known[i], Cut) else "identity" for i in names}
        if not any(kind == self.kind for kind in ordered.values()):
            raise Refused(
                "release-invalid", f"no column has an order, as {self.kind} need", "use a histogram or marginals"
            )
        return [_term(domain, ordered)]

    def _chosen(self, domain: Domain) -> list[tuple[int, ...]]:
        ways, width = self.ways or 0, len(domain.known)
        if not 0 <= ways <= width or math.comb(width, ways) > MOST_TERMS:
            fix = f"use 0 to {width} attributes, in at most {MOST_TERMS:,} marginals"
            raise Refused("release-invalid", f"{self.words} of {width} columns are none, or too many", fix)
        return list(combinations(range(width), ways))


def _term(domain: Domain, factors: Mapping[int, Any]) -> Term:
    queries = []
    for index, attribute in enumerate(domain.known):
        queried = factors.get(index, "total")
        null = int(attribute.nullable)
        if isinstance(queried, str):
            queries.append(Queries(queried, attribute.size, null))
        else:
            queries.append(Queries("matrix", attribute.size, null, _matrix(queried, attribute.size)))
    return Term(tuple(queries))


def _numbers(rows: Any) -> Array:
    """Queries of integers, fractions or floats; only answers are computed with them, nothing private."""
    return np.array([[float(entry) for entry in row] for row in rows])


def _matrix(given: Any, cells: int) -> Any:
    matrix = np.asarray(given, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != cells or not len(matrix) or not np.isfinite(matrix).all():
        raise Refused(
            "release-invalid", f"a matrix of queries has {cells} numbers in each row", "give a row for each query"
        )
    if cells > DENSE:
        raise Refused("release-invalid", f"a matrix of queries has at most {DENSE} cells", "use ranges or marginals")
    return matrix


@stored
@dataclass(frozen=True, kw_only=True, eq=False)
class Workload(Publication):
    """Counting queries over one domain: what is measured is the strategy that serves them best.

    Theorem  It costs what the exit is given.
    Proof    One vector of integers A·x leaves, x the histogram of the domain. A unit of r rows changes x by v ≥ 0 with
             Σv ≤ r (`Domain.histogram`), so A·x by Σ v_j·A_j: at most r times the largest L1, or L2, norm of a column.
             A follows from public facts; all answers are post-processing.
    Source   Li, Hay, Rastogi, Miklau & McGregor 2010; McKenna, Miklau, Hay & Machanavajjhala 2018 (products); Xiao, He,
             Zhang & Kifer 2023 (marginals).
    """

    parts: tuple[Part, ...]
    names: tuple[str, ...] | None = None
    """Which columns; None for all."""
    bins: Bins | None = None
    domain: Domain | None = None
    """None: as the policy declares it."""

    def __post_init__(self) -> None:
        demand_type(parts=(self.parts, tuple), domain=(self.domain, (Domain, type(None))))
        for part in self.parts:
            demand_type(part=(part, Part))
        if not self.parts:
            raise ValueError("a workload has queries")

    # families

    @classmethod
    def histogram(cls, *columns: str, **facts: Any) -> Self:
        """Every cell."""
        return cls._of(Part("histogram"), columns, facts)

    @classmethod
    def totals(cls, *columns: str, **facts: Any) -> Self:
        """The number of rows within the domain."""
        return cls._of(Part("totals"), columns, facts)

    @classmethod
    def ranges(cls, *columns: str, **facts: Any) -> Self:
        """All ranges of columns with an order; of several, all boxes; for each value of those without."""
        return cls._of(Part("ranges"), columns, facts)

    @classmethod
    def prefixes(cls, *columns: str, **facts: Any) -> Self:
        """All ranges that begin at the lower bound: the cumulative distribution."""
        return cls._of(Part("prefixes"), columns, facts)

    @classmethod
    def marginals(cls, ways: int, *columns: str, **facts: Any) -> Self:
        """The tables over all combinations of so many columns."""
        return cls._of(Part("marginals", ways), columns, facts)

    @classmethod
    def product(cls, factors: Mapping[str, Any], **facts: Any) -> Self:
        """For each column the kind of its queries (identity, total, ranges, prefixes, or a matrix), all combined."""
        columns = () if facts.get("domain") is not None else tuple(factors)
        named = tuple((name, each if isinstance(each, str) else _numbers(each)) for name, each in factors.items())
        return cls._of(Part("product", factors=named), columns, facts)

    @classmethod
    def matrix(cls, rows: Any, *columns: str, **facts: Any) -> Self:
        """Any linear queries: a row for each, over all cells with the last column running fastest."""
        return cls._of(Part("matrix", matrix=_numbers(rows)), columns, facts)

    @classmethod
    def _of(cls, part: Part, columns: Sequence[str], facts: Mapping[str, Any]) -> Self:
        return cls(parts=(part,), names=tuple(columns) or None, **facts)

    def __add__(self, other: Workload) -> Workload:
        """The queries of both, over the columns, bins or domain of the first."""
        return replace(self, parts=(*self.parts, *other.parts))

    # public facts

    def declared(self, fields: Sequence[Field] | None) -> Self:
        domain = Domain.settled(self.domain, fields, columns=self.names, bins=self.bins)
        complete = replace(self, domain=domain, names=None, bins=None)
        terms = complete.terms
        if any(term.subset is None for term in terms):
            domain.demand_small()
        elif sum(math.prod(domain.shape[i] for i in term.subset or ()) for term in terms) > MOST_NUMBERS:
            raise Refused("release-invalid", "these marginals have too many cells", "use fewer columns, or larger bins")
        return complete

    @property
    def columns(self) -> tuple[str, ...]:
        return self.settled.names

    @property
    def settled(self) -> Domain:
        """Its domain."""
        if self.domain is None:
            raise Refused("release-invalid", "nothing is known about the columns", "give a domain: Domain.of({…})")
        return self.domain

    @cached_property
    def grouped(self) -> list[list[Term]]:
        """The queries of each part, as products."""
        if any(part.kind == "matrix" for part in self.parts):
            return [[Term((self._flat(part),))] for part in self.parts]
        return [part.terms(self.settled) for part in self.parts]

    @property
    def terms(self) -> list[Term]:
        return [term for terms in self.grouped for term in terms]

    def _flat(self, part: Part) -> Queries:
        """Over all cells in a row: a matrix knows no attributes."""
        domain = self.settled
        domain.demand_small(DENSE)
        if part.matrix is not None:
            return Queries("matrix", domain.size, matrix=_matrix(part.matrix, domain.size))
        return Queries("matrix", domain.size, matrix=np.concatenate([term.rows for term in part.terms(domain)]))

    # the strategy

    def plan(self, cost: Cost, most: int = 1) -> Plan:
        """The strategy with the least error at a cost, for units of at most so many rows."""
        fine = cost.fineness(Sensitivity.cells(1, most))
        plan = best_plan(self.terms, pure=cost.pure, scale=min(fine, MOST_SCALE))
        if isinstance(plan, Product) and plan.shape != self.settled.shape:
            plan = replace(plan, shape=self.settled.shape)
        demand_affordable(cost, _moved(plan, most))
        return plan

    def expected(self, cost: Cost, most: int) -> Expected:
        plan = self.plan(cost, most)
        variance = variance_of(cost, _moved(plan, most))
        errors = mean_squares(self, plan, variance)
        words = noise_words(cost, _moved(plan, most))
        named = {part.words: Z * math.sqrt(error) for part, error in zip(self.parts, errors, strict=True)}
        plain = size_of_plain(self, cost)
        chosen = size_of(plan, self.terms, pure=cost.pure)
        notes = [f"measured: {plan.name}; every answer is a least-squares estimate from it"]
        if plain / chosen >= 1.01:
            notes.append(f"{plain / chosen:.3g} times less variance than noise on each cell")
        return Expected(
            error=named,
            noise=dict.fromkeys(named, f"estimated from {plan.rows:,} numbers with {words}"),
            notes=tuple(notes),
            cells=sum(term.count for term in self.terms),
        )

    # rows

    def run(self, rows: Rows, exit_: Exit) -> Answers:
        plan = self.plan(exit_.cost, rows.most)
        codes = self.settled.codes(rows)
        exact = plan.measured(codes if isinstance(plan, Marginals) else self.settled.histogram(codes))
        moved = _moved(plan, rows.most)
        variance = variance_of(exit_.cost, moved)
        return Answers(workload=self, plan=plan, values=exit_.release(exact, moved), variance=variance)


def _moved(plan: Plan, rows: int) -> Sensitivity:
    """How far a unit of so many rows moves what is measured: the triangle inequality."""
    one = plan.sensitivity
    return Sensitivity(one.l1 * rows, one.l2_squared * rows**2)


def mean_squares(workload: Workload, plan: Plan, variance: float) -> list[float]:
    """Of each part the expected squared error of an answer, on average over its queries."""
    return [
        variance * sum(traced(plan, term) for term in terms) / sum(term.count for term in terms)
        for terms in workload.grouped
    ]


def size_of_plain(workload: Workload, cost: Cost) -> float:
    """The same as `size_of` for noise on every cell: the error that everybody knows.

    An answer that adds up m cells has m times the variance of one; Σm over all queries is the trace of their Gram
    matrix.
    """
    per_cost = 2.0 if cost.pure else 1.0
    return per_cost * sum(math.prod(each.energy(1) for each in term.queries) for term in workload.terms)


@dataclass(frozen=True)
class Optimized:
    """A strategy for a workload, and what it gives: known before any data."""

    plan: Plan
    error: dict[str, float]
    """Of each family of queries the root of the expected squared error of an answer."""
    plain: float
    """How many times more variance noise on each cell would have."""

    def __str__(self) -> str:
        errors = ", ".join(f"{name} ± {error:.4g} (root mean square)" for name, error in self.error.items())
        return f"{self.plan.name}: {errors}; {self.plain:.3g} times less variance than noise on each cell"


def optimize(
    workload: Workload, *, epsilon: Any = None, delta: Any = None, rho: Any = None, max_rows: int = 1
) -> Optimized:
    """The strategy with the least error for a workload over a given domain, and its expected error: from public facts.

    >>> print(optimize(Workload.prefixes(domain=Domain.of({"age": (0, 63)})), rho=0.5))
    optimal matrix: prefixes ± 2.1... (root mean square); 7.3... times less variance than noise on each cell
    """
    complete = workload.declared(None)
    cost = complete.cost_for(epsilon=epsilon, delta=delta, rho=rho)
    plan = complete.plan(cost, max_rows)
    variance = variance_of(cost, _moved(plan, max_rows))
    errors = [math.sqrt(square) for square in mean_squares(complete, plan, variance)]
    gain = size_of_plain(complete, cost) / size_of(plan, complete.terms, pure=cost.pure)
    return Optimized(plan, dict(zip((part.words for part in complete.parts), errors, strict=True)), gain)
