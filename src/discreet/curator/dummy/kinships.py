"""Which columns of a policy are compared with each other: those that name units, and foreign keys with their keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from discreet.policy import Column, Kind, Policy, Table


class Spot(NamedTuple):
    """A column of a table; spellings that differ in case are one column."""

    table: str
    column: str


@dataclass(frozen=True, slots=True)
class Kinships:
    """The columns that name units or lead to them, in families whose values are compared."""

    policy: Policy
    families: Mapping[Spot, frozenset[Spot]]
    spellings: Mapping[Spot, str]
    keys: frozenset[Spot]
    """Those that a foreign key leads to: no value occurs in two rows."""

    @classmethod
    def of(cls, policy: Policy) -> Kinships:
        families: dict[Spot, frozenset[Spot]] = {}
        spellings: dict[Spot, str] = {}
        keys: set[Spot] = set()
        unit: Spot | None = None
        for table in policy.private_tables.values():
            for (here, column), (there, key) in _hops(table):
                pair = _spot(here, column), _spot(there, key)
                spellings.setdefault(pair[0], column)
                spellings.setdefault(pair[1], key)
                keys.add(pair[1])
                _join(families, *pair)
            end = _unit(table)
            if end is not None:
                spot = _spot(*end)
                spellings.setdefault(spot, end[1])
                unit = unit or spot
                _join(families, unit, spot)
        return cls(policy, families, spellings, frozenset(keys))

    def of_table(self, table: Table) -> dict[Spot, str]:
        """The columns of a table that belong to a family, as they are spelt."""
        return {spot: self.spelling(table, spot.column) for spot in self.families if spot.table == table.name}

    def spelling(self, table: Table, column: str) -> str:
        """As it is declared, else as it was first mentioned."""
        declared = next((name for name in table.columns if name.lower() == column), None)
        return declared or self.spellings[Spot(table.name, column)]

    def strictest(self, spot: Spot, count: Callable[[Column], int]) -> Column | None:
        """The declared column of the family that has the fewest values.

        None if any text will do, and if types differ: then no value suits all of them.
        """
        declared = []
        for table, column in sorted(self.families[spot]):
            columns = self.policy.tables[table].columns
            declared += [columns[name] for name in columns if name.lower() == column]
        strict = [column for column in declared if column.values is not None or column.kind is not Kind.TEXT]
        return min(strict, key=count, default=None) if len({column.kind for column in strict}) == 1 else None


def _hops(table: Table) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Each foreign key on the way to the unit, and the key that it leads to."""
    here = table.name
    for hop in table.owner.path if table.owner else ():
        yield (here, hop.column), (hop.table, hop.key)
        here = hop.table


def _unit(table: Table) -> tuple[str, str] | None:
    if table.owner is None or table.owner.column is None:
        return None
    return (table.owner.path[-1].table if table.owner.path else table.name), table.owner.column


def _spot(table: str, column: str) -> Spot:
    return Spot(table, column.lower())


def _join(families: dict[Spot, frozenset[Spot]], one: Spot, other: Spot) -> None:
    whole = families.get(one, frozenset({one})) | families.get(other, frozenset({other}))
    for spot in whole:
        families[spot] = whole
