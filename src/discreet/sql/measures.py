"""What is counted of private rows: exact integers for each group, and how far one unit can move them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Protocol

from discreet.accounting.losses import Sensitivity
from discreet.composed import Sql, literal, sql, whole_steps
from discreet.mechanisms.grid import Grid
from discreet.policy.layout import MOST_STEPS
from discreet.policy.model import Kind
from discreet.sql.expression import Expr

FINE: Final = 2**20
"""Steps of a grid that nobody declared: so many to the larger bound."""
COARSE: Final = 2**13
"""Steps to half the range where squares are summed."""
MAX_WHOLE: Final = 2**62


COUNTED: Final = sql("COUNT(*)")

_sensitivity = lru_cache(maxsize=1024)(Sensitivity.cells)


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one unit contributes at most: rows in so many cells, so many in each, and so many in all."""

    cells: int
    rows: int
    total: int

    @property
    def sensitivity(self) -> Sensitivity:
        """Of a count of rows."""
        return _sensitivity(self.cells, self.rows, self.total)


@dataclass(frozen=True, slots=True)
class Steps:
    """An expression as whole numbers of steps between two integers, NULL where it is NULL."""

    expr: Expr
    step: Fraction
    low: int
    high: int
    whole: bool
    stored: Sql | None = None
    """The column of the private copy that holds them already."""

    @classmethod
    def of(cls, expr: Expr, low: Fraction, high: Fraction) -> Steps:
        """On the declared grid, on the integers, or on one so fine that it does not matter."""
        most = max(abs(low), abs(high))
        if expr.domain.kind is Kind.INTEGER and most < MAX_WHOLE:
            least, largest = math.ceil(low), math.floor(high)
            return cls(expr, Fraction(1), min(least, largest), largest, whole=True)
        step = expr.domain.step
        if step is None or most / step > MOST_STEPS:
            step = Grid.at_most(most / FINE).step if most else Fraction(1)
        grid = cls._on(expr, step, low, high)
        declared = step == expr.domain.step and (low, high) == expr.domain.bounded
        return replace(grid, stored=expr.stored) if declared else grid

    @classmethod
    def drawable(cls, expr: Expr, low: Fraction, high: Fraction) -> Steps:
        """On a grid with so many steps as noise can be drawn for, however large the bounds are that were found."""
        most = max(abs(low), abs(high))
        step = Fraction(1) if expr.domain.kind is Kind.INTEGER else expr.domain.step
        if step is None or most / step <= FINE:
            return cls.of(expr, low, high)
        return cls._on(expr, Grid.at_most(most / FINE).step, low, high)

    @classmethod
    def coarse(cls, expr: Expr, low: Fraction, high: Fraction) -> Steps:
        """On a grid so coarse that squares stay small, yet finer than noise."""
        half = (high - low) / 2
        fine = cls.of(expr, low, high)
        if (fine.high - fine.low) // 2 <= COARSE:
            return fine
        return cls._on(expr, Grid.at_most(2 * half / COARSE).step, low, high)

    @classmethod
    def _on(cls, expr: Expr, step: Fraction, low: Fraction, high: Fraction) -> Steps:
        grid = Grid(step)
        return cls(expr, step, grid.nearest(low), grid.nearest(high), whole=False)

    @property
    def middle(self) -> int:
        return (self.low + self.high) // 2

    @property
    def radius(self) -> int:
        """How far a row can lie from the middle."""
        return max(self.high - self.middle, self.middle - self.low, 1)

    def sql(self, shift: int = 0) -> Sql:
        steps = self.stored or whole_steps(self.expr.sql, None if self.whole else self.step, self.low, self.high)
        return sql("({})", steps) if not shift else sql("(({}) - ({}))", steps, literal(shift))

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        return self.low * self.step, self.high * self.step


class Measure(Protocol):
    """Numbers of each group: one, or a vector of `length`. Two measures that are equal are released once."""

    @property
    def words(self) -> str:
        """For people."""

    @property
    def argument(self) -> Sql | None:
        """What is computed of each row before rows are chosen; None if nothing is needed."""

    @property
    def size(self) -> int:
        """How much one row, or one unit, moves it at most: the range that errors are compared with."""

    @property
    def length(self) -> int: ...
    @property
    def detail(self) -> str:
        """What distinguishes it from measures with the same text in the engine."""

    @property
    def adds(self) -> int:
        """How many of its numbers a value adds up, each with noise of its own."""

    def windowed(self, column: Sql, partition: Sql | None) -> Sql | None:
        """What is computed within a unit and group, of which each partition is one; None if nothing is needed."""

    def sql(self, column: Sql, unit: Sql | None) -> Sql:
        """The aggregate over the column that holds the argument."""

    def vector(self, value: Any) -> Sequence[int]:
        """What the engine gave for a group, as integers."""

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        """How far one unit moves all groups together."""


class Scalar:
    """What measures of one number share."""

    __slots__ = ()
    length = 1
    adds = 1
    detail = ""

    def windowed(self, column: Sql, partition: Sql | None) -> Sql | None:  # noqa: ARG002
        return None

    def vector(self, value: Any) -> Sequence[int]:
        return (int(value or 0),)


class Counted(Scalar):
    """What counts rows moves with them."""

    __slots__ = ()
    size = 1

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        return contribution.sensitivity


@dataclass(frozen=True, slots=True)
class Rows(Counted):
    """COUNT(*).

    Theorem  One unit moves at most `cells` groups by at most `rows` each and `total` in all: it has no more rows.
    """

    words = "rows"
    argument = None

    def sql(self, column: Sql, unit: Sql | None) -> Sql:  # noqa: ARG002  (the same for any)
        return COUNTED


@dataclass(frozen=True, slots=True)
class Present(Counted):
    """COUNT(x): rows in which x is not NULL. The theorem is that of `Rows`."""

    argument: Sql

    words = "rows that are not NULL"

    def sql(self, column: Sql, unit: Sql | None) -> Sql:  # noqa: ARG002
        return sql("COUNT({})", column)


@dataclass(frozen=True, slots=True)
class Presence:
    """Rows in which x is not NULL, and rows in which it is: COUNT(x) and, added up, COUNT(*).

    Theorem  That of `Rows`. Proof: a row is in one of both.
    """

    argument: Sql

    words = "rows with and without a value"
    size = 1
    length = 2
    adds = 2
    detail = ""

    def windowed(self, column: Sql, partition: Sql | None) -> Sql | None:  # noqa: ARG002
        return None

    def sql(self, column: Sql, unit: Sql | None) -> Sql:  # noqa: ARG002
        return sql("[COUNT({0}), COUNT(*) - COUNT({0})]", column)

    def vector(self, value: Any) -> Sequence[int]:
        return (0, 0) if value is None else tuple(map(int, value))

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        return contribution.sensitivity


@dataclass(frozen=True, slots=True)
class Distinct(Counted):
    """COUNT(DISTINCT x).

    Theorem  That of `Rows`. Proof: values that only one unit has come and go with its rows, one row one value.
    """

    argument: Sql

    words = "distinct values"

    def sql(self, column: Sql, unit: Sql | None) -> Sql:  # noqa: ARG002
        return sql("COUNT(DISTINCT {})", column)


@dataclass(frozen=True, slots=True)
class Units(Scalar):
    """COUNT(DISTINCT unit).

    Theorem  One unit moves at most `cells` groups by 1. Proof: in each group it is there or not.
    """

    words = "units"
    argument = None
    size = 1

    def sql(self, column: Sql, unit: Sql | None) -> Sql:  # noqa: ARG002
        return COUNTED if unit is None else sql("COUNT(DISTINCT {})", unit)

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        return Sensitivity.cells(contribution.cells, 1)


@dataclass(frozen=True, slots=True)
class Sum(Scalar):
    """The sum of whole steps, each less `shift`.

    Theorem  Moved by at most `size` for each row, size = max(|low − shift|, |high − shift|); cells and rows as `Rows`.
    Proof    Every row's number of steps lies between low and high, whatever is stored (`whole_steps`); NULL adds 0.
    """

    steps: Steps
    shift: int
    words: str = field(compare=False)

    @property
    def argument(self) -> Sql:
        return self.steps.sql(self.shift)

    @property
    def size(self) -> int:
        return max(abs(self.steps.low - self.shift), abs(self.steps.high - self.shift), 1)

    def sql(self, column: Sql, unit: Sql | None) -> Sql:  # noqa: ARG002
        return sql("SUM({})", column)

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        return grown(contribution, self.size)


@dataclass(frozen=True, slots=True)
class Product(Scalar):
    """Σ a·b over rows, with a and b the distances of two columns from their middles; of squares, Σ (2a² − r).

    Theorem  A row adds between −r and r, with r the product of both radii.
    Proof    |a·b| ≤ r; and 0 ≤ a² ≤ r, so −r ≤ 2a² − r ≤ r: the shift makes room for twice the resolution.
    """

    left: Steps
    right: Steps
    words: str = field(compare=False)

    @property
    def _square(self) -> bool:
        return self.left == self.right

    @property
    def argument(self) -> Sql:
        a, b = self.left.sql(self.left.middle), self.right.sql(self.right.middle)
        return sql("(2 * {} * {} - {})", a, b, literal(self.size)) if self._square else sql("({} * {})", a, b)

    @property
    def size(self) -> int:
        return self.left.radius * self.right.radius

    def sql(self, column: Sql, unit: Sql | None) -> Sql:  # noqa: ARG002
        return sql("SUM({})", column)

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        return grown(contribution, self.size)


@dataclass(frozen=True, slots=True)
class Clamped(Scalar):
    """A count or a sum of steps, clamped to two integers for each unit and group.

    Theorem  One unit moves at most `cells` groups by at most `size` = max(|low|, |high|) each.
    Proof    What a unit adds to a group is clamped after it is added up; elsewhere it adds 0.
    """

    argument: Sql
    low: int
    high: int
    counts: bool
    words: str = field(compare=False)

    @property
    def size(self) -> int:
        return max(abs(self.low), abs(self.high), 1)

    def windowed(self, column: Sql, partition: Sql | None) -> Sql:
        bounds = literal(self.low), literal(self.high)
        if partition is None:
            value = sql("CAST({} IS NOT NULL AS BIGINT)" if self.counts else "COALESCE({}, 0)", column)
            return sql("LEAST(GREATEST({}, {}), {})", value, *bounds)
        total = sql("COUNT({})" if self.counts else "SUM({})", column)
        over = sql("OVER (PARTITION BY {})", partition)
        held = sql("LEAST(GREATEST(COALESCE({} {}, 0), {}), {})", total, over, *bounds)
        return sql("CASE WHEN row_number() {} = 1 THEN {} END", over, held)

    def sql(self, column: Sql, unit: Sql | None) -> Sql:  # noqa: ARG002
        return sql("SUM({})", column)

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        return Sensitivity.cells(contribution.cells, self.size)


@dataclass(frozen=True, slots=True)
class Averaged(Scalar):
    """Of each unit and group the average of its steps, in parts of a step, rounded and clamped to two integers, less
    the middle: added up.

    Theorem  One unit moves at most `cells` groups by at most `size` = max(high − middle, middle − low) each.
    Proof    What a unit adds to a group is one integer that was clamped after it was averaged; elsewhere, and where it
             has no value, it adds 0.
    """

    argument: Sql
    low: int
    high: int
    parts: int
    """Of a step."""
    words: str = field(compare=False)

    @property
    def middle(self) -> int:
        return (self.low + self.high) // 2

    @property
    def size(self) -> int:
        return max(self.high - self.middle, self.middle - self.low, 1)

    def windowed(self, column: Sql, partition: Sql | None) -> Sql:
        bounds, parts = (literal(self.low), literal(self.high), literal(self.middle)), literal(self.parts)
        if partition is None:
            return sql("CASE WHEN {0} IS NOT NULL THEN LEAST(GREATEST({0} * {4}, {1}), {2}) - {3} END",
                       column, *bounds, parts)  # fmt: skip
        over = sql("OVER (PARTITION BY {})", partition)
        mean = sql("CAST(ROUND({2} * SUM({0}) {1} / COUNT({0}) {1}) AS HUGEINT)", column, over, parts)
        held = sql("LEAST(GREATEST({}, {}), {}) - {}", mean, *bounds)
        return sql("CASE WHEN row_number() {0} = 1 AND COUNT({1}) {0} > 0 THEN {2} END", over, column, held)

    def sql(self, column: Sql, unit: Sql | None) -> Sql:  # noqa: ARG002
        return sql("SUM({})", column)

    def sensitivity(self, contribution: Contribution) -> Sensitivity:
        return Sensitivity.cells(contribution.cells, self.size)


def grown(contribution: Contribution, size: int) -> Sensitivity:
    """The sensitivity of rows that count for so much each."""
    return _sensitivity(contribution.cells, size * contribution.rows, size * contribution.total)
