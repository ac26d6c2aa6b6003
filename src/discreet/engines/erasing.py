"""Who is gone at the source leaves the sealed blocks of a stream as well (`discreet refresh --erase`).

Blocks are frozen, and this alone changes them: all rows of a unit that has no row left at the source are removed, and
nothing else. Where rows are protected one by one, those that are no longer at the source are.

Theorem  What is left are the blocks as they would be had these units never come.
Proof    Two worlds that differ in one unit have segments that differ in that unit's rows alone (`arrivals`).

No moment has half of it. `prepare` writes what is left of each segment beside it, and puts on record (`replaced`) from
which data version on that counts; whoever reads takes what counts for the version that is asked (`segments`). Then the
ledger advances, at once for all streams and tables. `settle` makes it so for good, or drops what was prepared for a
version that never came. It runs before anything else is refreshed, so that a process may die anywhere.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from discreet.engines.claims import owned_rows
from discreet.engines.connection import scratch
from discreet.engines.frozen import (
    INDEX,
    SCHEMA,
    called,
    engine,
    index_of,
    secret_of,
    segment_files,
    stream_folder,
    sweep_folders,
)
from discreet.engines.library import duckdb
from discreet.engines.problems import SourceError
from discreet.engines.remembered import bury
from discreet.engines.sources import Sources, first_line, is_pattern, paths
from discreet.engines.text import reading_parquet
from discreet.files import flush
from discreet.noise import SYSTEM
from discreet.policy import Policy, Table
from discreet.policy.layout import UNIT
from discreet.quoting import literal, name

_THERE, _GONE = "there", "gone"
KINDS: Final = ("segment", "waiting")


@dataclass(frozen=True, slots=True)
class Erased:
    """What leaves a stream. For the owner: counts are exact."""

    rows: int = 0
    units: int = 0
    """Who has no row left at the source; 0 where rows are protected one by one."""


def prepare(policy: Policy, table: Table, version: int, *, files_gone: bool = False, among: int = 1) -> Erased:
    """Write what is left of each segment, to count from a data version on. Call it under the lock of refreshes."""
    folder = stream_folder(policy, table)
    if not (folder / INDEX).exists():
        return Erased()
    with index_of(folder) as index, scratch(policy.state) as clean, engine(policy, among) as connection:
        index.executescript(SCHEMA)
        if not files_gone:
            _demand_files(policy, table, index)
        act = _Erasure(policy, table, folder, index, connection, Sources(policy, connection, clean), version)
        with index:
            index.execute("BEGIN IMMEDIATE")
            try:
                return act.run()
            except duckdb.Error as error:
                raise SourceError(table.name, first_line(error), "see `discreet check`") from None


def _demand_files(policy: Policy, table: Table, index: sqlite3.Connection) -> None:
    """Raise if files that were read are gone: that may be a deletion, an archive, or a disk that is not mounted."""
    there = {called(policy, path) for path in paths(policy, table)} if is_pattern(table) else set()
    gone = [path for (path,) in index.execute("SELECT path FROM taken ORDER BY path") if path not in there]
    if gone:
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        raise SourceError(
            table.name,
            f"{gone[0]}{more} was read and is gone: everybody with no row elsewhere would be erased",
            "bring the files back without those who are to be erased; or say with --missing-files that this is meant",
        )


@dataclass
class _Erasure:
    """One erasure from one stream: inside of a transaction of its index."""

    policy: Policy
    table: Table
    folder: Path
    index: sqlite3.Connection
    connection: duckdb.DuckDBPyConnection
    sources: Sources
    version: int
    _compared: list[str] = field(default_factory=list)

    def run(self) -> Erased:
        owned = self.table.owner is not None and self.table.owner.column is not None
        self._compared = [] if owned else [name(column) for column in self.table.columns]
        held = f"CAST({name(UNIT)} AS VARCHAR) AS unit" if owned else ", ".join(self._compared)
        rows = owned_rows(self.sources, self.table) if self._has_source else f"{self._no_rows()}"
        self.connection.execute(
            f"CREATE TEMP TABLE {_THERE} AS SELECT {held}, count(*) AS n FROM ({rows}) GROUP BY ALL"
        )
        self._demand_readable()
        self.connection.execute(f"CREATE TEMP TABLE {_GONE} (unit VARCHAR)")
        erased = sum(self._replaced(kind, *part) for kind in KINDS for part in self._parts(kind))
        self._seen()
        units = self.connection.execute(f"SELECT DISTINCT unit FROM {_GONE}").fetchall()
        self.index.executemany("INSERT OR REPLACE INTO erased VALUES (?, ?)", [(row[0], self.version) for row in units])
        return Erased(erased, len(units))

    @property
    def _has_source(self) -> bool:
        return not is_pattern(self.table) or bool(paths(self.policy, self.table))

    def _no_rows(self) -> str:
        columns = [f"NULL::VARCHAR AS {name(UNIT)}"] if not self._compared else [f"NULL AS {c}" for c in self._compared]
        return f"SELECT {', '.join(columns)} LIMIT 0"

    def _demand_readable(self) -> None:
        """A file that was left out may hold rows of anybody."""
        report = self.sources.reports.get(self.table.name)
        if report is not None and report.unreadable:
            path, why = next(iter(report.unreadable.items()))
            raise SourceError(self.table.name, f"{path} cannot be read ({why}), so that nobody is erased", "repair it")

    def _parts(self, kind: str) -> list[tuple[str, int]]:
        return self.index.execute(f"SELECT folder, files FROM {kind} ORDER BY rowid").fetchall()

    def _replaced(self, kind: str, part: str, count: int) -> int:
        """Write what is left of a segment, if rows leave it; how many do."""
        files = [str(path) for path in segment_files(self.table, self.folder, part, count)]
        if not files:
            return 0
        rows = reading_parquet(files)
        remaining = self._remaining(rows, paired=kind == "segment")
        ((before,),) = self.connection.execute(f"SELECT count(*) FROM {rows}").fetchall()
        ((left,),) = self.connection.execute(f"SELECT count(*) FROM ({remaining})").fetchall()
        if left == before:
            return 0
        new = SYSTEM.bytes(16).hex()
        if left:
            self._write(remaining, self.folder / new)
        row = part, kind, self.version, new, 1 if left else 0
        self.index.execute("INSERT OR REPLACE INTO replaced VALUES (?, ?, ?, ?, ?)", row)
        return int(before - left)

    def _remaining(self, rows: str, *, paired: bool) -> str:
        """The rows that stay, and a note of who leaves."""
        if self._compared:
            same = " AND ".join(f"r.{column} IS NOT DISTINCT FROM t.{column}" for column in self._compared)
            turn = f"row_number() OVER (PARTITION BY {', '.join(f'r.{column}' for column in self._compared)})"
            return f"SELECT r.* FROM {rows} AS r JOIN {_THERE} AS t ON {same} QUALIFY {turn} <= t.n"
        assert self.table.stream is not None
        unit = f"CAST({name(UNIT)} AS VARCHAR)"
        if paired and not self.table.stream.keeps_units:  # what is protected there is the pair "17:ann"
            unit = f"substr({unit}, strpos({unit}, ':') + 1)"
        gone = f"{unit} NOT IN (SELECT unit FROM {_THERE} WHERE unit IS NOT NULL)"
        self.connection.execute(f"INSERT INTO {_GONE} SELECT DISTINCT {unit} FROM {rows} WHERE {gone}")
        return f"SELECT * FROM {rows} WHERE NOT ({gone})"

    def _seen(self) -> None:
        """Who was seen may have no row left, neither here nor at the source: of retired blocks the ids are here."""
        if self._compared:
            return
        seen = [row[0] for row in self.index.execute("SELECT unit FROM seen")]
        look = "SELECT unit FROM (SELECT unnest(CAST(? AS VARCHAR[])) AS unit) WHERE unit NOT LIKE '~erased~%' "
        gone = f"AND unit NOT IN (SELECT unit FROM {_THERE} WHERE unit IS NOT NULL)"
        self.connection.execute(f"INSERT INTO {_GONE} {look}{gone}", [seen])

    def _write(self, rows: str, target: Path) -> None:
        target.mkdir(mode=0o700)
        file = target / "data_0.parquet"
        ordered = "" if self._compared else f" ORDER BY {name(UNIT)}"
        self.connection.execute(f"COPY ({rows}{ordered}) TO {literal(str(file))} (FORMAT parquet)")
        file.chmod(0o600)
        for written in (file, target, self.folder):
            flush(written)


def settle(policy: Policy, table: Table, version: int) -> None:
    """What was prepared for a data version that is asked now holds for good; for one that is not it is dropped."""
    folder = stream_folder(policy, table)
    if not (folder / INDEX).exists():
        return
    with index_of(folder) as index:
        index.executescript(SCHEMA)
        pending = index.execute("SELECT 1 FROM replaced UNION ALL SELECT 1 FROM erased LIMIT 1").fetchone()
        if pending is None:
            return
        with index:
            index.execute("BEGIN IMMEDIATE")
            for statement in _settling():
                index.execute(statement, (version,) * statement.count("?"))
            units = [row[0] for row in index.execute("SELECT unit FROM erased WHERE version <= ?", (version,))]
            bury(index, units, secret_of(policy))
            index.execute("DELETE FROM replaced")
            index.execute("DELETE FROM erased")
        sweep_folders(index, folder)
        with suppress(sqlite3.OperationalError):  # somebody reads: pages that are free were overwritten all the same
            index.execute("VACUUM")


def _settling() -> Iterator[str]:
    for kind in KINDS:
        of = f"FROM replaced AS r WHERE r.folder = {kind}.folder AND r.kind = '{kind}' AND r.version <= ?"
        yield f"DELETE FROM {kind} WHERE EXISTS (SELECT 1 {of} AND r.files = 0)"
        yield (f"UPDATE {kind} SET (folder, files) = (SELECT r.new, r.files {of}) WHERE EXISTS (SELECT 1 {of})")
