"""Reading whose a row is: the `unit` of a table, and whether the tables on its path agree."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from discreet.policy.model import Hop, Kind, Owner, Table
from discreet.policy.problems import choices, shown
from discreet.policy.section import RuleError, Section, identifier, text

ROW: Final = "row"
ARROW: Final = "->"
_TARGET: Final = re.compile(r"([^.()]+)(?:\(([^()]+)\)\s*)?\.(.+)")
_GRAMMAR: Final = 'write it like "account_id -> accounts.customer_id", or "account_id -> accounts(id).customer_id"'


def read_owner(value: object) -> Owner:
    """`"patient_id"`, `"row"`, or a path of foreign keys.

    `"account_id -> accounts.customer_id"`: this table's account_id is the account_id of one row of accounts, whose
    customer_id is the unit; `accounts(id).customer_id` where the key has another name there.
    """
    first, *targets = (part.strip() for part in text(value).split(ARROW))
    if not targets:
        return Owner(None if first == ROW else identifier(first))
    column, path = identifier(first), []
    for target in targets:
        parsed = _TARGET.fullmatch(target)
        if parsed is None:
            raise RuleError(f"{shown(target)} must name a table and a column of it", _GRAMMAR)
        table, key, following = (part.strip() if part else column for part in parsed.groups())
        path.append(Hop(column, identifier(table), identifier(key)))
        column = identifier(following)
    return Owner(column, tuple(path))


def unit_kind(value: object) -> Kind:
    """What units are: text, or integers."""
    kind = text(value)
    if kind not in (Kind.TEXT, Kind.INTEGER):
        raise RuleError(f"units cannot be of type {shown(kind)}", choices(kind, [Kind.TEXT, Kind.INTEGER]))
    return Kind(kind)


def check_owners(section: Section, tables: Mapping[str, Table], names: Collection[str]) -> None:
    """Whether every path leads through private tables to the unit; `names` includes tables that are not right."""
    for table in tables.values():
        if table.owner is None:
            continue
        there = section.at(table.name, "unit")
        before = len(section.problems)
        _check_hops(there, table, tables, names)
        if len(section.problems) == before:
            _check_end(there, table.owner, tables)
        for other, column in _mentioned(table, table.owner):
            _check_spelling(there, tables.get(other), column)
        if table.owner.column is None and ROW in table.columns:
            there.report(f"could mean every row, or the column {ROW!r}", "rename that column")


def _check_hops(section: Section, table: Table, tables: Mapping[str, Table], names: Collection[str]) -> None:
    path = table.owner.path if table.owner else ()
    trail = [table.name]
    for hop in path:
        passed = tables.get(hop.table)
        if hop.table in trail:
            section.report(f"goes in a circle: it comes to {shown(hop.table)} twice", "end it at the table of the unit")
        elif hop.table not in names:
            section.report(f"there is no table {shown(hop.table)}", choices(hop.table, names))
        elif passed and passed.owner is None:
            section.report(f"{shown(hop.table)} is public, so it has no unit", "give that table a unit")
        elif passed and passed.owner and passed.owner.column is None:
            section.report(f"every row of {shown(hop.table)} is its own unit", "give that table the unit that you mean")
        trail.append(hop.table)


def _check_end(section: Section, owner: Owner, tables: Mapping[str, Table]) -> None:
    end = tables.get(owner.path[-1].table) if owner.path else None
    if end is None or end.owner is None or end.owner == Owner(owner.column):
        return
    if end.owner.path:
        onward = f"{ARROW} {end.owner.path[0].table}.…"
        section.report(f"ends at {shown(end.name)}, whose own unit lies further on", f"continue it: … {onward}")
    else:
        right = f"{end.name}.{end.owner.column}"
        section.report(f"ends at a column that is not the unit of {shown(end.name)}", f"end it with {shown(right)}")


def _mentioned(table: Table, owner: Owner) -> Iterator[tuple[str, str]]:
    """The columns that the path names, each with its table."""
    tables = [table.name, *(hop.table for hop in owner.path)]
    columns = [*(hop.column for hop in owner.path), owner.column]
    yield from ((name, column) for name, column in zip(tables, columns, strict=True) if column)
    yield from ((hop.table, hop.key) for hop in owner.path)


def _check_spelling(section: Section, table: Table | None, column: str) -> None:
    """DuckDB takes two spellings for one column, so a rule about the unit's column must not see two."""
    if table is None or column in table.columns:
        return
    for declared in table.columns:
        if declared.casefold() == column.casefold():
            section.report(f"{shown(column)} is declared as {shown(declared)} in {shown(table.name)}", "spell it alike")


def leading_columns(private: Mapping[str, Table], table: Table) -> list[str]:
    """Columns of a table that name units or lead to them, and need not be declared."""
    columns = []
    for other in private.values():
        owner = other.owner
        if owner is None or owner.column is None:
            continue
        if (owner.path[-1].table if owner.path else other.name) == table.name:
            columns.append(owner.column)
        steps = [other.name, *(hop.table for hop in owner.path)]
        for holder, hop in zip(steps, owner.path, strict=False):
            columns += [hop.column] if holder == table.name else []
            columns += [hop.key] if hop.table == table.name else []
    return columns
