"""DuckDB over the private copy: read-only, no access to anything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from discreet.engines.copy import Progress, owned_rows, private_copy, unit_type_of
from discreet.engines.sources import Sources, paths
from discreet.engines.text import literal, name
from discreet.policy import Format, Policy


class DuckDB:
    """The engine of one policy and data version. Each thread takes a `cursor` of its own."""

    dialect = "duckdb"

    def __init__(self, policy: Policy, version: int, progress: Progress | None = None) -> None:
        self.path: Path = private_copy(policy, version, progress)
        self._connection = duckdb.connect(":memory:")
        self._connection.execute(f"ATTACH {literal(str(self.path))} AS private (READ_ONLY)")
        sources = Sources(policy, self._connection)
        for table in policy.tables.values():
            rows = f"SELECT * FROM private.{name(table.name)}"
            if not table.copied:
                rows = owned_rows(sources, table, unit_type_of(sources))
            self._connection.execute(f"CREATE VIEW {name(table.name)} AS {rows}")
        self._lock_up(policy)

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

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The answer as Python values: integers of any size stay exact."""
        return self._connection.cursor().execute(query).fetchall()

    def close(self) -> None:
        self._connection.close()
