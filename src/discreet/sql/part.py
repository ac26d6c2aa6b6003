"""One part of a table whose units were divided among parts: what the policy allows, and its rows."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Final

from discreet.accounting.part import Part
from discreet.composed import Sql, literal, name, sql
from discreet.errors import Refused
from discreet.policy.layout import key_rank, ranked_keys
from discreet.policy.model import Column, Kind, Policy, Table

_TYPES: Final[dict[Kind, type]] = {
    Kind.INTEGER: int,
    Kind.TEXT: str,
    Kind.BOOLEAN: bool,
    Kind.DATE: date,
    Kind.TIMESTAMP: datetime,
}


def part_of(policy: Policy, table: str, column: str, key: Any, most: int) -> Part:
    """A part of this policy, or a refusal."""
    declared = partitioned(policy, table, column)
    if not _fits(declared, key):
        known = ", ".join(map(repr, declared.values)) if declared.values else f"of type {declared.kind}"
        raise Refused("unknown-part", f"{column} has no such key", f"keys: {known}")
    if type(most) is not int or most < 1:
        raise Refused("unknown-part", "a unit is in one part or in more", "write partition(…, parts=1)")
    return Part(policy.tables[table].name, declared.name, key, most)


def conditions(part: Part, table: Table) -> list[Sql]:
    """What a row of the part fulfils."""
    column = name(part.column)
    test = sql("{} IS NULL", column) if part.key is None else sql("{} = {}", column, literal(part.key))
    if table.owner is None or table.owner.column is None:
        return [test]  # every row is a unit and has one key
    return [test, sql("{} <= {}", name(key_rank(part.column)), literal(part.most))]


def partitioned(policy: Policy, table: str, column: str) -> Column:
    """The column by which a table is divided, or a refusal."""
    declared = policy.tables.get(table)
    if declared is None or declared.is_public:
        raise Refused("unknown-table", "there is no such private table", f"tables: {', '.join(policy.private_tables)}")
    if declared.stream is not None:
        raise Refused("unknown-part", "a stream has blocks, and no other parts", 'name them: blocks="newest 7"')
    own = declared.owner is not None and declared.owner.column is None
    keys = [other.name for other in declared.columns.values() if other.is_key] if own else list(ranked_keys(declared))
    if column not in keys:
        raise Refused("unknown-column", "a table is divided by one of its key columns", f"keys: {', '.join(keys)}")
    return declared.columns[column]


def _encodable(key: str) -> bool:
    """Whether an engine can be told it: lone surrogates are no text."""
    return not any("\ud800" <= letter <= "\udfff" for letter in key)


def _fits(column: Column, key: Any) -> bool:
    if key is None:
        return column.nullable
    if type(key) is not _TYPES.get(column.kind) or (isinstance(key, str) and not _encodable(key)):
        return False
    return column.values is None or key in column.values
