"""A DuckDB database in memory that tests share: for what only reads, or writes files. Opening one takes 16 ms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

import duckdb

from discreet.quoting import literal

TOGETHER: Final = 200
"""Rows that one statement brings in: a statement for each takes a millisecond each."""


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def plain() -> duckdb.DuckDBPyConnection:
    """A cursor of its own, to be closed as a connection is."""
    return _database().cursor()


@contextmanager
def reading(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor over a database file, which nobody changes by it."""
    called = f"file_{next(_FILES)}"
    with plain() as connection:
        connection.execute(f"ATTACH {literal(str(file))} AS {called} (READ_ONLY)")
        try:
            connection.execute(f"USE {called}")
            yield connection
        finally:
            connection.execute("USE memory")
            connection.execute(f"DETACH {called}")


_FILES: Final = count()


def fill(
    connection: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]
) -> None:
    """A table of this connection alone, with these columns, their types and these rows."""
    typed = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
    connection.execute(f'CREATE OR REPLACE TEMP TABLE "{table}" ({typed})')
    line, left = f"({', '.join(f'CAST(? AS {kind})' for kind in columns.values())})", iter(rows)
    while some := list(islice(left, TOGETHER)):
        flat = [value for row in some for value in row]
        connection.execute(f'INSERT INTO "{table}" VALUES {", ".join([line] * len(some))}', flat)
