"""Public values as relations: a public table, what a release gave, or a SELECT or join over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from discreet.policy.layout import TYPES
from discreet.policy.model import Column as PolicyColumn
from discreet.policy.model import Key, Kind, Table
from discreet.quoting import name
from discreet.sql.after import PLACE, After, Column, item_name
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr
from discreet.sql.nodes.scan import domain_of

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

    def keys(self, table: str, column: str, kind: str) -> tuple[Key | None, ...]:
        """The distinct values of a column, in an engine's type."""

    def unique(self, table: str, columns: tuple[str, ...]) -> bool:
        """Whether no two rows agree in these columns."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A public table, every column in the type of its kind: comparisons must not cast private values to odd types."""

    table: Table
    columns: tuple[Column, ...]

    reads_tables = True

    @classmethod
    def of(cls, table: Table, public: Public) -> Stored:
        """With its declared columns, or with those of the source if none are declared."""
        declared = table.columns or {label: _found(label, kind) for label, kind in public.schema(table.name).items()}
        return cls(
            table,
            tuple(
                Column(label, Expr(name(label), domain_of(column)), (table.name, label))
                for label, column in declared.items()
            ),
        )

    def sql(self) -> str:
        columns = [
            f"TRY_CAST({column.expr.sql} AS {TYPES[column.expr.domain.kind or Kind.TEXT]}) AS {column.expr.sql}"
            for column in self.columns
        ]
        return f"(SELECT {', '.join(columns)}, row_number() OVER () AS {PLACE} FROM {name(self.table.name)})"


def _found(label: str, kind: str) -> PolicyColumn:
    base = kind.split("(")[0]
    return PolicyColumn(label, _KINDS.get(base, Kind.NUMBER if base == "DECIMAL" else Kind.TEXT))


def released_name(number: int) -> str:
    """The name under which a query finds what was released before it."""
    return f"discreet_released_{number}"


@dataclass(frozen=True, slots=True)
class Released:
    """What the release of this number gave: keys, then aggregates."""

    number: int
    columns: tuple[Column, ...]

    reads_tables = False

    def sql(self) -> str:
        return released_name(self.number)


@dataclass(frozen=True, slots=True)
class Derived:
    """A SELECT over public values, as a relation of its own."""

    after: After
    below: Relation

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(
            Column(label, Expr(name(f"v{place}"), Domain(expr.domain.kind, *expr.domain.numbers)))
            for place, (label, expr) in enumerate(self.after.items)
        )

    @property
    def reads_tables(self) -> bool:
        return self.below.reads_tables

    def sql(self) -> str:
        shown = ", ".join(f"{item_name(place)} AS {column.expr.sql}" for place, column in enumerate(self.columns))
        return f"(SELECT {shown}, row_number() OVER () AS {PLACE} FROM ({self.after.sql(self.below.sql())}))"


@dataclass(frozen=True, slots=True)
class Joined:
    """Public rows side by side."""

    left: Relation
    right: Relation
    side: str
    condition: Expr | None

    @property
    def columns(self) -> tuple[Column, ...]:
        found = []
        for letter, relation in (("l", self.left), ("r", self.right)):
            found += [
                Column(column.name, Expr(name(f"{letter}{place}"), column.expr.domain.but(certain=False)))
                for place, column in enumerate(relation.columns)
            ]
        return tuple(found)

    @property
    def reads_tables(self) -> bool:
        return self.left.reads_tables or self.right.reads_tables

    def sql(self) -> str:
        sides = []
        for letter, relation in (("l", self.left), ("r", self.right)):
            columns = [f"{c.expr.sql} AS {name(f'{letter}{place}')}" for place, c in enumerate(relation.columns)]
            sides.append(f"(SELECT {', '.join(columns)} FROM {relation.sql()})")
        test = self.condition.sql if self.condition else "TRUE"
        joined = f"{sides[0]} {self.side} JOIN {sides[1]} ON {test}"
        return f"(SELECT *, row_number() OVER () AS {PLACE} FROM {joined})"


Relation = Stored | Released | Derived | Joined
"""Rows that anybody may see: `columns`; `reads_tables`, whether a public table has to be read for them; and `sql`, what
to put behind FROM where the releases have their names."""
PUBLIC = (Stored, Released, Derived, Joined)
