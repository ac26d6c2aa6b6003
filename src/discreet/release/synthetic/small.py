"""The small database: the lecture's mechanism, exactly, where so few databases are possible that all can be scored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refused
from discreet.exact import Number, number, whole
from discreet.exit import Cost, Exit
from discreet.mechanisms.arrays import Integers
from discreet.mechanisms.selection import shortfall
from discreet.release.core import Expected, OverDomain, Published, demand_affordable, demand_type, error_of, stored
from discreet.release.domain import Domain
from discreet.release.rows import Rows
from discreet.sql.nodes import Field

TOTAL: Final = Fraction(1, 10)
"""The share of the number of rows, by which fractions become counts."""
MOST_MULTISETS: Final = 200_000
MOST_ROWS: Final = 20
"""Of a small database: 20! is the largest factorial within 64 bits."""
MOST_CELLS: Final = 1000
MOST_COLUMNS: Final = 10
MOST_QUERIES: Final = 10_000
BLOCK: Final = 2**22
CONFIDENCE: Final = Fraction(95, 100)
LARGER: Final = (
    "use a smaller size, a larger alpha, fewer columns or larger bins; or MWEM or MarginalSynthesizer, which take more"
)


@stored
@dataclass(frozen=True, kw_only=True)
class SmallRows(Published):
    """A database of few rows that answers all queries about as the source does."""

    domain: Domain
    counts: NDArray[Any] = field(compare=False)
    """Of its rows, by cell."""
    total: int
    """About how many rows the source has."""

    def __post_init__(self) -> None:
        demand_type(domain=(self.domain, Domain), counts=(self.counts, np.ndarray), total=(self.total, int))
        if self.domain.unlisted or self.counts.shape != self.domain.shape or self.counts.dtype != np.int64:
            raise ValueError("a small database has a number of rows for each cell")
        if int(self.counts.min()) < 0 or not 0 < int(self.counts.sum()) <= MOST_ROWS:
            raise ValueError("a small database has a few rows")

    def __len__(self) -> int:
        return int(self.counts.sum())

    @property
    def columns(self) -> tuple[str, ...]:
        """Of `rows`."""
        return self.domain.names

    def rows(self) -> list[tuple[Any, ...]]:
        """What stands for the cell of each row."""
        labels = zip(self.domain.labels(), self.counts.ravel().tolist(), strict=True)
        return [label for label, count in labels for _ in range(count)]

    def fraction(self, query: Any) -> float:
        """Which part of the rows a query counts: an array of 0 and 1 in the shape of the domain."""
        return float((np.asarray(query).reshape(self.counts.shape) * self.counts).sum()) / len(self)

    def count(self, query: Any) -> float:
        """About how many rows of the source a query counts."""
        return self.total * self.fraction(query)


@stored
@dataclass(frozen=True, kw_only=True)
class SmallDatabase(OverDomain):
    """Of all databases y with m rows one that answers K counting queries well, by the exponential mechanism.

    The score of y is −max |f(D) − (N/m)·f(y)| over all queries f, in counts.

    Theorem  It costs what the exit is given, for units of at most r rows. A tenth is for the number of rows N.
    Proof    A unit raises f(D) by some a with 0 ≤ a ≤ r and N by b with a ≤ b ≤ r, so f(D) − (N/m)·f(y) moves by
             a − b·f(y)/m, which lies between −r and r since 0 ≤ f(y) ≤ m; so does the largest of them. Scores are kept
             as whole numbers, m times as large. Sequences of rows that are alike but for their order share a score:
             they are drawn as one multiset with as many copies.
    Error    Some y of m = log₂K/α² rows is within α of all queries, as fractions: m rows of D drawn at random are so
             with a probability above 0, as 2K·exp(−2mα²) < 1 for K ≥ 2. The choice falls short of it by
             (2r/ε)·(m·ln|X| + ln(1/β)) counts at most, with probability 1 − β.
    Source   Blum, Ligett & Roth 2008, as the lecture has it, where N is public and the sensitivity 1/N.
    """

    alpha: Number = Fraction(1, 2)
    """How far fractions may be off, before noise."""
    size: int | None = None
    """Rows of the small database; None for log₂K/α²."""
    queries: NDArray[Any] | None = field(default=None, compare=False)
    """A row of 0 and 1 for each query, one for each cell of the domain; None for all cells of all marginals."""

    def declared(self, fields: Sequence[Field] | None) -> Self:
        domain = Domain.settled(self.domain, fields, columns=self.names, bins=self.bins)
        alpha = number(self.alpha, "alpha")
        if not 0 < alpha < 1:
            raise ValueError("alpha lies between 0 and 1")
        domain.demand_small(MOST_CELLS, LARGER)
        if len(domain.names) > MOST_COLUMNS:
            raise Refused("release-invalid", f"there are more than {MOST_COLUMNS} columns", LARGER)
        complete = replace(
            self, domain=domain, names=None, bins=None, alpha=alpha, queries=_queries(domain, self.queries)
        )
        if complete.rows > MOST_ROWS or math.comb(domain.size + complete.rows - 1, complete.rows) > MOST_MULTISETS:
            reason = f"databases of {complete.rows} rows over {domain.size} cells are too many to be scored one by one"
            raise Refused("release-invalid", reason, LARGER)
        return complete

    @property
    def rows(self) -> int:
        """Of the small database."""
        if self.size is not None:
            return whole(self.size, "size")
        assert self.queries is not None
        return max(1, math.ceil(math.log2(max(len(self.queries), 2)) / float(self.alpha) ** 2))

    def bound(self, cost: Cost, most: int = 1) -> float:
        """By how many rows the choice falls short of the best database, at most, with 95 % confidence."""
        mechanism = cost.choice_among((1,), self.rows * most, 1 - TOTAL).mechanism
        candidates = self._domain.size**self.rows
        return shortfall(mechanism.epsilon, Fraction(most), 2, CONFIDENCE, candidates)

    def expected(self, cost: Cost, most: int) -> Expected:
        moved = Domain.moved(most)
        demand_affordable(cost, moved, TOTAL)
        return Expected(
            error={"count of a query": self.bound(cost, most), "number of rows": error_of(cost, moved, TOTAL)},
            shares={"choice of a database": float(1 - TOTAL), "number of rows": float(TOTAL)},
            notes=(f"beside that, fractions are off by {float(self.alpha):g} at most: {self.rows} rows stand for all",),
            cells=self._domain.size,
        )

    def run(self, rows: Rows, exit_: Exit) -> SmallRows:
        domain = self._domain
        assert self.queries is not None
        exact = domain.histogram(domain.codes(rows)).ravel()
        counts, copies = multisets(domain.size, self.rows)
        scores = exact_scores(exact, counts, self.queries.astype(np.int64))
        chosen = exit_.choose_among(scores, copies, self.rows * rows.most, 1 - TOTAL)
        (total,) = exit_.release(np.array([exact.sum()], dtype=np.int64), Domain.moved(rows.most), TOTAL)
        return SmallRows(domain=domain, counts=counts[chosen].reshape(domain.shape), total=max(int(total), 0))


def multisets(cells: int, size: int) -> tuple[Integers, list[int]]:
    """All multisets of so many rows, by how many each cell has; and of how many sequences each stands.

    >>> counts, copies = multisets(2, 2)
    >>> counts.tolist(), copies
    ([[2, 0], [1, 1], [0, 2]], [1, 2, 1])
    """
    listed = np.array(list(combinations_with_replacement(range(cells), size)), dtype=np.int64)
    places = listed + np.arange(len(listed))[:, None] * cells
    counts = np.bincount(places.ravel(), minlength=len(listed) * cells).reshape(-1, cells).astype(np.int64)
    whole_ = math.factorial(size)
    copies = [whole_ // math.prod(map(math.factorial, row)) for row in counts.tolist()]
    return counts, copies


def exact_scores(exact: Integers, counts: Integers, queries: Integers) -> Integers:
    """−max |m·f(D) − N·f(y)| for every database y, with m its rows and N those of D: whole numbers."""
    size, total = int(counts[0].sum()), int(exact.sum())
    wanted = size * (queries @ exact)
    step = max(1, BLOCK // len(queries))
    parts = [
        -np.abs(wanted - total * (counts[start : start + step] @ queries.T)).max(axis=1)
        for start in range(0, len(counts), step)
    ]
    return np.concatenate(parts)


def _queries(domain: Domain, given: NDArray[Any] | None) -> NDArray[Any]:
    """As an array of 0 and 1, a row for each query."""
    if given is None:
        return _marginals(domain)
    queries = np.asarray(given)
    if queries.ndim != 2 or queries.shape[1] != domain.size or not 0 < len(queries) <= MOST_QUERIES:
        raise ValueError(f"queries have a row each, of {domain.size} numbers, one for each cell of the domain")
    if queries.dtype.kind not in "biu" or not ((queries == 0) | (queries == 1)).all():
        raise ValueError("queries are made of 0 and 1")
    return queries.astype(np.uint8)


def _marginals(domain: Domain) -> NDArray[Any]:
    """For each set of attributes and each combination of their values, the rows that have it."""
    if math.prod(size + 1 for size in domain.shape) > MOST_QUERIES:
        raise Refused("release-invalid", "the marginals of these columns have too many counts", LARGER)
    places = np.indices(domain.shape).reshape(len(domain.shape), -1)
    queries = [
        np.logical_and.reduce([places[each] == value for each, value in zip(chosen, values, strict=True)])
        for count in range(1, len(domain.shape) + 1)
        for chosen in combinations(range(len(domain.shape)), count)
        for values in np.ndindex(*(domain.shape[each] for each in chosen))
    ]
    return np.array(queries, dtype=np.uint8)
