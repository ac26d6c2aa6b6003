"""What the sources hold, counted: the figures that the lints judge by. For the owner's eyes only.

Each table is read once for all its columns, and once more for its units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, TypeVar

import duckdb

from discreet.engines.connection import before_state, connect
from discreet.engines.problems import SourceError
from discreet.engines.sources import Sources, owned
from discreet.policy import Bound, Column, Key, Kind, Policy, Table
from discreet.policy.layout import TYPES
from discreet.quoting import literal, name

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ColumnFigures:
    """A declared column beside what its source holds."""

    present: int
    """Values that are not NULL."""
    missing: int
    """Values that are NULL."""
    lost: int
    """Present, and not to be cast to the declared type."""
    fractional: int
    """Not whole, in a column of integers."""
    infinite: int
    """NaN or infinite."""
    outside: int
    """Not among the declared values, or outside of the bounds."""
    tight: bool
    """Whether the smallest and the largest value are exactly the bounds."""
    unseen: tuple[Key, ...]
    """Declared values that never occur."""


@dataclass(frozen=True, slots=True)
class UnitFigures:
    """A private table's rows by the unit that owns them."""

    rows: int
    dangling: int
    """Rows whose foreign key leads nowhere."""
    ownerless: int
    """Rows without a unit for another reason: it is NULL."""
    units: int
    usual: int
    """Rows of a unit: 99 % of the units have at most so many."""


class Inspection:
    """A policy beside its sources. What cannot be read is kept in `failures` and taken as empty."""

    def __init__(self, policy: Policy, connection: duckdb.DuckDBPyConnection) -> None:
        self.policy = policy
        self.failures: dict[str, SourceError] = {}
        self._sources = Sources(policy, connection)
        self._held: dict[str, dict[str, str]] = {}
        self._columns: dict[str, dict[str, ColumnFigures]] = {}
        self._units: dict[str, UnitFigures | None] = {}
        self._repeated: dict[str, dict[str, bool]] = {}

    def held(self, table: Table) -> dict[str, str]:
        """The source's own columns with their types."""
        return self._once(self._held, table, lambda: self._described(table), {})

    def spelling(self, table: Table, column: str) -> str | None:
        """How the source spells a column; None if it has none of that name."""
        return next((held for held in self.held(table) if held.lower() == column.lower()), None)

    def columns(self, table: Table) -> dict[str, ColumnFigures]:
        """Figures of the declared columns that the source has."""
        return self._once(self._columns, table, lambda: self._counted(table), {})

    def units(self, table: Table) -> UnitFigures | None:
        """Figures of a private table; None where a column on the way to the unit is missing or leads to many."""
        return self._once(self._units, table, lambda: self._owned(table), None)

    def is_repeated(self, table: Table, column: str) -> bool:
        """Whether a value stands in several rows."""
        held = self.spelling(table, column)
        known = self._repeated.setdefault(table.name, {})
        return held is not None and self._once(known, table, lambda: self._counts_twice(table, held), False, key=held)

    @cached_property
    def population(self) -> int:
        """How many units there are, at least."""
        figures = [self.units(table) for table in self.policy.private_tables.values()]
        return max((found.units for found in figures if found), default=0)

    def _once(self, kept: dict[str, T], table: Table, find: Callable[[], T], otherwise: T, key: str = "") -> T:
        """What was found before, or is found now; otherwise, if the source cannot be read."""
        key = key or table.name
        if key not in kept:
            kept[key] = otherwise
            if table.name not in self.failures:
                try:
                    kept[key] = find()
                except SourceError as failure:
                    self.failures.setdefault(failure.table, failure)
        return kept[key]

    def _described(self, table: Table) -> dict[str, str]:
        return self._sources.columns(table)

    def _counted(self, table: Table) -> dict[str, ColumnFigures]:
        held = {column: self.spelling(table, column.name) for column in table.columns.values()}
        counted = [(column, f"t.{name(spelling)}") for column, spelling in held.items() if spelling is not None]
        if not counted:
            return {}
        figures = ", ".join(figure for column, value in counted for figure in _figures(column, value))
        row = iter(self._row(table, f"SELECT {figures} FROM {self._sources.reading(table)} AS t"))
        return {column.name: _read_figures(column, row) for column, _ in counted}

    def _counts_twice(self, table: Table, column: str) -> bool:
        counts = f"count({name(column)}) > count(DISTINCT {name(column)})"
        return bool(self._row(table, f"SELECT {counts} FROM {self._sources.reading(table)}")[0])

    def _owned(self, table: Table) -> UnitFigures | None:
        way = self._way(table)
        if way is None:
            return None
        joins, unit, dangling = way
        query = f"""
            SELECT coalesce(sum(n), 0), coalesce(sum(n) FILTER (d), 0),
                coalesce(sum(n) FILTER (u IS NULL AND NOT d), 0), count(u),
                coalesce(quantile_disc(n, 0.99) FILTER (u IS NOT NULL), 1)
            FROM (SELECT {unit} AS u, {dangling} AS d, count(*) AS n FROM {joins} GROUP BY ALL)
        """
        if not unit:
            query = f"SELECT count(*), 0, 0, count(*), 1 FROM {joins}"
        return UnitFigures(*map(int, self._row(table, query)))

    def _way(self, table: Table) -> tuple[str, str, str] | None:
        """The table joined along its foreign keys, its unit there, and whether a key leads nowhere.

        No unit where every row is its own; None where a column is missing or a key is not unique.
        """
        joins, holder, alias = f"{self._sources.reading(table)} AS t", table, "t"
        lost = ["false"]
        owner = table.owner
        for place, hop in enumerate(owner.path if owner else ()):
            column = self.spelling(holder, hop.column)
            holder = self.policy.tables[hop.table]
            key = self.spelling(holder, hop.key)
            if column is None or key is None or self.is_repeated(holder, key):
                return None
            left, right = f"{alias}.{name(column)}", f"j{place}.{name(key)}"
            joins += f" LEFT JOIN {self._sources.reading(holder)} AS j{place} ON {left} = {right}"
            lost.append(f"({left} IS NOT NULL AND {right} IS NULL)")
            alias = f"j{place}"
        if owner is None or owner.column is None:
            return joins, "", ""
        unit = self.spelling(holder, owner.column)
        return None if unit is None else (joins, f"{alias}.{name(unit)}", " OR ".join(lost))

    def _row(self, table: Table, query: str) -> tuple[Any, ...]:
        with owned(table.name):
            row = self._sources.connection.execute(query).fetchone()
        return row or ()


def _figures(column: Column, value: str) -> tuple[str, ...]:
    """What to count of a column, in the order of `_read_figures`."""
    cast = f"TRY_CAST({value} AS {TYPES[column.kind]})"
    finite = f"isfinite({cast})" if column.kind in (Kind.NUMBER, Kind.DATE, Kind.TIMESTAMP) else f"{cast} IS NOT NULL"
    number = f"TRY_CAST(CAST({value} AS VARCHAR) AS DOUBLE)"
    fraction = f"isfinite({number}) AND {number} <> trunc({number})" if column.kind is Kind.INTEGER else "false"
    outside, tight, seen = "false", "false", "NULL"
    if column.bounds is not None:
        low, high = (_bound(bound, column.kind) for bound in column.bounds)
        outside = f"{finite} AND ({cast} < {low} OR {cast} > {high})"
        tight = f"min({cast}) FILTER ({finite}) = {low} AND max({cast}) FILTER ({finite}) = {high}"
    if column.values is not None:
        declared = f"({', '.join(map(literal, column.values))})"
        outside = f"{cast} NOT IN {declared}"
        seen = f"list(DISTINCT {cast}) FILTER ({cast} IN {declared})"
    counted = (
        f"{value} IS NOT NULL",
        f"{value} IS NULL",
        f"{value} IS NOT NULL AND {cast} IS NULL",
        fraction,
        f"{cast} IS NOT NULL AND NOT {finite}",
        outside,
    )
    return *(f"count(*) FILTER ({condition})" for condition in counted), tight, seen


def _read_figures(column: Column, row: Iterator[Any]) -> ColumnFigures:
    present, missing, lost, fractional, infinite, outside, tight, seen = (next(row) for _ in range(8))
    found = frozenset(seen or ())
    unseen = tuple(value for value in column.values or () if value not in found)
    return ColumnFigures(present, missing, lost, fractional, infinite, outside, bool(tight), unseen)


def _bound(bound: Bound, kind: Kind) -> str:
    if isinstance(bound, date):
        return literal(bound)
    return str(int(bound)) if kind is Kind.INTEGER else f"{float(bound)!r}::DOUBLE"


@contextmanager
def inspected(policy: Policy) -> Iterator[Inspection]:
    """An inspection with a connection of its own."""
    with connect(spill=before_state(policy.state)) as connection:
        yield Inspection(policy, connection)
