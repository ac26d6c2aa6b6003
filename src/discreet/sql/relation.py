"""Public values as relations: a public table, what a release gave, or a SELECT or join over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

from discreet.composed import Sql, joined, keyword, literal, name, sql, stored
from discreet.policy.layout import TYPES
from discreet.policy.model import Column as PolicyColumn
from discreet.policy.model import Key, Kind, Table
from discreet.sql.domain import Domain, union
from discreet.sql.expression import Expr
from discreet.sql.nodes.node import labelled
from discreet.sql.nodes.scan import domain_of
from discreet.sql.postprocess import ROW_NUMBER, After, Column, KeySource, item_name
from discreet.sql.work import once

_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), Kind.INTEGER),
    **dict.fromkeys(("FLOAT", "DOUBLE"), Kind.NUMBER),
    "VARCHAR": Kind.TEXT,
    "BOOLEAN": Kind.BOOLEAN,
    "DATE": Kind.DATE,
    "TIMESTAMP": Kind.TIMESTAMP,
}


_RELEASED: Final = "discreet_released_"


class Public(Protocol):
    """What may be looked up about public tables while a question is planned."""

    def schema(self, table: str) -> Mapping[str, str]:
        """The columns of a table with the engine's types."""

    def keys(self, rows: Sql, column: Sql) -> tuple[Key | None, ...]:
        """The distinct values of a column of rows that only public tables are read for."""

    def repeats(self, rows: Sql, columns: Sequence[Sql]) -> int:
        """How many of such rows agree at most in these columns, all of them where there is no column; NULL agrees with
        nothing."""

    def computed(self, query: Sql) -> Sequence[tuple[Any, ...]] | None:
        """What a query without any table gives; None if it needs one."""


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
        return cls(table, tuple(cls._column(table, column) for column in declared.values()))

    @staticmethod
    def _column(table: Table, column: PolicyColumn) -> Column:
        domain, label = domain_of(column), name(column.name)
        rows = sql("(SELECT {} AS {} FROM {})", held(column.name, column.kind), label, name(table.name))
        return Column(column.name, Expr(label, domain), KeySource(rows, label, chosen=False))

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
        rows = known_rows(self)
        return tuple(
            Column(label, Expr(column, Domain(expr.domain.kind, *expr.domain.numbers)), _chosen(rows, column))
            for column, (label, expr) in zip(self._names, self.after.items, strict=True)
        )

    @cached_property
    def _names(self) -> tuple[Sql, ...]:
        return tuple(name(f"v{index}") for index in range(len(self.after.items)))

    @cached_property
    def reads_tables(self) -> bool:
        return self.below.reads_tables

    @property
    def single(self) -> bool:
        return self.after.single(self.below.single)

    @once
    def sql(self) -> Sql:
        shown = (sql("{} AS {}", item_name(index), column) for index, column in enumerate(self._names))
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
        rows, columns = known_rows(self), []
        for letter, relation in (("l", self.left), ("r", self.right)):
            for index, column in enumerate(relation.columns):
                label = name(f"{letter}{index}")
                expr = Expr(label, column.expr.domain.but(certain=False))
                columns.append(Column(column.name, expr, _chosen(rows, label)))
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


@dataclass(frozen=True)
class Stacked:
    """Public rows below each other, columns by position."""

    upper: Relation
    lower: Relation

    single = False

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        rows, columns = known_rows(self), []
        for index, (a, b) in enumerate(zip(self.upper.columns, self.lower.columns, strict=True)):
            label = name(f"c{index}")
            domain = union([a.expr.domain, b.expr.domain])
            columns.append(Column(a.name, Expr(label, Domain(domain.kind, *domain.numbers)), _chosen(rows, label)))
        return tuple(columns)

    @cached_property
    def reads_tables(self) -> bool:
        return self.upper.reads_tables or self.lower.reads_tables

    @once
    def sql(self) -> Sql:
        parts = [
            sql(
                "SELECT {}, {} AS part, {} AS place FROM {}",
                joined(", ", labelled(column.expr.sql for column in relation.columns)),
                literal(index),
                ROW_NUMBER,
                relation.sql(),
            )
            for index, relation in enumerate((self.upper, self.lower))
        ]
        columns = joined(", ", (name(f"c{index}") for index in range(len(self.upper.columns))))
        both = sql("({} UNION ALL {})", *parts)
        return sql("(SELECT {}, row_number() OVER (ORDER BY part, place) AS {} FROM {})", columns, ROW_NUMBER, both)


@dataclass(frozen=True, slots=True)
class OneRow:
    """What a SELECT without FROM reads: one row, and nothing in it."""

    columns: tuple[Column, ...] = ()

    reads_tables = False
    single = True

    def sql(self) -> Sql:
        return sql("(SELECT 0 AS {})", ROW_NUMBER)


ONE_ROW: Final = OneRow()


def _chosen(rows: Sql | None, column: Sql) -> KeySource | None:
    return None if rows is None else KeySource(rows, column, chosen=True)


def known_rows(relation: Relation) -> Sql | None:
    """The rows of a relation, if they are known while a query is planned: if nothing in them is released by it."""
    rows = relation.sql()
    return None if _RELEASED in rows.skeleton else rows


Relation = Stored | Released | Derived | Joined | Stacked | OneRow
"""Rows that anybody may see: `columns`; `reads_tables`, whether a public table has to be read for them; `single`,
whether there is at most one row; and `sql`, what
to put behind FROM where the releases have their names."""
PUBLIC = (Stored, Released, Derived, Joined, Stacked, OneRow)
