"""Measures of many numbers a group: trees of counts for quantiles, histograms of declared values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from discreet.accounting.losses import Sensitivity
from discreet.composed import Sql, double, literal, matched, name, sql
from discreet.late import np
from discreet.policy.model import Key
from discreet.sql.expression import Expr
from discreet.sql.measures import Contribution

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
MAX_LEAVES: Final = 2**16
MAX_NUMBERS: Final = 500_000
"""Noisy counts that one question draws for its trees, about."""


_ROOM: Final = 40
"""Bits for a count beside its cell: more rows than any table has."""
IN_CELL: Final = name("rows")
PACKED: Final = sql("list((CAST(cell AS BIGINT) << 40) | {}) FILTER (WHERE cell IS NOT NULL)", IN_CELL)
"""Counts of the rows in cells, each with its cell in one integer."""
Counts = Mapping[int | None, int] | Sequence[int] | None
"""Of cells, as an engine gives them: by cell, or `PACKED`; None where there are no rows."""


def counts_of(counts: Counts, length: int) -> list[int]:
    """The counts of so many cells, also of those without rows.

    >>> counts_of({2: 5, None: 1}, 4), counts_of([(2 << 40) | 5], 4), counts_of(None, 2)
    ([0, 0, 5, 0], [0, 0, 5, 0], [0, 0])
    """
    if isinstance(counts, Mapping):
        counts = [(cell << _ROOM) | count for cell, count in counts.items() if cell is not None]
    packed = np.array(counts or (), dtype=np.int64)
    cells = np.zeros(length, dtype=np.int64)
    cells[packed >> _ROOM] = packed & ((1 << _ROOM) - 1)
    return cells.tolist()


@dataclass(frozen=True, slots=True)
class Layout:
    """A range cut into branch^levels equal cells, counted on every level."""

    low: Fraction
    width: Fraction
    """Of one cell."""
    branch: int
    levels: int
    whole: bool
    """Whether a cell is one integer."""
    cells: int
    """How many cells the range has; the tree may have a few more leaves."""

    @classmethod
    def over(cls, low: Fraction, high: Fraction, *, integral: bool, groups: int) -> Layout:
        """So fine as the number of groups allows: public facts only."""
        most = max(16, min(MAX_LEAVES, MAX_NUMBERS // max(groups, 1)))
        if integral and high - low + 1 <= most:
            cells = int(high - low) + 1
            levels = max(1, math.ceil(math.log(cells, 16)))
            branch = max(2, math.ceil(cells ** (1 / levels) - 1e-9))
            while branch**levels < cells:
                branch += 1
            return cls(low, Fraction(1), branch, levels, True, cells)
        levels = max(1, math.floor(math.log(most, 16) + 1e-9))
        return cls(low, (high - low) / 16**levels, 16, levels, False, 16**levels)

    @property
    def leaves(self) -> int:
        return int(self.branch**self.levels)

    @property
    def length(self) -> int:
        return sum(self.branch**level for level in range(1, self.levels + 1))

    def filled(self, counts: Counts) -> list[int]:
        """The engine's counts of cells, with those that have none."""
        return counts_of(counts, self.leaves)

    def counts(self, leaves: Sequence[int]) -> list[int]:
        """The counts of all levels, coarsest first."""
        leaf_counts = np.array(leaves, dtype=np.int64)
        levels = [leaf_counts.reshape(self.branch**level, -1).sum(axis=1) for level in range(1, self.levels + 1)]
        return np.concatenate(levels).tolist()  # type: ignore[no-any-return]

    def plain_ranks(self, noisy: Sequence[int]) -> Floats:
        """How many rows lie below each cell, and in all: sums of at most branch − 1 counts of each level."""
        ranks = np.zeros(self.leaves + 1)
        start = 0
        for level in range(1, self.levels + 1):
            size = self.branch**level
            counts = np.array(noisy[start : start + size], dtype=np.float64).reshape(-1, self.branch)
            start += size
            ranks[:-1] += np.repeat((np.cumsum(counts, axis=1) - counts).ravel(), self.leaves // size)
        ranks[-1] = float(sum(noisy[: self.branch]))
        return ranks

    def ranks(self, noisy: Sequence[int]) -> Floats:
        """How many rows lie below each cell, and in all: from all levels together, made consistent.

        The counts of a node and the sums of its children estimate the same number; weighting both by their variances
        and passing the differences down gives the best linear estimate (Hay, Rastogi, Miklau & Suciu 2010).
        """
        levels, start = [], 0
        for level in range(1, self.levels + 1):
            size = self.branch**level
            levels.append(np.array(noisy[start : start + size], dtype=np.float64))
            start += size
        b = float(self.branch)
        best = levels[-1]
        upward = [best]
        for height, own in enumerate(reversed(levels[:-1]), start=2):
            weight = (b**height - b ** (height - 1)) / (b**height - 1)
            best = weight * own + (1 - weight) * best.reshape(-1, self.branch).sum(axis=1)
            upward.append(best)
        upward.reverse()
        final = upward[0]
        for below in upward[1:]:
            gap = final - below.reshape(-1, self.branch).sum(axis=1)
            final = below + np.repeat(gap, self.branch) / b
        sums = np.concatenate([[0.0], np.cumsum(final)])
        return np.maximum.accumulate(np.maximum(sums, 0.0))

    def value(self, position: float) -> float:
        """The number at a place, counted in cells."""
        return float(self.low + self.width * Fraction(position))


@dataclass(frozen=True, slots=True)
class Tree:
    """How many rows fall into each cell, on every level of a tree.

    Theorem  A unit's rows move each level as they move a count of rows: l1 and l2² are those of `Rows`, times levels.
    Proof    On one level a row is in one cell. Rows of one group and cell are at most `rows`, in all `total`.
    """

    expr: Expr
    layout: Layout
    words: str = field(compare=False)

    size = 1
    adds = 1
    detail = ""

    @property
    def length(self) -> int:
        return self.layout.length

    @property
    def argument(self) -> Sql:
        """The cell of a row."""
        low, width, last = double(self.layout.low), double(self.layout.width), literal(self.layout.cells - 1)
        share = sql("(CAST({} AS DOUBLE) - {}) / {}", self.expr.sql, low, width)
        index = sql("FLOOR({} + 0.5e0)" if self.layout.whole else "FLOOR({})", share)
        return sql(
            "CASE WHEN {0} >= {1} THEN {1} WHEN {0} <= 0 THEN 0 ELSE TRY_CAST({2} AS INTEGER) END", share, last, index
        )

    def windowed(self, column: Sql, partition: Sql | None) -> Sql | None:  # noqa: ARG002
        return None

    def sql(self, column: Sql, unit: Sql | None) -> Sql:  # noqa: ARG002
        return sql("histogram({})", column)

    def vector(self, value: Any) -> Sequence[int]:
        return self.layout.counts(self.layout.filled(value))

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        once, levels = contribution.sensitivity, self.layout.levels
        return Sensitivity(once.l1 * levels, once.l2_squared * levels)


@dataclass(frozen=True, slots=True)
class Chosen:
    """One quantile: the cell in which it lies, chosen by the exponential mechanism, or by permute-and-flip for ε.

    A cell's score is how far the wanted rank q·n lies outside of the ranks that its rows have, times −d for q = a/d.

    Theorem  Adding or removing a row moves every score by at most max(a, d − a). A unit moves the scores of each group
             by that times its rows there: over all groups, as it moves counts of rows (see `Choices`). So a unit's rows
             cost what they cost in one group, however many groups they are in.
    Proof    The score is −max(a·n − d·(below + inside), d·below − a·n, 0). A row changes n by 1, and below and
             below + inside each by 0 or 1: either difference changes by a, or by d − a. Rows add up.
    Factor   With c groups of r rows and t rows in all, the rank error is c·r/t times smaller for the same ε than with
             r rows charged in each of c groups, and √(c·r/t) times for the same ρ.
    Source   Smith 2011.
    """

    expr: Expr
    layout: Layout
    share: Fraction
    words: str = field(compare=False)

    size = 1
    adds = 1
    length = 1

    @property
    def detail(self) -> str:
        """What was chosen when every group was charged by itself is another release: its rank error is larger."""
        return f"{self.share} by rows"

    @property
    def argument(self) -> Sql:
        return Tree(self.expr, self.layout, "").argument

    def windowed(self, column: Sql, partition: Sql | None) -> Sql | None:  # noqa: ARG002
        return None

    def sql(self, column: Sql, unit: Sql | None) -> Sql:  # noqa: ARG002
        return sql("histogram({})", column)

    def vector(self, value: Any) -> Sequence[int]:
        """How many rows fall into each cell."""
        return self.layout.filled(value)[: self.layout.cells]

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        """Of the scores of all groups, in multiples of what one row moves."""
        return contribution.sensitivity

    @property
    def score_sensitivity(self) -> int:
        """How far one row moves the scores of its group."""
        return max(self.share.numerator, self.share.denominator - self.share.numerator)

    def scores(self, counts: Sequence[int]) -> list[int]:
        """The score of each cell of one group."""
        a, d = self.share.numerator, self.share.denominator
        inside = np.array(counts, dtype=np.int64 if d * sum(counts) < 2**62 else object)
        upto = np.cumsum(inside)
        wanted = a * int(upto[-1])
        ranks = -np.maximum(np.maximum(wanted - d * upto, d * (upto - inside) - wanted), 0)
        return ranks.tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many rows have each of the listed values.

    Theorem  That of `Rows`. Proof: a row has one value.
    """

    expr: Expr
    values: tuple[Key, ...]
    words: str = field(compare=False)

    size = 1
    adds = 1
    detail = ""

    @property
    def length(self) -> int:
        return len(self.values)

    @property
    def argument(self) -> Sql:
        first, last = self.values[0], self.values[-1]
        if type(first) is type(last) is int and self.values == tuple(range(first, last + 1)):  # no truth values
            ends = literal(first), literal(last)
            return sql(
                "CASE WHEN {0} BETWEEN {1} AND {2} THEN TRY_CAST({0} AS BIGINT) - ({1}) END", self.expr.sql, *ends
            )
        return matched(self.expr.sql, self.values)

    def windowed(self, column: Sql, partition: Sql | None) -> Sql | None:  # noqa: ARG002
        return None

    def sql(self, column: Sql, unit: Sql | None) -> Sql:  # noqa: ARG002
        return sql("histogram({})", column)

    def vector(self, value: Any) -> Sequence[int]:
        return counts_of(value, len(self.values))

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        return contribution.sensitivity
