"""The private copy: what is ever read of the sources, with the ranks that bound what one unit contributes.

Every table is copied once: typed by the policy, undeclared values as NULL, without rows with NULL unit id, each
unit's first `max_rows` rows, clustered by unit, with ranks.

row rank   the place of a row among its unit's rows, by keyed hash of the unit and all declared columns, then by those
           columns: ties only between identical rows.
key rank   for each ranked key column, the place of the row's key among the keys of its unit's rows here, by keyed
           hash of unit and key, then by the key; a NULL that is no key comes last.
key mask   where a unit of 2 to 64 rows may have too many groups, or too many rows in a group, or where keys are
           private: for each ranked key column, the set of the unit's rows that have the row's key; bit j − 1 stands for
           the row of rank j.
unique     of several rows of a unit with one key, in a column that is declared so, only the first in the order of the
           row rank is here; rows without a key all are.
steps      for each number with a declared step: how many of them it is, clamped to its bounds.
row in key for each key column, where `max_rows_per_group` is below `max_rows`: the place of the row among those of its
           unit that have its key, by row rank.

Theorem  Ranks and masks are functions of the unit's own rows and the secret: adding or removing any unit changes those
         of no other unit, and neither does the order in which the source holds its rows.
Proof    All are positions within a partition by unit, or sets of them, under an order on its rows that is total but for
         identical rows.

So bounding rows, or groups of one key column of all rows, is a filter; groups of several, or of the rows that pass a
condition, are chosen by masks (`policy.layout.mask_type`). The file is written under a temporary name by whoever holds
the lock, closed, renamed, and never changed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from discreet.engines.claims import owned_rows
from discreet.engines.connection import connect, count_progress, scratch
from discreet.engines.digests import derived, hashed, key_of, macros
from discreet.engines.library import duckdb
from discreet.engines.newer import forget_aside
from discreet.engines.problems import SourceError
from discreet.engines.sources import ROOM, Report, Sources, demand_apart, first_line
from discreet.engines.spark import copy as spark_copy
from discreet.engines.stopping import beside
from discreet.files import locked
from discreet.noise import SYSTEM
from discreet.policy import Column, Kind, Policy, Source, Table
from discreet.policy.engines import DUCKDB, OWN, POSTGRES, SPARK
from discreet.policy.layout import (
    BEFORE,
    BLOCK,
    PLACE,
    ROW,
    UNIT,
    coded_keys,
    counted_keys,
    is_placed,
    key_code,
    key_mask,
    key_rank,
    mask_type,
    ranked_keys,
    row_in_key,
    seen_columns,
    seen_count,
    steps_of,
    stored_steps,
)
from discreet.quoting import literal, name, whole_steps

LOOK: Final = 0.2
"""Seconds between looks at how far a statement is."""
LAYOUT: Final = 11
"""Counts up when copies made before can no longer be used."""
INSIDE: Final = 4
"""The same for copies inside of databases."""
MADE: Final = "_discreet_copy"
"""The table with the name of the copy, which no other copy has."""
_COPY: Final = re.compile(r"([0-9]+)\.[0-9a-f]{16}\.duckdb(?:\.wal)?")
_TEMPORARY: Final = re.compile(r"[0-9]+\.tmp(?:\.wal|\.spill)?")

Tell = Callable[[dict[str, Report]], None]
"""Hears, for each table, what could not be read."""
Progress = Callable[[str, float], None]
"""Told which table is being copied, and how far it is, from 0 to 1."""


def private_copy(
    policy: Policy, version: int, progress: Progress | None = None, among: int = 1, tell: Tell | None = None
) -> Path:
    """The copy of this data version for this policy; made now if there is none. `tell` hears what was left out."""
    folder = policy.state / "data"
    policy.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    demand_private(folder)
    target = copy_path(policy, version)
    if target.exists():
        return target
    with locked(folder / "lock"):
        if not target.exists():
            _sweep(folder)
            temporary = folder / f"{os.getpid()}.tmp"
            try:
                reports = _write(policy, version, temporary, progress, among)
                temporary.replace(target)
            except duckdb.IOException as error:  # of the copy: what is wrong with a source has its table's name
                raise SourceError("state", first_line(error), ROOM) from None
            finally:
                _sweep(folder)
            if tell is not None:
                tell(reports)
    return target


def copy_path(policy: Policy, version: int) -> Path:
    """Where the copy of this data version for this policy is, or would be."""
    return policy.state / "data" / f"{version}.{_fingerprint(policy)}.duckdb"


def demand_private(folder: Path) -> None:
    """Raise if others may enter a folder that holds private rows."""
    if stat.S_IMODE(folder.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
        raise SourceError("state", f"others may enter {folder}, where the private copy lies", f"chmod 700 {folder}")


def copies(folder: Path) -> Iterator[tuple[Path, int]]:
    """The copies in a folder, each with its data version: by names that nothing else has."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if named := _COPY.fullmatch(path.name):
            yield path, int(named[1])


def forget_others(policy: Policy, version: int) -> None:
    """Remove the copies of all other data versions: people who left the sources leave the disk as well."""
    for path, other in copies(policy.state / "data"):
        if other != version:
            path.unlink(missing_ok=True)
    if policy.engine == POSTGRES:
        from discreet.engines import postgres_copy as inside

        inside.forget(policy, secret(policy.state), version)
    spark_copy.forget(policy.state / "data", gone=lambda other: other != version)


def forget_unrecorded(policy: Policy, version: int) -> None:
    """Remove copies of this data version and later ones, which no record names: of refreshes that were killed."""
    for path, made in copies(policy.state / "data"):
        if made >= version:
            path.unlink()
    spark_copy.forget(policy.state / "data", gone=lambda made: made >= version)


def secret(state: Path) -> str:
    """The key of all hashes, made once, readable by its owner alone. Call it under the lock."""
    file = state / "secret"
    if not file.exists():
        temporary = state / "secret.tmp"
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as written:
            written.write(SYSTEM.bytes(32).hex())
            written.flush()
            os.fsync(written.fileno())
        temporary.replace(file)
    return file.read_text(encoding="ascii")


def _sweep(folder: Path) -> None:
    """Remove what killed processes left, by names that nothing else has."""
    for left in folder.iterdir():
        if not _TEMPORARY.fullmatch(left.name):
            continue
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def _fingerprint(policy: Policy) -> str:
    """Of everything that the copy depends on. Sources of another folder may be called alike: where this one lies, as
    seen from the state folder, is part of it, so that both can be moved together."""
    here = os.path.relpath(policy.folder.resolve(), policy.state.resolve())
    tables = {
        table.name: [
            _read_from(table.source),
            str(table.owner),
            sorted(facts_of(column) for column in table.columns.values()),
            _unique(table),
            table.max_rows,
            table.max_rows_per_group < table.max_rows,
            mask_type(table),
        ]
        for table in copied_tables(policy)
    }
    elsewhere = [] if policy.engine == DUCKDB else [policy.engine, policy.engine_schema, INSIDE]
    elsewhere += [] if policy.hashing == OWN else [policy.hashing]
    described = json.dumps([LAYOUT, here, policy.unit_kind, tables, *elsewhere], sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()[:16]


def _read_from(source: Source) -> str:
    """Where rows come from; of a database also as whom, because roles may see different rows."""
    return str(source) if source.login is None else f"{source} as {source.login.user}"


def held_tables(policy: Policy) -> list[Table]:
    """The tables whose rows the file of a copy holds: all that are copied, or the public ones, where a database
    computes and private rows stay in it."""
    return [table for table in copied_tables(policy) if table.is_public or policy.engine == DUCKDB]


def copied_tables(policy: Policy) -> list[Table]:
    """The tables that are copied whole. Streams are not: their blocks are files of their own (`engines.arrivals`)."""
    return [table for table in policy.tables.values() if table.stream is None]


def facts_of(column: Column) -> tuple[object, ...]:
    return (
        column.name,
        column.kind,
        column.is_key,
        column.nullable,
        str(column.values),
        str(column.step),
        str(column.bounds),
    )


def _write(policy: Policy, version: int, target: Path, progress: Progress | None, among: int) -> dict[str, Report]:
    demand_apart(policy)
    held, called = secret(policy.state), SYSTEM.bytes(16).hex()
    key = key_of(policy, held)
    onward = _onward(progress) if progress is not None else None
    with (
        scratch(policy.state) as folder,
        connect(target, spill=policy.state, among=among, preserve_insertion_order=False) as connection,
    ):
        target.chmod(0o600)
        sources = Sources(policy, connection, folder, onward)
        sources.read_together(table.name for table in held_tables(policy))
        sources.spark.key = derived(held)
        for text in macros(policy.hashing):
            connection.execute(text)
        sources.staging.aside = connection
        connection.execute(f"CREATE TABLE {MADE} AS SELECT {literal(called)} AS name")
        for table in held_tables(policy):
            with _reported(connection, table.name, onward):
                _create(sources, table, key)
        forget_aside(policy, sources.staging.used)
        if policy.engine == POSTGRES:
            _inside(policy, version, called, connection, progress)
        if policy.engine == SPARK:
            spark_copy.make(sources.spark, copy_path(policy, version), connection)
    return sources.reports


def _inside(
    policy: Policy, version: int, called: str, connection: duckdb.DuckDBPyConnection, progress: Progress | None
) -> None:
    """The private tables, made by the database that they lie in, and the public ones beside them."""
    from discreet.engines import postgres_copy as inside
    from discreet.engines.rewriting.terms import public_columns

    public = {}
    for table in held_tables(policy):
        described = connection.execute(f"DESCRIBE {name(table.name)}").fetchall()
        columns = public_columns({row[0]: row[1] for row in described})
        listed = ", ".join(map(name, columns)) or "1"
        public[table.name] = columns, connection.execute(f"SELECT {listed} FROM {name(table.name)}").fetchall()
    inside.make(policy, inside.Names.of(secret(policy.state), version, called), secret(policy.state), public, progress)


def _create(sources: Sources, table: Table, key: str) -> None:
    """Copy a table; once more without the files that fail in the midst, where there are others."""
    for again in (True, False):
        try:
            sources.connection.execute(f"CREATE TABLE {name(table.name)} AS {selection(sources, table, key)}")
        except duckdb.Error as error:
            if not (again and sources.drop_unreadable(table)):
                raise SourceError(table.name, first_line(error), "see `discreet check`") from None
        else:
            return


def selection(sources: Sources, table: Table, key: str) -> str:
    """The query that makes the copy of a table."""
    return ranked(owned_rows(sources, table), table, key, sources.policy.hashing)


def ranked(rows: str, table: Table, key: str, hashing: str = OWN) -> str:
    """Typed rows of a table with their ranks; those of a stream say in which block they lie.

    Rows of a unit that came before, where a stream counts them (`before`), have the ranks before these.
    """
    declared = [name(column) for column in table.columns]
    if table.owner is None or table.owner.column is None:
        return rows
    block = [] if table.stream is None else [name(BLOCK)]
    before = "" if table.stream is None else f"{name(BEFORE)} + "
    keys = [table.columns[column] for column in ranked_keys(table)]
    coded = _listed_texts(table)
    kind = mask_type(table)
    orders = {column.name: _by_key(column, key, hashing) for column in keys}
    ranks = [_key_rank(column, over) for column, over in orders.items()]
    masks = [] if kind is None else [_key_mask(column, over, kind) for column, over in orders.items()]
    within = [_row_in_key(column.name, kind) for column in keys if table.max_rows_per_group < table.max_rows]
    seen = [f"{by_rows(table, keys, kind or '')[0]} AS {name(stored)}" for stored, keys in seen_columns(table).items()]
    seen += [f"{by_rows(table, (key,), kind or '')[1]} AS {name(seen_count(key))}" for key in counted_keys(table)]
    seen += _placed(table)
    steps = [_in_steps(column) for column in table.columns.values() if stored_steps(column)]
    texts = [f"CAST({column} AS VARCHAR) AS {column}" if column in coded else column for column in declared]
    columns = ", ".join([*block, name(UNIT), name(ROW), *ranks, *masks, *texts, *steps])
    order = ", ".join([*block, hashed(hashing, literal(key), name(UNIT), *declared), *declared])
    return f"""
        WITH typed AS ({_once_each(table, _coded(rows, coded), order)}),
        ranked AS (
            SELECT *, ({before}row_number() OVER (PARTITION BY {name(UNIT)} ORDER BY {order}))::INTEGER AS {name(ROW)}
            FROM typed QUALIFY {name(ROW)} <= {table.max_rows}
        )
        SELECT {", ".join(["*", *within, *seen])} FROM (SELECT {columns} FROM ranked) ORDER BY {name(UNIT)}
    """


def _placed(table: Table) -> list[str]:
    """Numbers for declared values and units (`layout.is_placed`)."""
    codes = [
        f"(list_position([{', '.join(map(literal, table.columns[key].values or ()))}], {name(key)}) - 1)::INTEGER"
        f" AS {name(key_code(key))}"
        for key in coded_keys(table)
    ]
    return [*codes, f"dense_rank() OVER (ORDER BY {name(UNIT)}) AS {name(PLACE)}"] if is_placed(table) else []


def _listed_texts(table: Table) -> dict[str, list[str]]:
    """The columns whose texts are declared, with these texts."""
    listed = {column.name: column.values for column in table.columns.values() if column.kind is Kind.TEXT}
    return {name(column): list(map(str, values)) for column, values in listed.items() if values}


def _coded(rows: str, texts: Mapping[str, Sequence[str]]) -> str:
    """Rows with declared texts as small integers (ENUM), while they are sorted: rows hold no others, but NULL."""
    codes = [
        f"TRY_CAST({column} AS ENUM({', '.join(map(literal, values))})) AS {column}" for column, values in texts.items()
    ]
    return f"SELECT * REPLACE ({', '.join(codes)}) FROM ({rows})" if codes else rows


def _unique(table: Table) -> list[str]:
    return sorted(column.name for column in table.columns.values() if column.unique)


def _once_each(table: Table, rows: str, order: str) -> str:
    """Rows of which no unit has two with one key, for each column that is declared unique."""
    for column in map(name, _unique(table)):
        turn = f"row_number() OVER (PARTITION BY {name(UNIT)}, {column} ORDER BY {order})"
        rows = f"SELECT * FROM ({rows}) QUALIFY {column} IS NULL OR {turn} = 1"
    return rows


def _by_key(column: Column, key: str, hashing: str) -> str:
    """The window of a unit's rows, by keyed hash of their keys: rows with the same key are peers in it.

    A NULL that is no key comes last, so that it takes no key's place.
    """
    held = name(column.name)
    own = hashed(hashing, literal(key), literal(column.name), name(UNIT), held)
    order = own if column.nullable else f"CASE WHEN {held} IS NULL THEN {2**64 - 1} ELSE {own} END"
    return f"PARTITION BY {name(UNIT)} ORDER BY {order}, {held} NULLS LAST"


def _key_rank(column: str, over: str) -> str:
    """The rank of a key among those of its unit."""
    return f"(dense_rank() OVER ({over}))::INTEGER AS {name(key_rank(column))}"


def _key_mask(column: str, over: str, kind: str) -> str:
    """The rows of the unit that have the same key, in the window of the rank: one sort gives both."""
    bit = f"1::{kind} << ({name(ROW)} - 1)::{kind}"
    window = f"{over} GROUPS BETWEEN CURRENT ROW AND CURRENT ROW"
    return f"(bit_or({bit}) OVER ({window}))::{kind} AS {name(key_mask(column))}"


def by_rows(table: Table, keys: Sequence[str], kind: str) -> tuple[str, str]:
    """The rank of one key, or of several together, among those of the unit, in the order of their first rows, NULL
    without a key; and how many the unit has.

    Theorem  It is what choosing by masks would count: groups of the unit whose first rows come before that of this one.
    Proof    `rep` is the bit of the group's first row (`layout.mask_type`), and the OR over the unit's rows that have
             all keys has one bit for each group. Rows of a group have a key or lack one together.
    """
    mask = "(" + " & ".join(name(key_mask(key)) for key in keys) + ")"
    rep = f"xor({mask}, {mask} & ({mask} - 1::{kind}))"
    needed = [f"{name(key)} IS NOT NULL" for key in keys if not table.columns[key].nullable]
    there = " AND ".join(needed) or "true"
    every = f"(bit_or(CASE WHEN {there} THEN {rep} END) OVER (PARTITION BY {name(UNIT)}))"
    rank = f"(CASE WHEN {there} THEN bit_count({every} & ({rep} - 1::{kind})) + 1 END)::INTEGER"
    return rank, f"COALESCE(bit_count({every}), 0)::INTEGER"


def _in_steps(column: Column) -> str:
    """A column in whole steps between its bounds: sums of it need no arithmetic then."""
    low, high = stored_steps(column) or (0, 0)
    kind = "INTEGER" if max(abs(low), abs(high)) < 2**31 else "BIGINT"
    text = whole_steps(name(column.name), column.step, low, high)
    return f"CAST({text} AS {kind}) AS {name(steps_of(column.name))}"


def _row_in_key(column: str, kind: str | None) -> str:
    """The rank of a row among those of its unit and key, in the order of the row rank: by the mask, if there is one."""
    rank = f"row_number() OVER (PARTITION BY {name(UNIT)}, {name(column)} ORDER BY {name(ROW)})"
    if kind is not None:
        own = f"(1::{kind} << ({name(ROW)} - 1)::{kind})"
        rank = f"bit_count({name(key_mask(column))} & ({own} | ({own} - 1)))"
    return f"({rank})::INTEGER AS {name(row_in_key(column))}"


def _onward(progress: Progress) -> Progress:
    """Tells what is further than all before: a source and DuckDB both say how far they are, and DuckDB waits at 0."""
    furthest: dict[str, float] = {}
    guard = threading.Lock()

    def tell(table: str, share: float) -> None:
        with guard:
            if share > furthest.get(table, -1.0):
                furthest[table] = share
                progress(table, share)

    return tell


@contextmanager
def _reported(connection: duckdb.DuckDBPyConnection, table: str, progress: Progress | None) -> Iterator[None]:
    """Tell how far a running statement is."""
    if progress is None:
        yield
        return
    count_progress(connection, wanted=True)
    progress(table, 0.0)
    with beside(lambda: progress(table, max(connection.query_progress(), 0.0) / 100), LOOK, LOOK):
        yield
    progress(table, 1.0)
