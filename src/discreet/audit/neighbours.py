"""Databases that differ in one unit, with all its rows in all tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any, overload

from discreet.policy import Column, Kind, Policy, Table

if TYPE_CHECKING:
    from discreet.audit.worlds import Pair

Row = Mapping[str, Any]
Rows = Sequence[Row]
Data = Mapping[str, Rows]


@overload
def neighbours(policy: Policy, data: Data) -> Iterator[Data]: ...
@overload
def neighbours(policy: Policy, data: None = None) -> Iterator[Pair]: ...
def neighbours(policy: Policy, data: Data | None = None) -> Iterator[Data] | Iterator[Pair]:
    """Of a database: the same without one unit, for each unit in turn. The relation is symmetric: this adds as well.

    Of a policy alone: pairs (data, neighbour, what) that are made up, first those where one unit shows most, then every
    small one. Nothing is read.
    """
    if data is not None:
        return _smaller(policy, data)
    from discreet.audit.worlds import searched, small

    return chain(searched(policy), small(policy))


def _smaller(policy: Policy, data: Data) -> Iterator[Data]:
    for unit in units(policy, data):
        yield without(policy, data, unit)
    for table in policy.private_tables.values():
        if table.owner is not None and table.owner.column is None:
            for place in range(len(data.get(table.name, ()))):
                rows = data[table.name]
                yield {**data, table.name: [*rows[:place], *rows[place + 1 :]]}


def units(policy: Policy, data: Data) -> list[str]:
    """Every unit that some row belongs to."""
    found: dict[str, None] = {}
    for table in policy.private_tables.values():
        for row in data.get(table.name, ()):
            unit = unit_of(policy, data, table, row)
            if unit is not None:
                found[unit] = None
    return list(found)


def without(policy: Policy, data: Data, unit: str) -> Data:
    """The database without one unit. Rows are judged by the whole database, before anything is removed."""
    return {
        name: [row for row in rows if unit_of(policy, data, policy.tables[name], row) != unit]
        for name, rows in data.items()
    }


def replaced(policy: Policy, data: Data, other: Data, unit: str) -> Data:
    """The database with the rows that one unit has in another database in the place of its own.

    Theorem  What differs between neighbours by at most d differs between these by at most 2d. Proof: remove, then add.
    """
    left = without(policy, data, unit)
    return {
        name: [*rows, *(row for row in other.get(name, ()) if unit_of(policy, other, policy.tables[name], row) == unit)]
        for name, rows in left.items()
    }


def unit_of(policy: Policy, data: Data, table: Table, row: Mapping[str, Any]) -> str | None:
    """The unit that a row belongs to, along foreign keys; None if it is public, nobody's or a unit of its own."""
    owner = table.owner
    if owner is None or owner.column is None:
        return None
    holder = table
    for hop in owner.path:
        holder = policy.tables[hop.table]
        reference = row.get(hop.column)
        matches = [
            other for other in data.get(hop.table, ()) if reference is not None and other.get(hop.key) == reference
        ]
        if not matches:
            return None
        row = matches[0]
    return _typed(row.get(owner.column), holder.columns.get(owner.column))


def _typed(value: Any, column: Column | None) -> str | None:
    """A unit as the engine compares it: a declared integer is a number, everything else is text."""
    if value is None or column is None or column.kind is not Kind.INTEGER:
        return None if value is None else str(value)
    try:
        return str(round(Decimal(str(value).strip())))
    except (ArithmeticError, ValueError):
        return None
