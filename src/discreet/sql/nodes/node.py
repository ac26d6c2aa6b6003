"""What every operator on private rows states."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Protocol

from discreet.composed import Sql, name, sql
from discreet.policy.model import Key
from discreet.sql.expression import Expr
from discreet.sql.postprocess import KeySource


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a relation, and what the copy stores about it."""

    name: str
    expr: Expr
    rank: Sql | None = None
    """The key's rank among those of its unit. Rows of a unit have the same rank if and only if their keys are equal."""
    nth: Sql | None = None
    """The row's rank among those of its unit that have the same key."""
    listed: KeySource | None = None
    """Where its keys can be looked up: it comes from public rows."""
    unique: bool = False
    """Whether no unit has one value of it in two rows; NULL may stand in many."""
    column: tuple[str, str] | None = None
    """The private table and column that it is."""
    mask: Sql | None = None
    """Which rows of the unit have the same key (`policy.layout.mask_type`)."""
    seen: Sql | None = None
    """The key's rank among those of its unit, by their first rows in the order of the mask, here or not."""
    many: Sql | None = None
    """How many keys the unit has, here or not."""
    apart: bool = False
    """Whether rows lie on several machines (`Table.apart`)."""
    code: Sql | None = None
    """Which of `values` it is, from 0 on; NULL for none."""
    values: tuple[Key, ...] = ()
    """All that the policy declares, where a code says which."""
    below: Sql | None = None
    """The bits of the unit's rows before this one, in the order of the mask; None unless all of them are here, once."""
    side: str = ""
    """Which rows the mask names: those of a table, or of a side of a join. Masks of the same rows go together."""
    whole: bool = False
    """Whether all rows that were ranked are here: then the rank is one among the keys that are here."""
    single: bool = False
    """Whether all rows of a unit have the same value."""
    declared: bool = False
    """Whether rows hold declared values or NULL, and nothing else."""

    def stored(self, label: str) -> list[Sql]:
        """What the copy stores about it, under names that begin with a label."""
        return [sql("{} AS {}", part, name(f"{label}_{kind}")) for kind, part in self._parts() if part is not None]

    def under(self, label: str, expr: Expr) -> Field:
        """The same where this expression, and beside it what `stored` gives, have names with this label."""
        rank, nth, mask, seen, many, below, code, steps = (
            None if part is None else name(f"{label}_{kind}") for kind, part in self._parts()
        )
        expr = replace(expr, stored=steps)
        return replace(self, expr=expr, rank=rank, nth=nth, mask=mask, seen=seen, many=many, below=below, code=code)

    @property
    def is_first(self) -> Sql | None:
        """Whether a row is the first of its unit's that have its value; None if nothing tells."""
        if self.mask is not None and self.below is not None:
            return sql("({} & {}) = 0", self.mask, self.below)
        return None if self.nth is None else sql("{} = 1", self.nth)

    def thinned(self) -> Field:
        """Where rows are left out by their values: ranks tell keys apart, and count keys that are not here as well."""
        return replace(self, nth=None, below=None, whole=False)

    def extended(self) -> Field:
        """Where rows may lack it: NULL is then more than one thing."""
        gone = replace(self, rank=None, nth=None, mask=None, seen=None, many=None, below=None, code=None)
        return replace(gone, whole=False, single=False)

    def _parts(self) -> tuple[tuple[str, Sql | None], ...]:
        return (
            ("rank", self.rank),
            ("nth", self.nth),
            ("mask", self.mask),
            ("seen", self.seen),
            ("many", self.many),
            ("below", self.below),
            ("code", self.code),
            ("steps", self.expr.stored),
        )


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
    multiplied: int | None = None
    """Where public rows multiplied them: how many rows there may be in all. So many a question may ask for."""

    def joined(self, other: Limits, rows: int) -> Limits:
        """Of two relations that are joined: the smaller of what was said."""
        return Limits(rows, _smaller(self.groups, other.groups), _smaller(self.rows_per_group, other.rows_per_group))

    def within(self, groups: int | None, rows_per_group: int | None) -> Limits:
        """No more than a question says."""
        return replace(
            self, groups=_smaller(self.groups, groups), rows_per_group=_smaller(self.rows_per_group, rows_per_group)
        )


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
