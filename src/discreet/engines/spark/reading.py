"""Tables that Spark reads, on their way into the copy: bounded there, as Parquet that DuckDB reads.

Of a table no columns leave but those that the policy declares, and those that name units or lead to them; and of what
names a unit, or leads to one, no more than `max_rows` rows: the first by keyed hash of all these values, then by the
values. A table along which others find their units leaves whole, because each of its rows may lead to another table's.

Theorem  Which rows of a unit are written follows from its own rows, and the key: adding or removing any other unit
         changes none of them.
Proof    Rows are chosen among those that are equal in one written value, under an order on them that is total but for
         rows that are the same. What DuckDB takes for the unit of a row, or for the key that it is claimed by, is a
         function of this value: rows that are chosen among have the same unit, or are claimed by the same units.

Names of columns never become part of an expression: columns are numbered. Tables of one Spark are of one moment: the
files that they lie in, which Spark never writes twice under a name, are the same before the first row is read and after
the last. What goes wrong before rows are read is told as it is; afterwards there is one text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from discreet.engines import text
from discreet.engines.connection import connect
from discreet.engines.parts import Part
from discreet.engines.problems import SourceError
from discreet.engines.spark.building import building, functions, observation, windows
from discreet.engines.spark.cluster import interruptible, said, session
from discreet.engines.spark.types import Written, written_as
from discreet.engines.staging import Together
from discreet.engines.stopping import beside
from discreet.noise import SYSTEM
from discreet.policy.clusters import PARQUET, Place, read_place
from discreet.policy.model import Cluster, Policy, Source, Table
from discreet.policy.owners import leading_columns

INTERRUPTED: Final = ("Spark did not read it to its end", "run it again; if it fails again, look into Spark's own logs")
"""One text for whatever happens once rows are read."""
CHANGED: Final = ("it changed while it was read", "run it again when nothing is written there")
APART: Final = (
    "Spark's machines do not write into the state folder",
    "let it lie on a disk that all of them have under the same path, as the same user; or copy the table to files",
)
TRIED: Final = 16
"""Numbers that a cluster writes before it writes rows, each by itself, so that several of its machines do."""
LOOK: Final = 0.5
"""Seconds between looks at how far Spark is."""
NAMES: Final = {"TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND", "SCHEMA_NOT_FOUND"}
_RANK: Final = "discreet_rank"


@dataclass(frozen=True, slots=True)
class Frame:
    """A table as Spark finds it: its columns have numbers, their names and types stand beside."""

    rows: Any
    names: tuple[str, ...]
    types: tuple[Written, ...]
    spelled: tuple[str, ...]
    """The types as Spark calls them."""
    files: frozenset[tuple[str, ...]]
    """What it lies in, as far as it lies in files."""

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(file[0] for file in self.files)


@dataclass
class SparkStaging(Together):
    """Of tables that Spark reads.

    margin   so many rows of each unit more than are ever used, and those of nobody: for owners who look whether bounds
             fit. None for the copy.
    """

    files_of: Callable[[Table], Iterable[Path]] = field(kw_only=True)
    """The files of tables that are read without Spark."""
    key: str = ""
    """Of the hashes that choose rows; without one, a new one each time."""
    margin: int | None = None

    def _read(self, tables: list[Table]) -> None:
        cluster, label = tables[0].source.cluster, tables[0].name
        assert cluster is not None
        read: dict[str, Part] = {}
        try:
            state = self.policy.state if self.policy.state.is_dir() else self.scratch
            with session(cluster, state, label) as spark, building(spark):
                frames = self._found(spark, tables)
                self._demand_apart(spark, cluster, frames)
                if frames and not cluster.is_local:
                    self._demand_shared(spark, label)
                for table in [table for table in tables if table.name in frames]:
                    read[table.name] = self._copied(spark, table, frames[table.name])
                for table in [table for table in tables if table.name in read]:
                    if _frame(spark, table).files != frames[table.name].files:
                        raise SourceError(table.name, *CHANGED)
            self._parts |= read
        except SourceError as failure:
            for table in tables:  # what was read of others is of a moment that is over
                self._parts.setdefault(table.name, SourceError(table.name, failure.reason, failure.fix))

    def make(
        self, tables: list[Table], targets: Mapping[str, Path], made: Callable[[Table, Mapping[str, Frame]], Any]
    ) -> None:
        """Have Spark write what is made of these tables, at one moment, into folders that stay."""
        cluster, label = tables[0].source.cluster, tables[0].name
        assert cluster is not None
        with session(cluster, self.policy.state, label) as spark, building(spark):
            frames = {table.name: _frame(spark, table) for table in tables}
            self._demand_apart(spark, cluster, frames)
            for failure in self._parts.values():
                if isinstance(failure, SourceError):
                    raise failure
            if not cluster.is_local:
                self._demand_shared(spark, label)
            for table in tables:
                self._written(spark, table.name, made(table, frames), targets[table.name])
            for table in tables:
                if _frame(spark, table).files != frames[table.name].files:
                    raise SourceError(table.name, *CHANGED)

    def _found(self, spark: Any, tables: list[Table]) -> dict[str, Frame]:
        """Those that are there; what is wrong with one is its own, and others are read."""
        frames = {}
        for table in tables:
            try:
                frames[table.name] = _frame(spark, table)
            except SourceError as failure:
                self._parts[table.name] = failure
        return frames

    def _demand_apart(self, spark: Any, cluster: Cluster, frames: dict[str, Frame]) -> None:
        """Forget what is public here and lies in files of what is private, under whatever name."""
        held = {label: frame.paths for label, frame in frames.items()}
        for other in self.policy.tables.values():
            if other.source.cluster == cluster and other.name not in held:
                with suppress(SourceError):
                    held[other.name] = _frame(spark, other).paths
            elif other.source.is_file:
                with suppress(SourceError, OSError):
                    held[other.name] = _identities(self.files_of(other))
        for label in list(frames):
            for other_label, paths in held.items():
                table, other = self.policy.tables[label], self.policy.tables[other_label]
                if table.is_public != other.is_public and paths & held[label]:
                    public, private = (table, other) if table.is_public else (other, table)
                    reason = f"it reads rows of {private.name}, which is private"
                    self._parts[label] = SourceError(public.name, reason, "copy what is public elsewhere")
                    frames.pop(label, None)

    def _demand_shared(self, spark: Any, label: str) -> None:
        """Before any private row is written: see that what other machines write arrives here."""
        target = self.scratch / f"shared-{len(list(self.scratch.glob('shared-*')))}"
        with _reading(label, APART), interruptible(spark):
            spark.range(0, TRIED, 1, TRIED).write.parquet(_address(target))
            if _count([str(file) for file in target.glob("*.parquet")]) != TRIED:
                raise SourceError(label, *APART)

    def _copied(self, spark: Any, table: Table, frame: Frame) -> Part:
        """Have Spark write the rows of a table that may be used."""
        target = self.scratch / f"spark-{list(self.policy.tables).index(table.name)}"
        wanted = _columns(self.policy, table, frame)
        rows = self._bounded(table, frame, wanted)
        files = self._written(spark, table.name, rows, target)
        columns = {
            column: (
                text.field(index)
                if index in wanted
                else f"CAST(NULL AS {held.kind})"
                if text.castable(held.kind)
                else "NULL",
                held.kind,
            )
            for index, (column, held) in enumerate(zip(frame.names, frame.types, strict=True))
        }
        return Part(text.reading_parquet(files), columns)

    def _written(self, spark: Any, label: str, rows: Any, target: Path) -> list[str]:
        """Have Spark write rows; the files, which hold as many as it counted."""
        counted = observation("discreet")
        f = functions()

        with _reading(label, INTERRUPTED), interruptible(spark), self._told(spark, label):
            rows.observe(counted, f.count(f.lit(1)).alias("rows")).write.parquet(_address(target))
            count = counted.get["rows"]
        for file in target.iterdir() if target.is_dir() else ():
            file.chmod(0o600)  # other machines' programs have a umask of their own
        files = sorted(str(file) for file in target.glob("*.parquet"))
        with _reading(label, INTERRUPTED):
            if _count(files) != count:
                raise SourceError(label, *APART)
        return files

    def _bounded(self, table: Table, frame: Frame, wanted: list[int]) -> Any:
        """The columns that are wanted, of the rows that may be used."""
        window = windows()
        f = functions()

        values = []
        for index in wanted:
            of, column = frame.types[index].of, f.col(text.field(index))
            values.append((f.lit(None) if of is None else of(column)).alias(text.field(index)))
        rows = frame.rows.select(*values or [f.lit(1).alias("one")])
        chosen_by = self._chosen_by(table, frame)
        if chosen_by is None:
            return rows
        by = f.col(text.field(chosen_by))
        listed = [f.col(text.field(index)) for index in wanted]
        hashed = f.xxhash64(f.lit(self.key or SYSTEM.bytes(16).hex()), *listed)
        order = [hashed, *(column.asc_nulls_last() for column in listed)]
        somebody = rows.filter(by.isNotNull())
        for unique in self._unique(table, frame):
            turn = f.row_number().over(window.partitionBy(by, f.col(text.field(unique))).orderBy(*order))
            once = f.col(text.field(unique)).isNull() | (f.col(_RANK) == 1)
            somebody = somebody.withColumn(_RANK, turn).filter(once).drop(_RANK)
        rank = f.row_number().over(window.partitionBy(by).orderBy(*order))
        most = table.max_rows + (self.margin or 0)
        first = somebody.withColumn(_RANK, rank).filter(f.col(_RANK) <= most).drop(_RANK)
        return first if self.margin is None else first.unionAll(rows.filter(by.isNull()))

    def _unique(self, table: Table, frame: Frame) -> Iterator[int]:
        if self.margin is None:
            for column in table.columns.values():
                index = index_of(frame, column.name)
                if column.unique and index is not None:
                    yield index

    def _chosen_by(self, table: Table, frame: Frame) -> int | None:
        """The column among whose values rows are chosen; None where all are needed."""
        owner = table.owner
        if owner is None or owner.column is None:
            return None
        if any(hop.table == table.name for other in self._owners() for hop in other.path):
            return None
        return index_of(frame, owner.path[0].column if owner.path else owner.column)

    def _owners(self) -> Iterator[Any]:
        return (table.owner for table in self.policy.tables.values() if table.owner is not None)

    @contextmanager
    def _told(self, spark: Any, label: str) -> Iterator[None]:
        """Tell how far Spark is: of the tasks that it knows of by now."""
        progress, tracker = self.progress, None
        with suppress(Exception):  # a client of Spark Connect has none
            tracker = spark.sparkContext.statusTracker()
        if progress is None or tracker is None:
            yield
            return
        furthest = 0.0

        def look() -> None:
            nonlocal furthest
            with suppress(Exception):
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                tasks = sum(stage.numTasks for stage in stages if stage)
                done = sum(stage.numCompletedTasks for stage in stages if stage)
                furthest = max(furthest, min(done / tasks, 0.99) if tasks else 0.0)
            progress(label, furthest)

        with beside(look, LOOK, LOOK):
            yield


def _frame(spark: Any, table: Table) -> Frame:
    """A table as it is now: names and types are told as they are, because no row was read."""
    named = read_place(table.source.table or "")
    try:
        rows = _opened(spark, named)
        names = tuple(rows.columns)
        spelled = tuple(held.dataType.simpleString() for held in rows.schema.fields)
        files = frozenset(_known(file) for file in rows.inputFiles())
    except Exception as error:
        raise SourceError(table.name, *_problem(error, table.source)) from None
    numbered = rows.toDF(*map(text.field, range(len(names))))
    return Frame(numbered, names, tuple(map(written_as, names, spelled)), spelled, files)


def _opened(spark: Any, named: Place) -> Any:
    """By name, quoted part by part, or by path: nothing of either is parsed as an expression."""
    if named.names:
        quoted = ".".join(f"`{part.replace('`', '``')}`" for part in named.names)
        spark.catalog.refreshTable(quoted)
        return spark.table(quoted)
    spark.catalog.refreshByPath(named.path)
    reader = spark.read.format(named.format)
    return (reader.option("mergeSchema", "true") if named.format == PARQUET else reader).load(named.path)


def _problem(error: Exception, source: Source) -> tuple[str, str]:
    with suppress(Exception):
        if error.getCondition() in NAMES:  # type: ignore[attr-defined]
            return f"Spark finds no {source.table}", "correct `table` in the policy: database.table, or a path"
    return f"Spark cannot read it: {said(error)}", "see that spark-sql reads it"


def _known(file: str) -> tuple[str, ...]:
    """What a file is known by: its name, and on this machine when it was written and how long it is."""
    parts = urlsplit(file)
    if parts.scheme != "file":
        return (file,)
    path = unquote(parts.path)
    with suppress(OSError):
        status = os.stat(path)
        return f"{status.st_dev}:{status.st_ino}", str(status.st_mtime_ns), str(status.st_size)
    return (file,)


def _identities(files: Iterable[Path]) -> frozenset[str]:
    """Files that are read without Spark, as `_known` knows them."""
    return frozenset(f"{status.st_dev}:{status.st_ino}" for status in map(os.stat, files))


def _columns(policy: Policy, table: Table, frame: Frame) -> list[int]:
    """The columns that are read, by their numbers."""
    held = [index for index, type_ in enumerate(frame.types) if type_.of is not None]
    if table.is_public and not table.columns:
        return held
    wanted = {column.lower() for column in (*table.columns, *leading_columns(policy.private_tables, table))}
    return [index for index in held if frame.names[index].lower() in wanted]


def index_of(frame: Frame, wanted: str) -> int | None:
    """A column that is written, found as `Part` finds it."""
    spelled = [wanted, *(name for name in frame.names if name.lower() == wanted.lower())]
    index = next((frame.names.index(name) for name in spelled if name in frame.names), None)
    return index if index is not None and frame.types[index].of is not None else None


def _address(path: Path) -> str:
    """As it is: Spark takes no sign in it for another's code."""
    return f"file://{path.resolve()}"


def _count(files: list[str]) -> int:
    if not files:
        return 0
    with connect() as connection:
        return int(connection.execute(f"SELECT count(*) FROM {text.reading_parquet(files)}").fetchall()[0][0])


@contextmanager
def _reading(label: str, message: tuple[str, str]) -> Iterator[None]:
    """Whatever goes wrong is told in one text: it may be a row's doing."""
    try:
        yield
    except SourceError:
        raise
    except Exception:
        raise SourceError(label, *message) from None
