"""The owner's side: a connection that may read the sources as they are."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from discreet.engines.problems import SourceError
from discreet.engines.text import literal, name, reading
from discreet.policy.model import Format, Policy, Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def paths(policy: Policy, table: Table) -> list[Path]:
    """The files that a table is read from; `SourceError` if there are none."""
    pattern = str(policy.folder / table.source.path)
    found = sorted(Path(path) for path in glob.glob(pattern, recursive=True))
    if not found:
        raise SourceError(table.name, f"there is no file {pattern}", "correct `source` in the policy")
    return found


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
            return reading(table.source, str(self.policy.folder / table.source.path))
        if table.source.table is None:
            raise SourceError(table.name, "a DuckDB file holds several tables", 'add table = "…" to the policy')
        return f"{name(self._attach(table.name, files[0]))}.{reading(table.source, '')}"

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
