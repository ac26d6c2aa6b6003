"""Running queries: each in a cursor of its own, ended when time is up; a database that died is opened again."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final, TypeVar

from discreet.composed import Sql
from discreet.engines.connection import give_back, isolated
from discreet.engines.library import duckdb
from discreet.engines.printed import printed
from discreet.engines.stopping import AGAIN, CURRENT, clock
from discreet.late import np
from discreet.quoting import name

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")
_INTEGERS: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
MAX_STATEMENTS: Final = 256
LONGEST_TEXT: Final = 10_000
"""Texts that are held parsed, and how long each may be: the values of earlier releases make some of them long."""
NUMPY: Final = frozenset((*_INTEGERS, "BOOLEAN", "FLOAT", "DOUBLE", "VARCHAR", "TIMESTAMP"))
"""Types whose values NumPy holds, all of them. A date may be too far away."""


class Session(ABC):
    """A DuckDB database that many threads may ask.

    After some errors DuckDB refuses to work on a database ("invalidated"). Whoever met such an error gets it; whoever
    comes next finds the database opened anew.
    """

    dialect = "duckdb"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._statements: dict[str, duckdb.Statement] = {}
        self._connection: duckdb.DuckDBPyConnection | None = self._opened()

    @abstractmethod
    def _opened(self) -> duckdb.DuckDBPyConnection:
        """The database, with all that belongs into it."""

    def rows(self, query: Sql, seconds: float | None = None) -> list[tuple[Any, ...]]:
        """The answer as Python values: integers of any size stay exact. It is interrupted after so many seconds."""
        return self.execute(printed(query), seconds)

    def columns(self, query: Sql, seconds: float | None = None) -> list[NDArray[Any]]:
        """The same answer column by column, as NumPy has it: for many rows, without an object for each value."""
        text = printed(query)
        return self._asked(lambda alive: columns(alive, text, seconds))

    def schema(self, table: str) -> dict[str, str]:
        """The columns of a table with their types."""
        return {row[0]: row[1] for row in self.execute(f"DESCRIBE {name(table)}")}

    def execute(self, text: str, seconds: float | None = None) -> list[tuple[Any, ...]]:
        """What a text of this program itself answers, in DuckDB's dialect."""
        return self._asked(lambda alive: rows(alive, self._parsed(alive, text), seconds))

    def _parsed(self, connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement | str:
        """A text as DuckDB's parser reads it, which is done once: for a small query it takes a quarter of the time."""
        known = self._statements.get(text)
        if known is not None or len(text) > LONGEST_TEXT:
            return known or text
        statements = connection.extract_statements(text)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            return text
        if len(self._statements) >= MAX_STATEMENTS:
            self._statements.clear()
        self._statements[text] = statements[0]
        return statements[0]

    def _asked(self, ask: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        connection = self._alive()
        try:
            return ask(connection)
        except Exception:
            self._bury_if_dead(connection)
            raise

    def _alive(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            if self._connection is None:
                if self._closed:
                    raise duckdb.ConnectionException("the engine is closed")
                self._connection = self._opened()
            return self._connection

    def _bury_if_dead(self, connection: duckdb.DuckDBPyConnection) -> None:
        """A database that cannot say 1 is dead. Others who still ask it hold it, and it goes with the last of them."""
        try:
            rows(connection, "SELECT 1", None)
        except Exception:
            with self._lock:
                if self._connection is connection and not self._closed:
                    self._connection = None

    def close(self) -> None:
        with self._lock:
            connection, self._connection, self._closed = self._connection, None, True
            self._statements.clear()
        if connection is not None:
            self._leave(connection)

    def _leave(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Nobody asks this database any more."""
        connection.close()


class Scratch(Session):
    """An engine without tables, for what follows the noise: nothing private can be reached from here."""

    def __init__(self, among: int = 1, threads: int | None = None) -> None:
        self._among = among
        self._threads = threads
        super().__init__()

    def _opened(self) -> duckdb.DuckDBPyConnection:
        return isolated(among=self._among, threads=self._threads)

    def _leave(self, connection: duckdb.DuckDBPyConnection) -> None:
        give_back(connection, among=self._among, threads=self._threads)

    def alive(self) -> duckdb.DuckDBPyConnection:
        """The database, opened again if it died."""
        return self._alive()


def rows(
    connection: duckdb.DuckDBPyConnection, query: duckdb.Statement | str, seconds: float | None
) -> list[tuple[Any, ...]]:
    """What a query answers, in a cursor of its own."""
    return running(connection, seconds, lambda cursor: cursor.execute(query).fetchall())


def columns(connection: duckdb.DuckDBPyConnection, query: str, seconds: float | None) -> list[NDArray[Any]]:
    """The same, column by column."""
    return running(connection, seconds, lambda cursor: _arrays(cursor, query))


def _arrays(cursor: duckdb.DuckDBPyConnection, query: str) -> list[NDArray[Any]]:
    """Of types that NumPy has: of others, such as HUGEINT, it would make floats.

    A relation goes into arrays at once; what a cursor has executed is held in chunks first, and copied from there.
    """
    relation = cursor.sql(query)
    kinds = [str(kind) for kind in relation.types]
    if all(kind in NUMPY for kind in kinds):
        return list(relation.fetchnumpy().values())
    table = relation.fetchall()
    return [_objects([row[index] for row in table]) for index in range(len(kinds))]


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def running(connection: duckdb.DuckDBPyConnection, seconds: float | None, fetched: Callable[[Any], T]) -> T:
    """Run a query in a cursor of its own; Ctrl-C is a KeyboardInterrupt."""
    cursor = connection.cursor()
    try:
        with _limited(cursor, seconds), _stoppable(cursor):
            return fetched(cursor)
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise
    finally:
        cursor.close()


def _stoppable(cursor: duckdb.DuckDBPyConnection) -> AbstractContextManager[None]:
    stop = CURRENT.get()
    return nullcontext() if stop is None else stop.over(cursor.interrupt)


def _limited(cursor: duckdb.DuckDBPyConnection, seconds: float | None) -> AbstractContextManager[None]:
    """Interrupt what takes longer, again and again: an interrupt that comes before the engine has begun is lost."""
    return nullcontext() if seconds is None else clock().limit(cursor.interrupt, seconds, AGAIN)
