"""The bounded, ranked copy that Spark makes and asks itself (`engine = "spark"`): Parquet in the state folder.

Its folder lies beside the file of the copy, which holds the public tables, and is called like it. Spark writes it
where it spills, in the locked folder of this process: whatever is killed, a folder beside a copy is complete. It is
never changed again.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from discreet.engines.library import duckdb
from discreet.engines.rewriting.spark import DIALECT
from discreet.engines.rewriting.spark_forms import identifier
from discreet.engines.rewriting.statements import Stored, ranked_rows
from discreet.engines.rewriting.terms import TYPES as KINDS
from discreet.engines.rewriting.terms import WHOLE, public_columns
from discreet.engines.spark import buckets
from discreet.engines.spark.reading import Frame, SparkStaging
from discreet.engines.spark.rows import owned, ranked
from discreet.engines.spark.types import VARIABLE
from discreet.policy import Policy
from discreet.policy.layout import PLACE, copied_columns, is_placed
from discreet.policy.model import Cluster, Table
from discreet.quoting import literal, name

ENDING: Final = ".spark"
SECRET_VIEW: Final = "discreet_made"
_FOLDER: Final = re.compile(r"([0-9]+)\.[0-9a-f]{16}\.spark")


def folder_of(copy: Path) -> Path:
    """The folder beside the file of a copy."""
    return copy.with_suffix(ENDING)


def cluster_of(policy: Policy) -> Cluster:
    """The Spark of all private tables: the policy has one (`policy.engines`)."""
    cluster = next(iter(policy.private_tables.values())).source.cluster
    assert cluster is not None
    return cluster


def make(staging: SparkStaging, target: Path, connection: duckdb.DuckDBPyConnection) -> None:
    """Make the copy of all private tables, by Spark itself, and put the public ones beside them. Under the lock."""
    policy, folder = staging.policy, staging.scratch / "copy"
    folder.mkdir(mode=0o700)
    private = list(policy.private_tables.values())
    folders = {table.name: folder / str(_number(policy, table.name)) for table in private}
    counts = dict[str, int | None]()

    def made(table: Table, frames: Mapping[str, Frame]) -> Any:
        rows = owned(policy, table, frames)
        has_units = table.owner is not None and table.owner.column is not None
        counts[table.name] = buckets.wanted(rows) if has_units else None
        return ranked(rows, table, staging.key, policy, counts[table.name])

    staging.make(private, folders, made)
    for label, count in counts.items():
        buckets.named(folders[label], count)
    for table in policy.tables.values():
        if table.is_public:
            held = connection.execute(f"DESCRIBE {name(table.name)}").fetchall()
            _write_public(
                connection, table.name, {row[0]: row[1] for row in held}, folder / str(_number(policy, table.name))
            )
    beside = folder_of(target)
    if beside.exists():
        shutil.rmtree(beside)  # of somebody who was killed before it was on record
    shutil.move(folder, beside)


def _write_public(connection: duckdb.DuckDBPyConnection, label: str, columns: Mapping[str, str], target: Path) -> None:
    """A public table, as Spark reads it: whole numbers have 64 bits there."""
    target.mkdir(mode=0o700)
    listed = [
        f"CAST({name(column)} AS BIGINT) AS {name(column)}" if KINDS[kind] == WHOLE else name(column)
        for column, kind in usable(columns).items()
    ]
    rows = f"SELECT {', '.join(listed) or '1::BIGINT AS one'} FROM {name(label)}"
    connection.execute(f"COPY ({rows}) TO {literal(str(target / 'rows.parquet'))} (FORMAT parquet)")


def usable(columns: Mapping[str, str]) -> dict[str, str]:
    """Those columns of a public table whose types Spark has, and whose names it leaves as they are."""
    return {column: kind for column, kind in public_columns(columns).items() if VARIABLE not in column}


def _number(policy: Policy, label: str) -> int:
    return list(policy.tables).index(label)


def view(policy: Policy, label: str, *, placed: bool = False) -> str:
    """What a table is called in sessions: where it is known by the numbers of its units, it has a second name."""
    return f"discreet_{_number(policy, label)}{'_placed' if placed and is_placed(policy.tables[label]) else ''}"


def stored(policy: Policy, schemas: Mapping[str, Mapping[str, str]], *, placed: bool = False) -> dict[str, Stored]:
    """The tables as queries find them, by the numbers of their units or by names; `schemas`: columns of public ones."""
    return {
        table.name: Stored(
            identifier(view(policy, table.name, placed=placed)),
            usable(schemas.get(table.name, {})) if table.is_public else copied_columns(table, policy.unit_kind),
            ranked_rows(table, DIALECT),
        )
        for table in policy.tables.values()
    }


def show(held: Any, policy: Policy, folder: Path, key: str) -> None:
    """Let a session know the tables by their names."""
    for table in policy.tables.values():
        files = folder / str(_number(policy, table.name))
        buckets.read(held, files).createOrReplaceTempView(view(policy, table.name))
        if is_placed(table):
            buckets.read(held, files, PLACE).createOrReplaceTempView(view(policy, table.name, placed=True))
    held.createDataFrame([(key,)], "secret string").createOrReplaceTempView(SECRET_VIEW)


def forget(data: Path, *, gone: Callable[[int], bool]) -> None:
    """Remove the copies of these data versions. What cannot be removed is told by `holders.held`."""
    for left in data.iterdir() if data.is_dir() else ():
        named = _FOLDER.fullmatch(left.name)
        if named and gone(int(named[1])) and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
