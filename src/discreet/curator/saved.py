"""Saved queries: named texts with their cost, each its analyst's own, and the number of its last answer.

Nothing here is private data: a text, a name, and the number of a charge, by which the ledger recalls the answer.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from discreet.accounting.record import OWNER
from discreet.curator.formats import demand_known
from discreet.errors import Refused
from discreet.ledger import LedgerError
from discreet.logs import note
from discreet.noise import SYSTEM
from discreet.policy import Policy

FILE: Final = "saved.sqlite"
MOST_SAVED: Final = 100
"""Of one analyst."""
MOST_LETTERS: Final = 20_000
LONGEST_NAME: Final = 80
LONGEST_FIELD: Final = 1_000
TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS saved (id TEXT PRIMARY KEY, holder TEXT NOT NULL, name TEXT NOT NULL, "
    "sql TEXT NOT NULL, digest TEXT NOT NULL, chosen TEXT NOT NULL, epsilon TEXT NOT NULL, error TEXT NOT NULL, "
    "blocks TEXT NOT NULL, saved TEXT NOT NULL, answer INTEGER, UNIQUE (holder, name)) STRICT"
)
INDEX: Final = "CREATE INDEX IF NOT EXISTS saved_by_text ON saved (holder, digest)"


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A query as its analyst saved it."""

    name: str
    sql: str
    by: str = "epsilon"
    """Whether the cost or the error is set."""
    epsilon: str = ""
    error: str = ""
    blocks: str = ""
    id: str = ""
    at: str = ""
    answer: int | None = None
    """The number of its last answer; None if it has none."""

    def checked(self) -> SavedQuery:
        """With its name trimmed, or a refusal."""
        name = " ".join(self.name.split())
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise Refused(
                "saved-invalid",
                f"a saved query has a name of 1 to {LONGEST_NAME} letters that can be seen",
                "give it a name such as patients by ward",
            )
        if not self.sql.strip() or len(self.sql) > MOST_LETTERS:
            reason = f"a saved query has a text of 1 to {MOST_LETTERS:,} letters"
            raise Refused("saved-invalid", reason, "write a query first, or a shorter one")
        if self.by not in ("epsilon", "error") or any(
            len(field) > LONGEST_FIELD for field in (self.epsilon, self.error, self.blocks)
        ):
            raise Refused("saved-invalid", "this is no cost, error or block", "leave them out, or shorten them")
        return replace(self, name=name)


class SavedQueries:
    """The saved queries of one policy. Many threads and processes may share the file.

    Theorem  Nobody reads, changes or removes a query of somebody else's. Proof: every statement names its holder, which
             comes from the token; ids have 64 random bits, and are looked up together with the holder.
    """

    def __init__(self, path: Path | None) -> None:
        """In this file, or in memory. The file is made with the first query that is saved."""
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    @classmethod
    def of(cls, policy: Policy) -> SavedQueries:
        demand_known(policy.state)
        return cls(policy.state / FILE)

    def all(self, holder: str | None) -> list[SavedQuery]:
        """An analyst's, by name."""
        rows = self._run(f"SELECT {_FIELDS} FROM saved WHERE holder = ? ORDER BY name", holder or OWNER)
        return [SavedQuery(*row) for row in rows]

    def find(self, holder: str | None, id_: str) -> SavedQuery:
        rows = self._run(f"SELECT {_FIELDS} FROM saved WHERE holder = ? AND id = ?", holder or OWNER, id_)
        if not rows:
            raise Refused("unknown-saved", "there is no such saved query of yours", "look at the list of yours")
        return SavedQuery(*rows[0])

    def save(self, holder: str | None, query: SavedQuery) -> SavedQuery:
        """Under its name: what had that name before is replaced."""
        query, whose = query.checked(), holder or OWNER
        made = datetime.now(UTC).isoformat(timespec="seconds")
        text = (SYSTEM.bytes(8).hex(), whose, query.name, query.sql, _digest(query.sql))
        row = (*text, query.by, query.epsilon, query.error, query.blocks, made, query.answer)
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            others = "SELECT COUNT(*) FROM saved WHERE holder = ? AND name <> ?"
            if connection.execute(others, (whose, query.name)).fetchone()[0] >= MOST_SAVED:
                connection.execute("ROLLBACK")
                reason = f"an analyst has at most {MOST_SAVED} saved queries"
                raise Refused("saved-limit", reason, "remove one, or save it under the name of one")
            (id_,) = connection.execute(
                "INSERT INTO saved VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (holder, name) DO UPDATE SET "
                "answer = CASE WHEN digest = excluded.digest THEN COALESCE(excluded.answer, answer) "
                "ELSE excluded.answer END, sql = excluded.sql, digest = excluded.digest, chosen = excluded.chosen, "
                "epsilon = excluded.epsilon, error = excluded.error, blocks = excluded.blocks, saved = excluded.saved "
                "RETURNING id",
                row,
            ).fetchone()
            connection.execute("COMMIT")
        return self.find(holder, id_)

    def remove(self, holder: str | None, id_: str) -> None:
        if not self._run("DELETE FROM saved WHERE holder = ? AND id = ? RETURNING id", holder or OWNER, id_):
            raise Refused("unknown-saved", "there is no such saved query of yours", "look at the list of yours")

    def answered(self, holder: str | None, sql: str, number: int) -> None:
        """This text of this analyst has a newer answer. An answer that was charged for is never lost over this."""
        try:
            where = "holder = ? AND digest = ? AND answer IS NOT ?"
            given = (holder or OWNER, _digest(sql), number)
            if self._run(f"SELECT 1 FROM saved WHERE {where} LIMIT 1", *given):
                self._run(f"UPDATE saved SET answer = ? WHERE {where}", number, *given)
        except LedgerError as wrong:
            note("answer-not-noted", f"the last answer of a saved query was not noted: {wrong}")

    def forget(self, before: datetime) -> tuple[int, bool]:
        """Erase what was saved before a moment and not again since: how many went, and whether the disk has nothing
        left of them. It has, for as long as another program is in the midst of reading.
        """
        if self._path is not None and not self._path.exists():
            return 0, True
        with self._open() as connection:
            limit = before.astimezone(UTC).isoformat(timespec="seconds")
            gone = connection.execute("DELETE FROM saved WHERE saved < ? RETURNING id", (limit,)).fetchall()
            connection.execute("VACUUM")  # free pages hold what was there, and so does the WAL
            (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return len(gone), not busy

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    @property
    def is_begun(self) -> bool:
        """Whether anybody has saved anything yet."""
        return self._connection is not None or self._path is None or self._path.exists()

    def _run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        if not self.is_begun:
            return []
        with self._open() as connection:
            return connection.execute(statement, values).fetchall()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = _connected(self._path)
                yield self._connection
            except (sqlite3.Error, OSError) as wrong:
                if self._connection is not None and self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                fix = "check the state folder and its rights"
                raise LedgerError(f"could not use {self._path}: {wrong}", fix) from None


_FIELDS: Final = "name, sql, chosen, epsilon, error, blocks, id, saved, answer"


def _connected(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path or ":memory:", timeout=30, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    for statement in (TABLE, INDEX):
        connection.execute(statement)
    return connection


def _digest(sql: str) -> str:
    return hashlib.sha256(sql.strip().encode(errors="surrogatepass")).hexdigest()
