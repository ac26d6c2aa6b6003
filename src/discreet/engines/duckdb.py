"""DuckDB over the private copy: read-only, no access to anything else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import duckdb

from discreet.engines.copy import MADE, Progress, owned_rows, private_copy, secret, unit_type_of
from discreet.engines.sources import Sources, owned, paths
from discreet.engines.stopping import CURRENT
from discreet.policy import Format, Policy
from discreet.quoting import literal, name

CAREFUL = "SET disabled_optimizers = 'statistics_propagation'"
"""DuckDB 2.0 folds conditions by statistics that are wrong where a LEFT JOIN finds its right side empty: whether one
unit's row exists then decides about other units' rows. It costs next to nothing to do without."""


class DuckDB:
    """The engine of one policy and data version. Each thread takes a `cursor` of its own."""

    dialect = "duckdb"

    def __init__(self, policy: Policy, version: int, progress: Progress | None = None) -> None:
        self.path: Path = private_copy(policy, version, progress)
        self._connection = duckdb.connect(":memory:")
        self._connection.execute(CAREFUL)
        self._connection.execute(f"CREATE MACRO discreet_secret() AS {literal(secret(policy.state))}")
        self._connection.execute(f"ATTACH {literal(str(self.path))} AS private (READ_ONLY)")
        sources = Sources(policy, self._connection)
        for table in policy.tables.values():
            rows = f"SELECT * FROM private.{name(table.name)}"
            if not table.copied:
                rows = owned_rows(sources, table, unit_type_of(sources))
            with owned(table.name):
                self._connection.execute(f"CREATE VIEW {name(table.name)} AS {rows}")
        self._lock_up(policy)

    @property
    def copy(self) -> str:
        """The name of the copy: as long as it is the same, so are the ranks of all rows and keys."""
        return str(self.rows(f"SELECT name FROM private.{MADE}")[0][0])

    def _lock_up(self, policy: Policy) -> None:
        """From here on nothing but the views can be read, and nothing can be set."""
        in_place = [
            table for table in policy.tables.values() if not table.copied and table.source.format is not Format.DUCKDB
        ]
        allowed = [str(path) for table in in_place for path in paths(policy, table)]
        if allowed:
            self._connection.execute(f"SET allowed_paths = [{', '.join(literal(path) for path in allowed)}]")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def schema(self, table: str) -> dict[str, str]:
        """The columns of a table with the engine's types."""
        return {row[0]: row[1] for row in self.rows(f"DESCRIBE {name(table)}")}

    def rows(self, query: str, seconds: float | None = None) -> list[tuple[Any, ...]]:
        """The answer as Python values: integers of any size stay exact. It is interrupted after so many seconds."""
        return rows(self._connection, query, seconds)

    def close(self) -> None:
        self._connection.close()


class Scratch:
    """An engine without tables, for what follows the noise: nothing private can be reached from here."""

    dialect = "duckdb"

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def rows(self, query: str, seconds: float | None = None) -> list[tuple[Any, ...]]:
        return rows(self._connection, query, seconds)

    def close(self) -> None:
        self._connection.close()


def rows(connection: duckdb.DuckDBPyConnection, query: str, seconds: float | None) -> list[tuple[Any, ...]]:
    """Run a query in a cursor of its own; Ctrl-C is a KeyboardInterrupt."""
    cursor = connection.cursor()
    try:
        with _limited(cursor, seconds), _stoppable(cursor):
            return cursor.execute(query).fetchall()
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise
    finally:
        cursor.close()


def _stoppable(cursor: duckdb.DuckDBPyConnection) -> AbstractContextManager[None]:
    stop = CURRENT.get()
    return nullcontext() if stop is None else stop.over(cursor.interrupt)


@contextmanager
def _limited(cursor: duckdb.DuckDBPyConnection, seconds: float | None) -> Iterator[None]:
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, cursor.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
