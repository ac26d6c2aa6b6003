"""The files of a stream: where they lie, and the record of them (`arrivals` writes both)."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from discreet.engines.connection import connect
from discreet.engines.copy import secret
from discreet.engines.library import duckdb
from discreet.engines.problems import SourceError
from discreet.files import flush, locked
from discreet.policy import Policy, Table

FOLDER: Final = "streams"
INDEX: Final = "arrivals.sqlite"
MANY: Final = 64
"""Files above which the whole disk is flushed at once: each by itself takes milliseconds."""
SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS stream (layout TEXT, refreshes INTEGER, until TEXT);
CREATE TABLE IF NOT EXISTS block (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS segment (folder TEXT PRIMARY KEY, block INTEGER NOT NULL, files INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS segments ON segment (block);
CREATE TABLE IF NOT EXISTS waiting (folder TEXT PRIMARY KEY, block INTEGER NOT NULL, files INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS taken (path TEXT PRIMARY KEY, size INTEGER, changed INTEGER);
CREATE TABLE IF NOT EXISTS seen (unit TEXT PRIMARY KEY, block INTEGER, blocks INTEGER, rows INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS replaced (
    folder TEXT PRIMARY KEY, kind TEXT NOT NULL, version INTEGER NOT NULL, new TEXT NOT NULL, files INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS erased (unit TEXT PRIMARY KEY, version INTEGER NOT NULL);
"""


def stream_folder(policy: Policy, table: Table) -> Path:
    return policy.state / FOLDER / hashlib.sha256(table.name.encode()).hexdigest()[:16]


def called(policy: Policy, path: Path) -> str:
    """What a source file is called on record."""
    return os.path.relpath(path, policy.folder)


def segment_files(table: Table, folder: Path, part: str, count: int) -> list[Path]:
    """The files of a part on record, or a failure if some are gone."""
    files = sorted((folder / part).glob("*.parquet"))
    if len(files) != count:
        raise gone(table)
    return files


def gone(table: Table) -> SourceError:
    """Blocks on record are not those on disk: others would be read in their place."""
    return SourceError(
        table.name,
        "its blocks are not those that the ledger knows: the state folder was restored, or is another's",
        "restore folder and ledger together",
    )


def names(policy: Policy, table: Table) -> dict[int, str]:
    """The blocks that are sealed, by number, with the random names of their files."""
    folder = stream_folder(policy, table)
    if not (folder / INDEX).exists():
        return {}
    with index_of(folder) as index:
        return dict(index.execute("SELECT number, name FROM block ORDER BY number"))


@contextmanager
def index_of(folder: Path) -> Iterator[sqlite3.Connection]:
    """The record of a stream, for its owner alone."""
    os.close(os.open(folder / INDEX, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    with closing(sqlite3.connect(folder / INDEX, timeout=60, isolation_level=None)) as index:
        index.execute("PRAGMA synchronous = FULL")
        index.execute("PRAGMA secure_delete = ON")  # what is removed is overwritten
        yield index


@contextmanager
def engine(policy: Policy, among: int) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(spill=policy.state, among=among, preserve_insertion_order=False) as connection:
        yield connection


def secret_of(policy: Policy) -> str:
    data = policy.state / "data"
    data.mkdir(mode=0o700, exist_ok=True)
    with locked(data / "lock"):
        return secret(policy.state)


def sweep_folders(index: sqlite3.Connection, folder: Path) -> None:
    """Remove what no record names: of refreshes that failed, and rows that waited."""
    query = "SELECT folder FROM segment UNION SELECT folder FROM waiting UNION SELECT new FROM replaced"
    named = {row[0] for row in index.execute(query)}
    for left in folder.iterdir():
        if left.is_dir() and not left.is_symlink() and left.name not in named:
            shutil.rmtree(left, ignore_errors=True)


def flush_all(written: Sequence[Path]) -> None:
    """Have these on disk: one by one, or if they are many, with all else that waits."""
    if len(written) > MANY:
        os.sync()
        return
    for path in written:
        flush(path)
