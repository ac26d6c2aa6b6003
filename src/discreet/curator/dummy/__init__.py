"""A curator over dummy data: to try questions for free before they are charged.

Same policy, so the same costs, refusals, previews and intervals; but private sources, state and ledger of the policy
are neither read nor made. Public tables are read as they are where they can be, because what may be asked follows from
them; where they cannot, they get dummy rows as well.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

import duckdb

from discreet.answers import Answer
from discreet.answers.call import Call
from discreet.curator.curator import Curator
from discreet.curator.dummy.rows import dummy_rows
from discreet.curator.state import ledger_over
from discreet.curator.streams import capacity, invent
from discreet.curator.task import Maker, Recall, Task
from discreet.engines.claims import owned_rows
from discreet.engines.connection import connect, lock_up
from discreet.engines.filled import fill
from discreet.engines.memory import SOURCE, making
from discreet.engines.memory import Memory as MemoryEngine
from discreet.engines.problems import SourceError
from discreet.engines.sources import Sources, described
from discreet.ledger import Charge, Ledger, Memory
from discreet.policy import Policy, Table, read
from discreet.quoting import name
from discreet.sql.plan import Plan

NOTE: Final = "dummy data: this says nothing about the real data, and is free"

NO_STATE: Final = Path(os.devnull) / "dummy"
"""The state folder of a dummy: nothing can be written there."""


class FreeLedger(Ledger):
    """Keeps answers and refuses what exceeds the whole budget; what was charged is forgotten at once.

    So every question finds the ledger of somebody who has not asked yet, and the balance says that nothing is spent.
    The journal is in memory, and forgets what is old: as a record it would not add up.
    """

    def _admit(self, charge: Charge) -> None:
        streams = self._state.streams
        super()._admit(charge)
        self._state = replace(self._state, streams=streams)
        self.forget()

    def forget(self) -> None:
        """Nothing is spent, on the budget or on any part."""
        self._state = replace(self._state, spent=self._state.grant.nothing, shares={}, partitions={}, units={})


class Stage(MemoryEngine):
    """Dummy rows in private tables, and in public ones that cannot be read.

    It reads files while it is built, so that its connection is its own from the first statement to the last.
    """

    def _opened(self) -> duckdb.DuckDBPyConnection:
        connection = connect(among=self._among, threads=1)
        connection.execute(f"CREATE SCHEMA {SOURCE}")
        public = [table for table in self._policy.tables.values() if table.is_public]
        read = {table.name: _filled_from_source(connection, self._policy, table) for table in public}
        present = {table: columns for table, columns in read.items() if columns}
        fill(connection, making(self._policy, self._tables, self._key, present))
        lock_up(connection)
        return connection

    def _leave(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.close()


def _filled_from_source(connection: duckdb.DuckDBPyConnection, policy: Policy, table: Table) -> dict[str, str]:
    """The columns of a public table that is filled with what its source holds; none, if that cannot be read."""
    target = f"{SOURCE}.{name(table.name)}"
    try:
        with tempfile.TemporaryDirectory(prefix="discreet-") as scratch:
            rows = owned_rows(Sources(policy, connection, Path(scratch)), table)
            connection.execute(f"CREATE TABLE {target} AS {rows}")
    except (SourceError, duckdb.Error, OSError, ValueError):
        return {}
    finally:
        _detach(connection)
    columns = described(connection, target)
    if {column.lower() for column in table.columns} <= {column.lower() for column in columns}:
        return columns
    connection.execute(f"DROP TABLE {target}")
    return {}


def _detach(connection: duckdb.DuckDBPyConnection) -> None:
    """A DuckDB file may hold private tables beside public ones: it must not stay within reach."""
    query = "SELECT database_name FROM duckdb_databases() WHERE NOT internal AND path IS NOT NULL"
    for (attached,) in connection.execute(query).fetchall():
        connection.execute(f"DETACH {name(attached)}")


class Dummy(Curator):
    """A curator over so many dummy rows for each private table. Queries are free, and every answer says why."""

    def __init__(
        self,
        policy: Policy,
        *,
        rows: int = 1000,
        time_limit: float | None = None,
        among: int = 1,
        recalls: Mapping[str, Recall] | None = None,
        makers: Mapping[str, Maker] | None = None,
    ) -> None:
        self._stage = Stage(policy, dummy_rows(policy, rows), among=among)
        policy = replace(policy, state=NO_STATE)
        ledger = ledger_over(Memory.bounded(), policy, FreeLedger)
        invent(policy, ledger, capacity)
        ledger.forget()
        super().__init__(
            policy, ledger, time_limit=time_limit, engine=self._stage, among=among, recalls=recalls, makers=makers
        )

    def _plan(self, *given: Any, **named: Any) -> Plan:
        """Everything that is told about a question begins with its plan, and so do the notes."""
        planned = super()._plan(*given, **named)
        return planned.memo.once("dummy", lambda: replace(planned, notes=(NOTE, *planned.notes)))

    def perform(self, task: Task[Any] | Call) -> Any:
        """No receipt: no ledger that anybody could compare it with holds the charge."""
        return _of_dummy_data(super().perform(task))

    def recall(self, number: int, **more: Any) -> Any:
        """The answer to the charge of this number."""
        return _of_dummy_data(super().recall(number, **more))

    def close(self) -> None:
        super().close()
        self._stage.close()


def open(  # noqa: A001  (like the curator's)
    policy: str | PathLike[str],
    *,
    rows: int = 1000,
    time_limit: float | None = None,
    makers: Mapping[str, Maker] | None = None,
) -> Dummy:
    """The dummy of a policy file, without opening the real one."""
    return Dummy(read(Path(policy)), rows=rows, time_limit=time_limit, makers=makers)


def _of_dummy_data(shown: Any) -> Any:
    if isinstance(shown, list):
        return [_of_dummy_data(each) for each in shown]
    return replace(shown, receipt="", dummy=True) if isinstance(shown, Answer) else shown
