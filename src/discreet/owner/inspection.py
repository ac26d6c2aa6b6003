"""What the sources hold, counted: the figures that the lints judge by. They are exact values: do not share.

Each table is read once for all its columns, and once more for its units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from discreet.engines.claims import KEY, claims, key_type, name_of, unit_type
from discreet.engines.connection import before_state, connect, scratch
from discreet.engines.postgres import Relation
from discreet.engines.problems import SourceError
from discreet.engines.sources import Render, Report, Sources, owned
from discreet.engines.text import plain_text
from discreet.policy import Bound, Column, Key, Kind, Policy, Table
from discreet.policy.engines import POSTGRES
from discreet.policy.layout import TYPES, UNIT
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
    shared: int = 0
    """Claims of keys that other units claim too."""
    cut: int = 0
    """Rows of units beyond the `max_rows` of each: never read."""

    @property
    def owned(self) -> int:
        """Rows that are a unit's."""
        return self.rows - self.dangling - self.ownerless


class Inspection:
    """A policy beside its sources. What cannot be read is kept in `failures` and taken as empty."""

    def __init__(self, policy: Policy, connection: duckdb.DuckDBPyConnection, scratch: Path) -> None:
        self.policy = policy
        self.failures: dict[str, SourceError] = {}
        self._sources = Sources(policy, connection, scratch)
        self._sources.read_together(policy.tables)
        self._sources.spark.margin = 1
        self._held: dict[str, dict[str, str]] = {}
        self._columns: dict[str, dict[str, ColumnFigures]] = {}
        self._units: dict[str, UnitFigures | None] = {}
        self._groups: dict[str, dict[str, int]] = {}
        self._repeated: dict[str, dict[str, bool]] = {}
        self._integers: dict[str, dict[str, bool]] = {}

    def held(self, table: Table) -> dict[str, str]:
        """The source's own columns with their types."""
        return self._once(self._held, table, lambda: self._described(table), {})

    def relation(self, table: Table) -> Relation | None:
        """Of a table of PostgreSQL what its catalogue says; None of others, and of what cannot be read."""
        self.held(table)
        return self._sources.staging.relations.get(table.name)

    def spelling(self, table: Table, column: str) -> str | None:
        """How the source spells a column; None if it has none of that name."""
        return next((held for held in self.held(table) if held.lower() == column.lower()), None)

    def columns(self, table: Table) -> dict[str, ColumnFigures]:
        """Figures of the declared columns that the source has."""
        if self._stays(table):
            return {}
        return self._once(self._columns, table, lambda: self._counted(table), {})

    def units(self, table: Table) -> UnitFigures | None:
        """Figures of a private table; None where a column on the way to the unit is missing, or rows stay there."""
        if self._stays(table):
            return None
        return self._once(self._units, table, lambda: self._owned(table), None)

    def is_repeated(self, table: Table, column: str) -> bool:
        """Whether a value stands in several rows."""
        held = None if self._stays(table) else self.spelling(table, column)
        known = self._repeated.setdefault(table.name, {})
        return held is not None and self._once(known, table, lambda: self._counts_twice(table, held), False, key=held)

    def writes_integers(self, table: Table, column: str) -> bool:
        """Whether all texts of a column are whole numbers as others write them, too: 7, and never 007."""
        held = None if self._stays(table) else self.spelling(table, column)
        known = self._integers.setdefault(table.name, {})
        return held is not None and self._once(known, table, lambda: self._are_integers(table, held), False, key=held)

    def _stays(self, table: Table) -> bool:
        """Whether rows may not leave their database: of those nothing is counted here."""
        return self.policy.engine == POSTGRES and not table.is_public

    @cached_property
    def population(self) -> int:
        """How many units there are, at least."""
        figures = [self.units(table) for table in self.policy.private_tables.values()]
        return max((each.units for each in figures if each), default=0)

    def _once(self, figures_of: dict[str, T], table: Table, find: Callable[[], T], otherwise: T, key: str = "") -> T:
        """What was found before, or is found now; otherwise, if the source cannot be read."""
        key = key or table.name
        if key not in figures_of:
            figures_of[key] = otherwise
            if table.name not in self.failures:
                try:
                    figures_of[key] = self._read(table, find)
                except SourceError as failure:
                    self.failures.setdefault(failure.table, failure)
        return figures_of[key]

    def _read(self, table: Table, find: Callable[[], T]) -> T:
        """As the copy is made: once more without the files that fail in the midst."""
        try:
            return find()
        except SourceError:
            if not self._sources.drop_unreadable(table):
                raise
        return find()

    def _described(self, table: Table) -> dict[str, str]:
        return self._sources.columns(table)

    def _counted(self, table: Table) -> dict[str, ColumnFigures]:
        counted = [column for column in table.columns.values() if self.spelling(table, column.name) is not None]
        if not counted:
            return {}
        wanted: dict[str, tuple[str, Render]] = {}
        types: dict[str, str] = {}
        for index, column in enumerate(counted):
            kind = TYPES[column.kind]
            wanted |= {f"raw{index}": (column.name, _raw), f"cast{index}": (column.name, partial(_cast, kind))}
            types |= {f"raw{index}": "VARCHAR", f"cast{index}": kind}
        rows = self._sources.rows(table, wanted, absent=types)
        figures = ", ".join(
            figure for index, column in enumerate(counted) for figure in _figures(column, f"raw{index}", f"cast{index}")
        )
        row = iter(self._row(table, f"SELECT {figures} FROM ({rows})"))
        return {column.name: _read_figures(column, row) for column in counted}

    def _counts_twice(self, table: Table, column: str) -> bool:
        rows = self._sources.rows(table, {"named": (column, _named)}, absent={"named": "VARCHAR"})
        return bool(self._row(table, f"SELECT count(named) > count(DISTINCT named) FROM ({rows})")[0])

    def _are_integers(self, table: Table, column: str) -> bool:
        rows = self._sources.rows(table, {"named": (column, _named)}, absent={"named": "VARCHAR"})
        alike = "bool_and(TRY_CAST(named AS HUGEINT)::VARCHAR IS NOT DISTINCT FROM named)"
        return bool(self._row(table, f"SELECT {alike} FROM ({rows}) WHERE named IS NOT NULL")[0])

    def _owned(self, table: Table) -> UnitFigures | None:
        """Rows by the units that claim them; dangling are those with a key that nobody claims."""
        owner = table.owner
        if owner is None or any(self.spelling(holder, column) is None for holder, column in self.way(table)):
            return None
        if owner.column is None:
            (count,) = self._row(table, f"SELECT count(*) FROM ({self._sources.rows(table, {}, absent={})})")
            return UnitFigures(count, 0, 0, count, 1)
        dangling, shared = "false", "0 * count(*)"
        if owner.path:
            dangling, shared = "k IS NOT NULL AND u IS NULL", "count(*) - count(DISTINCT k)"
        query = f"""
            WITH owned AS ({self._with_units(table, owner.column, [])}),
            counted AS (SELECT u, {dangling} AS d, count(*) AS n FROM owned GROUP BY ALL)
            SELECT coalesce(sum(n), 0), coalesce(sum(n) FILTER (d), 0),
                coalesce(sum(n) FILTER (u IS NULL AND NOT d), 0), count(u),
                coalesce(quantile_disc(n, 0.99) FILTER (u IS NOT NULL), 1),
                (SELECT {shared} FROM (SELECT DISTINCT k, u FROM owned WHERE u IS NOT NULL)),
                coalesce(sum(greatest(n - {table.max_rows:d}, 0)) FILTER (u IS NOT NULL), 0)
            FROM counted
        """
        return UnitFigures(*map(int, self._row(table, query)))

    def _with_units(self, table: Table, column: str, keys: Sequence[str]) -> str:
        """Rows with the unit u that claims them, the key k by which it does, and further columns k0, k1, …"""
        path = table.owner.path if table.owner else ()
        joined = f"LEFT JOIN ({claims(self._sources, table)}) AS c ON t.k = c.{name(KEY)}" if path else ""
        unit = f"c.{name(UNIT)}" if path else "t.k"
        kind = key_type(self.policy, table, 0) if path else unit_type(self.policy)
        wanted: dict[str, tuple[str, Render]] = {"k": (path[0].column if path else column, partial(name_of, kind))}
        wanted |= {f"k{index}": (key, _named) for index, key in enumerate(keys)}
        rows = self._sources.rows(table, wanted, absent={"k": kind} | {f"k{i}": "VARCHAR" for i in range(len(keys))})
        more = "".join(f", t.k{index} AS k{index}" for index in range(len(keys)))
        return f"SELECT t.k AS k, {unit} AS u{more} FROM ({rows}) AS t {joined}"

    def groups(self, table: Table) -> dict[str, int]:
        """Of each key column: 99 % of the units have rows in at most so many of its groups. None that is not there."""
        return self._once(self._groups, table, lambda: self._grouped(table), {})

    def _grouped(self, table: Table) -> dict[str, int]:
        declared = [column.name for column in table.columns.values() if column.is_key]
        keys = [key for key in declared if self.spelling(table, key) is not None]
        owner = table.owner
        if owner is None or owner.column is None or not keys or self.units(table) is None:
            return {}
        counts = ", ".join(f"count(DISTINCT k{index}) AS n{index}" for index in range(len(keys)))
        usual = ", ".join(f"coalesce(quantile_disc(n{index}, 0.99), 1)" for index in range(len(keys)))
        units = f"SELECT {counts} FROM ({self._with_units(table, owner.column, keys)}) WHERE u IS NOT NULL GROUP BY u"
        return dict(zip(keys, map(int, self._row(table, f"SELECT {usual} FROM ({units})")), strict=True))

    def parts_read(self, table: Table, limits: Sequence[int]) -> dict[int, float]:
        """Of a private table, for each limit of rows per unit, the part of the rows that would be read; nothing if
        units are rows, or nothing can be said.
        """
        owner = table.owner
        if owner is None or owner.column is None or self.units(table) is None or table.name in self.failures:
            return {}
        parts = ", ".join(f"sum(least(n, {int(limit)})) / sum(n)" for limit in limits)
        counted = (
            f"SELECT count(*) AS n FROM ({self._with_units(table, owner.column, [])}) WHERE u IS NOT NULL GROUP BY u"
        )
        row = self._row(table, f"SELECT {parts} FROM ({counted})")
        return {limit: float(part) for limit, part in zip(limits, row, strict=True) if part is not None}

    def way(self, table: Table) -> list[tuple[Table, str]]:
        """The columns that lead from a row to its unit, each with the table that holds it."""
        owner, holder, way = table.owner, table, []
        for hop in owner.path if owner else ():
            way.append((holder, hop.column))
            holder = self.policy.tables[hop.table]
            way.append((holder, hop.key))
        if owner and owner.column:
            way.append((holder, owner.column))
        return way

    def report(self, table: Table) -> Report:
        """What could not be read of a table: known when all of it was looked at."""
        self.columns(table)
        self.units(table)
        return self._sources.reports.get(table.name, Report())

    def _row(self, table: Table, query: str) -> tuple[Any, ...]:
        with owned(table.name):
            row = self._sources.connection.execute(query).fetchone()
        return row or ()


def _raw(value: str, _: str, collated: bool) -> str:
    return plain_text(value, collated=collated)


def _cast(wanted: str, value: str, _: str, collated: bool) -> str:
    return plain_text(value, collated=collated) if wanted == "VARCHAR" else f"TRY_CAST({value} AS {wanted})"


def _named(value: str, kind: str, collated: bool) -> str:
    return name_of("VARCHAR", value, kind, collated)


def _figures(column: Column, value: str, cast: str) -> tuple[str, ...]:
    """What to count of a column, in the order of `_read_figures`, from its text and what that is as the type."""
    finite = f"isfinite({cast})" if column.kind in (Kind.NUMBER, Kind.DATE, Kind.TIMESTAMP) else f"{cast} IS NOT NULL"
    number = f"TRY_CAST({value} AS DOUBLE)"
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
    unseen = tuple(value for value in column.values or () if value not in frozenset(seen or ()))
    return ColumnFigures(present, missing, lost, fractional, infinite, outside, bool(tight), unseen)


def _bound(bound: Bound, kind: Kind) -> str:
    if isinstance(bound, date):
        return literal(bound)
    return str(int(bound)) if kind is Kind.INTEGER else f"{float(bound)!r}::DOUBLE"


@contextmanager
def inspected(policy: Policy) -> Iterator[Inspection]:
    """An inspection with a connection of its own."""
    state = before_state(policy.state)
    with scratch(state) as folder, connect(spill=state) as connection:
        yield Inspection(policy, connection, folder)
