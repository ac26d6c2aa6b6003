"""The journal in SQLite: append, read, nothing else.

WAL with synchronous=FULL: a commit returns after its bytes are on disk. One connection for each opened ledger, used by
one thread at a time; other processes have their own. BEGIN IMMEDIATE lets one writer in and makes the others wait.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from discreet.files import locked
from discreet.ledger.files import refuse_network
from discreet.ledger.problems import LedgerDamaged, LedgerError

FORMAT: Final = 1
APPLICATION: Final = 0x44495343  # "DISC"
PATIENCE: Final = 300.0
"""Seconds to wait for other processes: the busy handler is not fair."""
SCHEMA: Final = {
    "journal": "CREATE TABLE journal (number INTEGER PRIMARY KEY, line TEXT NOT NULL, hash TEXT NOT NULL, plan TEXT, "
    "kept BLOB)",
    "plans": "CREATE INDEX plans ON journal (plan) WHERE plan IS NOT NULL",
}

Row = tuple[int, str, str]


class Store:
    """The file with the journal."""

    def __init__(self, path: Path) -> None:
        refuse_network(path.parent)
        self.path = path
        self.closed = False
        with self._reported("open"), locked(path.with_suffix(".lock")):
            self._connection = self._connect()

    def _connect(self) -> sqlite3.Connection:
        if not self.path.exists():
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA trusted_schema = OFF")
        if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise LedgerError(f"{self.path} cannot be written safely (no WAL here)", "move it to a local disk")
        connection.execute("PRAGMA synchronous = FULL")
        if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            connection.execute("BEGIN IMMEDIATE")
            for statement in SCHEMA.values():
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("COMMIT")
        self._recognise(connection)

    def _recognise(self, connection: sqlite3.Connection) -> None:
        application, version = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if application != APPLICATION:
            raise LedgerDamaged(f"{self.path} is not a ledger of discreet", "name another state folder")
        if version != FORMAT:
            raise LedgerDamaged(
                f"{self.path} has format {version}, this discreet knows {FORMAT}",
                "open it with the version of discreet that wrote it",
            )
        if dict(connection.execute("SELECT name, sql FROM sqlite_schema")) != SCHEMA:
            raise LedgerDamaged(f"{self.path} has another layout than it should", "restore a backup")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside is on disk when the block ends, or nothing is."""
        with self._reported("write"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def append(self, number: int, line: str, digest: str, plan: str | None = None, kept: bytes | None = None) -> None:
        self._connection.execute("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", (number, line, digest, plan, kept))

    def last(self) -> tuple[int, str] | None:
        """Number and hash of the last record; None in a new journal."""
        with self._reported("read"):
            row = self._connection.execute("SELECT number, hash FROM journal ORDER BY number DESC LIMIT 1").fetchone()
        return None if row is None else (row[0], row[1])

    def rows(self, after: int = 0, before: int = 2**62) -> Iterator[Row]:
        """Records with after < number < before, in order."""
        query = "SELECT number, line, hash FROM journal WHERE number > ? AND number < ? ORDER BY number"
        with self._reported("read"):
            yield from self._connection.execute(query, (after, before))

    def kept(self) -> Iterator[tuple[int, bytes]]:
        """The kept answers, by the number of their record."""
        with self._reported("read"):
            yield from self._connection.execute(
                "SELECT number, kept FROM journal WHERE kept IS NOT NULL ORDER BY number"
            )

    def plans(self) -> Iterator[tuple[int, str]]:
        """The plans that answers are filed under, by the number of their record."""
        with self._reported("read"):
            yield from self._connection.execute(
                "SELECT number, plan FROM journal WHERE plan IS NOT NULL ORDER BY number"
            )

    def answers(self, plan: str) -> list[tuple[int, str, bytes]]:
        """The answers kept for a plan, newest first: number of the record, its line, the answer."""
        query = "SELECT number, line, kept FROM journal WHERE plan = ? AND kept IS NOT NULL ORDER BY number DESC"
        with self._reported("read"):
            return list(self._connection.execute(query, (plan,)))

    def sound(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        with self._reported("read"):
            findings = [row[0] for row in self._connection.execute("PRAGMA integrity_check")]
        return [] if findings == ["ok"] else findings

    def copy_to(self, path: Path) -> None:
        """A consistent copy, also while others write."""
        with self._reported("copy"):
            target = sqlite3.connect(path)
            try:
                self._connection.backup(target)
                target.execute("PRAGMA journal_mode = DELETE")
            finally:
                target.close()

    @contextmanager
    def relaxed(self) -> Iterator[None]:
        """Commits inside need not wait for the disk: a power cut may lose them, never what was committed before."""
        self._connection.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            self._connection.execute("PRAGMA synchronous = FULL")

    @property
    def wal(self) -> Path:
        return self.path.with_name(self.path.name + "-wal")

    def close(self) -> None:
        self._connection.close()
        self.closed = True

    @contextmanager
    def _reported(self, doing: str) -> Iterator[None]:
        """Turn what SQLite and the system say into an error that says what to do."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            kind = LedgerError if isinstance(error, sqlite3.OperationalError) else LedgerDamaged
            raise kind(f"could not {doing} {self.path}: {error}", _advice(str(error))) from None
        except OSError as error:
            raise LedgerError(f"could not {doing} {self.path}: {error.strerror}", _advice(str(error))) from None


def _advice(message: str) -> str:
    table = {
        "readonly": "make the state folder writable",
        "ermission": "make the state folder writable",
        "Read-only": "make the state folder writable",
        "full": "free some space; nothing was answered",
        "disk I/O": "check the disk; nothing was answered",
        "locked": "try again: other processes are spending",
        "No such file": "create the folder first",
    }
    return next((advice for part, advice in table.items() if part in message), "restore a backup")
