"""The journal in SQLite: append, read, nothing else.

WAL with synchronous=FULL: a commit returns after its bytes are on disk. One connection for each opened ledger, used by
one thread at a time; other processes have their own. BEGIN IMMEDIATE lets one writer in and makes the others wait.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

from discreet.ledger.codec import Record
from discreet.ledger.marks import Marks
from discreet.ledger.problems import LedgerDamaged, LedgerError, reported
from discreet.ledger.sqlite.files import Identity, OwnLock, Seal, beside, identity, real, refuse_mounted, refuse_network
from discreet.ledger.sqlite.reading import PATIENCE, SqliteReader, keyed
from discreet.ledger.sqlite.schema import APPLICATION, FORMAT, LAYOUTS, SCHEMA
from discreet.ledger.state import State
from discreet.ledger.store import ENDLESS, Row
from discreet.ledger.watch import Acceptance, Watch


class Sqlite:
    """The file with the journal. Files of earlier formats are brought up to date by those who write, not by readers."""

    openings: Final = 1

    def __init__(
        self, path: Path, *, marks: Marks | None = None, accept: Acceptance | None = None, as_it_is: bool = False
    ) -> None:
        """With `marks`, a ledger that was rolled back is not opened unless the owner accepts it."""
        self._watch = Watch(marks, path.absolute(), accept)
        self._watch.demand_begun()
        self.path = real(path)
        self._as_it_is = as_it_is
        self.wal = beside(self.path, "-wal")
        refuse_network(self.path.parent)
        refuse_mounted(self.path)
        self.closed = False
        self._flushed = True
        self._grown = False
        with self._reported("open"):
            self._open()
        self.reader = SqliteReader(self.path)
        held = Held(self._connection, self.reader, self.lock, self.path, self._files)
        self._abandoned = weakref.finalize(self, held.close, 0.0)
        self._held = held
        _OPENED.add(self)

    def _demand_openable(self) -> None:
        """All connections of a process to one file share one -shm, whatever lies at its name now."""
        now = _identities(self.path)
        if now[0] in _INHERITED:
            raise LedgerError(
                f"{self.path} was open when this process was forked: SQLite cannot open it here a second time",
                "fork before opening, or start a new process",
            )
        others = [store._held for store in _OPENED if not store.closed] + _LEFT
        if any(held.files[0] == now[0] and held.files != now for held in others):
            raise LedgerDamaged(
                f"files of {self.path} were replaced while this process had it open", "verify it, then start anew"
            )

    def _open(self) -> None:
        """Under the lock that every transaction holds: a WAL is read as a whole while nobody writes to it."""
        self.lock = OwnLock(beside(self.path, ".lock"))
        try:
            with self.lock.held(PATIENCE):
                self._demand_openable()
                _close_left(_identities(self.path))
                self._connection = self._connect()
                try:
                    self._files = _identities(self.path)
                    self._unmoved()
                except BaseException:
                    self._connection.close()
                    raise
        except BaseException:
            self.lock.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        if not self.path.exists() or not self.path.stat().st_size:
            self._begin()
        connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _begin(self) -> None:
        """Make the file, unless there was one: SQLite would throw the WAL of an emptied file away."""
        if self.wal.exists() and self.wal.stat().st_size:
            raise LedgerDamaged(f"{self.path} was emptied or removed, its last changes remain", "restore a backup")
        os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))

    def _prepare(self, connection: sqlite3.Connection) -> None:
        queries = ("SELECT count(*) FROM sqlite_schema", "PRAGMA application_id")
        new = not any(connection.execute(query).fetchone()[0] for query in queries)
        if not new:
            self._recognise(connection)
        if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise LedgerError(f"{self.path} cannot be written safely (no WAL here)", "move it to a local disk")
        connection.execute("PRAGMA synchronous = FULL")
        if new:
            connection.execute("BEGIN IMMEDIATE")
            for statement in SCHEMA.values():
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("COMMIT")
        elif not self._as_it_is:
            self._upgrade(connection)
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # from here on there are -wal and -shm

    def _upgrade(self, connection: sqlite3.Connection) -> None:
        """Add the indexes that came later. The journal stays as it is; the seal of the old bytes goes."""
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == FORMAT:
            return
        connection.execute("BEGIN IMMEDIATE")
        head = connection.execute("SELECT max(number) FROM journal").fetchone()[0] or 0
        seal = Seal.read(self.path)
        if seal is not None and seal.head <= head:  # one that is ahead tells that records are gone
            beside(self.path, ".seal").unlink(missing_ok=True)
        for name in SCHEMA.keys() - LAYOUTS[version].keys():
            connection.execute(SCHEMA[name])
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")

    def _recognise(self, connection: sqlite3.Connection) -> None:
        application, version = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if application != APPLICATION:
            raise LedgerDamaged(f"{self.path} is not a ledger of discreet", "name another state folder")
        if version not in LAYOUTS:
            raise LedgerDamaged(
                f"{self.path} has format {version}, this discreet knows {FORMAT}",
                "open it with the version of discreet that wrote it",
            )
        if dict(connection.execute("SELECT name, sql FROM sqlite_schema")) != LAYOUTS[version]:
            raise LedgerDamaged(f"{self.path} has another layout than it should", "restore a backup")

    def recognised(self, state: State) -> Record | None:
        """By its seal and its high-water mark."""
        seal = Seal.read(self.path)
        return self._watch.demand(state, self.rows, seal.head if seal else 0)

    @contextmanager
    def transaction(self, state: Callable[[], State] | None = None) -> Iterator[None]:
        """Everything inside is on disk when the block ends, or nothing is; then, still under the lock, the mark moves.

        Without `state` there is no mark that could.
        """
        self._not_within_another()
        with self._reported("write"), self.lock.held(PATIENCE):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                self._unmoved()
                self._grown = False
                yield
                self._connection.execute("COMMIT")
                self._unmoved()
                if state is not None and self._flushed:
                    self._watch.follow(state(), grown=self._grown)
            finally:
                self._roll_back()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside is of one moment, whatever others write."""
        with self._reported("read"):
            try:
                self._connection.execute("BEGIN")
                yield
            finally:
                self._roll_back()

    def _not_within_another(self) -> None:
        """A signal handler may run while its own thread writes: it must not undo half of that."""
        if self._connection.in_transaction:
            raise LedgerError(f"{self.path} is being written by this thread", "wait until that is done")

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _unmoved(self) -> None:
        """What is written to a file that was replaced or removed under an open ledger is lost.

        Theorem  Charges that gave bits are in one journal, whoever removes, replaces or links its files meanwhile.
        Proof    A transaction holds the lock. Before and after it the four files (journal, -wal, -shm, lock) are those
                 of the opening, each with one name. So two that both gave bits held the same lock one after the other,
                 and the second read the WAL through the index in -shm that the first had written; or -shm was new,
                 then it was made at an opening, which holds the lock too and reads the whole WAL.
        """
        if _identities(self.path) != self._files or not self.lock.is_in_place:
            raise LedgerDamaged(f"{self.path} was replaced while it was open", "verify it, then open it again")

    def append(self, number: int, line: str, digest: str, plan: str | None = None, answer: bytes | None = None) -> None:
        if not self._connection.in_transaction:
            raise LedgerError("records are written inside of transactions", "begin one")
        self._grown = True
        self._connection.execute("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", (number, line, digest, plan, answer))

    def erase(self, number: int, line: str, answer: bytes | None = None) -> None:
        if not self._connection.in_transaction:
            raise LedgerError("records are written inside of transactions", "begin one")
        self._grown = True
        anew = "UPDATE journal SET line = ?, plan = NULL, kept = ? WHERE number = ?"
        self._connection.execute(anew, (line, answer, number))

    def compact(self) -> bool:
        """Write all pages anew, so that none that is free holds what was erased, and empty the WAL.

        Somebody who is reading meanwhile sees the pages of before: then the WAL stays, and with it those.
        """
        self._not_within_another()
        with self._reported("write"), self.lock.held(PATIENCE):
            self._unmoved()
            self._connection.execute("VACUUM")
            (busy, _, _) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._unmoved()
        return not busy

    def last(self) -> tuple[int, str] | None:
        """Number and hash of the last record; None in a new journal."""
        with self._reported("read"):
            row = self._connection.execute("SELECT number, hash FROM journal ORDER BY number DESC LIMIT 1").fetchone()
        return None if row is None else (row[0], row[1])

    def rows(self, first: int = 1, last: int = ENDLESS) -> Iterator[Row]:
        """Records with first ≤ number ≤ last, in order."""
        query = "SELECT number, line, hash FROM journal WHERE number BETWEEN ? AND ? ORDER BY number"
        with self._reported("read"):
            yield from self._connection.execute(query, (first, last))

    def answers(self) -> Iterator[tuple[int, bytes]]:
        """The cached answers, by the number of their record."""
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

    def records(self, first: int = 1) -> Iterator[tuple[int, str, str, str | None, bytes | None]]:
        """All that was appended, as it was."""
        with self._reported("read"):
            query = "SELECT number, line, hash, plan, kept FROM journal WHERE number >= ? ORDER BY number"
            yield from self._connection.execute(query, (first,))

    def keyed(self, name: str) -> list[tuple[int, str]]:
        """The charges with a key, oldest first: number and line. Of the transaction that runs, if there is one."""
        with self._reported("read"):
            return keyed(self._connection, name)

    def sound(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        with self._reported("read"):
            findings = [row[0] for row in self._connection.execute("PRAGMA integrity_check")]
        return [] if findings == ["ok"] else findings

    def copy_to(self, path: Path) -> None:
        """A consistent copy, also while others write."""
        with self._reported("copy"):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            target = sqlite3.connect(path)
            try:
                self._connection.backup(target)
                target.execute("PRAGMA journal_mode = DELETE")
            finally:
                target.close()

    @contextmanager
    def relaxed(self) -> Iterator[None]:
        """Commits inside need not wait for the disk: a power cut may lose them, never what was committed before."""
        self._not_within_another()
        try:
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._flushed = False
            yield
        finally:
            self._connection.execute("PRAGMA synchronous = FULL")
            self._flushed = True

    def close(self, head: int | None = None) -> None:
        """Close, and seal the file if it is sound and nobody else is using it."""
        self._watch.close()
        self.closed = True
        self._abandoned.detach()
        self._held.close(PATIENCE)
        seal = None if head is None else Seal.of(self.path, head)
        if seal is not None:
            seal.write(self.path)

    def _reported(self, doing: str) -> AbstractContextManager[None]:
        return reported(doing, self.path)


def _identities(path: Path) -> list[Identity | None]:
    return [identity(each) for each in _files(path)]


@lru_cache(maxsize=64)
def _files(path: Path) -> tuple[str, ...]:
    """The journal, its WAL and its index: texts that are made once, for every charge looks at the files."""
    return tuple(str(beside(path, ending)) for ending in ("", "-wal", "-shm"))


@dataclass(frozen=True, slots=True)
class Held:
    """What an opened ledger holds of the system, and how it is let go.

    Whoever closes a database last writes back what its -shm knows of the WAL and removes it. If -shm is no longer the
    one that others use, that would remove what they wrote: then the connection is left to the end of the process.
    """

    connection: sqlite3.Connection
    reader: SqliteReader
    lock: OwnLock
    path: Path
    files: list[Identity | None]
    process: int = field(default_factory=os.getpid)

    def close(self, patience: float) -> None:
        if self.process != os.getpid():
            return
        if not self._closed(patience):
            _LEFT.append(self)
            _immortal(self.connection)
            _immortal(self.reader.connection)
        self.lock.close()

    def _closed(self, patience: float) -> bool:
        with suppress(LedgerError, OSError), self.lock.held(patience):
            if _identities(self.path) == self.files and self.lock.is_in_place:
                self.let_go()
                return True
        return False

    def let_go(self) -> None:
        """Under the lock, with the files in place."""
        self.reader.close()
        self.connection.close()


def _immortal(thing: object) -> None:
    """Never closed by whoever collects what is not used any more."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


_OPENED: Final[weakref.WeakSet[Sqlite]] = weakref.WeakSet()
_INHERITED: Final[set[Identity | None]] = set()
_LEFT: Final[list[Held]] = []
"""What this process could not close, because the files are others by now or somebody was writing."""


def _close_left(files: list[Identity | None]) -> None:
    """Of these files, under the lock: whoever was writing has done. Else each ledger that nobody closes, and that is
    collected during a charge of another one, keeps its files open for as long as the process lives."""
    for held in [each for each in _LEFT if each.files == files and each.process == os.getpid()]:
        held.let_go()
        _LEFT.remove(held)


def _leave_to_the_parent() -> None:
    """In a forked child, never close what the parent opened, and do not open it again.

    SQLite remembers locks that the child does not have. Closing would remove the WAL by its name, with what others
    wrote to it since; a second opening would be without locks, and others could remove its WAL.
    """
    for store in _OPENED:
        if not store.closed:
            _immortal(store._connection)
            _immortal(store.reader.connection)
            _INHERITED.add(store._files[0])
            store.lock.close()


os.register_at_fork(after_in_child=_leave_to_the_parent)
