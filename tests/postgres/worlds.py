"""Policies over tables of PostgreSQL, and over files with the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from discreet.engines.copy import private_copy
from discreet.policy import Policy, read
from tests.postgres.cluster import Cluster

HEAD = 'name = "world"\n[budget]\nepsilon = 3\n[unit]\nname = "person"\n'


def world(folder: Path, *tables: str, name: str = "world") -> Policy:
    path = folder / f"{name}.toml"
    path.write_text(HEAD + "\n".join(tables), encoding="utf-8")
    return read(path)


def table(
    source: str, called: str, columns: str, *, label: str = "visits", unit: str = "person", more: str = ""
) -> str:
    """A table of a policy."""
    return f"""
[tables.{label}]
source = '{source}'
table = '{called}'
unit = "{unit}"
{more}
[tables.{label}.columns]
{columns}
"""


def copied(policy: Policy, query: str, version: int = 1) -> list[tuple[Any, ...]]:
    """What a query says of the private copy."""
    with duckdb.connect(str(private_copy(policy, version)), read_only=True) as connection:
        return connection.execute(query).fetchall()


def visits(postgres: Cluster, schema: str, *rows: tuple[Any, ...]) -> None:
    """A table of visits in a schema of its own."""
    postgres.run(f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.visits (person text, ward text, cost float8)")
    with postgres.connect() as connection, connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {schema}.visits VALUES (%s, %s, %s)", rows)
