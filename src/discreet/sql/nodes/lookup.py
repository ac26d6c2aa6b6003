"""Joins of private rows with public ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from discreet.composed import Sql, joined, keyword, literal, name, sql
from discreet.sql.expression import Expr
from discreet.sql.nodes.join import Side, joined_fields, renamed
from discreet.sql.nodes.node import Above, Field, Limits, Node, Owner, labelled
from discreet.sql.nodes.scan import row_number
from discreet.sql.relation import Relation
from discreet.sql.work import once

MATCH: Final = "_discreet_match"


@dataclass(frozen=True)
class Lookup(Above):
    """Private rows with what a public relation says about them; those without a match are kept (LEFT) or not (INNER).

    Theorem  Every row belongs to the unit of its private row, which is compared with at most `matches` public rows.
             Rows per unit stay as they are where that is one; else they are chosen again before anything is counted.
    Proof    Public rows are the same for all neighbours, so each row's matches depend on that row alone. Rows are
             compared where the columns that must be equal are: of public rows that agree in all of these there are no
             more than `matches`, as public tables show, or because no more are looked at, the first by all columns.
             Where none must be equal, that is said of all public rows.
    """

    child: Node
    public: Relation
    side: Side
    condition: Expr | None
    matches: int
    """How many public rows agree at most in the columns that must be equal."""
    most: int
    """How many rows of each unit are to be chosen afterwards, where they multiply."""
    among: tuple[Sql, ...] = ()
    """These columns, where no more than `matches` rows for each of their values are to be looked at."""
    public_first: bool = False
    """Whether public columns come first, as they are written."""
    work: int = field(init=False)

    def __post_init__(self) -> None:
        assert self.child.rows is not None, "rows are bounded before they are joined"
        object.__setattr__(self, "work", self.child.work + self.child.rows * self.matches)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        private = joined_fields(self.child, "l", self.side, once=self.matches == 1)
        public = public_fields(self.public, self.side)
        return (*public, *private) if self.public_first else (*private, *public)

    @cached_property
    def owner(self) -> Owner:
        return Owner(None if self.child.owner.column is None else name("lu"), self.child.owner.names)

    @cached_property
    def rows(self) -> int | None:
        return self.child.rows if self.matches == 1 else None

    @cached_property
    def limits(self) -> Limits:
        made = (self.child.rows or 1) * self.matches
        return replace(self.child.limits, rows=self.most, multiplied=made if self.matches > 1 else None)

    @cached_property
    def order(self) -> tuple[Sql, ...]:
        return tuple(name(f"lo{index}") for index in range(len(self.child.order)))

    @once
    def sql(self) -> Sql:
        sides = renamed(self.child, "l"), keyword(self.side.value), self._public_rows()
        return sql(
            "SELECT * FROM ({}) {} JOIN ({}) ON {}", *sides, self.condition.sql if self.condition else literal(True)
        )

    def _public_rows(self) -> Sql:
        columns = joined(", ", labelled((column.expr.sql for column in self.public.columns), "r"))
        rows = sql("SELECT {} FROM {}", columns, self.public.sql())
        if not self.among:
            return rows
        order = [name(f"r{index}") for index in range(len(self.public.columns))]
        ranked = sql("SELECT *, {} AS {} FROM ({})", row_number(self.among, order), name(MATCH), rows)
        listed = joined(", ", order), ranked, name(MATCH), literal(self.matches)
        return sql("SELECT {} FROM ({}) WHERE {} <= {}", *listed)


def public_fields(public: Relation, side: Side) -> list[Field]:
    fields = []
    for index, column in enumerate(public.columns):
        domain = column.expr.domain
        if side.extends("r"):
            domain = domain.but(nullable=True, certain=False)
        fields.append(Field(column.name, Expr(name(f"r{index}"), domain), listed=column.listed))
    return fields
