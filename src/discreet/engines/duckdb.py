"""DuckDB over the private copy: read-only, no access to anything else."""

from __future__ import annotations

from pathlib import Path

import duckdb

from discreet.engines.connection import connect, lock_up
from discreet.engines.copy import MADE, Progress, private_copy, secret
from discreet.engines.session import Session
from discreet.policy import Policy
from discreet.quoting import literal, name


class DuckDB(Session):
    """The engine of one policy and data version. Each thread takes a `cursor` of its own.

    among   how many engines share the machine.
    """

    def __init__(self, policy: Policy, version: int, progress: Progress | None = None, among: int = 1) -> None:
        self.path: Path = private_copy(policy, version, progress, among)
        self._policy = policy
        self._among = among
        super().__init__()

    def _opened(self) -> duckdb.DuckDBPyConnection:
        policy = self._policy
        connection = connect(spill=policy.state, among=self._among)
        connection.execute(f"CREATE MACRO discreet_secret() AS {literal(secret(policy.state))}")
        connection.execute(f"ATTACH {literal(str(self.path))} AS private (READ_ONLY)")
        for table in policy.tables.values():
            connection.execute(f"CREATE VIEW {name(table.name)} AS SELECT * FROM private.{name(table.name)}")
        lock_up(connection)
        return connection

    @property
    def copy(self) -> str:
        """The name of the copy: as long as it is the same, so are the ranks of all rows and keys."""
        return str(self.execute(f"SELECT name FROM private.{MADE}")[0][0])
