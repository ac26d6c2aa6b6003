"""DuckDB over rows that are held in memory: for audits and dummy data. The copy is made by the same queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb

from discreet.engines.claims import owned_rows
from discreet.engines.connection import give_back, isolated
from discreet.engines.copy import ranked
from discreet.engines.numbering import first_blocks, inside, numbered, pairs
from discreet.engines.session import Session
from discreet.engines.sources import Part, Sources, described
from discreet.noise import SYSTEM
from discreet.policy import Policy, Table
from discreet.policy.layout import TYPES
from discreet.quoting import literal, name

Rows = Sequence[Mapping[str, Any]]
SOURCE: Final = "discreet_source"


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

    def _opened(self) -> duckdb.DuckDBPyConnection:
        connection = isolated(among=self._among)
        self._build(connection)
        return connection

    def _build(self, connection: duckdb.DuckDBPyConnection) -> None:
        policy, key = self._policy, self._key
        connection.execute(f"CREATE SCHEMA {SOURCE}")
        connection.execute(f"CREATE MACRO discreet_secret() AS {literal(key)}")
        for table in policy.tables.values():
            self._fill(connection, policy, table, self._tables.get(table.name, ()))
        sources = Held(policy, connection, Path())
        for table in policy.tables.values():
            connection.execute(f"CREATE TABLE {name(table.name)} AS {_copied(sources, table, key)}")

    def _leave(self, connection: duckdb.DuckDBPyConnection) -> None:
        """The database is emptied for the next; one that died, or that somebody closed, cannot be."""
        try:
            for table in self._policy.tables:
                connection.execute(f"DROP TABLE {name(table)}")
            connection.execute(f"DROP SCHEMA {SOURCE} CASCADE")
            connection.execute("DROP MACRO discreet_secret")
        except duckdb.Error:
            connection.close()
        else:
            give_back(connection, among=self._among)

    def _fill(self, connection: duckdb.DuckDBPyConnection, policy: Policy, table: Table, held: Rows) -> None:
        columns = {column.name: TYPES[column.kind] for column in table.columns.values()}
        for row in held:
            for label in row:
                columns.setdefault(label, "VARCHAR")
        for wanted in _undeclared(policy, table):
            if wanted.lower() not in {label.lower() for label in columns}:  # two paths may spell it differently
                columns[wanted] = "VARCHAR"
        typed = ", ".join(f"{name(label)} {kind}" for label, kind in columns.items()) or '"nothing" INTEGER'
        connection.execute(f"CREATE TABLE {SOURCE}.{name(table.name)} ({typed})")
        if not held:
            return
        given = ", ".join(f"unnest(CAST(? AS VARCHAR[])) AS c{index}" for index in range(len(columns)))
        casts = ", ".join(f"TRY_CAST(c{index} AS {kind})" for index, kind in enumerate(columns.values()))
        values: list[Any] = [[_text(row.get(label)) for row in held] for label in columns]
        if not columns:
            given, casts, values = "unnest(range(?)) AS c0", "NULL", [len(held)]
        connection.execute(f"INSERT INTO {SOURCE}.{name(table.name)} SELECT {casts} FROM (SELECT {given})", values)


def _copied(sources: Sources, table: Table, key: str) -> str:
    """The copy of a table; of a stream all blocks of its calendar, and of units one cohort."""
    rows = owned_rows(sources, table)
    if table.stream is not None:
        rows = f"SELECT * FROM ({numbered(rows, table, key)}) WHERE {inside(table)}"
        rows = pairs(first_blocks(rows, table), table)
    return ranked(rows, table, key)


class Held(Sources):
    """Sources that are tables in memory."""

    def parts(self, table: Table) -> tuple[Part, ...]:
        reading = f"{SOURCE}.{name(table.name)}"
        columns = described(self.connection, reading)
        return (Part(reading, {column: (name(column), kind) for column, kind in columns.items()}),)

    def public_rows(self, table: Table) -> str:
        return f"SELECT * FROM {SOURCE}.{name(table.name)}"


def _text(value: Any) -> Any:
    """Values travel as text, so that nothing fails on the way in."""
    return value if value is None else str(value)


def _undeclared(policy: Policy, table: Table) -> list[str]:
    """Columns that name units or lead to them, and need not be declared."""
    columns = []
    for other in policy.private_tables.values():
        owner = other.owner
        if owner is None or owner.column is None:
            continue
        if (owner.path[-1].table if owner.path else other.name) == table.name:
            columns.append(owner.column)
        steps = [other.name, *(hop.table for hop in owner.path)]
        for holder, hop in zip(steps, owner.path, strict=False):
            columns += [hop.column] if holder == table.name else []
            columns += [hop.key] if hop.table == table.name else []
    return columns
