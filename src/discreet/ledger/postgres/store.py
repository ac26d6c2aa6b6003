"""The journal in PostgreSQL: for curators on several hosts.

A charge is two transactions on one connection. The first locks the head, reads what others appended, inserts, and
commits without waiting for the disk, so that the lock is held for no flush. The second writes a mark to the
write-ahead log (WAL) and waits until that is on disk: all who charge at the same time share one flush.

Theorem  When `transaction` ends, what was appended is durable: it is there after the server, or its machine, was
         stopped at any later moment. So no noise leaves before its charge is durable: bits are given after it ended.
Proof    The WAL is one sequence. The first transaction has its commit record at some position a of it when the server
         says that it committed. The second begins afterwards, has a number of its own and writes (a transactional
         message; one that only has a number, or only writes, would not wait): its commit record lies at b > a, and with
         synchronous_commit = on the server answers when the WAL is flushed up to b: fsync and full_page_writes are on,
         which is looked at in the same transaction as the charge. With synchronous standbys they have it up to b as
         well. Recovery replays the WAL from its beginning up to its first gap, which is after b. If anything fails in
         between, `transaction` raises: no bits, whether or not the charge is there.

Theorem  After a crash the journal is a beginning of what it was, and has all that was flushed.
Proof    A record is inserted by whoever holds the head, which is let go after the commit record of that transaction is
         in the WAL. So commits of records lie in the WAL in the order of the records; recovery takes a beginning of it.

Records that others appended may be read before they are flushed. Who charges on top of them flushes them too: they lie
before. Who does not may have read what a crash then loses: such a reader reads all of it again (`openings`).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from discreet.ledger.codec import Record
from discreet.ledger.marks import Marks
from discreet.ledger.postgres.reading import PostgresReader, columns_of, shown, stored
from discreet.ledger.postgres.schema import COLUMNS
from discreet.ledger.postgres.session import AGAIN, DURABLE, LOST, SERVER, Address, Server, failures, opened, the_row
from discreet.ledger.problems import LedgerDamaged, LedgerError, LedgerUnreachable
from discreet.ledger.state import MALFORMED, State
from discreet.ledger.store import ENDLESS, Row
from discreet.ledger.watch import Acceptance, Watch

if TYPE_CHECKING:
    from psycopg import Connection

FLUSH: Final = "SELECT pg_logical_emit_message(true, 'discreet', '')"
PAGE: Final = 500
"""Records that are read or written at a time."""


class Postgres:
    """A journal in a schema of a database, which `prepare` has made. Connections that are lost are made anew."""

    def __init__(
        self, where: Address, *, marks: Marks | None = None, accept: Acceptance | None = None, as_it_is: bool = False
    ) -> None:
        """With `marks`, a ledger that was rolled back is not opened unless the owner accepts it.

        as_it_is   for whoever only reads, whatever their role may do.
        """
        self.where = where
        self.closed = False
        self.openings = 0
        self._restrained = not as_it_is
        self._flushes = True
        self._head: tuple[int, str] | None = None
        self._new: dict[int, tuple[Row, tuple[Any, ...]]] = {}
        """The records of the transaction that runs here."""
        self._thread: int | None = None
        self._durable: tuple[int, str] | None = None
        """Of the last record that was flushed here."""
        self._connection, self._server = opened(where, restrained=self._restrained)
        self.openings = 1
        self._watch = Watch(marks, str(where), accept, self._server.home)
        self.reader = PostgresReader(where)
        journal, head = where.table("journal"), where.table("head")
        self._insert = f"INSERT INTO {journal} ({', '.join(COLUMNS)})"
        self._values = f"({', '.join(['%s'] * len(COLUMNS))})"
        self._rows = (
            f"SELECT number, line, hash FROM {journal} WHERE number BETWEEN %s AND %s ORDER BY number LIMIT {PAGE}"
        )
        self._last = f"SELECT number, hash FROM {head}"
        settings = ", ".join(f"current_setting('{setting}')" for setting in DURABLE)
        self._enter = (
            "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE; SET LOCAL synchronous_commit = off;"
            f" SELECT l.number, l.hash, l.name, s.*, {settings} FROM {where.table('locked()')} AS l, ({SERVER}) AS s"
        )

    @property
    def name(self) -> str:
        """The random name of this journal: no other has it."""
        return self._server.journal

    @property
    def home(self) -> str:
        """Where it is, as records have it (`State.home`)."""
        return self._server.home

    # the connection

    def _usable(self) -> Connection[Any]:
        """The connection, or a new one where it was lost."""
        if self._connection.closed or self._connection.broken:
            self._reconnect()
        return self._connection

    def _reconnect(self) -> None:
        """Connect again; raise unless it is the same server, with all that was flushed here."""
        try:
            connection, server = opened(self.where, restrained=self._restrained)
        except LedgerDamaged:
            raise
        except LedgerError:
            raise LedgerUnreachable("the ledger's database cannot be reached; nothing was released", AGAIN) from None
        try:
            self._demand_same(server)
            with failures():
                self._demand_durable(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        self.openings += 1

    def _demand_same(self, server: Server) -> None:
        if server != self._server:
            raise LedgerDamaged(
                "the ledger's database was restored or replaced while it was open: newer charges may be missing",
                "open it again: `discreet ledger verify`, then `discreet ledger accept` if you know why",
            )

    def _demand_durable(self, connection: Connection[Any]) -> None:
        if self._durable is None:
            return
        number, digest = self._durable
        query = f"SELECT hash FROM {self.where.table('journal')} WHERE number = %s"
        if connection.execute(query, (number,)).fetchone() != (digest,):
            raise LedgerDamaged(f"record {number} of the ledger is gone or another", "restore a backup")

    def _lose(self) -> None:
        """Let go a connection that is in an unknown state; another one is made when it is needed."""
        with suppress(Exception):
            self._connection.close()

    @contextmanager
    def _asking(self) -> Iterator[Connection[Any]]:
        try:
            with failures():
                yield self._usable()
        except LedgerUnreachable:
            self._lose()
            raise

    # writing

    def recognised(self, state: State) -> Record | None:
        """By where it is, and by its high-water mark."""
        return self._watch.demand(state, self.rows)

    @contextmanager
    def transaction(self, state: Callable[[], State] | None = None) -> Iterator[None]:
        """All that is appended inside is durable when the block ends; then the mark moves."""
        if self._thread == threading.get_ident():
            raise LedgerError("the ledger is being written by this thread", "wait until that is done")
        self._begin()
        self._thread = threading.get_ident()
        try:
            yield
            grown = bool(self._new)
            self._commit()
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._head, self._new, self._thread = None, {}, None
        if state is not None and self._flushes:
            reached = state()
            self._durable = reached.head, reached.digest
            self._watch.follow(reached, grown=grown)

    def _begin(self) -> None:
        """Lock the head. A connection that was lost while nobody used it is made anew."""
        try:
            entered = self._entered()
        except LedgerUnreachable:
            entered = self._entered()
        number, digest, journal, system, timeline, *settings = entered
        try:
            self._demand_same(Server(system, timeline, journal))
            if settings != ["on"] * len(settings):
                raise LedgerError("fsync was turned off in the ledger's database", "turn it on; nothing was charged")
        except BaseException:
            self._roll_back()
            raise
        self._head = (number, digest) if number else None

    def _entered(self) -> tuple[Any, ...]:
        """In one message, and no pipeline: psycopg ends one with a request that stops the server's clock, and whoever
        hung then with the lock would have had it for good."""
        with self._asking() as connection:
            locked = connection.execute(self._enter)
            while locked.nextset():
                pass
            return the_row(locked)

    def _commit(self) -> None:
        with self._asking() as connection:
            if connection.info.transaction_status.name != "INTRANS":  # it was begun on another connection
                raise LedgerUnreachable(LOST, AGAIN)
            with connection.pipeline():
                for many in batched([values for _, values in self._new.values()]):
                    rows = ", ".join([self._values] * len(many))
                    connection.execute(f"{self._insert} VALUES {rows}", [value for row in many for value in row])
                connection.execute("COMMIT")
                if self._flushes:
                    connection.execute("BEGIN")
                    connection.execute("SET LOCAL synchronous_commit = on")
                    connection.execute(FLUSH)
                    connection.execute("COMMIT")

    def _roll_back(self) -> None:
        """Undo what was begun; a connection that does not do so is let go, and the server undoes it."""
        try:
            if not self._connection.closed and self._connection.info.transaction_status.name != "IDLE":
                self._connection.execute("ROLLBACK")
        except Exception:
            self._lose()

    def append(self, number: int, line: str, digest: str, plan: str | None = None, answer: bytes | None = None) -> None:
        if self._thread is None:
            raise LedgerError("records are written inside of transactions", "begin one")
        row = number, line, digest
        self._new[number] = row, columns_of(row, plan, answer)

    def erase(self, number: int, line: str, answer: bytes | None = None) -> None:  # noqa: ARG002
        """Curators append, and change nothing: whoever owns the tables erases (`retaining`)."""
        raise LedgerError(
            "a ledger in PostgreSQL is erased from by the role that owns it",
            "run `discreet ledger retain POLICY --owner postgresql://owner@…`",
        )

    def compact(self) -> bool:
        return True

    @contextmanager
    def relaxed(self) -> Iterator[None]:
        """Commits inside need not wait for the disk: a crash may lose them, never what was committed before."""
        if self._thread == threading.get_ident():
            raise LedgerError("the ledger is being written by this thread", "wait until that is done")
        self._flushes = False
        try:
            yield
        finally:
            self._flushes = True

    # reading

    def last(self) -> tuple[int, str] | None:
        if self._thread is not None:
            newest = next(reversed(self._new.values()), None)
            return self._head if newest is None else (newest[0][0], newest[0][2])
        with self._asking() as connection:
            number, digest = the_row(connection.execute(self._last))
        return (number, digest) if number else None

    def rows(self, first: int = 1, last: int = ENDLESS) -> Iterator[Row]:
        """Page by page, so that a long journal is never in memory; what others append meanwhile may come with it."""
        first = max(first, -(2**62))
        while first <= last:
            with self._asking() as connection:
                page = connection.execute(self._rows, (first, last)).fetchall()
            yield from page
            if len(page) < PAGE:
                break
            first = page[-1][0] + 1
        yield from (row for row, _ in self._new.values() if first <= row[0] <= last)

    def keyed(self, name: str) -> list[tuple[int, str]]:
        query = f"SELECT number, line FROM {self.where.table('journal')} WHERE key = %s ORDER BY number"
        with self._asking() as connection:
            old = connection.execute(query, (stored(name),)).fetchall()
        new = [(number, row[1]) for number, (row, _) in self._new.items() if json.loads(row[1]).get("key") == name]
        return [*old, *new]

    # for whoever verifies or copies

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside is of one moment, whatever others write."""
        with self._asking() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        try:
            yield
        finally:
            self._roll_back()

    def records(self, first: int = 1) -> Iterator[tuple[int, str, str, str | None, bytes | None]]:
        for row in self._whole(first):
            number, line, digest, kind, answer, plan = row[:6]
            yield number, line, digest, shown(plan) if kind == "answer" else None, answer

    def answers(self) -> Iterator[tuple[int, bytes]]:
        yield from ((record[0], record[4]) for record in self.records() if record[4] is not None)

    def plans(self) -> Iterator[tuple[int, str]]:
        yield from ((record[0], record[3]) for record in self.records() if record[3] is not None)

    def sound(self) -> list[str]:
        """Where columns say something else than lines, and whether the head is the last record."""
        problems, last = [], None
        for row in self._whole(-(2**62)):
            number, line, digest, kind, answer, plan = row[:6]
            try:
                right = columns_of((number, line, digest), shown(plan) if kind == "answer" else None, answer) == row
            except MALFORMED:
                right = False
            problems += [] if right else [f"record {number} is filed wrongly"]
            last = number, digest
        return problems if self.last() == last else [*problems, "the head of the journal is not its last record"]

    def _whole(self, first: int) -> Iterator[tuple[Any, ...]]:
        columns, journal = ", ".join(COLUMNS), self.where.table("journal")
        query = f"SELECT {columns} FROM {journal} WHERE number >= %s ORDER BY number LIMIT {PAGE}"
        while True:
            with self._asking() as connection:
                page = connection.execute(query, (first,)).fetchall()
            yield from page
            if len(page) < PAGE:
                return
            first = page[-1][0] + 1

    # the end

    def close(self, head: int | None = None) -> None:  # noqa: ARG002  (there is no file to seal)
        self._watch.close()
        self.closed = True
        self.reader.close()
        self._lose()


def batched(values: list[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    for first in range(0, len(values), PAGE):
        yield values[first : first + PAGE]
