"""Whose the rows of a source are: units claim them by a column, or along foreign keys."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from discreet.engines.sources import Render, Sources
from discreet.engines.text import named, typed
from discreet.policy import Column, Kind, Policy, Table
from discreet.policy.layout import ROW, TYPES, UNIT
from discreet.quoting import name

KEY: Final = "_discreet_claimed"
LINK: Final = "_discreet_link"


def unit_type(policy: Policy) -> str:
    """The type that units are compared in: the policy's word, whatever the sources hold."""
    return TYPES[policy.unit_kind]


def owned_rows(sources: Sources, table: Table) -> str:
    """The typed rows of a table; those of a private one once for each unit that claims them, and never for nobody.

    A unit claims a row by its column, or along foreign keys: whoever has a row with the key that it leads to.

    Theorem  Adding or removing a unit, with the rows that name it and those that nobody else claims, changes no row of
             any other unit here.
    Proof    Claims are distinct pairs of key and unit. A pair of another unit comes from rows that name that unit, or
             that it claims, by induction along the path; none of them was added or removed. A row is here once for
             each pair, so what others claim makes it neither more nor less.
    """
    if table.owner is None or table.owner.column is None:
        if table.columns:
            return _source_rows(sources, table, {})
        if table.is_public:
            return sources.public_rows(table)
        return f"SELECT 1 AS {name(ROW)} FROM ({sources.rows(table, {}, absent={})})"
    path, unit = table.owner.path, f"{name(UNIT)} IS NOT NULL"
    if not path:
        owner = {UNIT: (table.owner.column, unit_type(sources.policy))}
        return f"SELECT * FROM ({_source_rows(sources, table, owner)}) WHERE {unit}"
    link = {LINK: (path[0].column, key_type(sources.policy, table, 0))}
    rows = _source_rows(sources, table, link)
    columns = ", ".join([f"c.{name(UNIT)}", *(f"t.{name(column)}" for column in table.columns)])
    joined = f"({rows}) AS t JOIN ({claims(sources, table)}) AS c ON t.{name(LINK)} = c.{name(KEY)}"
    return f"SELECT {columns} FROM {joined}"


def claims(sources: Sources, table: Table, step: int = 0) -> str:
    """Which units claim which keys of the table that this hop of a foreign-key path leads to, each pair once."""
    owner = table.owner
    if owner is None or owner.column is None:
        raise ValueError("nobody is named there")
    policy, hop = sources.policy, owner.path[step]
    holder = policy.tables[hop.table]
    key = {KEY: (hop.key, key_type(policy, table, step))}
    if step == len(owner.path) - 1:
        rows = _names(sources, holder, {**key, UNIT: (owner.column, unit_type(policy))})
        return f"SELECT DISTINCT * FROM ({rows}) WHERE {name(KEY)} IS NOT NULL AND {name(UNIT)} IS NOT NULL"
    onward = owner.path[step + 1]
    rows = _names(sources, holder, {**key, LINK: (onward.column, key_type(policy, table, step + 1))})
    return f"""
        SELECT DISTINCT t.{name(KEY)}, c.{name(UNIT)} FROM ({rows}) AS t
        JOIN ({claims(sources, table, step + 1)}) AS c ON t.{name(LINK)} = c.{name(KEY)}
        WHERE t.{name(KEY)} IS NOT NULL
    """


def key_type(policy: Policy, table: Table, step: int) -> str:
    """The type that a foreign key and what it leads to are compared in: integers where the policy says so of both."""
    path = table.owner.path if table.owner else ()
    here = policy.tables[path[step - 1].table] if step else table
    ends = (here, path[step].column), (policy.tables[path[step].table], path[step].key)
    declared = [holder.columns[column].kind for holder, column in ends if column in holder.columns]
    return TYPES[Kind.INTEGER] if declared == [Kind.INTEGER, Kind.INTEGER] else TYPES[Kind.TEXT]


def _source_rows(sources: Sources, table: Table, others: Mapping[str, tuple[str, str]]) -> str:
    """The declared columns of a table, typed, and others that name units or lead to them: {alias: (column, type)}."""
    columns: dict[str, tuple[str, Render]] = {
        column.name: (column.name, partial(_declared, column)) for column in table.columns.values()
    }
    types = {column.name: TYPES[column.kind] for column in table.columns.values()}
    return sources.rows(table, {**_naming(others), **columns}, absent={**_types(others), **types})


def _names(sources: Sources, table: Table, others: Mapping[str, tuple[str, str]]) -> str:
    return sources.rows(table, _naming(others), absent=_types(others))


def _types(others: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {alias: kind for alias, (_, kind) in others.items()}


def _naming(others: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, Render]]:
    return {alias: (column, partial(name_of, kind)) for alias, (column, kind) in others.items()}


def _declared(column: Column, value: str, _: str, collated: bool) -> str:
    return typed(value, column, collated=collated)


def name_of(wanted: str, value: str, kind: str, collated: bool) -> str:
    """What a value names, as an integer or a text, in the type that is wanted."""
    return named(value, kind, collated=collated, whole=wanted == TYPES[Kind.INTEGER])
