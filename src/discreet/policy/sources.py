"""Reading where a table comes from."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from discreet.policy.clusters import cluster_address, is_cluster, read_cluster, read_place
from discreet.policy.databases import address, is_address, read_address, read_table
from discreet.policy.lakes import is_delta, is_lake, read_lake, read_name
from discreet.policy.model import Column, Format, Policy, Source, Table
from discreet.policy.problems import choices, shown
from discreet.policy.section import RuleError, Section, flag, identifier, text

EXTENSIONS: Final = {
    ".csv": Format.CSV,
    ".tsv": Format.CSV,
    ".csv.gz": Format.CSV,
    ".tsv.gz": Format.CSV,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
    ".duckdb": Format.DUCKDB,
    ".db": Format.DUCKDB,
}
SEPARATORS: Final = (",", ";", "\t", "|")
"""What may stand between the fields of a CSV file."""
_OF_CSV: Final = {"multiline": "lines", "separator": "fields in lines", "decimal": "numbers in writing"}
"""Keys that say how CSV is written, and what no other format has."""
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://")
_USABLE: Final = 'rename the folders above it, or name another place with state = "…"'
_FOLDER: Final = 'name a folder for nothing else, such as state = "state"'
_PATTERN: Final = re.compile(r"[*?\[]")


_ELSEWHERE: Final[Mapping[Format, tuple[str, str, str, Callable[[str], object]]]] = {
    Format.POSTGRES: ("PostgreSQL", "postgresql://host/database", "public.visits", read_table),
    Format.SPARK: ("Spark", "spark:local[*]", "clinic.visits", read_place),
    Format.DELTA: ("a Delta table", "delta:visits", "", read_lake),
    Format.ICEBERG: ("Iceberg", "iceberg:prod", "clinic.visits", read_name),
}
"""Of each: what it is called, an address of it, a table of it, and what reads the names of such."""


def read_format(value: object) -> Format:
    name = text(value)
    if name not in set(Format):
        raise RuleError(f"unknown format {shown(name)}", choices(name, [known.value for known in Format]))
    return Format(name)


def read_path(value: object) -> str:
    path = text(value)
    if is_address(path):
        read_address(path.partition("#")[0])
    elif is_cluster(path):
        read_cluster(path.partition("#")[0])
    elif is_lake(path):
        read_lake(path.partition("#")[0])
    elif _ADDRESS.match(path):
        raise RuleError(
            "is an address, and sources are files or tables of PostgreSQL, Spark, Delta or Iceberg",
            "copy the data beside the policy and name that file",
        )
    return path


def is_pattern(path: str) -> bool:
    """Whether a source is a pattern of files, to which others can be added."""
    return not is_elsewhere(path) and _PATTERN.search(path) is not None


def is_elsewhere(path: str) -> bool:
    """Whether a source is meant to be an address."""
    return is_address(path) or is_cluster(path) or is_lake(path)


def read_source(section: Section, fields: Mapping[str, Any]) -> Source | None:
    """The source that the keys `source`, `format` and `table` describe together."""
    path, table = fields.get("source"), fields.get("table")
    if path is None:
        return None  # reported already
    declared = fields.get("format")
    if is_elsewhere(path):
        reads = _read_lake if is_lake(path) else _read_database if is_address(path) else _read_by_spark
        return reads(section, fields, path, table)
    if "newer_by" in fields:
        section.at("newer_by").report("is for tables of PostgreSQL", "remove it")
    if declared is not None and declared in _ELSEWHERE:
        called, address_, _, _ = _ELSEWHERE[declared]
        section.at("source").report(f"is no address of {called}", f'write source = "{address_}"')
        return None
    file, hash_sign, inside = path.rpartition("#")
    if hash_sign and (_format_of(file) is Format.DUCKDB or (declared is Format.DUCKDB and table is None)):
        if table is not None:
            section.at("table").report("is named twice, here and after the # of source", "keep one of the two")
        path, table = file, inside
    form = declared or _format_of(path)
    if form is None:
        section.at("source").report(
            f"the ending of {shown(path)} does not tell its format ({', '.join(EXTENSIONS)} do)",
            'add format = "csv" (or "parquet", "duckdb")',
        )
        return None
    _check_table(section, form, path, table)
    _check_writing(section, form, path, fields)
    written = (fields.get(key) for key in ("separator", "decimal"))
    return Source(form, path, table, fields.get("multiline"), fields.get("folders", ()), *written)


def _check_writing(section: Section, form: Format, path: str, fields: Mapping[str, Any]) -> None:
    """What says how CSV is written is about CSV, and says two things apart."""
    for key, what in _OF_CSV.items():
        if form is not Format.CSV and key in fields:
            section.at(key).report(f"only CSV has {what}, and this is {form}", "remove it")
    if fields.get("decimal") == "," and fields.get("separator", _separator_of(path)) == ",":
        section.at("decimal").report("is what stands between fields too", 'add separator = ";"')


def _read_database(section: Section, fields: Mapping[str, Any], path: str, table: str | None) -> Source | None:
    """A table of PostgreSQL."""
    login = read_address(path.partition("#")[0])
    wanted = _table_there(section, fields, path, table, Format.POSTGRES)
    if wanted is None:
        return None
    return Source(Format.POSTGRES, address(login), wanted, login=login, newer_by=fields.get("newer_by"))


def _read_by_spark(section: Section, fields: Mapping[str, Any], path: str, table: str | None) -> Source | None:
    """A table of Spark's catalogue, or files that it reads."""
    cluster = read_cluster(path.partition("#")[0])
    for key in ("newer_by", "stream"):
        if key in fields:
            section.at(key).report("is not for what Spark reads", "remove it")
    wanted = _table_there(section, fields, path, table, Format.SPARK)
    return None if wanted is None else Source(Format.SPARK, cluster_address(cluster), wanted, cluster=cluster)


def _read_lake(section: Section, fields: Mapping[str, Any], path: str, table: str | None) -> Source | None:
    """A table of Delta Lake, which is a folder, or of a catalogue of Iceberg."""
    form = Format.DELTA if is_delta(path) else Format.ICEBERG
    for key in ("newer_by", "stream"):
        if key in fields:
            section.at(key).report(f"is not for {_ELSEWHERE[form][0]}", "remove it")
    if form is Format.DELTA:
        if table is not None:
            section.at("table").report("the folder is the table", "remove it")
        wanted = _table_there(section, {**fields}, f"{path}#{path}", None, form)
        return None if wanted is None or table is not None else Source(form, path)
    wanted = _table_there(section, fields, path, table, form)
    return None if wanted is None else Source(form, path.partition("#")[0], wanted)


def _table_there(section: Section, fields: Mapping[str, Any], path: str, table: str | None, form: Format) -> str | None:
    """The table that is named, before or after a #; None if something is reported."""
    called, _, example, read = _ELSEWHERE[form]
    before = len(section.problems)
    _, hash_sign, inside = path.partition("#")
    if hash_sign and table is not None:
        section.at("table").report("is named twice, here and after the # of source", "keep one of the two")
    wanted = inside if hash_sign else table
    if not wanted:
        section.at("table").report("missing: a database has many tables", f'add table = "{example}"')
    else:
        try:
            read(wanted)
        except RuleError as wrong:
            section.at("table").report(str(wrong), wrong.fix)
    if fields.get("format", form) is not form:
        section.at("format").report(f"the source is an address of {called}", "remove it")
    for key in (*_OF_CSV, "folders"):
        if key in fields:
            section.at(key).report("is for files, and this is a database", "remove it")
    return wanted if len(section.problems) == before else None


def copied(value: object) -> bool:
    """`copy = true` changes nothing; `copy = false` was taken back."""
    if not flag(value):
        raise RuleError(
            "every table is copied now: rows that change under a running question cannot be protected",
            "remove it; of each unit the copy holds max_rows rows at most",
        )
    return True


def read_separator(value: object) -> str:
    """What stands between the fields of a CSV file."""
    if value not in SEPARATORS:
        raise RuleError("must be a comma, a semicolon, a tab or a bar", 'write it like ";" or "\\t"')
    return str(value)


def read_decimal(value: object) -> str:
    """What stands before the fraction of a number in a CSV file."""
    if value not in (",", "."):
        raise RuleError("must be a comma or a point", 'write it like ","')
    return str(value)


def _separator_of(path: str) -> str:
    """What stands between fields where the policy does not say."""
    return "\t" if path.lower().endswith((".tsv", ".tsv.gz")) else ","


def read_folders(value: object) -> tuple[str, ...]:
    """Columns whose values stand in the names of folders."""
    if not isinstance(value, list) or not value:
        raise RuleError("must be a list of columns", 'write it like ["day"] where folders are called day=2026-01-31')
    names = tuple(identifier(text(item)) for item in value)
    if len({column.casefold() for column in names}) < len(names):
        raise RuleError("names a column twice", "remove one")
    return names


def check_folders(section: Section, fields: Mapping[str, Any], columns: Mapping[str, Column]) -> None:
    """What folders say has a type like everything else: that of a declared column, or of the unit."""
    if is_elsewhere(fields.get("source", "")):
        return  # reported already
    if "folders" in fields and fields.get("format", _format_of(fields.get("source", ""))) is Format.DUCKDB:
        section.at("folders").report("a DuckDB source is one file", "remove it")
    owner = fields.get("unit")
    known = {*columns, *([owner.column] if owner and not owner.path and owner.column else [])}
    for column in fields.get("folders", ()):
        if column not in known:
            section.at("folders").report(f"{shown(column)} is not declared", "declare it as a column")


def check_state(section: Section, state: Path, file: Path, tables: Iterable[Table]) -> None:
    """State is swept and deleted from: nothing of the owner's may lie there."""
    folder = os.path.normpath(state)
    if wrong := unusable(folder):
        section.at("state").report(wrong, _USABLE)
    if folder == os.path.normpath(file):
        section.at("state").report("is the policy file itself", 'add state = "state" or another folder')
    elif _inside(os.path.normpath(file), folder):
        section.at("state").report("the policy lies in it", _FOLDER)
    for table in tables:
        if table.source.is_file and _inside(
            os.path.normpath(file.parent / _PATTERN.split(table.source.path)[0]), folder
        ):
            section.at("state").report(f"the source of {shown(table.name)} lies in it", _FOLDER)


def unusable(folder: str | os.PathLike[str]) -> str:
    """Why no engine can keep private rows in a folder with this path; nothing, if one can.

    DuckDB takes what comes after a `?` for settings, and looks for what belongs to a database, rows too, in a folder
    that is called like the path before it; a backslash is a slash to it.
    """
    path = os.fspath(folder)
    if any(letter in path for letter in "?\\"):
        return "lies at a path with a ? or a backslash, which DuckDB takes for something else"
    try:
        path.encode()
    except UnicodeEncodeError:
        return "lies at a path that is not UTF-8"
    return ""


def _inside(path: str, folder: str) -> bool:
    return path == folder or Path(path).is_relative_to(folder)


def _check_table(section: Section, form: Format, path: str, table: str | None) -> None:
    if form is not Format.DUCKDB:
        if table is not None:
            section.at("table").report(f"only a DuckDB file has tables, and this is {form}", "remove it")
        return
    if not table:
        section.at("table").report("missing: a DuckDB file has many tables", 'add table = "main.visits"')
    if not path or _PATTERN.search(path):
        section.at("source").report("a DuckDB source is one file, not a pattern", "name one file, without * ? [")


def _format_of(path: str) -> Format | None:
    return next((form for ending, form in EXTENSIONS.items() if path.lower().endswith(ending)), None)


def check_apart(section: Section, tables: Iterable[Table], folder: Path) -> None:
    """One source cannot be private in one table and public in another: public rows are shown as they are."""
    known = list(tables)
    private = {_identity(table.source, folder): table.name for table in known if not table.is_public}
    for table in known:
        if table.is_public and (other := private.get(_identity(table.source, folder))):
            section.at(table.name, "public").report(
                f"its source is private in table {shown(other)}", "give each table its own source"
            )


def _identity(source: Source, folder: Path) -> tuple[str, str]:
    if source.login is not None:
        return source.path, ".".join(map(repr, read_table(source.table or "")))
    if source.cluster is not None:
        return source.path, repr(read_place(source.table or ""))
    return os.path.normpath(folder / source.path), (source.table or "").casefold()


def source_files(policy: Policy) -> Iterator[Path]:
    """All files that a policy reads and that are there."""
    for table in policy.tables.values():
        if not table.source.is_file:
            continue
        pattern = os.path.join(glob.escape(str(policy.folder)), table.source.path)
        yield from (Path(path) for path in glob.iglob(pattern, recursive=True))
