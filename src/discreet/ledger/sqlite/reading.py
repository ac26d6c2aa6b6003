"""Looking at the journal through a connection of its own: whoever looks holds up nobody who spends.

Everything here is found by an index and read page by page, so that the work depends on what is shown and not on how
long the journal is. SQLite's WAL gives every reader the state of one moment.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from discreet.ledger.codec import Amounts
from discreet.ledger.problems import LedgerDamaged, LedgerError, reported
from discreet.ledger.sqlite.schema import ANSWERS, CHARGES, DIGITS, EVENTS, cost, field, padded
from discreet.ledger.store import ENDLESS, Charged, Noted, Order, Search

PATIENCE: Final = 300.0
"""Seconds to wait for other processes: the busy handler is not fair."""

_OF: Final = f"""(SELECT 1 FROM journal AS a
    WHERE {field("kind", "a")} = 'answer' AND {field("charge", "a")} = +journal.number"""
_ANSWERED: Final = f"(EXISTS {_OF}) AND NOT EXISTS {_OF} AND {field('withdrawn', 'a')} IS NOT NULL))"
_BEFORE: Final = "(SELECT hash FROM journal AS b WHERE b.number = journal.number - 1)"
_OF_CHARGE: Final = f"""SELECT number, line, hash, kept, {_BEFORE}
    FROM journal WHERE {ANSWERS} AND {field("charge")} = ? ORDER BY number DESC LIMIT 1"""
_CHARGE: Final = f"SELECT number, line, hash, {_BEFORE} FROM journal WHERE number = ? AND {CHARGES}"
_LARGEST: Final = f"""SELECT journal.number, {cost(0)} FROM journal
    WHERE {CHARGES} AND {field("plan")} = ? AND {field("data")} = ? AND {_ANSWERED}
        AND {cost(0)} < ? AND {cost(0)} >= ? AND {cost(1)} >= ?
    ORDER BY {cost(0)} DESC, journal.number DESC LIMIT 1"""
_KEYED: Final = f"""SELECT number, line FROM journal
    WHERE {field("key")} IS NOT NULL AND {field("key")} = json_extract(?, '$') ORDER BY number"""
_UNREACHED: Final = 10**DIGITS - 1
"""An amount that nothing ever cost."""


def conditions(search: Search) -> tuple[str, list[Any]]:
    """What a charge that is looked for fulfils, with the values for it."""
    tests, values = [CHARGES], list[Any]()
    if search.analyst is not None:
        tests.append(f"{field('analyst')} = ?")
        values.append(search.analyst)
    if search.text:
        tests.append(f"instr(lower({field('question')}), lower(?)) > 0")
        values.append(search.text)
    if search.answered is not None:
        tests.append(_ANSWERED if search.answered else f"NOT {_ANSWERED}")
    if search.after:
        tests.append("number > ?")
        values.append(search.after)
    return " AND ".join(tests), values


class SqliteReader:
    """A connection that only reads, opened when it is first used. One thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self.connection: sqlite3.Connection | None = None
        self._closed = False

    @contextmanager
    def _cursor(self) -> Iterator[sqlite3.Connection]:
        """Everything read inside is of one moment."""
        with self._lock, reported("read", self._path):
            if self._closed:
                raise LedgerError("this ledger is closed", "open it again")
            if self.connection is None:
                self.connection = sqlite3.connect(
                    f"{self._path.as_uri()}?mode=rw",
                    uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False,
                )  # fmt: skip
                self.connection.execute("PRAGMA query_only = ON")
            self.connection.execute("BEGIN")
            try:
                yield self.connection
            finally:
                self.connection.execute("ROLLBACK")

    def charges(self, search: Search, *, limit: int = -1, offset: int = 0, order: Order = "ASC") -> list[Charged]:
        tests, values = conditions(search)
        query = f"SELECT number, line, {_ANSWERED} FROM journal WHERE {tests} ORDER BY number {order} LIMIT ? OFFSET ?"
        with self._cursor() as connection:
            rows = connection.execute(query, (*values, limit, offset)).fetchall()
        return [(number, line, bool(answered)) for number, line, answered in rows]

    def count(self, search: Search) -> int:
        tests, values = conditions(search)
        with self._cursor() as connection:
            return int(connection.execute(f"SELECT count(*) FROM journal WHERE {tests}", values).fetchone()[0])

    def charge(self, number: int) -> Charged | None:
        with self._cursor() as connection:
            query = f"SELECT number, line, {_ANSWERED} FROM journal WHERE number = ? AND {CHARGES}"
            row = connection.execute(query, (number,)).fetchone()
        return None if row is None else (row[0], row[1], bool(row[2]))

    def events(self, *, after: int = 0, before: int = ENDLESS, limit: int = -1, order: Order = "ASC") -> list[Noted]:
        query = f"SELECT number, line FROM journal WHERE {EVENTS} AND number > ? AND number < ?"
        with self._cursor() as connection:
            return connection.execute(f"{query} ORDER BY number {order} LIMIT ?", (after, before, limit)).fetchall()

    def pair(self, number: int) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        with self._cursor() as connection:
            charge = connection.execute(_CHARGE, (number,)).fetchone()
            answer = connection.execute(_OF_CHARGE, (number,)).fetchone()
        return None if charge is None or answer is None else (charge, answer)

    def largest(self, plan: str, data: int, below: int | None, least: Amounts) -> tuple[int, int] | None:
        bounds = map(padded, (_UNREACHED if below is None else below, *(*least, 0, 0)[:2]))
        with self._cursor() as connection:
            row = connection.execute(_LARGEST, (plan, data, *bounds)).fetchone()
        if row is None:
            return None
        if not row[1].isdecimal():
            raise LedgerDamaged(f"record {row[0]} cannot be read", "restore a backup")
        return row[0], int(row[1])

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self.connection is not None:
                self.connection.close()


def keyed(connection: sqlite3.Connection, name: str) -> list[tuple[int, str]]:
    """The charges with a key, oldest first: number and line. SQLite reads the key and the lines in the same way."""
    text = json.dumps(name, ensure_ascii=False).encode("utf-8", "backslashreplace").decode("utf-8")
    return connection.execute(_KEYED, (text,)).fetchall()
