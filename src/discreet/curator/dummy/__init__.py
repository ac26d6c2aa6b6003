"""A curator over made-up rows: to try questions for nothing before they are paid for.

Same policy, so the same costs, refusals, previews and intervals; but private sources, state and ledger of the policy
are neither read nor made. Public tables are read as they are where they can be, because what may be asked follows from
them; where they cannot, their rows are made up as well.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

import duckdb

from discreet.answers import Answer
from discreet.curator.curator import Curator
from discreet.curator.dummy.made_up import made_up
from discreet.curator.state import grant_of, ledger_path
from discreet.engines.claims import owned_rows
from discreet.engines.memory import SOURCE, Memory, Rows
from discreet.engines.problems import SourceError
from discreet.engines.sources import Sources
from discreet.ledger import Charge, Ledger, LedgerError
from discreet.policy import Policy, Table, protected, read
from discreet.quoting import name
from discreet.sql.plan import Plan

NOTE: Final = "made-up rows: this says nothing about the real data, and asking is free"


class FreeLedger(Ledger):
    """Keeps answers and refuses what the whole budget could not pay; what was paid is forgotten at once.

    So every question finds the ledger of somebody who has not asked yet, and the balance says that nothing is spent.
    The journal lies in a folder of its own that nobody opens again: as a record it would not add up.
    """

    def _admit(self, charge: Charge) -> None:
        super()._admit(charge)
        self._state = replace(self._state, spent=self._state.grant.nothing, shares={}, portions={}, units={})


class Stage(Memory):
    """Made-up rows in private tables, and in public ones that cannot be read."""

    def _fill(self, connection: duckdb.DuckDBPyConnection, policy: Policy, table: Table, held: Rows) -> None:
        if not (table.is_public and _filled_from_source(connection, policy, table)):
            super()._fill(connection, policy, table, held)


def _filled_from_source(connection: duckdb.DuckDBPyConnection, policy: Policy, table: Table) -> bool:
    target = f"{SOURCE}.{name(table.name)}"
    try:
        with tempfile.TemporaryDirectory(prefix="discreet-") as scratch:
            rows = owned_rows(Sources(policy, connection, Path(scratch)), table)
            connection.execute(f"CREATE TABLE {target} AS {rows}")
    except (SourceError, duckdb.Error, OSError, ValueError):
        return False
    finally:
        _detach(connection)
    columns = connection.execute(f"DESCRIBE {target}").fetchall()
    if {column.lower() for column in table.columns} <= {row[0].lower() for row in columns}:
        return True
    connection.execute(f"DROP TABLE {target}")
    return False


def _detach(connection: duckdb.DuckDBPyConnection) -> None:
    """A DuckDB file may hold private tables beside public ones: it must not stay within reach."""
    query = "SELECT database_name FROM duckdb_databases() WHERE NOT internal AND path IS NOT NULL"
    for (attached,) in connection.execute(query).fetchall():
        connection.execute(f"DETACH {name(attached)}")


class Dummy(Curator):
    """A curator over so many made-up rows for each private table. Asking is free, and every answer says why."""

    def __init__(self, policy: Policy, *, rows: int = 1000, time_limit: float | None = None, among: int = 1) -> None:
        self._stage = Stage(policy, made_up(policy, rows), among=among)
        folder = _own_folder()
        self._remove = weakref.finalize(self, _removed, folder, os.getpid())
        policy = replace(policy, state=folder)
        try:
            ledger = FreeLedger(
                ledger_path(policy),
                grant_of(policy),
                shares=policy.analysts,
                protected=protected(policy),
                name=policy.name,
                unit=policy.unit,
            )
        except LedgerError as wrong:
            self._remove()
            raise LedgerError(wrong.reason, "set TMPDIR to a folder on a local disk") from None
        super().__init__(policy, ledger, time_limit=time_limit, engine=self._stage, among=among)

    def _plan(self, *given: Any, **named: Any) -> Plan:
        """Everything that is told about a question begins with its plan, and so do the notes."""
        found = super()._plan(*given, **named)
        return replace(found, notes=(NOTE, *found.notes))

    def _answer(self, *given: Any, **named: Any) -> Answer:
        """No receipt: no ledger that anybody could compare it with holds the charge."""
        return replace(super()._answer(*given, **named), receipt="")

    def close(self) -> None:
        """Close, and remove the files."""
        super().close()
        self._stage.close()
        self._remove()


def open(  # noqa: A001  (like the door's)
    policy: str | PathLike[str], *, rows: int = 1000, time_limit: float | None = None
) -> Dummy:
    """The dummy of a policy file, without opening the real one."""
    return Dummy(read(Path(policy)), rows=rows, time_limit=time_limit)


def _own_folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="discreet-dummy-"))
    except OSError as wrong:
        raise LedgerError(f"could not make a temporary folder: {wrong}", "set TMPDIR to a folder that exists") from None


def _removed(folder: Path, process: int) -> None:
    """Remove the files of this process; a fork that ends must not take away those of its parent."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
