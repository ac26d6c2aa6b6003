"""DuckDB over rows that are held in memory: for audits and dummy data. The copy is made by the same queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import duckdb

from discreet.engines.claims import owned_rows
from discreet.engines.copy import ranked
from discreet.engines.digests import macros, made_macros
from discreet.engines.filled import Contents, Statement, filled, rest
from discreet.engines.numbering import first_blocks, inside, numbered, pairs
from discreet.engines.parts import Part
from discreet.engines.session import Session
from discreet.engines.sources import Sources
from discreet.noise import SYSTEM
from discreet.policy import Policy, Table
from discreet.policy.layout import TYPES
from discreet.policy.owners import leading_columns
from discreet.quoting import literal, name

Rows = Sequence[Mapping[str, Any]]
SOURCE: Final = "discreet_source"
NOTHING: Final = {"nothing": "INTEGER"}
"""The column of a table that has none."""


class Memory(Session):
    """An engine over rows: for each table a list of {column: value}. What a column cannot hold is NULL."""

    def __init__(self, policy: Policy, tables: Mapping[str, Rows], key: str = "memory", among: int = 1) -> None:
        self.copy = SYSTEM.bytes(16).hex()
        """The name of these rows, which no others have."""
        self._policy = policy
        self._tables = tables
        self._key = key
        self._among = among
        super().__init__()

    @cached_property
    def _contents(self) -> Contents:
        made = making(self._policy, self._tables, self._key)
        return Contents(tuple(made), tuple(_removing(self._policy)))

    def _opened(self) -> duckdb.DuckDBPyConnection:
        return filled(self._contents, self._among)

    def _leave(self, connection: duckdb.DuckDBPyConnection) -> None:
        rest(connection, self._contents, self._among)


def making(
    policy: Policy, tables: Mapping[str, Rows], key: str, present: Mapping[str, Mapping[str, str]] | None = None
) -> Iterator[Statement]:
    """What makes the database, from nothing, or from sources of which some are there already, with these columns."""
    present = present or {}
    yield f"CREATE SCHEMA IF NOT EXISTS {SOURCE}", ()
    yield f"CREATE MACRO discreet_secret() AS {literal(key)}", ()
    yield from ((text, ()) for text in macros(policy.hashing, "main"))
    given = {table.name: table for table in policy.tables.values() if table.name not in present}
    columns = {label: _columns(policy, table, tables.get(label, ())) for label, table in given.items()}
    for label, typed in columns.items():
        yield from _source(f"{SOURCE}.{name(label)}", typed, tables.get(label, ()))
    sources = Held(policy, {**present, **columns})
    for table in policy.tables.values():
        yield f"CREATE TABLE {name(table.name)} AS {selection(sources, table, key)}", ()


def _columns(policy: Policy, table: Table, held: Rows) -> dict[str, str]:
    """The columns of a source: those that are declared, those that rows have, and those that lead to units."""
    columns = {column.name: TYPES[column.kind] for column in table.columns.values()}
    for row in held:
        for label in row:
            columns.setdefault(label, "VARCHAR")
    for wanted in leading_columns(policy.private_tables, table):
        if wanted.lower() not in {label.lower() for label in columns}:  # two paths may spell it differently
            columns[wanted] = "VARCHAR"
    return columns or NOTHING


def _source(table: str, columns: Mapping[str, str], held: Rows) -> Iterator[Statement]:
    if not held:
        typed = ", ".join(f"{name(label)} {kind}" for label, kind in columns.items())
        yield f"CREATE TABLE {table} ({typed})", ()
        return
    given = ", ".join(f"unnest(CAST(? AS VARCHAR[])) AS c{index}" for index in range(len(columns)))
    casts = ", ".join(f"TRY_CAST(c{index} AS {columns[label]}) AS {name(label)}" for index, label in enumerate(columns))
    values = tuple(tuple(_text(row.get(label)) for row in held) for label in columns)
    yield f"CREATE TABLE {table} AS SELECT {casts} FROM (SELECT {given})", values


def _removing(policy: Policy) -> Iterator[str]:
    yield from (f"DROP TABLE {name(table)}" for table in policy.tables)
    yield f"DROP SCHEMA {SOURCE} CASCADE"
    yield from (f"DROP MACRO {made}" for made in ("discreet_secret", *made_macros(policy.hashing)))


def selection(sources: Sources, table: Table, key: str) -> str:
    """The copy of a table; of a stream all blocks of its calendar, and of units one cohort."""
    rows = owned_rows(sources, table)
    if table.stream is not None:
        rows = f"SELECT * FROM ({numbered(rows, table, key)}) WHERE {inside(table)}"
        rows = pairs(first_blocks(rows, table), table)
    return ranked(rows, table, key, sources.policy.hashing)


class Held(Sources):
    """Sources that are tables in memory, of which all is known."""

    def __init__(self, policy: Policy, columns: Mapping[str, Mapping[str, str]]) -> None:
        self.policy = policy
        self._held = columns

    def parts(self, table: Table) -> tuple[Part, ...]:
        named = {column: (name(column), kind) for column, kind in self._held[table.name].items()}
        return (Part(f"{SOURCE}.{name(table.name)}", named),)

    def public_rows(self, table: Table) -> str:
        return f"SELECT * FROM {SOURCE}.{name(table.name)}"


def _text(value: Any) -> Any:
    """Values travel as text, so that nothing fails on the way in."""
    return value if value is None else str(value)
