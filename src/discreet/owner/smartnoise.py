"""SmartNoise-SQL's metadata as a draft of a policy.

Its files map a database to schemas to tables; a table's keys are options and columns, side by side (Lomas puts the
columns under `columns`). What has no counterpart here is said in a comment; what is not understood is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from discreet.owner.names import named_thing
from discreet.owner.toml import Names, head, is_name, key, line, quoted
from discreet.owner.yaml import Node, YamlError, parse
from discreet.policy import Finding, Kind, PolicyError
from discreet.policy.document import content, label

KINDS: Final = {
    "int": Kind.INTEGER,
    "float": Kind.NUMBER,
    "string": Kind.TEXT,
    "boolean": Kind.BOOLEAN,
    "datetime": Kind.TIMESTAMP,
}
_ALWAYS: Final = "not needed: always so here"
OPTIONS: Final = {
    "rows": "left out: the number of rows is private here",
    "rows_exact": "left out: the number of rows is private here",
    "sample_max_ids": _ALWAYS,
    "clamp_columns": _ALWAYS,
    "censor_dims": "not needed: keys that are not declared are always found by selection",
    "use_dpsu": "not needed: keys that are not declared are always found by selection",
    "clamp_counts": "left out: noisy counts may be negative",
}
"""A table's options that have no counterpart."""
_READ: Final = frozenset({"row_privacy", "max_ids", "max_contrib", "columns"})
NOTES: Final = {
    "cardinality": "left out: list the values instead, if they are no secret",
    "missing_value": "left out: NULL stays NULL",
    "sensitivity": "left out: it follows from the bounds",
}
"""A column's keys that have no counterpart."""
_OLDER: Final = {"min": "lower", "max": "upper", "is_key": "private_id"}
"""What earlier versions called some keys."""
_COLUMN_KEYS: Final = frozenset({"type", "lower", "upper", "private_id", "nullable"})


def from_smartnoise(path: Path, name: str | None = None) -> str:
    """A draft from SmartNoise's YAML; `PolicyError` with the line if it cannot be understood."""
    try:
        return _drafted(path, parse(content(path).decode("utf-8-sig")), name or path.stem)
    except UnicodeDecodeError:
        problem = Finding.error("", "is not UTF-8", "save the file in the encoding UTF-8")
    except YamlError as wrong:
        problem = Finding.error(f"line {wrong.line}", str(wrong), "write it plainly, or leave it out")
    raise PolicyError(label(path), [problem])


def _drafted(path: Path, root: Node, name: str) -> str:
    tables = list(_tables(path.stem, root))
    if not tables:
        raise YamlError(root.line, "there is no table with columns that have a type")
    units = [column for _, table in tables for column in _units(_columns(table))]
    lines = [
        f"# A draft, made from the SmartNoise metadata in {quoted(path.name)}.",
        "# Bounds and values must come from what is known about such values, never from the data: see that they do.",
        "",
        *head(name, named_thing(units[0] if units else "")),
    ]
    names = Names()
    for called, table in tables:
        lines += ["", *_table(names.of(called), table)]
    return "\n".join(lines) + "\n"


def _tables(name: str, node: Node) -> Iterator[tuple[str, Node]]:
    """The maps that hold columns, wherever they stand, each with its name."""
    if _columns(node):
        yield name, node
        return
    for inner, held in node.map.items():
        yield from _tables(inner, held)


def _columns(table: Node) -> dict[str, Node]:
    entries = table.map.get("columns")
    listed = entries.map if entries and not _is_column(entries) else table.map
    return {name: node for name, node in listed.items() if _is_column(node)}


def _is_column(node: Node) -> bool:
    kind = node.map.get("type")
    return kind is not None and isinstance(kind.value, str)


def _table(name: str, table: Node) -> Iterator[str]:
    columns = _columns(table)
    _refuse_typeless(table, columns)
    yield f"[tables.{key(name)}]"
    yield line(f"source = {quoted(f'{name}.csv')}", "decide: SmartNoise does not say where the data lies")
    yield from _owner(table, columns)
    for option in table.map:
        if option not in _READ and option not in columns:
            yield f"# {quoted(option)[1:-1]}: {OPTIONS.get(option, 'left out: unknown here')}"
    yield f"[tables.{key(name)}.columns]"
    for column, node in columns.items():
        yield from _column(column, _renamed(node))


def _refuse_typeless(table: Node, columns: Mapping[str, Node]) -> None:
    """A map in a place where columns stand must be one."""
    listed = table.map.get("columns", table)
    for name, node in {**table.map, **listed.map}.items():
        if node.map and name not in columns and node is not listed:
            raise YamlError(node.line, f"{name!r} has no type")


def _owner(table: Node, columns: Mapping[str, Node]) -> Iterator[str]:
    """The unit and its rows. Row privacy wins over a private id, as it does there."""
    units = _units(columns)
    if len(units) > 1:
        raise YamlError(columns[units[1]].line, f"{units[0]!r} is the private id already: a table has one")
    most = _most_rows(table)
    if _flag(table.map.get("row_privacy")):
        yield line('unit = "row"', "every row is its own unit")
        if most > 1:
            yield "# max_ids: left out, because every row is its own unit"
        return
    if units:
        yield f"unit = {quoted(units[0])}"
    else:
        yield line('# unit = "row"', "decide: the column that names whom you protect; the metadata names none")
    if most > 1:
        yield line(f"max_rows = {most}", "rows of one unit that are ever read")


def _most_rows(table: Node) -> int:
    node = table.map.get("max_ids") or table.map.get("max_contrib")
    if node is None:
        return 1
    if type(node.value) is not int or node.value < 1:
        raise YamlError(node.line, "must be a whole number of at least 1")
    return node.value


def _units(columns: Mapping[str, Node]) -> list[str]:
    return [name for name, node in columns.items() if _flag(_renamed(node).get("private_id"))]


def _renamed(column: Node) -> dict[str, Node]:
    return {_OLDER.get(entry, entry): node for entry, node in column.map.items()}


def _flag(node: Node | None) -> bool:
    if node is not None and not isinstance(node.value, bool):
        raise YamlError(node.line, "must be true or false")
    return node is not None and node.value is True


def _column(name: str, entries: Mapping[str, Node]) -> Iterator[str]:
    if _flag(entries.get("private_id")):
        return
    kind = KINDS.get(str(entries["type"].value))
    if kind is None or not is_name(name):
        yield f"# {quoted(name)[1:-1]}: left out, because no policy can declare this {'name' if kind else 'type'}"
        return
    bounds, comment = _bounds(kind, entries)
    nullable = ["nullable = true"] if _flag(entries.get("nullable")) else []
    yield line(f"{key(name)} = {{ {', '.join([f'type = {quoted(kind)}', *bounds, *nullable])} }}", comment)
    for entry in entries:
        if entry not in _COLUMN_KEYS:
            yield f"#   {quoted(entry)[1:-1]}: {NOTES.get(entry, 'left out: unknown here')}"


def _bounds(kind: Kind, entries: Mapping[str, Node]) -> tuple[list[str], str]:
    """The bounds as TOML, and a comment where they are missing."""
    given = {ours: entries[theirs] for ours, theirs in (("min", "lower"), ("max", "upper")) if theirs in entries}
    if kind in (Kind.TEXT, Kind.BOOLEAN):
        return [], "lower and upper left out" if given else ""
    if len(given) < 2:
        return [], "min = ?, max = ?  decide from what is known, not from the data"
    return [f"{ours} = {_bound(kind, node)}" for ours, node in given.items()], ""


def _bound(kind: Kind, node: Node) -> str:
    if kind is Kind.TIMESTAMP:
        return _moment(node)
    try:
        value = float(node.value) if isinstance(node.value, str) else node.value
    except ValueError:
        value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise YamlError(node.line, "must be a number")
    return str(int(value)) if kind is Kind.INTEGER and value == int(value) else repr(value)


def _moment(node: Node) -> str:
    try:
        moment = datetime.fromisoformat(str(node.value))
    except ValueError:
        raise YamlError(node.line, "must be a timestamp like 2026-12-31T23:59:59") from None
    return (moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment).isoformat()
