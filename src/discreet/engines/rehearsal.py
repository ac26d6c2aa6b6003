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
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from discreet.composed import Sql
from discreet.engines.digests import macros
from discreet.engines.library import duckdb
from discreet.engines.printed import printed
from discreet.engines.session import Scratch, rows
from discreet.engines.stopping import Stopped, is_stopped
from discreet.errors import QueryFailed, Refused
from discreet.policy import Policy
from discreet.policy.engines import DUCKDB, POSTGRES, SPARK
from discreet.policy.layout import copied_columns
from discreet.quoting import name

MAX_POLICIES: Final = 64
"""Policies whose empty tables are held at a time."""
MAX_PASSED: Final = 4096
"""Queries of a policy that are known to run."""
SECONDS: Final = 5.0
"""Nothing takes that long without rows but what is made to."""
BLOCKS: Final = "@"
"""In a digest: what follows is about blocks of a stream, whose empty tables are those of the policy."""
STOPPED: Final = "the query was stopped; nothing was charged"
AGAIN: Final = "ask again"
_NUMBERS: Final = itertools.count()
_GUARD: Final = threading.Lock()
_PLANNED: Final[set[tuple[Layout, str]]] = set()
"""What databases have a plan for: queries that differ in literals alone are planned alike."""
_EMPTY: Final[dict[Layout, EmptyTables]] = {}


class Layout(NamedTuple):
    """What empty tables look like, and who plans for them: policies of one digest may differ in where they compute."""

    process: int
    digest: str
    engine: str
    hashing: str
    pairs: bool
    apart: bool

    @classmethod
    def of(cls, policy: Policy, digest: str) -> Layout:
        tables = policy.tables.values()
        pairs, apart = any(table.pairs for table in tables), any(table.apart for table in tables)
        return cls(os.getpid(), digest.partition(BLOCKS)[0], policy.engine, policy.hashing, pairs, apart)


class EmptyTables:
    """The empty tables of one policy, in a schema of their own."""

    def __init__(self, policy: Policy, database: Scratch) -> None:
        self._database = database
        self._tables = {table.name: copied_columns(table, policy.unit_kind) for table in policy.tables.values()}
        self._hashing = policy.hashing
        self._schema = f"empty_{next(_NUMBERS)}"
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
            self._database.execute(f"USE {self._schema}; {printed(query)}", SECONDS)
        except (duckdb.Error, Stopped):
            if is_stopped():
                raise QueryFailed(STOPPED, AGAIN) from None
            return False
        with self._lock:
            if len(self._passed) >= MAX_PASSED:
                self._passed.clear()
            self._passed.add(key)
        return True

    def _make_ready(self, schemas: Mapping[str, Mapping[str, str]]) -> None:
        """Make what is not there: everything, if the database was opened again."""
        connection = self._database.alive()
        if self._made is not connection and not self.closed:
            rows(connection, f"DROP SCHEMA IF EXISTS {self._schema} CASCADE", None)  # one that was stopped half made
            rows(connection, f"CREATE SCHEMA {self._schema}", None)
            for text in (f"CREATE MACRO {self._schema}.discreet_secret() AS ''", *macros(self._hashing, self._schema)):
                rows(connection, text, None)
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
            if self._made is not None and self._made is self._database.alive():
                rows(self._made, f"DROP SCHEMA {self._schema} CASCADE", None)


def demand_runnable(
    policy: Policy, digest: str, queries: Iterable[Sql], schemas: Mapping[str, Mapping[str, str]]
) -> None:
    """Refuse queries that cannot be run over the tables of a policy, whatever the rows are."""
    for query in queries:
        if policy.engine != DUCKDB:
            _demand_sayable(policy, query, schemas)
        tables = empty_tables(policy, digest)
        while not tables.runs(query, schemas):
            if not tables.closed:
                reason = "the engine cannot compute this combination"
                raise Refused("statement-not-allowed", reason, "compute it step by step, in subqueries")
            tables = empty_tables(policy, digest)  # they were closed meanwhile


def _demand_sayable(policy: Policy, query: Sql, schemas: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse what the database that computes is not asked, by its text alone; what is refused is named."""
    from discreet.engines.postgres_engine import RowsError, is_private
    from discreet.engines.rewriting import UnknownError

    if not is_private(query, policy):
        return
    public = _public(policy)
    called, aggregate, _ = _INSIDE[policy.engine]
    try:
        aggregate(policy, query, {**public, **schemas})
    except RowsError:
        reason = "this reads rows one by one, and rows of these tables may not leave their database"
        raise Refused("statement-not-allowed", reason, "ask for counts, sums and averages") from None
    except UnknownError as unknown:
        reason = f"{called}, which computes here, is not asked this: {unknown}"
        raise Refused("statement-not-allowed", reason, "ask it in another way") from None


def demand_planned(
    policy: Policy, digest: str, queries: Iterable[Sql], schemas: Mapping[str, Mapping[str, str]]
) -> None:
    """Before a charge: refuse what the database that computes makes no plan of, over no rows.

    If it says nothing, nothing is charged: it would not answer after the charge either.
    """
    from discreet.engines.postgres_engine import is_private

    if policy.engine == DUCKDB:
        return
    called, _, plans = _INSIDE[policy.engine]
    for query in queries:
        key = Layout.of(policy, digest), query.skeleton
        if key in _PLANNED or not is_private(query, policy):
            continue
        try:
            planned = plans(policy, query, {**_public(policy), **schemas})
        except Exception:
            raise QueryFailed(f"{called} did not answer; nothing was charged", AGAIN) from None
        if not planned:
            reason = f"{called}, which computes here, has no plan for this combination"
            raise Refused("statement-not-allowed", reason, "ask it in another way")
        with _GUARD:
            if len(_PLANNED) >= MAX_PASSED:
                _PLANNED.clear()
            _PLANNED.add(key)


def _public(policy: Policy) -> dict[str, Mapping[str, str]]:
    return {table.name: copied_columns(table, policy.unit_kind) for table in policy.tables.values() if table.is_public}


def _in_postgres(policy: Policy, query: Sql, schemas: Mapping[str, Mapping[str, str]]) -> object:
    from discreet.engines.postgres_copy import Names
    from discreet.engines.postgres_engine import aggregate

    return aggregate(query, policy, Names("", 0, "").stored(policy, schemas))


def _planned_by_postgres(policy: Policy, query: Sql, schemas: Mapping[str, Mapping[str, str]]) -> bool:
    from discreet.engines.postgres_rehearsal import plans

    return plans(policy, query, schemas)


def _planned_by_spark(policy: Policy, query: Sql, schemas: Mapping[str, Mapping[str, str]]) -> bool:
    from discreet.engines.spark.rehearsal import plans

    return plans(policy, query, schemas)


def _in_spark(policy: Policy, query: Sql, schemas: Mapping[str, Mapping[str, str]]) -> object:
    from discreet.engines.spark.engine import aggregate

    return aggregate(query, policy, schemas)


_INSIDE: Final = {
    POSTGRES: ("PostgreSQL", _in_postgres, _planned_by_postgres),
    SPARK: ("Spark", _in_spark, _planned_by_spark),
}
"""What each engine that is not DuckDB is called, what says a query in its language, and what asks it for a plan."""


def empty_tables(policy: Policy, digest: str) -> EmptyTables:
    """The empty tables of a policy, made once in each process."""
    key = Layout.of(policy, digest)
    with _GUARD:
        if key not in _EMPTY:
            if len(_EMPTY) >= MAX_POLICIES:
                _EMPTY.pop(next(iter(_EMPTY))).close()
            _EMPTY[key] = EmptyTables(policy, _database(os.getpid()))
        return _EMPTY[key]


@lru_cache(maxsize=1)
def _database(process: int) -> Scratch:  # noqa: ARG001  (a fork opens its own)
    """One database without rows for all policies of a process: it reaches nothing, and is opened again if it dies."""
    return Scratch(threads=1)
