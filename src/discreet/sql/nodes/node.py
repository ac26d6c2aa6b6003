"""What every operator on private rows states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from discreet.sql.expression import Expr


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a relation; where the copy stores them, its key rank and the row's rank in its key."""

    name: str
    expr: Expr
    rank: str | None = None
    nth: str | None = None


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a row is: the text of the column that names its unit, None where every row is a unit of its own.

    `names` are the names under which analysts may mention it, in places that say nothing about it.
    """

    column: str | None
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one unit may contribute to a grouping: at most so many groups, and so many rows in each."""

    groups: int
    rows_per_group: int


class Node(Protocol):
    """A relation in which every row belongs to exactly one unit.

    rows    at most so many rows belong to one unit; None if there is no such number.
    order   the text of a column that orders the rows of a unit by keyed hash, ties only between identical rows; None
            where every row is a unit of its own.

    Theorem (of each class)  Adding or removing one unit adds or removes its own rows, at most `rows` of them, and
    changes no row of any other unit.
    """

    @property
    def fields(self) -> tuple[Field, ...]: ...
    @property
    def owner(self) -> Owner: ...
    @property
    def rows(self) -> int | None: ...
    @property
    def order(self) -> str | None: ...
    @property
    def limits(self) -> Limits: ...
    def sql(self) -> str:
        """A SELECT in the engine's language that gives the columns named above."""
