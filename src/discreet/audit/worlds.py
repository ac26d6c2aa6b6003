"""Databases and their neighbours, made from a policy alone: all small ones, and those where one unit shows most.

Nothing is read. The others are dummy data; the unit that makes the difference is cast for a part: at the ends
of all bounds and beyond them, in every group, with more rows than are read, with keys that nobody else has, with NULLs,
with everybody's foreign keys; and always with rows in all tables, along foreign keys, so that joins find it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final, NamedTuple

from discreet.audit.neighbours import Data, Row, claimants, neighbours, without
from discreet.curator.dummy.kinships import Kinships, Spot
from discreet.curator.dummy.rows import Scale, dummy_rows
from discreet.policy import Column, Kind, Policy, Table

OTHERS: Final = 24
"""Dummy rows of each private table."""
ORDINARY: Final = 1
"""Units among them that are left out in turn."""
MOST_ROWS: Final = 500
"""Of one unit in one table, where the policy reads more."""
SMALL: Final = 3
"""Rows of a small world, and values that a row of it may have."""


class Pair(NamedTuple):
    """A database, the same without one unit, and what is special about that unit."""

    data: Data
    neighbour: Data
    what: str

    @property
    def tables(self) -> frozenset[str]:
        """The tables in which they differ."""
        return frozenset(name for name in self.data if self.data[name] != self.neighbour.get(name))


@dataclass(frozen=True, slots=True)
class Part:
    """How a unit looks: the value of its nth row in a column, and how many times `max_rows` rows it has."""

    what: str
    value: Callable[[Column, int], Any]
    times: int = 1

    def rows(self, table: Table) -> list[Row]:
        count = min(self.times * table.max_rows, max(MOST_ROWS, self.times))
        return [self.row(table, nth) for nth in range(count)]

    def row(self, table: Table, nth: int = 0) -> Row:
        """Where a unit in one block is protected, all of its rows are in the first: others are not its own."""
        row = {column.name: self.value(column, nth) for column in table.columns.values()}
        if table.stream is not None and table.stream.column is not None and not table.stream.keeps_units:
            row[table.stream.column] = Scale.of(table.columns[table.stream.column]).at(0)
        return row


def searched(policy: Policy) -> Iterator[Pair]:
    """Pairs that are likely to show what is wrong, those that use most of the sensitivity first."""
    others = World.of(policy)
    nobody = others.emptied()
    for part in PARTS:
        yield from others.pairs(part)
    yield from others.claimed(CLAIMING)
    for part in PARTS[:2]:
        yield from (pair._replace(what=f"{pair.what}, alone") for pair in nobody.pairs(part))
    ordinary = itertools.islice(neighbours(policy, others.data), ORDINARY)
    yield from (Pair(others.data, neighbour, "an ordinary unit") for neighbour in ordinary)


def replacements(policy: Policy) -> Iterator[Pair]:
    """Pairs with one unit that plays one part here and another there: it is removed, and another is added."""
    others = World.of(policy)
    for one, other in REPLACED:
        yield from others.replaced(one, other)


def small(policy: Policy) -> Iterator[Pair]:
    """For each private table: every two units with at most three rows in all, over every value or a few of them."""
    nobody = World.of(policy).emptied()
    for table in policy.private_tables.values():
        values = row_values(table)
        sizes = ((a, b) for a in range(1, SMALL + 1) for b in range(SMALL + 1 - a))
        for a, b in sizes:
            for one, other in itertools.product(_multisets(values, a), _multisets(values, b)):
                what = f"{a} and {b} rows of {table.name}"
                yield from nobody.small_pair(table, one, other, what)


def row_values(table: Table) -> list[Row]:
    """Every row that a table can have if there are few of them; else a few, from end to end."""
    scales = {
        column.name: [Scale.of(column).at(index) for index in range(min(Scale.of(column).count, SMALL + 1))]
        + [None] * column.nullable
        for column in table.columns.values()
    }
    every = itertools.islice(itertools.product(*scales.values()), SMALL + 1)
    rows: list[Row] = [dict(zip(scales, values, strict=True)) for values in every]
    if len(rows) <= SMALL:
        return rows
    return [Part("", value).row(table) for value in (_low, _high, _null)]


def _multisets(values: Sequence[Row], size: int) -> Iterator[tuple[Row, ...]]:
    return itertools.combinations_with_replacement(values, size)


@dataclass(frozen=True, slots=True)
class World:
    """Others, and where a unit and its foreign keys are written."""

    policy: Policy
    kinships: Kinships
    data: Data

    @classmethod
    def of(cls, policy: Policy) -> World:
        return cls(policy, Kinships.of(policy), dummy_rows(policy, OTHERS))

    def emptied(self) -> World:
        """The same public tables, and nobody."""
        data = {name: rows if self.policy.tables[name].is_public else [] for name, rows in self.data.items()}
        return World(self.policy, self.kinships, data)

    def pairs(self, part: Part) -> Iterator[Pair]:
        """With one more unit that plays this part; where rows are units, with one more row in each such table."""
        owned = {table.name: part.rows(table) for table in self._owned}
        if owned:
            yield from self._pair(self.joined(owned), part.what)
        for table in self.policy.private_tables.values():
            if table not in self._owned:
                data = self.with_rows({table.name: [part.row(table)]})
                yield Pair(data, self.data, f"{part.what}, one row of {table.name}")

    def claimed(self, part: Part) -> Iterator[Pair]:
        """With one more unit that repeats the keys of everybody's rows, where foreign keys lead to any."""
        if self.kinships.keys:
            rows = {}
            for table in self._owned:
                count = max(min(table.max_rows, MOST_ROWS), len(self.data[table.name]))
                rows[table.name] = [part.row(table, nth) for nth in range(count + 1)]
            yield from self._pair(self.joined(rows, claims=True), part.what)

    def replaced(self, part: Part, other: Part) -> Iterator[Pair]:
        """With one more unit, which plays one of two parts; where rows are units, with one more row."""
        what = f"{part.what}, replaced by {other.what}"
        here, there = ({table.name: each.rows(table) for table in self._owned} for each in (part, other))
        if here:
            yield Pair(self.joined(here), self.joined(there), what)
        for table in self.policy.private_tables.values():
            if table not in self._owned:
                sides = [self.with_rows({table.name: [each.row(table)]}) for each in (part, other)]
                yield Pair(sides[0], sides[1], f"{what}, one row of {table.name}")

    def small_pair(self, table: Table, one: Sequence[Row], other: Sequence[Row], what: str) -> Iterator[Pair]:
        if table in self._owned:
            others = World(self.policy, self.kinships, self.joined({table.name: other})) if other else self
            yield from others._pair(others.joined({table.name: one}), what)
        elif len(one) == 1:  # every row is a unit, so that one of them makes the difference
            neighbour = self.with_rows({table.name: other})
            yield Pair(self.with_rows({table.name: [*one, *other]}), neighbour, what)

    def _pair(self, data: Data, what: str) -> Iterator[Pair]:
        """The neighbour is whatever is left without the new unit's rows, however they came to be its own."""
        for table in self._owned:
            for row in data[table.name][len(self.data[table.name]) :]:
                for unit in claimants(self.policy, data, table, row):  # the first tables name units themselves
                    yield Pair(data, without(self.policy, data, unit), what)
                    return

    @property
    def _owned(self) -> list[Table]:
        """Tables whose rows belong to named units, those that others refer to first."""
        by_length = [(len(t.owner.path), t) for t in self.policy.private_tables.values() if t.owner and t.owner.column]
        return [table for _, table in sorted(by_length, key=lambda pair: pair[0])]

    def with_rows(self, rows: Mapping[str, Sequence[Row]]) -> Data:
        return {name: [*held, *rows.get(name, ())] for name, held in self.data.items()}

    def joined(self, rows: Mapping[str, Sequence[Row]], *, claims: bool = False) -> Data:
        """With one more unit, which has these rows; rows that foreign keys need on the way are added.

        `claims`: as many of its rows as can repeat keys of others.
        """
        wanted = {name: list(held) for name, held in rows.items()}
        for name in rows:
            owner = self.policy.tables[name].owner
            for hop in owner.path if owner else ():
                wanted.setdefault(hop.table, [{}])
        cast = Casting(self, {}, claims)
        for table in self._owned:
            cast.enter(table, wanted.get(table.name, []))
        return self.with_rows(cast.made)


@dataclass(slots=True)
class Casting:
    """One more unit, table by table."""

    world: World
    made: dict[str, list[Row]]
    claims: bool = False

    def enter(self, table: Table, rows: Sequence[Row]) -> None:
        """Rows of the unit: its name, keys that nobody has, and foreign keys that lead to its rows before."""
        kinships = self.world.kinships
        spots = kinships.of_table(table)
        links = {spot: self._links(table, spot) for spot in spots}
        entered: list[Row] = []
        seen: set[tuple[Spot, str]] = set()
        for nth, row in enumerate(rows):
            linked = {spot: values[nth % len(values)] if values else None for spot, values in links.items()}
            for spot in kinships.keys & links.keys():
                if not links[spot]:
                    linked[spot] = self._key(table, spot, nth)
            unique = {(spot, str(linked[spot])) for spot in kinships.keys & links.keys()}
            if seen.isdisjoint(unique):  # a key may be the unit itself, and then it has one row
                seen |= unique
                entered.append({**row, **{spots[spot]: value for spot, value in linked.items()}})
        self.made[table.name] = entered

    def _links(self, table: Table, spot: Spot) -> list[Any]:
        """The values that this column takes in turn; none if it is a key with values of its own."""
        owner = table.owner
        assert owner is not None
        if not owner.path and owner.column is not None and owner.column.lower() == spot.column:
            return [self._fresh(spot, 0)]
        hop = owner.path[0] if owner.path else None
        if hop is None or hop.column.lower() != spot.column:
            return []
        key = self.world.kinships.spelling(self.world.policy.tables[hop.table], hop.key.lower())
        return [row[key] for row in self.made.get(hop.table, [])]

    def _key(self, table: Table, spot: Spot, nth: int) -> Any:
        """The key of a row: a new one; for a unit that claims those of others, theirs too, as long as there are any."""
        others = self.world.data[table.name] if self.claims else ()
        taken = (
            others[nth - 1].get(self.world.kinships.spelling(table, spot.column)) if 0 < nth <= len(others) else None
        )
        return self._fresh(spot, nth) if taken is None else taken

    def _fresh(self, spot: Spot, nth: int) -> Any:
        """A value that nobody else has in the columns that are compared with this one; if there is none, the last."""
        kinships, data = self.world.kinships, self.world.data
        declared = kinships.strictest(spot, lambda column: Scale.of(column).count)
        if declared is None:
            return 10**6 * (1 + sum(map(len, data.values()))) + nth
        scale = Scale.of(declared)
        taken = {
            str(row.get(kinships.spelling(self.world.policy.tables[other.table], other.column)))
            for other in kinships.families[spot]
            for row in data.get(other.table, ())
        }
        last = range(scale.count - 1, max(-1, scale.count - 2 - nth - len(taken)), -1)
        free = [value for value in map(scale.at, last) if str(value) not in taken]
        return free[nth] if nth < len(free) else scale.at(scale.count - 1)


# values


def _ends(column: Column) -> tuple[Any, Any]:
    scale = Scale.of(column)
    if column.bounds is None or column.kind not in (Kind.INTEGER, Kind.NUMBER):
        return scale.at(0), scale.at(scale.count - 1)
    low, high = (float(bound) if column.kind is Kind.NUMBER else int(bound) for bound in column.bounds)  # type: ignore[arg-type]
    return low, high


def _low(column: Column, _: int = 0) -> Any:
    return _ends(column)[0]


def _high(column: Column, _: int = 0) -> Any:
    """Private keys are the commonest one: others hold it too."""
    low, high = _ends(column)
    return low if column.kind is Kind.TEXT and column.values is None else high


def _null(_: Column, __: int = 0) -> Any:
    return None


def _spread(column: Column, nth: int) -> Any:
    """Another key in every row; of numbers one end and the other."""
    scale = Scale.of(column)
    few = scale.count <= MOST_ROWS
    return scale.at(nth % scale.count) if few or column.is_key else _ends(column)[nth % 2]


def _beyond(column: Column, nth: int) -> Any:
    """Somewhat too much, and in every third row as much as can be: what overflows may pass for NULL."""
    if nth % 3 == 0 or column.bounds is None:
        return BEYOND[column.kind][nth % 2]
    low, high = column.bounds
    if isinstance(low, Fraction) and isinstance(high, Fraction):
        return int(min(high + 1000 * (high - low), BEYOND[column.kind][0]))
    return FURTHER[column.kind]


def _own(column: Column, nth: int) -> Any:
    return f"only mine {nth}" if column.kind is Kind.TEXT and column.values is None else _high(column)


BEYOND: Final[Mapping[Kind, tuple[Any, Any]]] = {
    Kind.INTEGER: (2**63 - 1, -(2**63)),
    Kind.NUMBER: (1e300, -1e300),
    Kind.TEXT: ("", "not listed"),
    Kind.BOOLEAN: (None, True),
    Kind.DATE: (date.max, date.min),
    Kind.TIMESTAMP: (datetime.max, datetime.min),
}
FURTHER: Final[Mapping[Kind, Any]] = {Kind.DATE: date(9000, 1, 1), Kind.TIMESTAMP: datetime(9000, 1, 1)}
PARTS: Final = (
    Part("a unit at the upper ends of all bounds", _high),
    Part("a unit in every group, with three times the rows that are read", _spread, 3),
    Part("a unit at the lower ends of all bounds", _low),
    Part("a unit with private keys that nobody else has", _own),
    Part("a unit beyond all bounds, with keys that are not listed", _beyond, 3),
    Part("a unit of which nothing is known: NULL everywhere", _null),
)
CLAIMING: Final = Part("a unit that claims everybody's keys", _high)
REPLACED: Final = ((PARTS[0], PARTS[2]), (PARTS[1], PARTS[4]), (PARTS[3], PARTS[5]))
"""Parts that are far from each other."""
