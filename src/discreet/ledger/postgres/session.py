"""A connection to the database of a ledger: what it must be before anything is written, and what failures are called.

Once a ledger is open, whatever fails has fixed words: messages of a server repeat what it was asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from discreet.ledger.postgres.schema import FORMAT, demand_restrained, recognise
from discreet.ledger.problems import LedgerDamaged, LedgerError, LedgerUnreachable
from discreet.policy.databases import SCHEMA, address, read_address, read_schema
from discreet.policy.model import Login
from discreet.policy.section import RuleError
from discreet.postgres import ConnectionFailedError, connect
from discreet.quoting import name

if TYPE_CHECKING:
    from psycopg import Connection, Cursor, Error

SETTINGS: Final = {
    "search_path": "''",
    "synchronous_commit": "'on'",
    "default_transaction_isolation": "'read committed'",
    "default_transaction_read_only": "off",
    "statement_timeout": "0",
    "lock_timeout": "'300s'",
    "idle_in_transaction_session_timeout": "'60s'",
}
"""Of every connection. Whoever hangs with the lock loses it after a minute, and so does who is gone
(`discreet.postgres`)."""
DURABLE: Final = ("fsync", "full_page_writes")
"""Settings of the server without which what was flushed may be gone after a power cut."""
SERVER: Final = """
    SELECT (SELECT system_identifier::text FROM pg_control_system()),
        left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
"""
"""The cluster and its timeline. A promoted standby has the new one at once here, and after minutes only in
pg_control_checkpoint()."""
LOST: Final = "the connection to the ledger's database was lost; nothing was released"
AGAIN: Final = "ask again: with the same key, what was charged already is not charged again"
BUSY: Final = "55P03"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a ledger is: a schema of a database. Nothing of it is secret."""

    login: Login
    schema: str = SCHEMA
    folder: Path = Path()
    """The files of TLS that the address names are relative to it."""

    def __str__(self) -> str:
        return f"{address(self.login)} (schema {self.schema})"

    def table(self, label: str) -> str:
        return f"{name(self.schema)}.{label}"


def address_of(url: str, schema: str = SCHEMA, folder: Path = Path()) -> Address:
    """What somebody typed; `LedgerError` if it is no address, or holds a password."""
    try:
        return Address(read_address(url), read_schema(schema), folder)
    except RuleError as wrong:
        raise LedgerError(f"the address {wrong}", wrong.fix) from None


def connected(where: Address) -> Connection[Any]:
    """A connection with our settings; `LedgerError` if there is none."""
    from psycopg import Error

    try:
        connection = connect(where.login, where.folder, "keep the ledger in a file, or in another database")
    except ConnectionFailedError as failed:
        raise LedgerError(f"{where}: {failed.reason}", failed.fix) from None
    try:
        for key, value in SETTINGS.items():
            connection.execute(f"SET {key} = {value}")
    except Error:
        connection.close()
        raise LedgerUnreachable(LOST, AGAIN) from None
    return connection


@dataclass(frozen=True, slots=True)
class Server:
    """Which server it is: the cluster, its timeline, and the journal in it."""

    system: str
    timeline: str
    journal: str

    @property
    def home(self) -> str:
        """As records have it (`State.home`)."""
        return f"{self.journal} {self.system} {self.timeline}"


def opened(where: Address, *, restrained: bool) -> tuple[Connection[Any], Server]:
    """A connection to a journal that may be written to, and which server that is."""
    connection = connected(where)
    try:
        with failures():
            return connection, _server(connection, where, restrained=restrained)
    except BaseException:
        connection.close()
        raise


def _server(connection: Connection[Any], where: Address, *, restrained: bool) -> Server:
    if _one(connection, "SELECT pg_is_in_recovery()")[0]:
        raise LedgerError(f"{where} is a standby: nothing can be written there", "name the primary")
    for setting in DURABLE:
        if _one(connection, f"SHOW {setting}")[0] != "on":
            raise LedgerError(
                f"{setting} is off in that database: a power cut would forget what was spent",
                f"set {setting} = on in its configuration",
            )
    recognise(connection, where.schema)
    if restrained:
        demand_restrained(connection, where.schema)
    journal, format_ = _one(connection, f"SELECT name, format FROM {where.table('head')}")
    if format_ != FORMAT:
        raise LedgerDamaged(
            f"{where} has format {format_}, this discreet knows {FORMAT}",
            "open it with the version of discreet that wrote it",
        )
    system, timeline = _one(connection, SERVER)
    return Server(system, timeline, journal)


def _one(connection: Connection[Any], query: str) -> tuple[Any, ...]:
    return the_row(connection.execute(query))


def the_row(cursor: Cursor[Any]) -> tuple[Any, ...]:
    """The row of a query that has one, as long as the head of the journal is there."""
    row: tuple[Any, ...] | None = cursor.fetchone()
    if row is None:
        raise LedgerDamaged("the ledger has lost its head", "restore a backup")
    return row


@contextmanager
def failures() -> Iterator[None]:
    """What PostgreSQL and its library raise, in fixed words."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise _called(error) from None


def _called(error: Error) -> LedgerError:
    state = error.sqlstate or ""
    if state == BUSY:
        return LedgerError("the ledger stays locked", "try again: other processes are spending")
    if state == "42501":
        return LedgerError("this role may not use the ledger", "let its owner run `discreet ledger prepare --role`")
    if state[:2] in ("", "08", "53", "57", "58", "25"):  # lost, full, ended, broken, read-only
        return LedgerUnreachable(LOST, AGAIN)
    return LedgerDamaged(f"the ledger's database refused a record ({state})", "run `discreet ledger verify`")
