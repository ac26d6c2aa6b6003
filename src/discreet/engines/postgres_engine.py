"""PostgreSQL as the engine: every query about private rows runs where they lie, and exact integers come back.

What reads public tables alone is asked of DuckDB, which holds them. A query about private rows has to be an aggregate:
rows themselves do not leave the database, whoever asks. Each runs in a connection of its own, in a transaction that
reads and nothing else, and the server ends it when time is up.

Whatever goes wrong there has one text: an error of the server may quote a value.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.composed import Sql
from discreet.engines.copy import Progress, secret
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres_copy import Names, session
from discreet.engines.problems import SourceError
from discreet.engines.rewriting import Rewritten, UnknownError, rewritten
from discreet.engines.rewriting.postgres import DIALECT, SHARED
from discreet.engines.rewriting.statements import Stored
from discreet.engines.rewriting.terms import HUGE, Type
from discreet.engines.rewriting.tree import tables as named_tables
from discreet.engines.stopping import AGAIN, CURRENT, beside
from discreet.policy import Policy
from discreet.policy.engines import MD5
from discreet.policy.layout import copied_columns

if TYPE_CHECKING:
    from psycopg import Connection

MOST_IDLE: Final = 4
"""Connections that wait for the next query."""
UNANSWERED: Final = "PostgreSQL did not answer"


class UnansweredError(Exception):
    """The server failed, was stopped, or took too long. It says nothing else: what happened may be a row's doing."""

    def __init__(self) -> None:
        super().__init__(UNANSWERED)


class RowsError(UnknownError):
    """A query gives rows, and not what they are together."""

    def __init__(self) -> None:
        super().__init__("rows that leave the database")


class Postgres(DuckDB):
    """The engine of one policy and data version inside of PostgreSQL; public tables are beside it, in DuckDB."""

    dialect = DIALECT.name

    def __init__(self, policy: Policy, version: int, progress: Progress | None = None, among: int = 1) -> None:
        super().__init__(policy, version, progress, among)
        self._names = Names.of(secret(policy.state), version, self.copy)
        self._idle: list[Connection[Any]] = []
        self._guard = threading.Lock()

    def rows(self, query: Sql, seconds: float | None = None) -> list[tuple[Any, ...]]:
        if not is_private(query, self._policy):
            return super().rows(query, seconds)
        answer = self._rewritten(query)
        return [tuple(map(_value, answer.types, row)) for row in self._asked_there(answer.text, seconds)]

    def columns(self, query: Sql, seconds: float | None = None) -> list[NDArray[Any]]:
        if not is_private(query, self._policy):
            return super().columns(query, seconds)
        answer, table = self._rewritten(query), self.rows(query, seconds)
        return [_array([row[index] for row in table]) for index in range(len(answer.types))]

    def schema(self, table: str) -> dict[str, str]:
        held = self._policy.private_tables.get(table)
        return super().schema(table) if held is None else copied_columns(held, self._policy.unit_kind)

    def text(self, query: Sql) -> str:
        """What the server is asked, for who wants to see it."""
        return self._rewritten(query).text

    def close(self) -> None:
        super().close()
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _rewritten(self, query: Sql) -> Rewritten:
        return aggregate(query, self._policy, self._names.stored(self._policy, self._public))

    @cached_property
    def _public(self) -> dict[str, dict[str, str]]:
        """The columns of public tables."""
        return {table.name: self.schema(table.name) for table in self._policy.tables.values() if table.is_public}

    def _asked_there(self, text: str, seconds: float | None) -> list[tuple[Any, ...]]:
        from psycopg import Error

        limit = 0 if seconds is None else max(1, round(seconds * 1000))
        begin = f"BEGIN READ ONLY; SET LOCAL statement_timeout = {limit}"
        with suppress(Error, SourceError), self._begun(begin) as connection, _limited(connection, seconds):
            answer = connection.execute(text.encode()).fetchall()
            connection.execute(b"COMMIT")
            return answer
        raise UnansweredError

    @contextmanager
    def _begun(self, begin: str) -> Iterator[Connection[Any]]:
        """A connection in which a transaction has begun: one that waited, unless the server left it meanwhile."""
        connection = self._waiting(begin)
        if connection is None:
            connection = session(self._policy, secret(self._policy.state), "engine")
            connection.execute(begin.encode())
        usable = False
        try:
            yield connection
            usable = True
        finally:  # one in which something went wrong is not used again
            with self._guard:
                usable = usable and not self._closed and len(self._idle) < MOST_IDLE
                if usable:
                    self._idle.append(connection)
            if not usable:
                connection.close()

    def _waiting(self, begin: str) -> Connection[Any] | None:
        from psycopg import Error

        while True:
            with self._guard:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return None
            try:
                connection.execute(begin.encode())
            except Error:
                connection.close()
            else:
                return connection


def is_private(query: Sql, policy: Policy) -> bool:
    """Whether a query names a private table."""
    return bool(named_tables(query) & {table.lower() for table in policy.private_tables})


def aggregate(query: Sql, policy: Policy, tables: Mapping[str, Stored]) -> Rewritten:
    """A query about private rows in PostgreSQL's language; `UnknownError` if it cannot be said there."""
    dialect = SHARED if policy.hashing == MD5 else DIALECT
    answer = rewritten(query, dialect, tables)
    if not answer.aggregates:
        raise RowsError
    return answer


@contextmanager
def _limited(connection: Connection[Any], seconds: float | None) -> Iterator[None]:
    """Have the server stop when somebody wants it to, or when time is up and it did not notice by itself."""

    def cancel() -> None:
        with suppress(Exception):
            connection.cancel_safe(timeout=5)

    stop = CURRENT.get()
    late = nullcontext() if seconds is None else beside(cancel, seconds + 1, max(AGAIN, 1.0))
    with late, nullcontext() if stop is None else stop.over(cancel):
        yield


def _value(type_: Type, value: Any) -> Any:
    """Whole numbers of any size are Python's, and exact."""
    if isinstance(value, Decimal):
        return int(value)
    if type_.of and type_.of[0] == HUGE and value is not None:
        return [None if each is None else int(each) for each in value]
    return value


def _array(values: list[Any]) -> NDArray[Any]:
    array: NDArray[Any] = np.empty(len(values), dtype=object)
    array[:] = values
    return array
