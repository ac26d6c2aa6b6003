"""Rows that were read once and are not read again, where the owner names a column that only grows (`newer_by`).

The owner promises that rows of the table are never changed, and that the column is filled by its own sequence when a
row is inserted. That the sequence grows, one number at a time, is looked up. What else could go wrong is not promised:

late commits   a row may become visible long after rows with larger numbers. So rows are put aside only up to a number
               below which nothing can come any more; what lies above is read again next time.
other rows     the number of rows that were put aside is compared with the number that is there, and so is a digest of
               their numbers and of the transactions that wrote them; if they differ, because rows were deleted or
               changed or numbers began anew, or the database was restored or is another, everything is read anew. To
               a role that may read single columns PostgreSQL does not tell who wrote a row: there they are counted.
other columns  a column may be dropped and added again, or two change their names, or a value of an enum does, and no
               row is written. Columns are known by their numbers, which are not used again, and enums by their labels.

Theorem  If the promises hold, every row with a number up to `settled` that will ever be visible is visible to every
         moment that is chosen afterwards.
Proof    Let m be the largest number visible to a query q. Who writes a number v < m drew it before m was drawn, hence
         before q; and holds a lock on the table, or on a part of it, from before it draws until it ends, because an
         INSERT locks first. After q we look who holds such locks, and look again until none of those does. Then the
         writer of v has either ended before our first look, or was among those who have ended since: PostgreSQL lets
         go of locks after rows are visible. Either way what it wrote is visible from here on, or never.

What is put aside lies in the state folder, which its owner alone may enter, for as long as the policy names the column.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from discreet.engines.library import duckdb
from discreet.engines.parts import private_file
from discreet.engines.postgres_types import Field
from discreet.engines.problems import SourceError
from discreet.engines.text import reading_parquet
from discreet.files import flush
from discreet.noise import SYSTEM
from discreet.policy.model import Policy, Table
from discreet.quoting import literal, name

if TYPE_CHECKING:
    from discreet.engines.postgres import Relation, Snapshot

FOLDER: Final = "rows"
RECORD: Final = "record.json"
LAYOUT: Final = 1
PATIENCE: Final = 100
AGAIN: Final = 0.05
"""So often, and so many seconds apart, we look whether those who write have ended."""
INTEGERS: Final = ("int2", "int4", "int8")
_SEQUENCE: Final = """
    SELECT a.attnotnull, s.seqcache = 1 AND s.seqincrement > 0 AND NOT s.seqcycle, pg_is_in_recovery(),
        EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = a.attrelid)
    FROM pg_attribute AS a LEFT JOIN pg_sequence AS s ON s.seqrelid = pg_get_serial_sequence(%s, a.attname)::regclass
    WHERE a.attrelid = %s::oid AND a.attname = %s
"""
_PARTS: Final = """
    WITH RECURSIVE held AS (
        SELECT %s::oid AS oid UNION SELECT i.inhrelid FROM held JOIN pg_inherits AS i ON i.inhparent = held.oid
    )
"""
_STORES: Final = f"""{_PARTS}
    SELECT bool_or(c.relkind = 'f'),
        bool_and(c.relam = 0 OR a.amname = 'heap') AND has_table_privilege(min(%s::oid), 'SELECT')
    FROM held JOIN pg_class AS c ON c.oid = held.oid LEFT JOIN pg_am AS a ON a.oid = c.relam
"""
"""Whether some rows lie elsewhere, and whether it is told which transaction wrote a row."""
_NUMBERED: Final = """
    SELECT attnum FROM pg_attribute WHERE attrelid = %s AND attname = ANY(%s) AND NOT attisdropped ORDER BY attname
"""
_LABELS: Final = "SELECT coalesce(sum(hashtextextended(enumlabel::text, enumtypid::int8)), 0) FROM pg_enum"
_WRITERS: Final = f"""{_PARTS}
    SELECT DISTINCT virtualtransaction FROM pg_locks JOIN held ON relation = held.oid
    WHERE locktype = 'relation' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND mode NOT IN ('AccessShareLock', 'RowShareLock', 'ShareUpdateExclusiveLock')
"""


@dataclass(frozen=True, slots=True)
class Record:
    """What was put aside of a table."""

    table: tuple[int, ...]
    """Which table of which database, on which timeline, and which of its columns (`Aside.table`)."""
    settled: int
    """Rows with numbers up to this one are here."""
    rows: int
    files: tuple[str, ...]
    versions: str = ""
    """A digest of these rows' numbers, and of who wrote them."""


def number_column(label: str, wanted: str, moment: Snapshot, relation: Relation) -> str:
    """The column that the owner names, as the table spells it; `SourceError` if it cannot tell which rows are new."""
    column = next((held for held in relation.columns if held.lower() == wanted.lower()), None)
    if column is None or relation.kind not in ("r", "p") or relation.columns[column].base not in INTEGERS:
        raise SourceError(label, f"newer_by: {wanted!r} is no column of integers of a table", "name one, or remove it")
    ((filled, grows, replica, subscribed),) = moment.query(_SEQUENCE, (relation.quoted, relation.oid, column))
    if not (filled and grows):
        raise SourceError(
            label,
            f"newer_by: {wanted!r} is not filled by a sequence of its own that grows one number at a time",
            "name a column GENERATED AS IDENTITY (without CACHE), or remove newer_by",
        )
    if replica or subscribed:
        reason = "newer_by: rows of a replica come in the order of their commits, not of their numbers"
        raise SourceError(label, reason, "read the primary server, or remove newer_by")
    if moment.query(_STORES, (relation.oid, relation.oid))[0][0]:
        reason = "newer_by: a part of it is a foreign table, where rows are written that no lock here tells of"
        raise SourceError(label, reason, "remove newer_by")
    return column


def settled(moment: Snapshot, relation: Relation, column: str) -> int | None:
    """A number below which nothing can come any more; None if there is none now. For a transaction READ COMMITTED."""
    ((most,),) = moment.query(_escaped(f"SELECT max({name(column)}) FROM {relation.quoted}"), ())
    if most is None:
        return None
    writing = _writers(moment, relation)
    for _ in range(PATIENCE):
        if not writing & _writers(moment, relation):
            return int(most)
        threading.Event().wait(AGAIN)
    return None


def _escaped(text: str) -> str:
    """A text that holds names, without places for values."""
    return text.replace("%", "%%")


def _writers(moment: Snapshot, relation: Relation) -> set[str]:
    return {row[0] for row in moment.query(_WRITERS, (relation.oid,))}


class Aside:
    """The rows of one table that were put aside, in a folder of their own."""

    def __init__(self, policy: Policy, table: Table, column: str, fields: Mapping[str, Field]) -> None:
        typed = [[held, each.written, each.read, each.kind] for held, each in fields.items()]
        login = table.source.login
        user = None if login is None else login.user
        said = json.dumps([LAYOUT, table.source.path, table.source.table, user, column, typed])
        self.folder = policy.state / FOLDER / hashlib.sha256(said.encode()).hexdigest()[:16]
        self.column = column
        self._fields = list(fields)

    def table(self, moment: Snapshot, relation: Relation) -> tuple[int, ...]:
        """Which table of which database it is, on which timeline, which columns are read, and what values are called.

        Labels are those of all enums of the database: a column may have one by way of domains.
        """
        numbers = [row[0] for row in moment.query(_NUMBERED, (relation.oid, self._fields))]
        if any(relation.columns[column].kind == "e" for column in self._fields):
            numbers += [int(row[0]) for row in moment.query(_LABELS, ())]
        return (*moment.identity, relation.oid, *numbers)

    def usable(self, moment: Snapshot, relation: Relation) -> Record | None:
        """What is there, if it is of this table, and if none of its rows is gone."""
        record = self._read()
        if record is None or record.table != self.table(moment, relation):
            return None
        if not all((self.folder / file).exists() for file in record.files):
            return None
        there = self.there(moment, relation, record.settled)
        return record if there == (record.rows, record.versions) else None

    def there(self, moment: Snapshot, relation: Relation, limit: int | None) -> tuple[int, str]:
        """How many rows have numbers up to this one, and a digest of their versions.

        A row that is written anew is written by another transaction, whose number stays with it when it is frozen.
        """
        number = name(self.column)
        ((_, is_told),) = moment.query(_STORES, (relation.oid, relation.oid))
        versions = f"sum(hashint8extended({number}::int8, xmin::text::int8))" if is_told else "NULL"
        query = _escaped(f"SELECT count(*), coalesce({versions}::text, '') FROM {relation.quoted} WHERE {number} <= ")
        ((rows, digest),) = moment.query(f"{query}%s", (limit,))
        return rows, digest

    def reading(self, record: Record) -> str | None:
        """What can stand behind FROM."""
        files = [str(self.folder / file) for file in record.files]
        return reading_parquet(files) if files else None

    def add(self, connection: duckdb.DuckDBPyConnection, rows: str, before: Record) -> Record:
        """Put rows aside, up to the number that is settled now. On disk before it is on record."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.parent.chmod(0o700)
        file = f"{SYSTEM.bytes(16).hex()}.parquet"
        target = self.folder / file
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        connection.execute(f"COPY (SELECT * FROM {rows}) TO {literal(str(target))} (FORMAT parquet)")
        target.chmod(0o600)
        ((count,),) = connection.execute(f"SELECT count(*) FROM {reading_parquet([str(target)])}").fetchall()
        flush(target)
        record = replace(before, rows=before.rows + count, files=(*before.files, file))
        temporary = self.folder / f"{RECORD}.tmp"
        with private_file(str(temporary)) as written:
            written.write(json.dumps(asdict(record)).encode())
        flush(temporary)
        temporary.replace(self.folder / RECORD)
        flush(self.folder)
        return record

    def _read(self) -> Record | None:
        try:
            said = json.loads((self.folder / RECORD).read_text(encoding="ascii"))
            return Record(tuple(said["table"]), said["settled"], said["rows"], tuple(said["files"]), said["versions"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def tidy(self, record: Record | None) -> None:
        """Remove what is not of this record: of a refresh that was killed, or of rows of which some are gone."""
        named = () if record is None else (RECORD, *record.files)
        for left in self.folder.iterdir() if self.folder.is_dir() else ():
            if left.name not in named:
                left.unlink()


def forget_aside(policy: Policy, used: Iterable[Path] = ()) -> None:
    """Remove what was put aside, but for these folders."""
    folder = policy.state / FOLDER
    for left in folder.iterdir() if folder.is_dir() else ():
        if left not in set(used) and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
