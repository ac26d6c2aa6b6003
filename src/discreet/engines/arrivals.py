"""The blocks of a stream on disk: frozen when they are sealed, added to a folder, never made anew.

A refresh reads the rows that are new, and no others: files that no refresh has read yet, or, where the source is one
table, rows of blocks that are not sealed. Rows of blocks that have not ended wait. Which blocks exist follows from the
calendar and from when the owner refreshes (`policy.calendar`), never from rows: one without rows is a block as well.

    sealed    the rows of a block, ranked (`engines.copy`, `engines.numbering`), as Parquet in a folder with a random
              name; what comes for it later is dropped, and counted for the owner
    waiting   rows of blocks that have not ended
    later     where units are kept: rows of a known unit that come later are a further segment of its block, ranked
              after the earlier ones; once the block is retired they are dropped

What was read, which rows wait and which units came is on record in `arrivals.sqlite`, in one transaction with the
segments: after a crash either all of a refresh is there, or files that nothing names, which the next one removes.

Theorem  Two worlds that differ in one unit have the same blocks, with the same names for the same random words, and
         segments that differ in that unit's rows alone.
Proof    Numbers come from the calendar. A row is in a segment if its own time says so, or its unit's own earlier rows
         (`numbering`); so are ranks, and what is dropped. Files are read one by one (`engines.sources`).
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from discreet.engines.claims import owned_rows, unit_type
from discreet.engines.connection import scratch
from discreet.engines.copy import LAYOUT, facts_of, ranked
from discreet.engines.frozen import (
    INDEX,
    SCHEMA,
    called,
    engine,
    flush_all,
    gone,
    index_of,
    secret_of,
    segment_files,
    stream_folder,
    sweep_folders,
)
from discreet.engines.library import duckdb
from discreet.engines.numbering import first_blocks, inside, numbered, pairs
from discreet.engines.problems import SourceError
from discreet.engines.remembered import revive
from discreet.engines.sources import Report, Sources, first_line, is_pattern, paths
from discreet.engines.text import reading_parquet
from discreet.files import flush
from discreet.noise import SYSTEM
from discreet.policy import Policy, Table
from discreet.policy.calendar import Days, after, calendar
from discreet.policy.layout import BEFORE, BLOCK, ROW, UNIT, copied_columns, mask_type
from discreet.printing import counted
from discreet.quoting import literal, name

_ARRIVED, _KNOWN, _SEALED = "arrived", "known", "sealed"
_OLD_SEGMENTS: Final = "SELECT folder, files FROM segment WHERE block = :block AND :version >= 0 ORDER BY rowid"
_SEGMENTS: Final = """
    SELECT coalesce(r.new, s.folder), coalesce(r.files, s.files) FROM segment AS s
    LEFT JOIN replaced AS r ON r.folder = s.folder AND r.version <= :version WHERE s.block = :block ORDER BY s.rowid
"""
_ERASABLE: Final = "SELECT 1 FROM sqlite_schema WHERE name = 'replaced'"
"""Streams of before anything could be erased have no such table until they are refreshed."""
_HAD_BLOCKS, _HAD_ROWS = "_discreet_had_blocks", "_discreet_had_rows"


@dataclass
class Arrived:
    """What a refresh did to a stream. For the owner: counts are exact."""

    read: int = 0
    """Rows that were read, of sources and of those that waited."""
    written: int = 0
    """Rows of blocks: at most `max_rows` of each unit."""
    late: int = 0
    """Rows of blocks that were sealed before, which are dropped."""
    outside: int = 0
    """Rows without a time, or with one before or after the calendar, which are dropped."""
    waiting: int = 0
    """Rows of blocks that have not ended."""
    changed: tuple[str, ...] = ()
    """Files that were read before and are others now: what was added to them is not read."""
    opened: int = 0
    """Blocks that were sealed now."""
    report: Report = field(default_factory=Report)

    @property
    def counts(self) -> dict[str, int]:
        """What is counted, by name."""
        names = ("read", "written", "late", "outside", "waiting", "opened")
        return {name: getattr(self, name) for name in names}

    @property
    def words(self) -> str:
        """The counts in words."""
        rows = f"{counted(self.read, 'row')} read, {self.written:,} written, {self.waiting:,} waiting"
        dropped = f"dropped: {self.late:,} too late, {self.outside:,} outside of the calendar"
        return f"{counted(self.opened, 'block')} sealed; {rows}; {dropped}"


def segments(policy: Policy, table: Table, blocks: Mapping[int, str], version: int = 0) -> list[Path]:
    """The files with the rows of some blocks, by number, each with the name that the ledger knows it by.

    `version` is the data version that is asked: what was erased for it is not here (`erasing`).
    """
    folder = stream_folder(policy, table)
    if not (folder / INDEX).exists():
        raise gone(table)
    with index_of(folder) as index:
        _demand_layout(index, policy, table)
        named = "SELECT name FROM block WHERE number = ?"
        if any(index.execute(named, (number,)).fetchone() != (file,) for number, file in blocks.items()):
            raise gone(table)
        query = _SEGMENTS if index.execute(_ERASABLE).fetchone() else _OLD_SEGMENTS
        parts = [row for number in blocks for row in index.execute(query, {"block": number, "version": version})]
    return [path for part in parts for path in segment_files(table, folder, *part)]


def forget(policy: Policy, table: Table, retired: Iterable[tuple[int, int]]) -> None:
    """Delete the rows of retired blocks; that they existed, and which units were in them, stays on record."""
    folder = stream_folder(policy, table)
    if not (folder / INDEX).exists():
        return
    with index_of(folder) as index, index:
        for ends in retired:
            for gone in index.execute("SELECT folder FROM segment WHERE block BETWEEN ? AND ?", ends).fetchall():
                shutil.rmtree(folder / gone[0], ignore_errors=True)
            index.execute("DELETE FROM segment WHERE block BETWEEN ? AND ?", ends)


def seal(
    policy: Policy, table: Table, until: datetime, retired: Sequence[tuple[int, int]] = (), among: int = 1
) -> Arrived:
    """Copy what is new, and seal the blocks that have ended at `until`: of units, one more cohort. Call it locked."""
    folder = stream_folder(policy, table)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with index_of(folder) as index, scratch(policy.state) as clean, engine(policy, among) as connection:
        index.executescript(SCHEMA)
        _demand_layout(index, policy, table)
        sweep_folders(index, folder)
        key = secret_of(policy)
        act = _Refresh(policy, table, folder, index, connection, Sources(policy, connection, clean), key)
        with index:
            index.execute("BEGIN IMMEDIATE")
            arrived = act.run(until, retired)
        sweep_folders(index, folder)
    return arrived


@dataclass
class _Refresh:
    """One refresh of one stream: inside of a transaction of its index."""

    policy: Policy
    table: Table
    folder: Path
    index: sqlite3.Connection
    connection: duckdb.DuckDBPyConnection
    sources: Sources
    key: str
    arrived: Arrived = field(default_factory=Arrived)

    def run(self, until: datetime, retired: Sequence[tuple[int, int]]) -> Arrived:
        refreshes, before = self.index.execute("SELECT refreshes, until FROM stream").fetchone() or (0, None)
        moment = until if before is None else max(until, datetime.fromisoformat(before))
        sealed = self.index.execute("SELECT COUNT(*) FROM block").fetchone()[0]
        blocks = calendar(self.table)
        opened = max(sealed, blocks.passed(moment)) if isinstance(blocks, Days) else sealed + blocks.buckets
        try:
            self._read(refreshes, sealed, opened, before, moment)
            self._rank(retired)
            self._write(_SEALED, "segment", "TRUE")
            self._write(_ARRIVED, "waiting", f"{inside(self.table)} AND {name(BLOCK)} >= {opened}")
            self.arrived.written = self._count(_SEALED)
        except duckdb.Error as error:
            raise SourceError(self.table.name, first_line(error), "see `discreet check`") from None
        known = [(number, SYSTEM.bytes(16).hex()) for number in range(sealed, opened)]
        self.index.executemany("INSERT INTO block VALUES (?, ?)", known)
        self.arrived.opened = len(known)
        self.index.execute("DELETE FROM stream")
        state = layout(self.policy, self.table), refreshes + 1, moment.isoformat()
        self.index.execute("INSERT INTO stream VALUES (?, ?, ?)", state)
        return self.arrived

    # reading

    def _read(self, cohort: int, sealed: int, opened: int, before: str | None, until: datetime) -> None:
        """All that is new, with the numbers of its blocks; counted, and without what is dropped or still waits."""
        waited = self.index.execute("SELECT folder, files FROM waiting WHERE block < ?", (opened,)).fetchall()
        held = [str(path) for part in waited for path in segment_files(self.table, self.folder, *part)]
        more = f" UNION ALL BY NAME (SELECT * FROM {reading_parquet(held)})" if held else ""
        files = self._new_files() if is_pattern(self.table) else []
        for again in (True, False):
            rows = self._new_rows(files, sealed, opened, before, until, cohort)
            try:
                self.connection.execute(f"CREATE TEMP TABLE {_ARRIVED} AS ({rows}){more}")
            except duckdb.Error:
                if not (again and self.sources.drop_unreadable(self.table)):
                    raise
            else:
                break
        self.arrived.report = report = self.sources.reports.get(self.table.name, Report())
        taken = [(called(self.policy, path), *_status(path)) for path in files if str(path) not in report.unreadable]
        self.index.executemany("INSERT INTO taken VALUES (?, ?, ?)", taken)
        self.index.execute("DELETE FROM waiting WHERE block < ?", (opened,))
        arrived, block, timed = self.arrived, name(BLOCK), isinstance(calendar(self.table), Days)
        arrived.read = self._count(_ARRIVED)
        arrived.outside = self._count(_ARRIVED, f"({inside(self.table)}) IS NOT TRUE")
        arrived.late = self._count(_ARRIVED, f"{block} BETWEEN 0 AND {sealed - 1}") if timed else 0
        arrived.waiting = self._count(_ARRIVED, f"{inside(self.table)} AND {block} >= {opened}")
        least = sealed if timed else 0
        ended = f"{block} >= {least} AND {block} < {opened}"
        self._ended = f"SELECT * FROM {_ARRIVED} WHERE {inside(self.table)} AND {ended}"

    def _new_rows(
        self, files: list[Path], sealed: int, opened: int, before: str | None, until: datetime, cohort: int
    ) -> str:
        """Rows of files that were not read, or of one table those whose time has come."""
        table, stream = self.table, self.table.stream
        assert stream is not None
        if not is_pattern(table):
            blocks = calendar(table)
            first = after(blocks.by, blocks.start, sealed) if isinstance(blocks, Days) else before
            if first is not None and stream.column is not None:  # a database need not send what lies before
                self.sources.staging.since = stream.column, str(first)[:10]
            rows = numbered(owned_rows(self.sources, table), table, self.key, cohort)
            if isinstance(blocks, Days):
                return f"SELECT * FROM ({rows}) WHERE {name(BLOCK)} >= {sealed} AND {name(BLOCK)} < {opened}"
            assert stream.column is not None
            time = f"CAST({name(stream.column)} AS TIMESTAMP)"
            since = "" if before is None else f" AND {time} >= {literal(datetime.fromisoformat(before))}"
            return f"SELECT * FROM ({rows}) WHERE {time} < {literal(until)}{since}"
        if not files:
            columns = ", ".join(f"NULL::{kind} AS {name(column)}" for column, kind in self._raw().items())
            return f"SELECT {columns} LIMIT 0"
        self.sources.only[table.name] = files
        return numbered(owned_rows(self.sources, table), table, self.key, cohort)

    def _new_files(self) -> list[Path]:
        taken = {path: (size, at) for path, size, at in self.index.execute("SELECT path, size, changed FROM taken")}
        files = paths(self.policy, self.table)
        known = [path for path in files if called(self.policy, path) in taken]
        self.arrived.changed = tuple(
            called(self.policy, path) for path in known if _status(path) != taken[called(self.policy, path)]
        )
        return [path for path in files if called(self.policy, path) not in taken]

    def _raw(self) -> dict[str, str]:
        """The columns of rows that have arrived, and are not ranked yet."""
        columns = copied_columns(self.table, self.policy.unit_kind)
        raw = {column: kind for column, kind in columns.items() if column in (UNIT, BLOCK, *self.table.columns)}
        return {**raw, UNIT: unit_type(self.policy)} if UNIT in raw else raw

    # ranking

    def _rank(self, retired: Sequence[tuple[int, int]]) -> None:
        """The rows of blocks that have ended, of units that may still have some, with their ranks."""
        rows, stream = self._ended, self.table.stream
        assert stream is not None
        if stream.keeps_units:
            rows = self._remembered(rows, retired)
        self.connection.execute(
            f"CREATE TEMP TABLE {_SEALED} AS {ranked(pairs(rows, self.table), self.table, self.key)}"
        )
        if stream.keeps_units:
            self._remember()

    def _remembered(self, rows: str, retired: Sequence[tuple[int, int]]) -> str:
        """Rows beside what is known of their units: which block is theirs, how many blocks and rows they have had."""
        units = self.connection.execute(f"SELECT DISTINCT CAST({name(UNIT)} AS VARCHAR) FROM ({rows})").fetchall()
        revive(self.index, (unit for (unit,) in units), self.key)
        look = "SELECT unit, block, blocks, rows FROM seen WHERE unit = ?"
        known = [seen for unit in units if (seen := self.index.execute(look, unit).fetchone()) is not None]
        columns: list[list[object]] = [list(column) for column in zip(*known, strict=True)] or [[], [], [], []]
        self.connection.execute(
            f"CREATE TEMP TABLE {_KNOWN} AS SELECT unnest(CAST(? AS VARCHAR[])) AS unit, "
            "unnest(CAST(? AS BIGINT[])) AS block, unnest(CAST(? AS BIGINT[])) AS blocks, "
            "unnest(CAST(? AS BIGINT[])) AS rows",
            columns,
        )
        stream, block = self.table.stream, name(BLOCK)
        assert stream is not None
        beside = f"({rows}) AS a LEFT JOIN {_KNOWN} AS k ON CAST(a.{name(UNIT)} AS VARCHAR) = k.unit"
        had = f"coalesce(k.blocks, 0) AS {_HAD_BLOCKS}, coalesce(k.rows, 0) AS {_HAD_ROWS}"
        if stream.by != "unit":
            return first_blocks(f"SELECT a.*, {had} FROM {beside}", self.table, _HAD_BLOCKS, _HAD_ROWS)
        gone = " OR ".join(f"{block} BETWEEN {first} AND {last}" for first, last in retired) or "FALSE"
        own = f"a.* REPLACE (coalesce(k.block, a.{block}) AS {block}), coalesce(k.rows, 0) AS {BEFORE}"
        return f"SELECT * FROM (SELECT {own} FROM {beside}) WHERE NOT ({gone})"

    def _remember(self) -> None:
        """Put on record which units came, in which block, and how many rows they have now."""
        unit, block = f"CAST({name(UNIT)} AS VARCHAR)", name(BLOCK)
        came = f"SELECT {unit}, min({block}), count(DISTINCT {block}), max({name(ROW)}) FROM {_SEALED} GROUP BY 1"
        upsert = (
            "INSERT INTO seen VALUES (?, ?, ?, ?) ON CONFLICT (unit) DO UPDATE SET "
            "blocks = seen.blocks + excluded.blocks, rows = excluded.rows"
        )
        self.index.executemany(upsert, self.connection.execute(came).fetchall())

    # writing

    def _write(self, rows: str, kind: str, which: str) -> None:
        """Rows by block, each block in a folder with a random name, on disk before it is on record."""
        temporary = self.folder / f"tmp-{SYSTEM.bytes(8).hex()}"
        temporary.mkdir(mode=0o700)
        self.connection.execute(
            f"COPY (SELECT * FROM {rows} WHERE {which}) TO {literal(str(temporary))} (FORMAT parquet, "
            f"PARTITION_BY ({name(BLOCK)}), WRITE_PARTITION_COLUMNS true, OVERWRITE_OR_IGNORE true)"
        )
        parts = sorted(temporary.iterdir())
        files = [file for part in parts for file in part.iterdir()]
        for file in files:
            file.chmod(0o600)
        flush_all([*files, *parts])
        for part in parts:
            folder = SYSTEM.bytes(16).hex()
            part.chmod(0o700)
            count = len(list(part.iterdir()))
            part.replace(self.folder / folder)
            row = folder, int(part.name.partition("=")[2]), count
            self.index.execute(f"INSERT INTO {kind} VALUES (?, ?, ?)", row)
        temporary.rmdir()
        flush(self.folder)

    def _count(self, rows: str, which: str = "TRUE") -> int:
        return int(self.connection.execute(f"SELECT COUNT(*) FROM {rows} WHERE {which}").fetchall()[0][0])


def layout(policy: Policy, table: Table) -> str:
    """The digest of all that frozen blocks depend on."""
    stream = table.stream
    assert stream is not None
    low = None if stream.column is None else str((table.columns[stream.column].bounds or (None,))[0])
    cut = [stream.by, stream.column, stream.protects, stream.most, stream.buckets, low]
    columns = sorted(map(str, map(facts_of, table.columns.values())))
    bounds = [table.max_rows, table.max_rows_per_group < table.max_rows, mask_type(table)]
    written = json.dumps([LAYOUT, policy.unit_kind, str(table.owner), cut, columns, bounds])
    return hashlib.sha256(written.encode()).hexdigest()[:16]


def _demand_layout(index: sqlite3.Connection, policy: Policy, table: Table) -> None:
    there = index.execute("SELECT layout FROM stream").fetchone()
    if there is not None and there[0] != layout(policy, table):
        raise SourceError(
            table.name,
            "its columns, bounds or blocks are others than when its blocks were sealed, and those are never made anew",
            "write them as they were, or give the table another name: that is a new stream",
        )


def _status(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns
