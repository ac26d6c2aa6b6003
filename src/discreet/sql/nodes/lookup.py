"""Joins of private rows with public ones."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.composed import Sql, joined, keyword, name, sql
from discreet.sql.expression import Expr
from discreet.sql.nodes.join import Side, joined_fields, renamed
from discreet.sql.nodes.node import Above, Field, Node, Owner, labelled
from discreet.sql.relation import Relation


@dataclass(frozen=True, slots=True)
class Lookup(Above):
    """Private rows with what a public relation says about them; those without a match are kept (LEFT) or not (INNER).

    Theorem  Every row belongs to the unit of its private row. Rows per unit stay as they are where a row matches at
             most one public row, else they are not bounded: rows are chosen again before anything is counted.
    Proof    Public rows are the same for all neighbours, so each row's matches depend on that row alone.
    """

    child: Node
    public: Relation
    side: Side
    condition: Expr
    unique: bool
    """Whether no two public rows agree in the columns that are compared: then rows do not multiply."""

    @property
    def fields(self) -> tuple[Field, ...]:
        return (*joined_fields(self.child, "l", self.side), *public_fields(self.public, self.side))

    @property
    def owner(self) -> Owner:
        return Owner(None if self.child.owner.column is None else name("lu"), self.child.owner.names)

    @property
    def rows(self) -> int | None:
        return self.child.rows if self.unique else None

    @property
    def order(self) -> tuple[Sql, ...]:
        return tuple(name(f"lo{place}") for place in range(len(self.child.order)))

    def sql(self) -> Sql:
        columns = joined(", ", labelled((column.expr.sql for column in self.public.columns), "r"))
        right = sql("SELECT {} FROM {}", columns, self.public.sql())
        sides = renamed(self.child, "l"), keyword(self.side.value), right
        return sql("SELECT * FROM ({}) {} JOIN ({}) ON {}", *sides, self.condition.sql)


def public_fields(public: Relation, side: Side) -> list[Field]:
    found = []
    for place, column in enumerate(public.columns):
        domain = column.expr.domain
        if side.extends("r"):
            domain = domain.but(nullable=True, certain=False)
        found.append(Field(column.name, Expr(name(f"r{place}"), domain), listed=column.listed))
    return found
