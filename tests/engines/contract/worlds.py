"""The same tables for every engine: what an engine needs to be asked about rows that a test gives."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from discreet.engines.engine import Engine
from discreet.engines.memory import Memory
from discreet.engines.postgres_engine import Postgres
from discreet.policy import Kind, Policy, Table, parse
from discreet.policy.owners import leading_columns
from discreet.quoting import name
from tests.postgres.cluster import Cluster

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
NUMBERS: Final = itertools.count()
KINDS: Final = {
    Kind.INTEGER: "int8",
    Kind.NUMBER: "float8",
    Kind.TEXT: "text",
    Kind.BOOLEAN: "bool",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
}


@dataclass(frozen=True)
class World:
    """A policy and rows: files, for engines that read files."""

    text: str
    rows: Rows
    folder: Path
    secret: str | None = None
    """The key of all hashes, where it has to be the same in several."""

    def policy(self, text: str | None = None) -> Policy:
        return parse((text or self.text).encode(), self.folder / "world.toml")


@contextmanager
def in_duckdb(world: World) -> Iterator[tuple[Policy, Engine]]:
    """What all others are compared with."""
    policy = world.policy()
    engine = Memory(policy, world.rows)
    try:
        yield policy, engine
    finally:
        engine.close()


def in_postgres(postgres: Cluster) -> Callable[[World], Any]:
    """The rows as tables of a database, in a schema of their own; the copy in another, of a role that may read."""

    @contextmanager
    def opened(world: World) -> Iterator[tuple[Policy, Engine]]:
        number = next(NUMBERS)
        policy = world.policy(pushed(world.text, postgres, number))
        policy.folder.mkdir(exist_ok=True)
        if world.secret is not None:
            policy.state.mkdir(mode=0o700)
            (policy.state / "secret").write_text(world.secret, encoding="ascii")
        load(postgres, f"rows{number}", policy, world.rows)
        postgres.run(f"CREATE SCHEMA copy{number} AUTHORIZATION reader")
        engine = Postgres(policy, 1)
        try:
            yield policy, engine
        finally:
            engine.close()
            postgres.run(f"DROP SCHEMA rows{number} CASCADE", f"DROP SCHEMA copy{number} CASCADE")

    return opened


def pushed(text: str, postgres: Cluster, number: int) -> str:
    """A policy of files as one of tables, with an engine."""
    there = rf'source = "{postgres.address(user="reader")}"\ntable = "rows{number}.\1"'
    head = f'engine = "postgres"\nengine_schema = "copy{number}"\nstate = "state{number}"\n'
    return head + re.sub(r'source = "(\w+)\.csv"', there, text)


def load(postgres: Cluster, schema: str, policy: Policy, rows: Rows) -> None:
    """Tables of a database, with the types that the policy declares."""
    with postgres.connect() as connection, connection.cursor() as cursor:
        connection.execute(f"CREATE SCHEMA {schema}; GRANT USAGE ON SCHEMA {schema} TO reader".encode())
        for table in policy.tables.values():
            columns = _columns(policy, table, rows.get(table.name, ()))
            called = name((table.source.table or "").rpartition(".")[2])
            typed = ", ".join(f"{name(column)} {kind}" for column, kind in columns.items())
            connection.execute(f"CREATE TABLE {schema}.{called} ({typed})".encode())
            held = [[_written(row.get(column)) for column in columns] for row in rows.get(table.name, ())]
            marks = ", ".join(["%s"] * len(columns))
            cursor.executemany(f"INSERT INTO {schema}.{called} VALUES ({marks})".encode(), held)
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader".encode())


def _written(value: Any) -> str | None:
    """As a text of unknown type, which the column's own type reads."""
    return None if value is None else str(value)


def _columns(policy: Policy, table: Table, rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    columns = {column.name: KINDS[column.kind] for column in table.columns.values()}
    others = [label for row in rows for label in row] + list(leading_columns(policy.private_tables, table))
    for label in others:
        columns.setdefault(label, "text")
    return columns


@dataclass
class Recording:
    """An engine that notes what it is asked."""

    engine: Engine
    asked: list[Any] = field(default_factory=list)

    def __getattr__(self, label: str) -> Any:
        return getattr(self.engine, label)

    def rows(self, query: Any, seconds: float | None = None) -> Any:
        self.asked.append(query)
        return self.engine.rows(query, seconds)
