"""Parts of a partition, by what analysts may know: which columns divide a table, and which keys name a part."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

from discreet.accounting.part import Part
from discreet.answers.facts import Facts
from discreet.errors import Refused
from discreet.policy import Key, Kind
from discreet.policy.layout import MOST_RANKED
from discreet.policy.model import Column

_TYPES: Final[dict[Kind, type]] = {
    Kind.INTEGER: int,
    Kind.TEXT: str,
    Kind.BOOLEAN: bool,
    Kind.DATE: date,
    Kind.TIMESTAMP: datetime,
}


def part_of(tables: Mapping[str, Facts], table: str, column: str, key: Any, most: int) -> Part:
    """A part of one of these tables, or a refusal."""
    declared = dividing(tables, table, column)
    if not _fits(declared, key):
        known = ", ".join(map(repr, declared.values)) if declared.values else f"of type {declared.kind}"
        raise Refused("unknown-part", f"{column} has no such key", f"keys: {known}")
    if type(most) is not int or most < 1:
        raise Refused("unknown-part", "a unit is in one part or in more", "write partition(…, parts=1)")
    return Part(tables[table].name, declared.name, key, most)


def dividing(tables: Mapping[str, Facts], table: str, column: str) -> Column:
    """The column by which a table is divided, or a refusal."""
    facts = tables.get(table)
    if facts is None or facts.public:
        private = [name for name, each in tables.items() if not each.public]
        raise Refused("unknown-table", "there is no such private table", f"tables: {', '.join(private)}")
    if facts.stream is not None:
        raise Refused("unknown-part", "a stream has blocks, and no other parts", 'name them: blocks="newest 7"')
    keys = [other.name for other in facts.columns.values() if other.is_key]
    keys = keys if facts.unit == "row" else sorted(keys)[:MOST_RANKED]
    if column not in keys:
        raise Refused("unknown-column", "a table is divided by one of its key columns", f"keys: {', '.join(keys)}")
    return facts.columns[column]


def public_keys(column: Column) -> tuple[Key | None, ...] | None:
    """The keys that the policy declares; None if they are private: which of them exist is not for everybody."""
    values = column.values if column.values is not None else (False, True) if column.kind == "boolean" else None
    if values is None:
        return None
    return (*values, None) if column.nullable else tuple(values)


def _fits(column: Column, key: Any) -> bool:
    if key is None:
        return column.nullable
    if type(key) is not _TYPES.get(column.kind) or (isinstance(key, str) and not _encodable(key)):
        return False
    return column.values is None or key in column.values


def _encodable(key: str) -> bool:
    """Whether an engine can be told it: lone surrogates are no text."""
    return not any("\ud800" <= letter <= "\udfff" for letter in key)
