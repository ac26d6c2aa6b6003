"""What every operator on private rows states."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

from discreet.composed import Sql, name, sql
from discreet.sql.expression import Expr
from discreet.sql.postprocess import KeySource


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a relation; where the copy stores them, its key rank and the row's rank in its key."""

    name: str
    expr: Expr
    rank: Sql | None = None
    nth: Sql | None = None
    listed: KeySource | None = None
    """Where its keys can be looked up: it comes from public rows."""
    unique: bool = False
    """Whether no unit has one value of it in two rows; NULL may stand in many."""
    column: tuple[str, str] | None = None
    """The private table and column that it is."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a row is: the column that names its unit, None where every row is a unit of its own.

    `names` are the names under which analysts may mention it, in places that say nothing about it.
    """

    column: Sql | None
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one unit may contribute: rows in all, groups of a grouping, rows in each group; None if nobody said it."""

    rows: int
    groups: int | None = None
    rows_per_group: int | None = None

    def joined(self, other: Limits, rows: int) -> Limits:
        """Of two relations that are joined: the smaller of what was said."""
        return Limits(rows, _smaller(self.groups, other.groups), _smaller(self.rows_per_group, other.rows_per_group))

    def within(self, groups: int | None, rows_per_group: int | None) -> Limits:
        """No more than a question says."""
        return Limits(self.rows, _smaller(self.groups, groups), _smaller(self.rows_per_group, rows_per_group))


def _smaller(a: int | None, b: int | None) -> int | None:
    return min(a, b) if a is not None and b is not None else a if b is None else b


class Node(Protocol):
    """A relation in which every row belongs to exactly one unit.

    rows    at most so many rows belong to one unit; None if there is no such number.
    work    how many rows of one unit all steps up to here make together.
    inside  whether all its units are in the part of a partition that the question is about.
    order   columns that order the rows of a unit by keyed hash, ties only between identical rows; none where
            a unit has one row. Where `rows` is None, ties are also between rows that differ in public columns.

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
    def work(self) -> int: ...
    @property
    def order(self) -> tuple[Sql, ...]: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def inside(self) -> bool: ...
    def sql(self) -> Sql:
        """A SELECT in the engine's language that gives the columns named above."""


ONE: Final = sql("1 AS one")
"""What is selected where there is no column."""


def labelled(columns: Iterable[Sql], letter: str = "c", start: int = 0) -> list[Sql]:
    """Columns under names of their own: a letter and their place."""
    return [sql("{} AS {}", column, name(f"{letter}{index}")) for index, column in enumerate(columns, start)]


class Above:
    """What an operator passes on of the one relation below it, unless it says otherwise."""

    child: Node

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return self.child.fields

    @cached_property
    def owner(self) -> Owner:
        return self.child.owner

    @cached_property
    def rows(self) -> int | None:
        return self.child.rows

    @cached_property
    def work(self) -> int:
        return self.child.work

    @cached_property
    def order(self) -> tuple[Sql, ...]:
        return self.child.order

    @cached_property
    def limits(self) -> Limits:
        return self.child.limits

    @cached_property
    def inside(self) -> bool:
        return self.child.inside
