"""Tables of PostgreSQL on their way into the copy: read at one moment, into files that DuckDB reads.

Of a table no columns leave but those that the policy declares, and those that name units or lead to them. All tables
of one database are read in one transaction, which ends before anything is computed: nobody waits for us there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from discreet.engines import text
from discreet.engines.library import duckdb
from discreet.engines.newer import Aside, Record, number_column, settled
from discreet.engines.parts import Part, private_file
from discreet.engines.postgres import INTERRUPTED, Relation, Snapshot, UnreadError, snapshot
from discreet.engines.postgres_types import DATED, FIELD, Field, written
from discreet.engines.problems import SourceError
from discreet.policy.engines import POSTGRES
from discreet.policy.model import Login, Policy, Source, Table
from discreet.policy.owners import leading_columns
from discreet.quoting import literal, name

Progress = Callable[[str, float], None]
"""Hears which table is read, and how far it is, from 0 to 1."""
ROW: Final = Field("1", "NULL", "INTEGER")
"""A column that is always there: a line with one empty text is an empty line, which is none."""


@dataclass
class Staged:
    """A table that was read into a file."""

    file: Path
    fields: dict[str, Field]
    wanted: list[str]
    aside: Aside | None = None
    known: Record | None = None
    table: tuple[int, ...] = ()
    versions: str = ""
    """Of the rows that are settled now."""

    @property
    def part(self) -> Part:
        return part(self.file, self.fields, self.wanted)


@dataclass
class Together:
    """The tables of a policy that lie elsewhere, each read with those that are wanted at the same moment."""

    policy: Policy
    scratch: Path
    progress: Progress | None = None
    together: frozenset[str] = frozenset()
    """Tables that are wanted at one moment."""
    _parts: dict[str, Part | SourceError] = field(default_factory=dict)

    def part(self, table: Table) -> Part:
        """The rows of a table; `SourceError` if they could not be read."""
        if table.name not in self._parts:
            self._read([other for other in self._wanted(table) if other.name not in self._parts])
        held = self._parts[table.name]
        if isinstance(held, SourceError):
            raise held
        return held

    def _wanted(self, table: Table) -> Iterable[Table]:
        address = table.source.login, table.source.cluster
        for other in self.policy.tables.values():
            if (other.source.login, other.source.cluster) == address and other.name in {table.name, *self.together}:
                yield other

    def _read(self, tables: list[Table]) -> None:
        """Read these, which lie in one place, or note what is wrong with them."""
        raise NotImplementedError


@dataclass
class Staging(Together):
    """Of tables that lie in databases of PostgreSQL."""

    since: tuple[str, str] | None = None
    """Of a stream: a time column, and a day before which no row is needed."""
    aside: duckdb.DuckDBPyConnection | None = None
    """Where rows may be put aside that are not to be read again: what writes them. None for those who look only."""
    relations: dict[str, Relation] = field(default_factory=dict)
    """What the catalogue says of those that are there."""
    _sources: dict[str, frozenset[tuple[int, ...]]] = field(default_factory=dict)
    _settled: dict[str, int | None] = field(default_factory=dict)
    used: set[Path] = field(default_factory=set)
    """Folders with rows that were put aside."""

    def _read(self, tables: list[Table]) -> None:
        sources = [table.source for table in tables]
        login = sources[0].login
        assert login is not None
        try:
            with snapshot(
                login, self.policy.folder, tables[0].name, sources, lambda looking: self._settle(looking, tables)
            ) as moment:
                self._look_at_others(moment, login, tables)
                read = {}
                for table in [table for table in tables if self._looked_up(moment, table)]:
                    read[table.name] = self._copied(moment, table)
            for label, staged in read.items():
                self._parts[label] = self._put_aside(label, staged)
        except SourceError as failure:
            for table in tables:  # what was read of others is of a moment that is over
                self._parts[table.name] = SourceError(table.name, failure.reason, failure.fix)

    def _look_at_others(self, moment: Snapshot, login: Login, tables: list[Table]) -> None:
        """Learn what tables are made of that are not read now: what is private there is not read as public here."""
        for other in self.policy.tables.values():
            if other.source.login == login and other not in tables:
                with suppress(SourceError):
                    self._sources[other.name] = _identities(moment, moment.relation(other.name, other.source))

    def _looked_up(self, moment: Snapshot, table: Table) -> bool:
        """Look a table up; what is wrong with it is its own, and others are read."""
        try:
            relation = moment.relation(table.name, table.source)
            self._demand_apart(table, _identities(moment, relation))
            needed = _columns(self.policy, table, relation)
            if table.source.newer_by is not None:
                needed.append(number_column(table.name, table.source.newer_by, moment, relation))
            for column in needed:
                if column in relation.hidden:
                    raise SourceError(table.name, f"this role may not read the column {column!r}", "GRANT SELECT on it")
        except SourceError as failure:
            self._parts[table.name] = failure
            return False
        self.relations[table.name] = relation
        return True

    def _demand_apart(self, table: Table, sources: frozenset[tuple[int, ...]]) -> None:
        """Raise if rows that are private are also read as public ones, through partitions or views."""
        self._sources[table.name] = sources
        for other in self.policy.tables.values():
            if other.is_public != table.is_public and sources & self._sources.get(other.name, frozenset()):
                public, private = (table, other) if table.is_public else (other, table)
                raise SourceError(
                    public.name, f"it reads rows of {private.name}, which is private", "copy what is public elsewhere"
                )

    def _settle(self, looking: Snapshot, tables: list[Table]) -> None:
        """Before the moment is chosen: up to which numbers nothing can come any more."""
        for table in tables:
            if table.source.newer_by is not None:
                with suppress(SourceError):  # it is told when the table is looked up
                    relation = looking.relation(table.name, table.source)
                    column = number_column(table.name, table.source.newer_by, looking, relation)
                    self._settled[table.name] = settled(looking, relation, column) if self.aside else None

    def _copied(self, moment: Snapshot, table: Table) -> Staged:
        """Write the rows of a table into a file: of one whose new rows are known, those alone."""
        relation, label = self.relations[table.name], table.name
        fields = {column: written(column, kind) for column, kind in relation.columns.items()}
        wanted = {column: fields[column] for column in _columns(self.policy, table, relation)}
        staged = Staged(self.scratch / f"table-{list(self.policy.tables).index(label)}", fields, list(wanted))
        where = self._since(relation) if table.stream is not None else ""
        if self.policy.engine == POSTGRES and not table.is_public:
            where = " WHERE false"  # rows stay there: whoever looks sees columns
        if table.source.newer_by is not None and self.aside is not None:
            column = number_column(label, table.source.newer_by, moment, relation)
            staged.wanted += [] if column in wanted else [column]
            wanted = {held: fields[held] for held in staged.wanted}
            staged.aside = Aside(self.policy, table, column, wanted)
            staged.known = staged.aside.usable(moment, relation)
            staged.table = staged.aside.table(moment, relation)
            _, staged.versions = staged.aside.there(moment, relation, self._settled.get(label))
            where = f" WHERE {name(column)} > {staged.known.settled}" if staged.known else ""
        with private_file(str(staged.file)) as target:
            query = selected(relation, wanted, where)
            try:
                moment.copy_out(query, target, lambda count: self._tell(relation, label, count))
            except UnreadError:
                raise SourceError(label, *INTERRUPTED) from None
        return staged

    def _since(self, relation: Relation) -> str:
        """Which rows of a stream are needed, where its column is a time there: a day is the same in all of its types.

        Columns are found as `Part` finds them; where several differ in case alone, all rows are read.
        """
        column, day = self.since or ("", "")
        held = [column_ for column_ in relation.columns if column_.lower() == column.lower()]
        if len(held) != 1 or relation.columns[held[0]].base not in DATED:
            return ""
        return f" WHERE {name(held[0])} >= {literal(day)}::{relation.columns[held[0]].base}"

    def _put_aside(self, label: str, staged: Staged) -> Part:
        """The rows of a table: those that were put aside, those that are now, and those that are too new for that."""
        aside, limit, lines = staged.aside, self._settled.get(label), staged.part
        if aside is None or self.aside is None:
            return lines
        record, number = staged.known, lines.columns[aside.column][0]
        aside.tidy(record)
        late = ""
        if limit is not None and (record is None or limit > record.settled):
            before = record or Record(staged.table, limit, 0, ())
            rows = f"(SELECT * FROM {lines.text} WHERE {number} <= {limit})"
            record = aside.add(self.aside, rows, replace(before, settled=limit, versions=staged.versions))
            late = f" WHERE {number} > {limit}"
        self.used.add(aside.folder)
        held = None if record is None else aside.reading(record)
        if held is None:
            return lines
        return Part(f"(SELECT * FROM {held} UNION ALL (SELECT * FROM {lines.text}{late}))", lines.columns)

    def _tell(self, relation: Relation, label: str, count: int) -> None:
        if self.progress is not None:
            self.progress(label, min(count / relation.rows, 0.99) if relation.rows else 0.0)


def _identities(moment: Snapshot, relation: Relation) -> frozenset[tuple[int, ...]]:
    """What a table is made of, however it was reached."""
    return frozenset((*moment.identity[:2], oid) for oid in relation.sources)


def _columns(policy: Policy, table: Table, relation: Relation) -> list[str]:
    """The columns that are read: spelled as the table spells them, in its order."""
    if table.is_public and not table.columns:
        return list(relation.columns)
    wanted = {column.lower() for column in (*table.columns, *leading_columns(policy.private_tables, table))}
    return [column for column in relation.columns if column.lower() in wanted]


def selected(relation: Relation, fields: Mapping[str, Field], where: str = "") -> str:
    """The query that PostgreSQL runs."""
    listed = ", ".join(each.written for each in (ROW, *fields.values()))
    return f"SELECT {listed} FROM {relation.quoted}{where}"


def part(file: Path, fields: Mapping[str, Field], wanted: list[str]) -> Part:
    """The lines of a file as typed columns; those that were not read are known by name and type alone."""
    fields_of = {column: text.field(index + 1) for index, column in enumerate(wanted)}
    typed = [f"{fields[column].read.format(held)} AS {held}" for column, held in fields_of.items()]
    lines = reading_lines(str(file), len(wanted) + 1)
    columns = {
        column: (fields_of.get(column, f"CAST(NULL AS {each.kind})" if text.castable(each.kind) else "NULL"), each.kind)
        for column, each in fields.items()
    }
    return Part(f"(SELECT {', '.join([text.field(0), *typed])} FROM {lines})", columns)


def reading_lines(file: str, fields: int) -> str:
    """What COPY wrote, as text: `\\N` is NULL."""
    columns = ", ".join(f"{literal(text.field(index))}: 'VARCHAR'" for index in range(fields))
    settings = {
        "auto_detect": "false",
        "header": "false",
        "columns": f"{{{columns}}}",
        "delim": literal("\t"),
        "quote": "''",
        "escape": "''",
        "comment": "''",
        "skip": "0",
        "nullstr": r"'\N'",
        "new_line": r"'\n'",
        "max_line_size": str(max(fields * FIELD, 1 << 21)),
        "compression": "'none'",
        "hive_partitioning": "false",
    }
    return f"read_csv({literal(file)}, {', '.join(f'{key} = {value}' for key, value in settings.items())})"


def described_tables(source: Source, folder: Path) -> dict[str, dict[str, str]]:
    """The table that a source names, or all that there are, each with its columns and their types."""
    assert source.login is not None
    label = source.path
    with snapshot(source.login, folder, label) as moment:
        wanted = [source.table] if source.table else moment.tables()
        relations = {table: moment.relation(label, replace(source, table=table)) for table in wanted}
    return {
        table: {column: written(column, kind).kind for column, kind in relation.columns.items()}
        for table, relation in relations.items()
    }
