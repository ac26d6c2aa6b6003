"""A DuckDB database in memory that tests share: for what only reads, or writes files. Opening one takes 16 ms."""

from __future__ import annotations

from functools import cache

import duckdb


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def plain() -> duckdb.DuckDBPyConnection:
    """A cursor of its own, to be closed as a connection is."""
    return _database().cursor()
