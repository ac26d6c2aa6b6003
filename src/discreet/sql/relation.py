"""Public values as relations: a public table, what a release gave, or a SELECT or join over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from discreet.composed import Sql, joined, keyword, literal, name, sql, stored
from discreet.policy.layout import TYPES
from discreet.policy.model import Column as PolicyColumn
from discreet.policy.model import Key, Kind, Table
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr
from discreet.sql.nodes.node import labelled
from discreet.sql.nodes.scan import domain_of
from discreet.sql.postprocess import ROW_NUMBER, After, Column, item_name
from discreet.sql.work import once

_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), Kind.INTEGER),
    **dict.fromkeys(("FLOAT", "DOUBLE"), Kind.NUMBER),
    "VARCHAR": Kind.TEXT,
    "BOOLEAN": Kind.BOOLEAN,
    "DATE": Kind.DATE,
    "TIMESTAMP": Kind.TIMESTAMP,
}


class Public(Protocol):
    """What may be looked up about public tables while a question is planned."""

    def schema(self, table: str) -> Mapping[str, str]:
        """The columns of a table with the engine's types."""

    def keys(self, table: str, column: str, kind: Kind) -> tuple[Key | None, ...]:
        """The distinct values of a column, as `Stored` holds them."""

    def repeats(self, rows: Sql, columns: Sequence[Sql]) -> int:
        """How many rows of a relation over public tables agree at most in these columns; NULL agrees with nothing."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A public table, every column as private ones are: in the type of its kind, so that comparisons cast nothing, and
    without values that fail in a function or tie with others, because which of them meet private rows is private."""

    table: Table
    columns: tuple[Column, ...]

    reads_tables = True
    single = False

    @classmethod
    def of(cls, table: Table, public: Public) -> Stored:
        """With its declared columns, or with those of the source if none are declared."""
        declared = table.columns or {label: _column(label, kind) for label, kind in public.schema(table.name).items()}
        return cls(
            table,
            tuple(
                Column(label, Expr(name(label), domain_of(column)), (table.name, label))
                for label, column in declared.items()
            ),
        )

    def sql(self) -> Sql:
        columns = [
            sql("{} AS {}", held(column.name, column.expr.domain.kind or Kind.TEXT), column.expr.sql)
            for column in self.columns
        ]
        return _numbered(joined(", ", columns), name(self.table.name))


def held(column: str, kind: Kind) -> Sql:
    """A column of a public table, whatever its type is there, as columns of its kind are."""
    return stored(sql("TRY_CAST({} AS {})", name(column), keyword(TYPES[kind])), kind)


def _numbered(columns: Sql, rows: Sql) -> Sql:
    """Public rows, each with its number."""
    return sql("(SELECT {}, row_number() OVER () AS {} FROM {})", columns, ROW_NUMBER, rows)


def _column(label: str, kind: str) -> PolicyColumn:
    base = kind.split("(")[0]
    return PolicyColumn(label, _KINDS.get(base, Kind.NUMBER if base == "DECIMAL" else Kind.TEXT))


def released_name(number: int) -> Sql:
    """The name under which a query finds what was released before it."""
    return keyword(f"discreet_released_{number}")


@dataclass(frozen=True, slots=True)
class Released:
    """What the release of this number gave: keys, then aggregates."""

    number: int
    columns: tuple[Column, ...]
    single: bool

    reads_tables = False

    def sql(self) -> Sql:
        return released_name(self.number)


@dataclass(frozen=True)
class Derived:
    """A SELECT over public values, as a relation of its own."""

    after: After
    below: Relation

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(
            Column(label, Expr(name(f"v{index}"), Domain(expr.domain.kind, *expr.domain.numbers)))
            for index, (label, expr) in enumerate(self.after.items)
        )

    @cached_property
    def reads_tables(self) -> bool:
        return self.below.reads_tables

    @property
    def single(self) -> bool:
        return self.after.single(self.below.single)

    @once
    def sql(self) -> Sql:
        shown = (sql("{} AS {}", item_name(index), column.expr.sql) for index, column in enumerate(self.columns))
        return _numbered(joined(", ", shown), sql("({})", self.after.sql(self.below.sql())))


@dataclass(frozen=True)
class Joined:
    """Public rows side by side."""

    left: Relation
    right: Relation
    side: str
    condition: Expr | None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        columns = []
        for letter, relation in (("l", self.left), ("r", self.right)):
            columns += [
                Column(column.name, Expr(name(f"{letter}{index}"), column.expr.domain.but(certain=False)))
                for index, column in enumerate(relation.columns)
            ]
        return tuple(columns)

    @cached_property
    def reads_tables(self) -> bool:
        return self.left.reads_tables or self.right.reads_tables

    @property
    def single(self) -> bool:
        return self.left.single and self.right.single and self.side != "FULL"

    @once
    def sql(self) -> Sql:
        sides = []
        for letter, relation in (("l", self.left), ("r", self.right)):
            columns = labelled((column.expr.sql for column in relation.columns), letter)
            sides.append(sql("(SELECT {} FROM {})", joined(", ", columns), relation.sql()))
        test = self.condition.sql if self.condition else literal(True)
        both = sql("{} {} JOIN {} ON {}", sides[0], keyword(self.side), sides[1], test)
        return _numbered(sql("*"), both)


Relation = Stored | Released | Derived | Joined
"""Rows that anybody may see: `columns`; `reads_tables`, whether a public table has to be read for them; `single`,
whether there is at most one row; and `sql`, what
to put behind FROM where the releases have their names."""
PUBLIC = (Stored, Released, Derived, Joined)
