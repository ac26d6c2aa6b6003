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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from discreet.ledger.codec import Amounts
from discreet.ledger.problems import LedgerError, reported
from discreet.ledger.schema import ANSWERS, CHARGES, DIGITS, padded, paid, told

PATIENCE: Final = 300.0
"""Seconds to wait for other processes: the busy handler is not fair."""

_ANSWERED: Final = f"""EXISTS (SELECT 1 FROM journal AS a
    WHERE {told("kind", "a")} = 'answer' AND {told("charge", "a")} = +journal.number)"""
_BEFORE: Final = "(SELECT hash FROM journal AS b WHERE b.number = journal.number - 1)"
_OF_CHARGE: Final = f"""SELECT number, line, hash, kept, {_BEFORE}
    FROM journal WHERE {ANSWERS} AND {told("charge")} = ? ORDER BY number DESC LIMIT 1"""
_CHARGE: Final = f"SELECT number, line, hash, {_BEFORE} FROM journal WHERE number = ? AND {CHARGES}"
_DEAREST: Final = f"""SELECT journal.number, {paid(0)} FROM journal
    WHERE {CHARGES} AND {told("plan")} = ? AND {told("data")} = ? AND {_ANSWERED}
        AND {paid(0)} < ? AND {paid(0)} >= ? AND {paid(1)} >= ?
    ORDER BY {paid(0)} DESC, journal.number DESC LIMIT 1"""
_KEYED: Final = f"""SELECT number, line FROM journal
    WHERE {told("key")} IS NOT NULL AND {told("key")} = json_extract(?, '$') ORDER BY number"""
DEAREST: Final = "9" * DIGITS
"""An amount that nothing was ever bought for."""


@dataclass(frozen=True, slots=True)
class Search:
    """Which charges are looked for: those of an analyst, with this in their text (ASCII letters in either case),
    answered or not, above a number."""

    analyst: str | None = None
    text: str = ""
    answered: bool | None = None
    after: int = 0

    def conditions(self) -> tuple[str, list[Any]]:
        tests, values = [CHARGES], list[Any]()
        if self.analyst is not None:
            tests.append(f"{told('analyst')} = ?")
            values.append(self.analyst)
        if self.text:
            tests.append(f"instr(lower({told('question')}), lower(?)) > 0")
            values.append(self.text)
        if self.answered is not None:
            tests.append(_ANSWERED if self.answered else f"NOT {_ANSWERED}")
        if self.after:
            tests.append("number > ?")
            values.append(self.after)
        return " AND ".join(tests), values


ALL: Final = Search()


class Reader:
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

    def charges(
        self, search: Search, *, limit: int = -1, offset: int = 0, order: str = "ASC"
    ) -> list[tuple[int, str, bool]]:
        """Charges in the order of their numbers: number, line, and whether there is an answer."""
        tests, values = search.conditions()
        query = f"SELECT number, line, {_ANSWERED} FROM journal WHERE {tests} ORDER BY number {order} LIMIT ? OFFSET ?"
        with self._cursor() as connection:
            rows = connection.execute(query, (*values, limit, offset)).fetchall()
        return [(number, line, bool(answered)) for number, line, answered in rows]

    def count(self, search: Search) -> int:
        tests, values = search.conditions()
        with self._cursor() as connection:
            return int(connection.execute(f"SELECT count(*) FROM journal WHERE {tests}", values).fetchone()[0])

    def charge(self, number: int) -> tuple[int, str, bool] | None:
        with self._cursor() as connection:
            query = f"SELECT number, line, {_ANSWERED} FROM journal WHERE number = ? AND {CHARGES}"
            row = connection.execute(query, (number,)).fetchone()
        return None if row is None else (row[0], row[1], bool(row[2]))

    def pair(self, number: int) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        """A charge (number, line, hash, hash before) and its newest answer (number, line, hash, bytes, hash before)."""
        with self._cursor() as connection:
            charge = connection.execute(_CHARGE, (number,)).fetchone()
            answer = connection.execute(_OF_CHARGE, (number,)).fetchone()
        return None if charge is None or answer is None else (charge, answer)

    def dearest(self, plan: str, data: int, below: str, least: Amounts) -> tuple[int, str] | None:
        """The newest of the dearest answered charges for a plan that cost less than `below`, and at least so much."""
        bounds = map(padded, (*least, 0, 0)[:2])
        with self._cursor() as connection:
            row = connection.execute(_DEAREST, (plan, data, below, *bounds)).fetchone()
        return None if row is None else (row[0], row[1])

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self.connection is not None:
                self.connection.close()


def keyed(connection: sqlite3.Connection, name: str) -> list[tuple[int, str]]:
    """The charges with a key, oldest first: number and line. SQLite reads the key and the lines in the same way."""
    text = json.dumps(name, ensure_ascii=False).encode("utf-8", "backslashreplace").decode("utf-8")
    return connection.execute(_KEYED, (text,)).fetchall()
