"""One part of a table whose units were divided among parts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from discreet.composed import Sql, literal, name, sql
from discreet.errors import Refused
from discreet.policy.layout import key_rank, ranked_keys
from discreet.policy.model import Column, Key, Kind, Policy, Table

_TYPES: Final[dict[Kind, type]] = {
    Kind.INTEGER: int,
    Kind.TEXT: str,
    Kind.BOOLEAN: bool,
    Kind.DATE: date,
    Kind.TIMESTAMP: datetime,
}


@dataclass(frozen=True, slots=True)
class Part:
    """The rows with one key, of those units that were assigned to it.

    Theorem  A unit has rows in at most `most` parts of a partition, and which ones they are depends on its own rows.
             Questions about parts cost a unit no more than those `most` parts that were asked about most dearly.
    Proof    A unit's keys are ranked by keyed hash when the copy is made, from all its rows that are ever read; it is
             in the parts of its first `most` keys. Removing it changes no row of any other unit, so answers about all
             other parts have the same distribution. Where questions are chosen one after the other, the losses that
             belong to this unit add up to no more, on every path: a filter over them holds (see `accounting.filters`).
    Source   McSherry 2009 (parallel composition); units instead of rows.
    """

    table: str
    column: str
    key: Key | None
    most: int = 1

    @classmethod
    def of(cls, policy: Policy, table: str, column: str, key: Any, most: int) -> Part:
        """A part of this policy, or a refusal."""
        found = partitioned(policy, table, column)
        if not _fits(found, key):
            known = ", ".join(map(repr, found.values)) if found.values else f"of type {found.kind}"
            raise Refused("unknown-part", f"{column} has no such key", f"keys: {known}")
        if type(most) is not int or most < 1:
            raise Refused("unknown-part", "a unit is in one part or in more", "write partition(…, parts=1)")
        return cls(policy.tables[table].name, found.name, key, most)

    @property
    def label(self) -> str:
        return f"{self.column} = {self.key!r}" if self.key is not None else f"{self.column} IS NULL"

    def conditions(self, table: Table) -> list[Sql]:
        """What a row of the part fulfils."""
        column = name(self.column)
        test = sql("{} IS NULL", column) if self.key is None else sql("{} = {}", column, literal(self.key))
        if table.owner is None or table.owner.column is None:
            return [test]  # every row is a unit and has one key
        return [test, sql("{} <= {}", name(key_rank(self.column)), literal(self.most))]


def partitioned(policy: Policy, table: str, column: str) -> Column:
    """The column by which a table is divided, or a refusal."""
    found = policy.tables.get(table)
    if found is None or found.is_public:
        raise Refused("unknown-table", "there is no such private table", f"tables: {', '.join(policy.private_tables)}")
    own = found.owner is not None and found.owner.column is None
    keys = [other.name for other in found.columns.values() if other.is_key] if own else list(ranked_keys(found))
    if column not in keys:
        raise Refused("unknown-column", "a table is divided by one of its key columns", f"keys: {', '.join(keys)}")
    return found.columns[column]


def _encodable(key: str) -> bool:
    """Whether an engine can be told it: lone surrogates are no text."""
    return not any("\ud800" <= letter <= "\udfff" for letter in key)


def _fits(column: Column, key: Any) -> bool:
    if key is None:
        return column.nullable
    if type(key) is not _TYPES.get(column.kind) or (isinstance(key, str) and not _encodable(key)):
        return False
    return column.values is None or key in column.values
