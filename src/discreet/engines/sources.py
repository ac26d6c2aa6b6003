"""The owner's side: a connection that may read the sources as they are, file by file.

Theorem  Whatever one file is called and holds, the rows that are read of the others are the same.
Proof    Which columns exist, and of what type, is the policy's word. Every file is compared with it by itself: columns
         are found by their names there, cast from the types that they have there, and NULL where it has none or its
         type holds no single value. Files are read together only where names and types are the same, and then the types
         are those of each. Folders say nothing, unless the policy names what they say. A file that cannot be read is
         left out, alone, if there are others; one that a value makes unreadable is not: texts that are no UTF-8 are
         NULL there, and for other values the owner is asked to repair the file.
"""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from discreet.engines import text
from discreet.engines.header import OTHER_FORMAT, Header, delimiter, opened, read_header
from discreet.engines.lakes import LakeStaging
from discreet.engines.library import duckdb
from discreet.engines.parts import Part, private_file
from discreet.engines.problems import SourceError
from discreet.engines.records import AmbiguousError, Cleaner, Counts
from discreet.engines.spark.reading import SparkStaging
from discreet.engines.staging import Progress, Staging
from discreet.policy.model import Format, Kind, Policy, Table
from discreet.policy.problems import suggest
from discreet.quoting import literal, name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FILE: Final = "_discreet_file"
NO_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"
DIFFERENT: Final = "different types"
SCARCE: Final = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EROFS)
)
"""What the system says when it has no room, for whatever file."""
ROOM: Final = "make room on the disk of the state folder, or allow this program more; what was read before stays"

Render = Callable[[str, str, bool], str]
"""From an expression, its type, and whether it may have a collation, to what is wanted of it."""


@dataclass
class Report:
    """What could not be read of a table. For the owner."""

    unreadable: dict[str, str] = field(default_factory=dict)
    """Files that were left out, each with the reason."""
    mixed: set[str] = field(default_factory=set)
    """Files with texts that are no UTF-8."""
    counts: Counts = field(default_factory=Counts)
    """Records of CSV files."""


def paths(policy: Policy, table: Table) -> list[Path]:
    """The files that a table is read from; `SourceError` if there are none, unless some are to come, or it has none."""
    if not table.source.is_file:
        return []
    pattern = os.path.join(glob.escape(str(policy.folder)), table.source.path)
    matching = sorted(Path(path) for path in glob.glob(pattern, recursive=True))
    if not matching and not (table.stream is not None and is_pattern(table)):
        shown = policy.folder / table.source.path
        raise SourceError(table.name, f"there is no file {shown}", "correct `source` in the policy")
    for path in matching:
        if path.is_dir():
            raise SourceError(table.name, f"{path} is a folder", "name the files in it, such as folder/*.parquet")
    return matching


def is_pattern(table: Table) -> bool:
    """Whether a source is a pattern of files, to which others can be added."""
    return table.source.is_file and any(sign in table.source.path for sign in "*?[")


def demand_apart(policy: Policy) -> None:
    """Raise if a file that holds private rows is also read as a public one, under whatever name."""
    private = {identity: table for table in policy.private_tables.values() for identity in _identities(policy, table)}
    for table in policy.tables.values():
        for identity in _identities(policy, table) if table.is_public else ():
            if identity in private:
                raise SourceError(
                    table.name, f"it reads a file of {private[identity].name}, which is private", "name other files"
                )


def _identities(policy: Policy, table: Table) -> Iterator[tuple[int, int, str]]:
    for path in paths(policy, table):
        with readable(table.name):
            status = path.stat()
        yield status.st_dev, status.st_ino, (table.source.table or "").casefold()


class Sources:
    """Every table of a policy, readable by name.

    scratch  a folder for clean copies of CSV files, and for what databases tell.
    progress hears how far the reading of a database is.
    """

    def __init__(
        self, policy: Policy, connection: DuckDBPyConnection, scratch: Path, progress: Progress | None = None
    ) -> None:
        self.policy = policy
        self.connection = connection
        self.reports: dict[str, Report] = {}
        self.only: dict[str, list[Path]] = {}
        """Of tables that are here: these files and no others."""
        self.staging = Staging(policy, scratch, progress)
        self.spark = SparkStaging(policy, scratch, progress, files_of=partial(paths, policy))
        self.lakes = LakeStaging(policy, scratch, partial(paths, policy), progress)
        self._scratch = scratch
        self._attached: dict[Path, str] = {}
        self._parts: dict[str, tuple[Part, ...]] = {}

    def parts(self, table: Table) -> tuple[Part, ...]:
        """The files of a table, by what columns they have."""
        if table.name not in self._parts:
            self._parts[table.name] = tuple(self._found(table))
        return self._parts[table.name]

    def rows(self, table: Table, wanted: Mapping[str, tuple[str, Render]], *, absent: Mapping[str, str]) -> str:
        """The SELECT of these columns: {alias: (column, what is wanted of it)}; `absent` has the types of all aliases.

        A column that some files lack is NULL there; one that none has is an error.
        """
        parts = self.parts(table)
        for column, _ in wanted.values():
            if parts and all(part.column(column) is None for part in parts):
                known = {known: "" for part in parts for known in part.columns}
                raise SourceError(
                    table.name, f"the source has no column {column!r}", suggest(column, known) or "correct its name"
                )
        selects = []
        for part in parts:
            columns = []
            for alias, (column, render) in wanted.items():
                held = part.column(column)
                usable = held is not None and text.castable(held[1])
                value = render(*held, part.collated) if held is not None and usable else "NULL"
                columns.append(f"CAST({value} AS {absent[alias]}) AS {name(alias)}")
            selects.append(f"SELECT {', '.join(columns) or '1 AS one'} FROM {part.text}")
        return text.union(selects)

    def public_rows(self, table: Table) -> str:
        """The SELECT of a public table without declared columns: all of them, compared bytewise."""
        files = [str(path) for path in paths(self.policy, table)]
        if table.source.format is Format.CSV:
            apart = delimiter(files[0], table.source.separator)
            return f"SELECT * FROM {text.reading_public_csv(files, apart, table.source.decimal)}"
        if table.source.format is Format.PARQUET:
            return f"SELECT * FROM {text.reading_parquet(files)}"
        (part,) = self.parts(table)
        shown = ", ".join(
            f"{text.plain_text(value, collated=True) if kind == 'VARCHAR' else value} AS {name(column)}"
            for column, (value, kind) in part.columns.items()
            if part.collated or text.castable(kind)
        )
        return f"SELECT {shown} FROM {part.text}"

    def columns(self, table: Table) -> dict[str, str]:
        """The source's own columns with their types, of all files."""
        kinds: dict[str, str] = {}
        for part in self.parts(table):
            for column, (_, kind) in part.columns.items():
                known = next((other for other in kinds if other.lower() == column.lower()), column)
                kinds[known] = kind if kinds.get(known, kind) == kind else DIFFERENT
        return kinds

    def drop_unreadable(self, table: Table) -> bool:
        """After a failure: look into every file of a table, and of those that lead to its units, by itself.

        Files with texts that are no UTF-8 are read otherwise from now on; those that fail are left out. Whether there
        are any, and others remain. `SourceError` where a value is what fails: rows of others stand beside it.
        """
        holders = [self.policy.tables[hop.table] for hop in table.owner.path] if table.owner else []
        try:
            return any([self._drop_unreadable(read) for read in (table, *holders)])  # noqa: C419 (all of them)
        except duckdb.Error:  # the engine gave up altogether
            return False

    def _drop_unreadable(self, table: Table) -> bool:
        if table.source.format is not Format.PARQUET or table.name not in self.reports:
            return False
        report, dropped = self.reports[table.name], False
        for path in map(str, self._paths(table)):
            if path in report.unreadable or path in report.mixed or self._failure(text.reading_parquet([path])) is None:
                continue
            dropped = True
            shape = described(self.connection, text.reading_parquet([path]))
            failure = self._failure(text.reading_mixed_parquet(path, shape.items()))
            if failure is None:
                report.mixed.add(path)
            elif _is_about_a_value(failure):
                raise SourceError(table.name, f"{Path(path).name}: {first_line(failure)}", "correct that value")
            else:
                demand_room(table.name, failure, path)
                report.unreadable[path] = first_line(failure)
        self._parts.pop(table.name, None)
        return dropped and len(report.unreadable) < len(self._paths(table))

    def _failure(self, reading: str) -> duckdb.Error | None:
        """Why not all of this can be read."""
        try:
            self.connection.execute(f"SELECT max(hash(COLUMNS(*))) FROM {reading}").fetchall()
        except duckdb.Error as error:
            return error
        return None

    # one table

    def _paths(self, table: Table) -> list[Path]:
        return self.only[table.name] if table.name in self.only else paths(self.policy, table)

    def _found(self, table: Table) -> Iterator[Part]:
        report = self.reports.setdefault(table.name, Report())
        if table.source.format is Format.POSTGRES:
            yield self.staging.part(table)
            return
        if table.source.format is Format.SPARK:
            yield self.spark.part(table)
            return
        if table.source.is_lake:
            yield self._of_lake(table)
            return
        files = [path for path in self._paths(table) if str(path) not in report.unreadable]
        if table.source.format is Format.DUCKDB:
            yield self._attached_part(table, files[0])
            return
        read = self._parquet if table.source.format is Format.PARQUET else self._csv
        parts = list(read(table, files, report))
        if not parts:
            reason = next(iter(report.unreadable.values()), "cannot be read")
            raise SourceError(table.name, reason, OTHER_FORMAT)
        yield from parts

    def read_together(self, tables: Iterable[str]) -> None:
        """Say which tables are wanted at one moment, where that can be had."""
        self.staging.together = self.spark.together = self.lakes.together = frozenset(tables)

    def _of_lake(self, table: Table) -> Part:
        """Columns that were not read are known by name and type alone."""
        held = self.lakes.written(table)
        kinds = list(described(self.connection, text.reading_parquet([str(held.shape)])).values())
        columns = {
            name_: (text.source_column(f"c{index}", kind) if index in held.wanted else f"CAST(NULL AS {kind})", kind)
            for index, (name_, kind) in enumerate(zip(held.names, kinds, strict=True))
            if index in held.wanted or text.castable(kind)
        }
        return Part(text.reading_parquet([str(held.rows)]), columns)

    def _attached_part(self, table: Table, path: Path) -> Part:
        if table.source.table is None:
            raise SourceError(table.name, "a DuckDB file holds several tables", 'add table = "…" to the policy')
        reading = f"{name(self._attach(table.name, path))}.{text.attached_table(table.source)}"
        with owned(table.name):
            columns = described(self.connection, reading)
        return Part(reading, _columns(columns.items()), collated=True)

    def _parquet(self, table: Table, files: Sequence[Path], report: Report) -> Iterator[Part]:
        shapes: dict[tuple[tuple[tuple[str, str], ...], str], list[Path]] = {}
        for path in files:
            try:
                shape = described(self.connection, text.reading_parquet([str(path)]))
            except duckdb.Error as error:
                demand_room(table.name, error, str(path))
                report.unreadable[str(path)] = first_line(error)
                continue
            alone = str(path) if str(path) in report.mixed else ""
            shapes.setdefault((tuple(shape.items()), alone), []).append(path)
        called = FILE if table.source.folders else None
        for (typed, alone), alike in shapes.items():
            said = {str(path): self._said_by_folders(table, path) for path in alike}
            mixed = text.reading_mixed_parquet(alone, typed, called=called) if alone else None
            part = Part(mixed or text.reading_parquet(said, called=called), _columns(typed))
            yield _with_folders(part, said) if table.source.folders else part

    def _csv(self, table: Table, files: Sequence[Path], report: Report) -> Iterator[Part]:
        shapes: dict[tuple[str, tuple[str, ...]], list[tuple[Path, Path]]] = {}
        for index, path in enumerate(files):
            clean = self._scratch / f"records-{list(self.policy.tables).index(table.name)}-{index}"
            try:
                header = self._cleaned(table, path, clean, report)
            except (OSError, EOFError, ValueError) as error:
                demand_room(table.name, error, str(path))
                report.unreadable[str(path)] = "could not read a header of column names"
                continue
            shapes.setdefault((delimiter(str(path), table.source.separator), header.names), []).append((path, clean))
        for (apart, names), alike in shapes.items():
            columns: dict[str, tuple[str, str]] = {}
            for index, column in enumerate(names):
                columns.setdefault(column, (_written(table, column, name(text.field(index))), "VARCHAR"))
            for ending in ("lines", "longer"):
                said = {f"{clean}.{ending}": self._said_by_folders(table, path) for path, clean in alike}
                reading = text.reading_records(said, len(names), apart, longer=ending == "longer", called=FILE)
                part = Part(reading, columns)
                yield _with_folders(part, said) if table.source.folders else part

    def _cleaned(self, table: Table, path: Path, clean: Path, report: Report) -> Header:
        """Write the records of a file where DuckDB can read them."""
        with (
            opened(str(path)) as source,
            private_file(f"{clean}.lines") as lines,
            private_file(f"{clean}.longer") as longer,
        ):
            apart = delimiter(str(path), table.source.separator)
            header = read_header(source, apart)
            source.seek(header.end)
            cleaner = Cleaner(
                source, lines, longer, apart.encode(), len(header.names), table.source.multiline, before=header.lines
            )
            try:
                report.counts += cleaner.run()
            except AmbiguousError as told:
                raise SourceError(table.name, f"{path.name}: {told}", told.fix) from None
        return header

    def _said_by_folders(self, table: Table, path: Path) -> dict[str, str | None]:
        """What the folders below the policy's own say about the columns that it reads from them."""
        values: dict[str, str | None] = dict.fromkeys(table.source.folders)
        base = self.policy.folder / os.path.dirname(table.source.path.partition("*")[0])
        for folder in Path(os.path.relpath(path, base)).parent.parts:
            column, sign, value = folder.partition("=")
            known = next((known for known in values if known.lower() == unquote(column).lower()), None)
            if sign and known is not None:
                values[known] = None if value == NO_PARTITION or "\0" in unquote(value) else unquote(value)
        return values

    def _attach(self, table: str, path: Path) -> str:
        if path not in self._attached:
            alias = f"source{len(self._attached)}"
            with owned(table):
                self.connection.execute(f"ATTACH {literal(str(path))} AS {alias} (READ_ONLY)")
            self._attached[path] = alias
        return self._attached[path]


def _with_folders(part: Part, said: Mapping[str, Mapping[str, str | None]]) -> Part:
    """What folders say stands above what files say, in every file alike."""
    aliases = {column: f"_discreet_folder_{column}" for column in next(iter(said.values()))}
    values = {file: {aliases[column]: value for column, value in row.items()} for file, row in said.items()}
    read = {column: (name(alias), "VARCHAR") for column, alias in aliases.items()}
    others = {
        column: held for column, held in part.columns.items() if column.lower() not in {key.lower() for key in read}
    }
    return replace(part, text=text.beside_files(part.text, FILE, values), columns={**others, **read})


def _written(table: Table, column: str, value: str) -> str:
    """A field of CSV as text that can be cast: where a comma stands before fractions, numbers with a point instead."""
    declared = next((held for held in table.columns.values() if held.name.lower() == column.lower()), None)
    if table.source.decimal != "," or declared is None or declared.kind not in (Kind.NUMBER, Kind.INTEGER):
        return value
    return text.with_point(value)


def _columns(typed: Iterable[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    return {column: (text.source_column(column, kind), kind) for column, kind in typed}


def _is_about_a_value(error: duckdb.Error) -> bool:
    """Whether what a file holds is well-formed, but for a value that its type cannot have."""
    return isinstance(error, duckdb.ConversionException) or "Invalid TIME value" in str(error)


def described(connection: DuckDBPyConnection, reading: str) -> dict[str, str]:
    """The columns of what can stand behind FROM, with their types."""
    return {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {reading}").fetchall()}


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def demand_room(table: str, error: Exception, path: str) -> None:
    """Raise if it is this machine that has no room: what is wrong with a file is words by the file alone.

    Else a file would be left out, with everybody in it, because others' rows had filled the disk. What the file is
    called says nothing about that.
    """
    words = str(error).replace(path, "") if isinstance(error, duckdb.IOException) else ""
    if (isinstance(error, OSError) and error.errno in SCARCE) or any(os.strerror(each) in words for each in SCARCE):
        raise SourceError(table, f"there is no room to read it: {first_line(error)}", ROOM) from None


@contextmanager
def owned(table: str) -> Iterator[None]:
    """Say which table DuckDB's complaint is about."""
    try:
        yield
    except duckdb.Error as error:
        raise SourceError(table, first_line(error), "see `discreet check`") from None


@contextmanager
def readable(table: str) -> Iterator[None]:
    """Say which table the system's complaint is about."""
    try:
        yield
    except OSError as error:
        raise SourceError(table, f"cannot be read: {error.strerror}", "see that the file is yours to read") from None
