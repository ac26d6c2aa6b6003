"""The owner's side: a connection that may read the sources as they are."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from discreet.engines.header import delimiter, header
from discreet.engines.problems import SourceError
from discreet.engines.text import attached_table, reading_csv, reading_parquet, reading_public_csv
from discreet.policy.model import Format, Policy, Table
from discreet.quoting import literal, name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def paths(policy: Policy, table: Table) -> list[Path]:
    """The files that a table is read from; `SourceError` if there are none."""
    pattern = os.path.join(glob.escape(str(policy.folder)), table.source.path)
    found = sorted(Path(path) for path in glob.glob(pattern, recursive=True))
    if not found:
        shown = policy.folder / table.source.path
        raise SourceError(table.name, f"there is no file {shown}", "correct `source` in the policy")
    for path in found:
        if path.is_dir():
            raise SourceError(table.name, f"{path} is a folder", "name the files in it, such as folder/*.parquet")
    return found


def read_files(table: str, form: Format, files: list[str], *, public: bool = False) -> str:
    """What to put behind FROM for files of a format."""
    if form is Format.PARQUET:
        return reading_parquet(files)
    if public:
        return reading_public_csv(files)
    names, *others = [header(file, table) for file in files]
    if any(other != names for other in others):
        raise SourceError(table, "its files have different headers", "give every file the same columns in one order")
    return reading_csv(files, names, delimiter(files[0]))


class Sources:
    """Every table of a policy, readable by name of its source."""

    def __init__(self, policy: Policy, connection: DuckDBPyConnection) -> None:
        self.policy = policy
        self.connection = connection
        self._attached: dict[Path, str] = {}

    def reading(self, table: Table) -> str:
        """What to put behind FROM for a table."""
        files = paths(self.policy, table)
        if table.source.format is not Format.DUCKDB:
            public = table.is_public and not table.columns
            return read_files(table.name, table.source.format, [str(path) for path in files], public=public)
        if table.source.table is None:
            raise SourceError(table.name, "a DuckDB file holds several tables", 'add table = "…" to the policy')
        return f"{name(self._attach(table.name, files[0]))}.{attached_table(table.source)}"

    def columns(self, table: Table) -> dict[str, str]:
        """The source's own columns with their types."""
        with owned(table.name):
            rows = self.connection.execute(f"DESCRIBE SELECT * FROM {self.reading(table)}").fetchall()
        return {row[0]: row[1] for row in rows}

    def _attach(self, table: str, path: Path) -> str:
        if path not in self._attached:
            alias = f"source{len(self._attached)}"
            with owned(table):
                self.connection.execute(f"ATTACH {literal(str(path))} AS {alias} (READ_ONLY)")
            self._attached[path] = alias
        return self._attached[path]


@contextmanager
def owned(table: str) -> Iterator[None]:
    """Say which table DuckDB's complaint is about."""
    try:
        yield
    except duckdb.Error as error:
        raise SourceError(table, str(error).splitlines()[0], "see `discreet check`") from None
