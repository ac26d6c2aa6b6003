"""Public values as relations: a public table, what a release gave, or a SELECT over one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.policy.model import Column as PolicyColumn
from discreet.policy.model import Kind, Table
from discreet.quoting import name
from discreet.sql.after import PLACE, After, Column
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


@dataclass(frozen=True, slots=True)
class Stored:
    """A public table."""

    table: Table
    columns: tuple[Column, ...]
    reads_tables: bool = True

    @classmethod
    def of(cls, table: Table, schema: Mapping[str, str]) -> Stored:
        """With its declared columns, or with those of the source if none are declared."""
        declared = table.columns or {label: _found(label, kind) for label, kind in schema.items()}
        return cls(table, tuple(Column(label, Expr(name(label), domain_of(c))) for label, c in declared.items()))

    def sql(self, released: Sequence[str]) -> str:  # noqa: ARG002  (a table needs nothing released)
        return f"(SELECT *, row_number() OVER () AS {PLACE} FROM {name(self.table.name)})"


def _found(label: str, kind: str) -> PolicyColumn:
    base = kind.split("(")[0]
    return PolicyColumn(label, _KINDS.get(base, Kind.NUMBER if base == "DECIMAL" else Kind.TEXT))


@dataclass(frozen=True, slots=True)
class Released:
    """What the release of this number gave: keys, then aggregates."""

    number: int
    columns: tuple[Column, ...]
    reads_tables: bool = False

    def sql(self, released: Sequence[str]) -> str:
        return released[self.number]


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

    def sql(self, released: Sequence[str]) -> str:
        inner = self.after.sql(self.below.sql(released))
        shown = ", ".join(column.expr.sql for column in self.columns)
        return f"(SELECT {shown}, row_number() OVER () AS {PLACE} FROM ({inner}))"


Relation = Stored | Released | Derived
"""Rows that anybody may see: `columns`; `reads_tables`, whether a public table has to be read for them; and `sql`, what
to put behind FROM, given the texts of what was released."""
