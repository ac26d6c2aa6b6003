"""Databases that differ in one unit, with all its rows in all tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any, overload

from discreet.policy import Kind, Policy, Table
from discreet.policy.calendar import Days, calendar, number

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

    Of a policy alone: invented pairs (data, neighbour, what), first those where one unit shows most, then every
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
            for index in range(len(data.get(table.name, ()))):
                rows = data[table.name]
                yield {**data, table.name: [*rows[:index], *rows[index + 1 :]]}


def units(policy: Policy, data: Data) -> list[str]:
    """Every unit that some row belongs to."""
    known: dict[str, None] = {}
    for table in policy.private_tables.values():
        for row in data.get(table.name, ()):
            known |= dict.fromkeys(sorted(claimants(policy, data, table, row)))
    return list(known)


def without(policy: Policy, data: Data, unit: str) -> Data:
    """The database without one unit: its rows, but for those that others claim too, which stay theirs.

    Rows are judged by the whole database, before anything is removed.
    """
    return {
        name: [row for row in rows if claimants(policy, data, policy.tables[name], row) != {unit}]
        for name, rows in data.items()
    }


def replaced(policy: Policy, data: Data, other: Data, unit: str) -> Data:
    """The database with the rows that one unit has in another database in the place of its own.

    Theorem  What differs between neighbours by at most d differs between these by at most 2d. Proof: remove, then add.
    """
    left = without(policy, data, unit)
    return {
        name: [
            *rows,
            *(row for row in other.get(name, ()) if claimants(policy, other, policy.tables[name], row) == {unit}),
        ]
        for name, rows in left.items()
    }


def claimants(policy: Policy, data: Data, table: Table, row: Row) -> set[str]:
    """The units that claim a row, by its column or along foreign keys; none if it is public, or a unit of its own.

    Of a stream that protects a unit in one block, such pairs; rows that lie in no block are nobody's.
    """
    owner = table.owner
    if owner is None or owner.column is None:
        return set()
    holder, claimed = table, [row]
    for hop in owner.path:
        holder = policy.tables[hop.table]
        references = [key for each in claimed if (key := each.get(hop.column)) is not None]
        claimed = [other for other in data.get(hop.table, ()) if other.get(hop.key) in references]
    declared = holder.columns.get(owner.column)
    kind = Kind.TEXT if declared is None else declared.kind
    named = {unit for each in claimed if (unit := _named(each.get(owner.column), kind, policy.unit_kind)) is not None}
    if table.stream is None or table.stream.keeps_units:
        return named
    block = block_of(table, row)
    return set() if block is None else {f"{block}:{unit}" for unit in named}


def block_of(table: Table, row: Row) -> int | None:
    """The block of time in which a row lies, as the engine says; None outside of the calendar."""
    days, column = calendar(table), table.stream.column if table.stream else None
    try:
        when = datetime.fromisoformat(str(row.get(str(column))).strip())
    except ValueError:
        return None
    assert isinstance(days, Days)
    block = number(days.by, days.start, when)
    return block if 0 <= block <= days.last else None


def _named(value: Any, kind: Kind, units: Kind) -> str | None:
    """A unit as the engine compares it: first a value of the column's kind, then a name of the kind that units are."""
    try:
        if value is not None and kind is Kind.INTEGER:
            value = round(Decimal(str(value).strip()))
        elif value is not None and kind is Kind.NUMBER:
            value = int(value) if float(value).is_integer() else float(value)
    except (ArithmeticError, ValueError):
        return None
    if value is None or units is not Kind.INTEGER:
        return None if value is None else str(value)
    whole = re.fullmatch(r"[+-]?[0-9]{1,19}", str(value))
    return str(int(value)) if whole and -(2**63) <= int(value) < 2**63 else None
