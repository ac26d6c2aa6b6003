"""The private copy: what is ever read of the sources, with the ranks that bound what one unit contributes.

Every private table is copied once: typed, undeclared values as NULL, without rows that belong to nobody, clustered by
unit, with ranks.

row rank   the place of a row among its unit's rows, by keyed hash of the unit and all declared columns, then by those
           columns: ties only between identical rows.
key rank   for each key column, the place of the row's key among the keys of its unit's first `max_rows` rows, by keyed
           hash of unit and key, then by the key.
steps      for each number with a declared step: how many of them it is, held between its bounds.
row in key for each key column, where `max_rows_per_group` is below `max_rows`: the place of the row among those of its
           unit that have its key, by row rank.

Theorem  Ranks are functions of the unit's own rows and the secret: adding or removing any unit changes no other unit's
         ranks, and neither does the order in which the source holds its rows.
Proof    All are positions within a partition by unit, under an order on its rows that is total but for identical rows.

So bounding rows, or groups of one key column, is a filter. The file is written under a temporary name by whoever holds
the lock, closed, renamed, and never changed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb

from discreet.engines.connection import connect
from discreet.engines.problems import SourceError
from discreet.engines.sources import Sources, owned
from discreet.engines.text import typed
from discreet.files import locked
from discreet.noise import SYSTEM
from discreet.policy import Column, Policy, Table, suggest
from discreet.policy.layout import ROW, UNIT, key_rank, row_in_key, steps_of, stored_steps
from discreet.quoting import literal, name, whole_steps

LAYOUT: Final = 6
"""Counts up when copies made before can no longer be used."""
MADE: Final = "_discreet_copy"
"""The table with the name of the copy, which no other copy has."""
INTEGERS: Final = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"})

Progress = Callable[[str, float], None]
"""Told which table is being copied, and how far it is, from 0 to 1."""


def private_copy(policy: Policy, version: int, progress: Progress | None = None, among: int = 1) -> Path:
    """The copy of this data version for this policy; made now if there is none."""
    folder = policy.state / "data"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = folder / f"{version}.{_fingerprint(policy)}.duckdb"
    if target.exists():
        return target
    with locked(folder / "lock"):
        if not target.exists():
            _sweep(folder)
            temporary = folder / f"{os.getpid()}.tmp"
            try:
                _write(policy, temporary, secret(policy.state), progress, among)
                temporary.replace(target)
            finally:
                _sweep(folder)
    return target


def forget_others(policy: Policy, version: int) -> None:
    """Remove the copies of all other data versions: people who left the sources leave the disk as well."""
    for path in (policy.state / "data").glob("*.duckdb"):
        if path.name.split(".")[0] != str(version):
            path.unlink(missing_ok=True)


def secret(state: Path) -> str:
    """The key of all hashes, made once, for the owner's eyes only. Call it under the lock."""
    place = state / "secret"
    if not place.exists():
        temporary = state / "secret.tmp"
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(SYSTEM.bytes(32).hex())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(place)
    return place.read_text(encoding="ascii")


def _sweep(folder: Path) -> None:
    """Remove what killed processes left."""
    for left in folder.glob("*.tmp*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def _fingerprint(policy: Policy) -> str:
    """Of everything that the copy depends on."""
    tables = {
        table.name: [
            str(table.source),
            str(table.owner),
            sorted(
                (column.name, column.kind, column.is_key, str(column.values), str(column.step), str(column.bounds))
                for column in table.columns.values()
            ),
            table.max_rows,
            table.max_rows_per_group < table.max_rows,
        ]
        for table in policy.tables.values()
        if table.copied
    }
    return hashlib.sha256(json.dumps([LAYOUT, tables], sort_keys=True).encode()).hexdigest()[:16]


def _write(policy: Policy, target: Path, key: str, progress: Progress | None, among: int) -> None:
    with connect(target, spill=policy.state, among=among, preserve_insertion_order=False) as connection:
        sources = Sources(policy, connection)
        unit_type = unit_type_of(sources)
        connection.execute(f"CREATE TABLE {MADE} AS SELECT {literal(SYSTEM.bytes(16).hex())} AS name")
        for table in policy.tables.values():
            if table.copied:
                select = selection(sources, table, unit_type, key)
                with owned(table.name), _reported(connection, table.name, progress):
                    connection.execute(f"CREATE TABLE {name(table.name)} AS {select}")


def unit_type_of(sources: Sources) -> str:
    """The type that units are compared in, bytewise: integers if all sources have integers, else text."""
    types = set()
    for table in sources.policy.private_tables.values():
        if table.owner is not None and table.owner.column is not None:
            holder = sources.policy.tables[table.owner.path[-1].table] if table.owner.path else table
            types.add(_source_column(sources, holder, table.owner.column)[1])
    return "BIGINT" if types and types <= INTEGERS else "VARCHAR"


def selection(sources: Sources, table: Table, unit_type: str, key: str) -> str:
    """The query that makes the copy of a table."""
    declared = [name(column) for column in table.columns]
    if table.owner is None or table.owner.column is None:
        return owned_rows(sources, table, unit_type)
    keys = [column for column in table.columns if table.columns[column].is_key]
    ranks = [_key_rank(column, table.max_rows, key) for column in keys]
    if table.max_rows_per_group < table.max_rows:
        ranks += [_row_in_key(column) for column in keys]
    steps = [_in_steps(column) for column in table.columns.values() if stored_steps(column)]
    kept = ", ".join([name(UNIT), name(ROW), *ranks, *declared, *steps])
    order = ", ".join([f"hash({', '.join([literal(key), name(UNIT), *declared])})", *declared])
    return f"""
        WITH typed AS ({owned_rows(sources, table, unit_type)}),
        ranked AS (
            SELECT *, (row_number() OVER (PARTITION BY {name(UNIT)} ORDER BY {order}))::INTEGER AS {name(ROW)}
            FROM typed
        )
        SELECT {kept} FROM ranked ORDER BY {name(UNIT)}
    """


def _key_rank(column: str, max_rows: int, key: str) -> str:
    """The rank of a key, NULL in rows that are never read."""
    hashed = f"hash({literal(key)}, {literal(column)}, {name(UNIT)}, {name(column)})"
    window = f"PARTITION BY {name(UNIT)} ORDER BY {name(ROW)} > {max_rows}, {hashed}, {name(column)}"
    rank = f"(dense_rank() OVER ({window}))::INTEGER"
    return f"CASE WHEN {name(ROW)} <= {max_rows} THEN {rank} END AS {name(key_rank(column))}"


def _in_steps(column: Column) -> str:
    """A column in whole steps between its bounds: sums of it need no arithmetic then."""
    low, high = stored_steps(column) or (0, 0)
    kind = "INTEGER" if max(abs(low), abs(high)) < 2**31 else "BIGINT"
    text = whole_steps(name(column.name), column.step, low, high)
    return f"CAST({text} AS {kind}) AS {name(steps_of(column.name))}"


def _row_in_key(column: str) -> str:
    """The rank of a row among those of its unit and key; its order is that of the row rank."""
    window = f"PARTITION BY {name(UNIT)}, {name(column)} ORDER BY {name(ROW)}"
    return f"(row_number() OVER ({window}))::INTEGER AS {name(row_in_key(column))}"


def owned_rows(sources: Sources, table: Table, unit_type: str) -> str:
    """The typed rows of a table; those of a private one with their unit, found along its foreign keys, if any."""
    if table.owner is None or table.owner.column is None:
        declared = _typed(sources, table, "t") or (["*"] if table.is_public else [f"1 AS {name(ROW)}"])
        return f"SELECT {', '.join(declared)} FROM {sources.reading(table)} AS t"
    joins, holder, alias = "", table, "t"
    for place, hop in enumerate(table.owner.path):
        column, kind = _source_column(sources, holder, hop.column)
        holder = sources.policy.tables[hop.table]
        refuse_repeated_keys(sources, table, holder, hop.key)
        key, other = _source_column(sources, holder, hop.key)
        same = _same(f"{alias}.{name(column)}", kind, f"j{place}.{name(key)}", other)
        joins += f" LEFT JOIN {sources.reading(holder)} AS j{place} ON {same}"
        alias = f"j{place}"
    column, _ = _source_column(sources, holder, table.owner.column)
    unit = f"TRY_CAST({alias}.{name(column)} AS {unit_type})"
    columns = ", ".join([f"{unit} AS {name(UNIT)}", *_typed(sources, table, "t")])
    return f"SELECT {columns} FROM {sources.reading(table)} AS t{joins} WHERE {unit} IS NOT NULL"


def _same(a: str, kind: str, b: str, other: str) -> str:
    """Whether two keys are equal. Where types differ they are compared as text: a cast to a number could fail."""
    if kind == other or {kind, other} <= INTEGERS:
        return f"{a} = {b}"
    return f"CAST({a} AS VARCHAR) = CAST({b} AS VARCHAR)"


def refuse_repeated_keys(sources: Sources, table: Table, holder: Table, key: str) -> None:
    """A foreign key must lead to one row, or a row of the table would belong to several units."""
    column, _ = _source_column(sources, holder, key)
    query = f"SELECT count({name(column)}) > count(DISTINCT {name(column)}) FROM {sources.reading(holder)}"
    with owned(holder.name):
        row = sources.connection.execute(query).fetchone()
    if row and row[0]:
        raise SourceError(
            table.name, f"{holder.name}.{key} is not unique, so its rows have no single owner", "clean the source"
        )


def _typed(sources: Sources, table: Table, alias: str) -> list[str]:
    columns = []
    for column in table.columns.values():
        held, _ = _source_column(sources, table, column.name)
        columns.append(f"{typed(f'{alias}.{name(held)}', column)} AS {name(column.name)}")
    return columns


def _source_column(sources: Sources, table: Table, wanted: str) -> tuple[str, str]:
    """A column of the source, by name (case does not matter), with its type."""
    columns = sources.columns(table)
    for column, kind in columns.items():
        if column.lower() == wanted.lower():
            return column, kind
    raise SourceError(
        table.name, f"the source has no column {wanted!r}", suggest(wanted, columns) or "correct its name"
    )


@contextmanager
def _reported(connection: duckdb.DuckDBPyConnection, table: str, progress: Progress | None) -> Iterator[None]:
    """Tell how far a running statement is, a few times a second."""
    if progress is None:
        yield
        return
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            progress(table, max(connection.query_progress(), 0.0) / 100)

    watcher = threading.Thread(target=watch, daemon=True)
    connection.execute("SET enable_progress_bar = true")  # else DuckDB does not count
    connection.execute("SET enable_progress_bar_print = false")
    progress(table, 0.0)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    progress(table, 1.0)
