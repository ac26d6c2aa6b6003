"""What is counted of private rows: exact integers for each group, and how far one unit can move them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol

from discreet.accounting.losses import Reach
from discreet.mechanisms.grid import Grid
from discreet.policy.model import Kind
from discreet.sql.expression import Expr
from discreet.sql.functions import whole_steps

FINE: Final = 2**30
"""Steps of a grid that nobody declared: so many to the larger bound."""
MOST_STEPS: Final = 2**52
MOST_WHOLE: Final = 2**62


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one unit contributes at most: rows in so many cells, so many in each, and so many in all."""

    cells: int
    rows: int
    total: int


@dataclass(frozen=True, slots=True)
class Steps:
    """An expression as whole numbers of steps between two integers, NULL where it is NULL."""

    expr: Expr
    step: Fraction
    low: int
    high: int
    whole: bool

    @classmethod
    def of(cls, expr: Expr, low: Fraction, high: Fraction) -> Steps:
        """On the declared grid, on the integers, or on one so fine that it does not matter."""
        most = max(abs(low), abs(high))
        if expr.domain.kind is Kind.INTEGER and most < MOST_WHOLE:
            least, largest = math.ceil(low), math.floor(high)
            if least > largest:
                least = largest
            return cls(expr, Fraction(1), least, largest, whole=True)
        step = expr.domain.step
        if step is None or most / step > MOST_STEPS:
            step = Grid.at_most(most / FINE).step if most else Fraction(1)
        grid = Grid(step)
        return cls(expr, step, grid.nearest(low), grid.nearest(high), whole=False)

    @property
    def middle(self) -> int:
        return (self.low + self.high) // 2

    def sql(self, shift: int = 0) -> str:
        text = whole_steps(self.expr.sql, None if self.whole else self.step, self.low, self.high)
        return text if not shift else f"({text}) - ({shift})"

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        return self.low * self.step, self.high * self.step


class Measure(Protocol):
    """A number of each group. Two measures with the same text are bought once."""

    @property
    def words(self) -> str:
        """For people."""

    @property
    def argument(self) -> str | None:
        """What is computed of each row before rows are chosen; None if nothing is needed."""

    @property
    def size(self) -> int:
        """How much one row, or one unit, moves it at most: the range that errors are compared with."""

    def sql(self, column: str, unit: str) -> str:
        """The aggregate over the column that holds the argument."""

    def reach(self, contribution: Contribution) -> Reach:
        """How far one unit moves all groups together."""


@dataclass(frozen=True, slots=True)
class Rows:
    """COUNT(*).

    Theorem  One unit moves at most `cells` groups by at most `rows` each and `total` in all: it has no more rows.
    """

    words: str = "rows"
    argument: str | None = None
    size: int = 1

    def sql(self, column: str, unit: str) -> str:  # noqa: ARG002  (the same for any)
        return "COUNT(*)"

    def reach(self, contribution: Contribution) -> Reach:
        return Reach.cells(contribution.cells, contribution.rows, contribution.total)


@dataclass(frozen=True, slots=True)
class Present:
    """COUNT(x): rows in which x is not NULL. The theorem is that of `Rows`."""

    argument: str
    words: str = "rows that are not NULL"
    size: int = 1

    def sql(self, column: str, unit: str) -> str:  # noqa: ARG002
        return f"COUNT({column})"

    def reach(self, contribution: Contribution) -> Reach:
        return Reach.cells(contribution.cells, contribution.rows, contribution.total)


@dataclass(frozen=True, slots=True)
class Units:
    """COUNT(DISTINCT unit).

    Theorem  One unit moves at most `cells` groups by 1. Proof: in each group it is there or not.
    """

    words: str = "units"
    argument: str | None = None
    size: int = 1

    def sql(self, column: str, unit: str) -> str:  # noqa: ARG002
        return f"COUNT(DISTINCT {unit})"

    def reach(self, contribution: Contribution) -> Reach:
        return Reach.cells(contribution.cells, 1)


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of whole steps, each less `shift`.

    Theorem  Moved by at most `size` for each row, size = max(|low − shift|, |high − shift|); cells and rows as `Rows`.
    Proof    Every row's number of steps lies between low and high, whatever is stored (`whole_steps`); NULL adds 0.
    """

    steps: Steps
    shift: int
    words: str

    @property
    def argument(self) -> str:
        return self.steps.sql(self.shift)

    @property
    def size(self) -> int:
        return max(abs(self.steps.low - self.shift), abs(self.steps.high - self.shift), 1)

    def sql(self, column: str, unit: str) -> str:  # noqa: ARG002
        return f"SUM({column})"

    def reach(self, contribution: Contribution) -> Reach:
        most = self.size
        return Reach.cells(contribution.cells, most * contribution.rows, most * contribution.total)
