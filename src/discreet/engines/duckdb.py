"""DuckDB over the private copy: read-only, no access to anything else."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from discreet.engines.connection import connect, lock_up
from discreet.engines.copy import MADE, Progress, held_tables, private_copy, secret
from discreet.engines.digests import key_of, macros
from discreet.engines.holders import hold
from discreet.engines.library import duckdb
from discreet.engines.session import Session
from discreet.engines.text import reading_parquet
from discreet.policy import Kind, Policy, Table
from discreet.policy.layout import copied_columns
from discreet.quoting import literal, name


class DuckDB(Session):
    """The engine of one policy and data version. Each thread takes a `cursor` of its own.

    among   how many engines share the machine.
    blocks  of streams, the files that are read; without them a stream has no rows here.
    """

    def __init__(
        self,
        policy: Policy,
        version: int,
        progress: Progress | None = None,
        among: int = 1,
        blocks: Mapping[str, Sequence[Path]] | None = None,
    ) -> None:
        self.path: Path = private_copy(policy, version, progress, among)
        self._policy = policy
        self._among = among
        self._blocks = dict(blocks or {})
        self._holding = weakref.finalize(self, os.close, hold(self.path))
        self._holding.atexit = False
        super().__init__()

    def _opened(self) -> duckdb.DuckDBPyConnection:
        policy = self._policy
        connection = connect(spill=policy.state, among=self._among)
        key = key_of(policy, secret(policy.state))
        for text in (f"CREATE MACRO discreet_secret() AS {literal(key)}", *macros(policy.hashing)):
            connection.execute(text)
        connection.execute(f"ATTACH {literal(str(self.path))} AS private (READ_ONLY)")
        for table in held_tables(policy):
            connection.execute(f"CREATE VIEW {name(table.name)} AS SELECT * FROM private.{name(table.name)}")
        for table in policy.streams.values():
            files = [str(path) for path in self._blocks.get(table.name, ())]
            rows = f"SELECT * FROM {reading_parquet(files)}" if files else _no_rows(table, self._policy.unit_kind)
            connection.execute(f"CREATE VIEW {name(table.name)} AS {rows}")
        allowed = [str(path) for files in self._blocks.values() for path in files]
        lock_up(connection, allowed)
        return connection

    def close(self) -> None:
        super().close()
        self._holding()

    @property
    def copy(self) -> str:
        """The name of the copy: as long as it is the same, so are the ranks of all rows and keys."""
        return str(self.execute(f"SELECT name FROM private.{MADE}")[0][0])


def _no_rows(table: Table, unit: Kind) -> str:
    """A stream without rows."""
    columns = ", ".join(f"NULL::{kind} AS {name(column)}" for column, kind in copied_columns(table, unit).items())
    return f"SELECT {columns} LIMIT 0"
