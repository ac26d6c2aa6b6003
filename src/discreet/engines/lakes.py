"""Tables of Delta Lake and Iceberg on their way into the copy: each at one version, all of them at one moment.

Of a table no columns leave but those that the policy declares, and those that name units or lead to them. They are
written as Parquet under numbers, not names, and DuckDB reads those files as it reads any.

Theorem  The versions that are read were all current at one moment.
Proof    Every table is opened, and then every table is opened again, until none has another version the second time.
         Versions only grow, so that between the two rounds each was current.

What goes wrong before rows are read is told as it is; afterwards there is one text. Features of Delta's protocol that
are not on a list are refused: files of such tables may hold rows that are deleted, or columns under other names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from discreet.engines.parts import private_file
from discreet.engines.problems import SourceError
from discreet.policy.lakes import is_remote, read_lake
from discreet.policy.model import Format, Policy, Table
from discreet.policy.owners import leading_columns

INTERRUPTED: Final = ("it was not read to its end", "run it again; perhaps its older files are removed too early")
CHANGED: Final = ("it changes all the time", "run it again when less is written there")
FEATURES: Final = frozenset({"timestampNtz"})
"""Of Delta's readers: those that change nothing about which rows there are, and what columns are called."""
ROUNDS: Final = 10
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class Opened:
    """A table at one version."""

    version: tuple[str, int]
    """Which table it is, whatever it is called, and the version."""
    schema: Any
    """Of Arrow."""
    files: frozenset[str]
    read: Callable[[list[str]], Any]
    """The batches of some of its columns."""

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)


@dataclass(frozen=True, slots=True)
class Written:
    """Files with numbered columns: all of them without rows, and the rows of those that are read."""

    names: list[str]
    wanted: list[int]
    shape: Path
    rows: Path


@dataclass
class LakeStaging:
    """The tables of a policy that lie in lakes, each read with those that are wanted at the same moment."""

    policy: Policy
    scratch: Path
    files_of: Callable[[Table], Iterable[Path]]
    """The files of tables that are read as files."""
    progress: Progress | None = None
    together: frozenset[str] = frozenset()
    _written: dict[str, Written | SourceError] = field(default_factory=dict)

    def written(self, table: Table) -> Written:
        """Where the rows of a table are; `SourceError` if they could not be read."""
        if table.name not in self._written:
            lakes = [each for each in self.policy.tables.values() if each.source.is_lake]
            self._read(
                [each for each in lakes if each.name in {table.name, *self.together} - self._written.keys()], lakes
            )
        held = self._written[table.name]
        if isinstance(held, SourceError):
            raise held
        return held

    def _read(self, tables: list[Table], lakes: list[Table]) -> None:
        label = tables[0].name
        try:
            opened = self._at_once(tables)
            self._demand_apart(opened, [each for each in lakes if each.name not in opened])
            read = {}
            for table in tables:
                label = table.name
                read[label] = self._copied(table, opened[label])
            self._written |= read
        except SourceError as failure:
            for table in tables:  # what was read of others is of a moment that is over
                self._written[table.name] = SourceError(table.name, failure.reason, failure.fix)

    def _at_once(self, tables: list[Table]) -> dict[str, Opened]:
        opened = {table.name: self._opened(table) for table in tables}
        for _ in range(ROUNDS):
            again = {table.name: self._opened(table) for table in tables}
            if all(again[name].version == each.version for name, each in opened.items()):
                return opened
            opened = again
        raise SourceError(tables[0].name, *CHANGED)

    def _opened(self, table: Table) -> Opened:
        opens = _delta if table.source.format is Format.DELTA else _iceberg
        try:
            return opens(self.policy.folder, table)
        except SourceError:
            raise
        except ModuleNotFoundError:
            extra = str(table.source.format)
            raise SourceError(table.name, f"{extra} is not installed", f"pip install 'discreet[{extra}]'") from None
        except Exception as error:
            reason = f"it cannot be opened ({type(error).__name__})"
            raise SourceError(table.name, reason, "see that it is there, and that you may read it") from None

    def _demand_apart(self, opened: dict[str, Opened], others: Iterable[Table]) -> None:
        """Raise if what is private is also read as public, under whatever name."""
        known = {**opened, **{each.name: self._opened(each) for each in others}}
        files = {name: each.files for name, each in known.items()}
        for table in self.policy.tables.values():
            if table.source.is_file:
                files[table.name] = frozenset(str(path.resolve()) for path in self.files_of(table))
        for public in (each for each in self.policy.tables.values() if each.is_public and each.name in files):
            for private in (self.policy.tables[name] for name in files if not self.policy.tables[name].is_public):
                if files[public.name] & files[private.name]:
                    reason = f"it reads rows of {private.name}, which is private"
                    raise SourceError(public.name, reason, "copy what is public elsewhere")

    def _copied(self, table: Table, opened: Opened) -> Written:
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = opened.names
        wanted = {column.lower() for column in (*table.columns, *leading_columns(self.policy.private_tables, table))}
        is_all = table.is_public and not table.columns
        chosen = [index for index, name in enumerate(names) if is_all or name.lower() in wanted]
        target = self.scratch / f"lake-{list(self.policy.tables).index(table.name)}"
        shape = pa.schema([pa.field(f"c{index}", each.type) for index, each in enumerate(opened.schema)])
        narrow = pa.schema([shape.field(index) for index in chosen])
        written = Written(names, chosen, target.with_suffix(".shape"), target.with_suffix(".rows"))
        try:
            with private_file(str(written.shape)) as file:
                pq.write_table(shape.empty_table(), file)
            with private_file(str(written.rows)) as file, pq.ParquetWriter(file, narrow) as writer:
                for batch in opened.read([names[index] for index in chosen]):
                    writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=narrow))
        except Exception:
            raise SourceError(table.name, *INTERRUPTED) from None
        if self.progress is not None:
            self.progress(table.name, 0.99)
        return written


def _delta(folder: Path, table: Table) -> Opened:
    import pyarrow.compute as pc
    from deltalake import DeltaTable

    said = read_lake(table.source.path)
    address = said if is_remote(said) else str((folder / said).resolve())
    held = DeltaTable(address)
    protocol = held.protocol()
    more = sorted(set(protocol.reader_features or ()) - FEATURES)
    if more or (protocol.min_reader_version > 1 and not protocol.reader_features):
        reason = f"it uses features of Delta that are not read here: {', '.join(more) or 'columns under other names'}"
        raise SourceError(table.name, reason, "read it through Spark, or write it anew without them")
    rows = held.to_pyarrow_dataset()
    files = frozenset(_path(uri) for uri in held.file_uris())

    def read(names: list[str]) -> Any:
        return rows.scanner(columns={f"c{index}": pc.field(name) for index, name in enumerate(names)}).to_batches()

    return Opened((str(held.metadata().id), held.version()), rows.schema, files, read)


def _iceberg(folder: Path, table: Table) -> Opened:  # noqa: ARG001
    from pyiceberg.catalog import load_catalog

    held = load_catalog(read_lake(table.source.path)).load_table(table.source.table or "")
    snapshot = held.current_snapshot()
    if snapshot is None:
        raise SourceError(table.name, "nothing was written to it yet", "write rows, or name another table")
    number = int(snapshot.snapshot_id)
    files = frozenset(_path(task.file.file_path) for task in held.scan(snapshot_id=number).plan_files())
    schema = held.schema().as_arrow()

    def read(names: list[str]) -> Any:
        for batch in held.scan(snapshot_id=number, selected_fields=tuple(names)).to_arrow_batch_reader():
            yield batch.select(names).cast(_of(schema, names))

    return Opened((str(held.metadata.table_uuid), held.metadata.last_sequence_number), schema, files, read)


def _of(schema: Any, names: list[str]) -> Any:
    import pyarrow as pa

    return pa.schema([schema.field(name).remove_metadata() for name in names])


def _path(uri: str) -> str:
    """Of a file that lies here its path; of others the address."""
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return str(Path(unquote(parts.path)).resolve())
    return uri if parts.scheme else str(Path(unquote(uri)).resolve())
