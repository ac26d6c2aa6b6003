"""A first policy for some sources, from names and types alone.

What is in the draft can be read by everybody who may ask questions. So nothing in it comes from the data: no bound, no
value, no number of rows. The types of a Parquet or DuckDB file are part of its schema, those of a database of its
catalogue. A CSV file has none, and of it the header is read and nothing else, unless the owner wants to look at its
first records: then what they seem to be is proposed, kind by kind (see `kinds`), for the owner to confirm.
"""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import duckdb

from discreet.engines.connection import connect
from discreet.engines.header import OTHER_FORMAT, delimiter, separated
from discreet.engines.problems import SourceError
from discreet.engines.sources import described, owned
from discreet.engines.staging import described_tables
from discreet.engines.text import attached_table, reading_parquet
from discreet.owner.decisions import Decisions, demand_known
from discreet.owner.kinds import Seen, names_nothing, seen
from discreet.owner.names import likely_kind, named_thing, whose
from discreet.owner.toml import Names, head, is_name, key, line, quoted, value
from discreet.policy import Finding, Format, Kind, PolicyError, Source
from discreet.policy.databases import address, as_written, is_address, read_address, read_table
from discreet.policy.document import label
from discreet.policy.problems import choices, shown
from discreet.policy.section import RuleError
from discreet.policy.sources import EXTENSIONS, SEPARATORS, read_path
from discreet.quoting import literal, name

_INTEGERS: Final = "TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT"
_TIMES: Final = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")
KINDS: Final = {
    **dict.fromkeys(_INTEGERS.split(), Kind.INTEGER),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), Kind.NUMBER),
    **dict.fromkeys(("VARCHAR", "ENUM"), Kind.TEXT),
    "BOOLEAN": Kind.BOOLEAN,
    "DATE": Kind.DATE,
    **dict.fromkeys(_TIMES, Kind.TIMESTAMP),
}
"""What the types of sources are called in a policy."""
_BOUNDED: Final = "min = ?, max = ?  decide from what is known about {}, not from the data"
ADVICE: Final = {
    Kind.INTEGER: _BOUNDED,
    Kind.NUMBER: _BOUNDED,
    Kind.DATE: _BOUNDED,
    Kind.TIMESTAMP: _BOUNDED,
    Kind.TEXT: "values = [...]  if it is no secret which there are",
    Kind.BOOLEAN: "",
}
_EXAMPLES: Final = {
    Kind.INTEGER: 'type = "integer", min = ?, max = ?',
    Kind.NUMBER: "min = ?, max = ?",
    Kind.DATE: 'type = "date", min = ?, max = ?',
    Kind.TIMESTAMP: 'type = "timestamp", min = ?, max = ?',
    Kind.TEXT: 'type = "text"',
    Kind.BOOLEAN: 'type = "boolean"',
}
_OPEN: Final = (
    "# A draft, made from names and types alone: nothing in it was read from the data.",
    "# Whoever may ask questions can read it. Remove the # of what you decide:",
    '#   unit      the column that names whom you protect; "row" if every row is its own; or public = true',
    "#   min, max  from what is known about such values, never from the data",
)
_DECIDED: Final = (
    "# Made from names and types of columns, and from what its owner decided.",
    "# Whoever may ask questions can read it: see that nothing in it was read off the data.",
)
_SEEN: Final = "#   type      of CSV: what the first values of a column seem to be; see that it is so"
_UNIT: Final = "decide: the column that names whom you protect"
ROW: Final = "row"
ROWS: Final = 10
"""How many rows of one unit are proposed, where a table seems to have several."""
ODD: Final = "# look: "
"""Before what the owner should look at, whatever was decided."""


@dataclass(frozen=True, slots=True)
class Described:
    """A table as its source describes it: no more than names and types."""

    name: str
    source: Source
    columns: dict[str, str]
    unit: str | None = None
    """The column of the unit, or "row", if the owner named it."""
    odd: tuple[str, ...] = ()
    """What is strange about the header of a CSV file, in words."""

    def spelling(self, column: str) -> str | None:
        return next((held for held in self.columns if held.lower() == column.lower() and is_name(held)), None)

    @property
    def identifiers(self) -> list[str]:
        """Columns that may say whose a row is, the likeliest first."""
        named = [column for column in self.columns if whose(column) and is_name(column)]
        return sorted(named, key=whose, reverse=True)


def draft(
    sources: Sequence[str],
    name: str,
    *,
    folder: Path | None = None,
    unit: str | None = None,
    decisions: Decisions | None = None,
    max_rows: int | None = None,
    look: bool = False,
) -> str:
    """A policy for these files, to be completed by their owner. Paths are written as seen from the policy's folder.

    `unit` is the column that names whom to protect, or "row", where the owner has said so; else one is only suggested.
    `max_rows` is how many rows of one unit are read, in every table that has the unit. `look`: types of CSV columns are
    proposed from its first records.
    `decisions` are what else the owner has decided: what is not among them is left open, as a comment.
    """
    here, decided = Path.cwd() if folder is None else folder, decisions or {}
    tables = list(described_sources(sources, look=look, decided=decided.get("tables", {})))
    demand_known(decided, {table.name: list(table.columns) for table in tables})
    if unit == ROW:
        tables = [replace(table, unit=ROW) for table in tables]
    elif unit is not None:
        _demand_column(unit, tables)
        tables = [replace(table, unit=table.spelling(unit)) for table in tables]
    likely = unit or likely_unit(tables)
    lines = [
        *(_DECIDED if decided else _OPEN),
        *([_SEEN] if look and any(table.source.format is Format.CSV for table in tables) else []),
        "",
        *head(name, named_thing(likely), decided=unit is not None, decisions=decided),
    ]
    for table in tables:
        lines += ["", *_table(table, likely, here, decided.get("tables", {}).get(table.name, {}), max_rows)]
    for analyst, share in decided.get("analysts", {}).items():
        lines += ["", f"[analysts.{key(analyst)}]", *(f"{key(each)} = {value(said)}" for each, said in share.items())]
    return "\n".join(lines) + "\n"


def likely_unit(tables: Sequence[Described]) -> str:
    """The column that most likely names the unit of all tables, in lower case; nothing if no name tells.

    One that names people goes before one that names things, however many tables have that: wards are not whom a policy
    of visits protects.
    """
    counts = Counter(column.lower() for table in tables for column in table.identifiers)
    return max(counts, key=lambda column: (whose(column) > 1, counts[column]), default="")


def _table(
    table: Described, likely: str, folder: Path, decided: Decisions | Literal[False], max_rows: int | None
) -> Iterator[str]:
    if decided is False:
        yield line(f"# [tables.{key(table.name)}]", "left out")
        return
    yield from (f"{ODD}{each}" for each in table.odd)
    yield f"[tables.{key(table.name)}]"
    login = table.source.login
    yield f"source = {quoted(as_written(login) if login else _seen_from(folder, table.source.path))}"
    if table.source.table is not None:
        yield f"table = {quoted(table.source.table or '')}"
    if table.source.separator is not None and "separator" not in decided:
        yield line(f"separator = {quoted(table.source.separator)}", "what stands between fields")
    if table.source.decimal is not None and "decimal" not in decided:
        yield line(f"decimal = {quoted(table.source.decimal)}", "what stands before fractions")
    said = {each: given for each, given in decided.items() if each != "columns"}
    yield from _unit(table, likely, max_rows) if not said.keys() & {"unit", "public"} else ()
    yield from (f"{key(each)} = {value(given)}" for each, given in said.items())
    yield line(f"[tables.{key(table.name)}.columns]", "only declared columns exist for analysts")
    columns, unit = decided.get("columns", {}), said.get("unit", table.unit)
    for column, held in table.columns.items():
        if column in columns:
            yield _decided_column(column, columns[column])
        elif column == unit:
            yield line(f"# {key(column)}", "the unit: it need not be declared")
        else:
            yield _column(column, held, table.source.format)


def _decided_column(column: str, given: Decisions | Literal[False]) -> str:
    return line(f"# {key(column)}", "left out") if given is False else f"{key(column)} = {value(given)}"


def _unit(table: Described, likely: str, max_rows: int | None) -> Iterator[str]:
    """Whose the rows are, where that is left to decide."""
    unit = table.unit or table.spelling(likely) or next(iter(table.identifiers), "")
    others = [column for column in table.identifiers if column != unit]
    also = f"; or {', '.join(map(key, others))}" if others else ""
    if table.unit is None:
        yield line(f"# unit = {quoted(unit or 'row')}", f"{_UNIT}{also}")
    else:
        yield f"unit = {quoted(table.unit)}"
    if max_rows is None or table.unit in (None, ROW):
        yield line("# max_rows = 1", "decide: how many rows of one unit are ever read")
    else:
        yield line(f"max_rows = {max_rows}", "of one unit, at most so many rows are ever read")


def _column(column: str, held: str, form: Format) -> str:
    """A declaration, or a comment where the owner must decide."""
    if not is_name(column):
        return f"# {quoted(column)}: no policy can declare this name"
    if whose(column):
        return line(f"# {key(column)}", "an identifier: best left out")
    if form is Format.CSV and not held:
        return line(f"# {key(column)} = {{ {_EXAMPLES[likely_kind(column)]} }}", "decide: a guess from the name")
    kind = Kind(held) if form is Format.CSV else kind_of(held)
    if kind is None:
        return line(f"# {key(column)}", "has a type that no policy can declare")
    return line(f'{key(column)} = {{ type = "{kind}" }}', ADVICE[kind].format(key(column)))


def kind_of(held: str) -> Kind | None:
    """What a type of a source is called in a policy; None if no policy can declare it."""
    return KINDS.get(re.sub(r"\(.*\)$", "", held, flags=re.DOTALL))


def _demand_column(column: str, tables: Sequence[Described]) -> None:
    if all(table.spelling(column) is None for table in tables):
        held = dict.fromkeys(held for table in tables for held in table.columns)
        raise PolicyError(
            "--unit", [Finding.error("", f"no source has a column {shown(column)}", choices(column, held))]
        )


def described_sources(
    sources: Iterable[str], *, look: bool = False, decided: Decisions | None = None
) -> Iterator[Described]:
    """The tables of these sources, as they are now: names and types alone.

    `decided` is what their owner decided about tables, of which counts here what stands between the fields of CSV.
    """
    names, known = Names(), decided or {}
    with connect() as connection:
        for index, given in enumerate(sources):
            if is_address(given):
                yield from _in_database(names, given)
                continue
            for source in _tables_in(connection, f"draft{index}", given):
                called = source.table.rpartition(".")[2] if source.table else _stem(source.path)
                table = names.of(called)
                apart = (known.get(table) or {}).get("separator")
                yield _of_file(connection, f"draft{index}", source, table, look=look, apart=apart)


def _in_database(names: Names, given: str) -> Iterator[Described]:
    """The tables of a database: all that can be read, unless one is named after a #."""
    written, _, table = given.partition("#")
    try:
        login = read_address(written)
        if table:
            read_table(table)
    except RuleError as wrong:
        raise PolicyError("--source", [Finding.error("", str(wrong), wrong.fix)]) from None
    source = Source(Format.POSTGRES, address(login), table or None, login=login)
    described_there = described_tables(source, Path.cwd())
    if not described_there:
        raise PolicyError(source.path, [Finding.error("", "holds no table that this role may read", "GRANT SELECT")])
    for called, columns in described_there.items():
        yield Described(names.of(read_table(called)[1]), replace(source, table=called), columns)


def _tables_in(connection: duckdb.DuckDBPyConnection, alias: str, given: str) -> Iterator[Source]:
    """The tables that a path stands for: all of a DuckDB file, unless one is named after a #."""
    path, _, table = given.partition("#") if _format_of(given.partition("#")[0]) is Format.DUCKDB else (given, "", "")
    form = _format_of(path)
    _check_path(path, form)
    if form is not Format.DUCKDB:
        is_itself = not os.path.lexists(path) or glob.glob(path, recursive=True) == [path]
        yield Source(form or Format.CSV, path if is_itself else glob.escape(path))
        return
    listing = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = ? ORDER BY ALL"
    with _owned(path):
        connection.execute(f"ATTACH {literal(path)} AS {name(alias)} (READ_ONLY)")
        listed = connection.execute(listing, [alias]).fetchall()
    wanted = [table] if table else [".".join(row) for row in listed]
    if not wanted:
        raise PolicyError(label(Path(path)), [Finding.error("", "holds no table", "name another file")])
    yield from (Source(form, path, each) for each in wanted)


def _of_file(
    connection: duckdb.DuckDBPyConnection, alias: str, source: Source, called: str, *, look: bool, apart: object = None
) -> Described:
    if source.format is not Format.CSV:
        return Described(called, source, _columns(connection, alias, source))
    first = _first(source)
    separator, names = separated(first, source.path, str(apart) if apart in SEPARATORS else None)
    held = seen(first, separator, len(names)) if look else Seen((None,) * len(names))
    said = None if separator == delimiter(first) else separator
    file = replace(source, separator=said, decimal=held.decimal)
    return Described(called, file, _kinds(names, held), odd=tuple(_odd(names, source.path)))


def _odd(names: Sequence[str], path: str) -> Iterator[str]:
    """What whoever made the file may not have meant."""
    if names_nothing(names):
        yield f"names in the first line of {quoted(path)} are numbers: if it has no header, write one above it"
    for column, times in Counter(names).items():
        if times > 1:
            yield f"{key(column)} stands {times} times in the header of {quoted(path)}: only the first one is read"


def _kinds(names: Sequence[str], held: Seen) -> dict[str, str]:
    """Of each name the kind of the first column that has it; nothing where nobody looked, or there was no value."""
    kinds: dict[str, str] = {}
    for column, kind in zip(names, held.kinds, strict=True):
        kinds.setdefault(column, "" if kind is None else kind.value)
    return kinds


def _first(source: Source) -> str:
    return next(iter(sorted(glob.glob(source.path, recursive=True))), source.path)


def _columns(connection: duckdb.DuckDBPyConnection, alias: str, source: Source) -> dict[str, str]:
    """The columns with their types."""
    first = _first(source)
    duckdb_table = f"{name(alias)}.{attached_table(source)}"
    with _owned(source.path):
        return described(connection, duckdb_table if source.format is Format.DUCKDB else reading_parquet([first]))


@contextmanager
def _owned(path: str) -> Iterator[None]:
    try:
        with owned(path):
            yield
    except SourceError as failure:
        raise SourceError(path, failure.reason, OTHER_FORMAT) from None


def _check_path(path: str, form: Format | None) -> None:
    problem = None
    try:
        read_path(path)
    except RuleError as wrong:
        problem = Finding.error("", str(wrong), wrong.fix)
    if problem is None and not glob.glob(path, recursive=True) and not os.path.exists(path):
        problem = Finding.error("", "there is no such file", "correct its name")
    if problem is None and os.path.isdir(path):
        problem = Finding.error("", "is a folder", "name the files in it, such as folder/*.parquet")
    if problem is None and form is None:
        problem = Finding.error("", f"its ending does not tell its format ({', '.join(EXTENSIONS)} do)", "rename it")
    if problem is not None:
        raise PolicyError(shown(path), [problem])


def _seen_from(folder: Path, path: str) -> str:
    """The path as a policy in this folder names it: a pattern, in which folders of now stand for themselves."""
    if os.path.isabs(path):
        return path
    return os.path.relpath(os.path.join(glob.escape(os.getcwd()), path), glob.escape(os.path.abspath(folder)))


def _format_of(path: str) -> Format | None:
    return next((form for ending, form in EXTENSIONS.items() if path.lower().endswith(ending)), None)


def _stem(path: str) -> str:
    """What a file is called, without ending and pattern; of all files of a folder what the folder is called."""
    bare = os.path.basename(path)
    ending = next((ending for ending in EXTENSIONS if bare.lower().endswith(ending)), "")
    called = re.sub(r"[*?\[\]]+", "", bare[: len(bare) - len(ending)]).strip("-_. ")
    return called or re.sub(r"[*?\[\]]+", "", os.path.basename(os.path.dirname(path))).strip("-_. ")
