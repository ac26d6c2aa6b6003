"""Every query is run over empty tables before it is charged: what no rows could answer is refused for nothing.

Theorem  Whether a query passes depends on policy, text and public schemas alone, and what passes does not fail for its
         text.
Proof    The tables here have the columns and types of the private copy (`policy.layout`), and never a row: the engine
         binds and plans the query, which needs no rows. What rows could do, total functions leave undone.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import duckdb

from discreet.composed import Sql
from discreet.engines.connection import connect, lock_up
from discreet.engines.printed import printed
from discreet.engines.session import Session, rows
from discreet.engines.stopping import Stopped, is_stopped
from discreet.errors import QueryFailed
from discreet.policy import Policy
from discreet.policy.layout import copied_columns
from discreet.quoting import name

MOST: Final = 64
"""Policies whose empty tables are kept."""
MOST_KNOWN: Final = 4096
SECONDS: Final = 5.0
"""Nothing takes that long without rows but what is made to."""
STOPPED: Final = "the question was stopped; nothing was charged"
AGAIN: Final = "ask again"
_NUMBERS: Final = itertools.count()
_GUARD: Final = threading.Lock()
_STAGES: Final[dict[tuple[int, str], Stage]] = {}


class _Theatre(Session):
    """One database without rows for all policies of a process: it reaches nothing, and is opened again if it dies."""

    def _opened(self) -> duckdb.DuckDBPyConnection:
        connection = connect(threads=1)
        lock_up(connection)
        return connection

    def alive(self) -> duckdb.DuckDBPyConnection:
        return self._alive()


class Stage:
    """The empty tables of one policy, in a schema of their own."""

    def __init__(self, policy: Policy, theatre: _Theatre) -> None:
        self._theatre = theatre
        self._tables = {table.name: copied_columns(table) for table in policy.tables.values()}
        self._schema = f"stage_{next(_NUMBERS)}"
        self._lock = threading.Lock()
        self._made: duckdb.DuckDBPyConnection | None = None
        """The connection in which the tables are."""
        self._held: dict[str, Mapping[str, str]] = {}
        self._passed: set[str] = set()
        self.closed = False

    def runs(self, query: Sql, schemas: Mapping[str, Mapping[str, str]]) -> bool:
        """Whether a query runs; `schemas` are the columns of public tables of which the policy declares none.

        Queries that differ in literals alone are bound alike: one of them is enough.
        """
        key = query.skeleton
        try:
            with self._lock:
                self._make_ready(schemas)
                if key in self._passed:
                    return True
            self._theatre.rows(f"USE {self._schema}; {printed(query)}", SECONDS)
        except (duckdb.Error, Stopped):
            if is_stopped():
                raise QueryFailed(STOPPED, AGAIN) from None
            return False
        with self._lock:
            if len(self._passed) >= MOST_KNOWN:
                self._passed.clear()
            self._passed.add(key)
        return True

    def _make_ready(self, schemas: Mapping[str, Mapping[str, str]]) -> None:
        """Make what is not there: everything, if the database was opened again."""
        connection = self._theatre.alive()
        if self._made is not connection and not self.closed:
            rows(connection, f"CREATE SCHEMA {self._schema}", None)
            rows(connection, f"CREATE MACRO {self._schema}.discreet_secret() AS ''", None)
            self._made, self._held = connection, {}
            self._passed.clear()
        for table, columns in {**self._tables, **schemas}.items():
            if self._held.get(table) != columns:
                listed = ", ".join(f"{name(column)} {kind}" for column, kind in columns.items()) or '"nothing" INTEGER'
                rows(connection, f"CREATE OR REPLACE TABLE {self._schema}.{name(table)} ({listed})", None)
                self._held[table] = columns
                self._passed.clear()

    def close(self) -> None:
        with self._lock:
            self.closed = True
            self._passed.clear()
            if self._made is not None and self._made is self._theatre.alive():
                rows(self._made, f"DROP SCHEMA {self._schema} CASCADE", None)


def runs(policy: Policy, digest: str, query: Sql, schemas: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether a query runs over the tables of a policy."""
    while True:
        stage = stage_of(policy, digest)
        found = stage.runs(query, schemas)
        if found or not stage.closed:  # if it was closed meanwhile, its tables were gone
            return found


def stage_of(policy: Policy, digest: str) -> Stage:
    """The empty tables of a policy, made once in each process."""
    key = os.getpid(), digest
    with _GUARD:
        if key not in _STAGES:
            if len(_STAGES) >= MOST:
                _STAGES.pop(next(iter(_STAGES))).close()
            _STAGES[key] = Stage(policy, _theatre(os.getpid()))
        return _STAGES[key]


@lru_cache(maxsize=1)
def _theatre(process: int) -> _Theatre:  # noqa: ARG001  (a fork opens its own)
    return _Theatre()
