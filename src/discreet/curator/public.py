"""What planning may look up: public tables, never private ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

from discreet.composed import Sql, joined, literal, sql
from discreet.engines.engine import Engine
from discreet.engines.library import duckdb
from discreet.engines.printed import confirmed
from discreet.engines.rehearsal import SECONDS
from discreet.engines.session import Scratch
from discreet.policy import Key
from discreet.sql.keys import MAX_GROUPS


class PublicTables:
    """Public tables as the engine holds them; it is started when something is looked up, and asked everything once."""

    def __init__(self, engine: Callable[[], Engine]) -> None:
        self.engine = engine
        self.schemas: dict[str, dict[str, str]] = {}
        """Those that were looked up."""
        self.keys = cache(self._keys)
        self._most = cache(self._repeats)

    def schema(self, table: str) -> dict[str, str]:
        if table not in self.schemas:
            self.schemas[table] = self.engine().schema(table)
        return self.schemas[table]

    def _keys(self, rows: Sql, column: Sql) -> tuple[Key | None, ...]:
        query = sql("SELECT DISTINCT {} FROM {} ORDER BY 1 LIMIT {}", column, rows, literal(MAX_GROUPS + 1))
        confirmed(query)
        return tuple(row[0] for row in self.engine().rows(query))

    def repeats(self, rows: Sql, columns: Sequence[Sql]) -> int:
        return self._most(rows, tuple(columns))

    def _repeats(self, rows: Sql, columns: tuple[Sql, ...]) -> int:
        if not columns:
            return int(self.engine().rows(sql("SELECT COUNT(*) FROM {}", rows))[0][0])
        there = joined(" AND ", (sql("{} IS NOT NULL", column) for column in columns))
        counted = sql("SELECT COUNT(*) AS n FROM {} WHERE {} GROUP BY {}", rows, there, joined(", ", columns))
        query = sql("SELECT COALESCE(MAX(n), 0) FROM ({})", counted)
        confirmed(query)
        return int(self.engine().rows(query)[0][0])

    def computed(self, query: Sql) -> tuple[tuple[Any, ...], ...] | None:
        return _computed(os.getpid(), query)


@lru_cache(maxsize=256)
def _computed(process: int, query: Sql) -> tuple[tuple[Any, ...], ...] | None:
    confirmed(query)
    try:
        return tuple(_database(process).rows(query, SECONDS))
    except duckdb.Error:  # it needs tables
        return None


@cache
def _database(process: int) -> Scratch:  # noqa: ARG001  (a fork opens its own)
    """Where what needs no table is computed: it reaches nothing."""
    return Scratch(threads=1)
