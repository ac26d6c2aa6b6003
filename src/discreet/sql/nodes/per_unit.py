"""GROUP BY the owner: per-person totals, counts, extremes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from discreet.composed import Sql, joined, name, sql
from discreet.policy.layout import UNIT
from discreet.sql.expression import Expr
from discreet.sql.nodes.node import Field, Limits, Node, Owner, labelled
from discreet.sql.nodes.scan import hashed, row_number
from discreet.sql.work import once

ROW_NUMBER = "_discreet_place"


@dataclass(frozen=True)
class PerUnit:
    """One row for each unit and each combination of further keys that it has.

    Theorem  One row per unit without further keys, else no more than the child's; a single key that is a column is
             unique within each unit. Other units' rows do not change.
    Proof    A group lies within one unit, and no other group of that unit has its keys. Sums run over grid integers, so
             they do not depend on the order in which an engine adds; places follow from the unit's own keys by keyed
             hash.
    """

    child: Node
    keys: tuple[tuple[str, Expr], ...]
    totals: tuple[tuple[str, Expr], ...]

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        keyed = len(self.keys) == 1 and self.keys[0][1].function is None
        return tuple(
            Field(label, Expr(name(f"c{index}"), expr.domain), unique=keyed and index == 0)
            for index, (label, expr) in enumerate((*self.keys, *self.totals))
        )

    @cached_property
    def owner(self) -> Owner:
        return Owner(name(UNIT), self.child.owner.names)

    @cached_property
    def rows(self) -> int | None:
        return self.child.rows if self.keys else 1

    @cached_property
    def work(self) -> int:
        return self.child.work

    @cached_property
    def order(self) -> tuple[Sql, ...]:
        return (name(ROW_NUMBER),) if self.keys else ()

    @cached_property
    def limits(self) -> Limits:
        return self.child.limits if self.keys else Limits(1)

    @cached_property
    def inside(self) -> bool:
        return self.child.inside

    @once
    def sql(self) -> Sql:
        assert self.child.owner.column is not None, "rows that are their own unit are not grouped by it"
        columns = labelled(expr.sql for _, expr in (*self.keys, *self.totals))
        columns.append(sql("{} AS {}", self.child.owner.column, name(UNIT)))
        groups = [self.child.owner.column, *(expr.key for _, expr in self.keys)]
        listed = joined(", ", columns), self.child.sql(), joined(", ", groups)
        grouped = sql("SELECT {} FROM ({}) GROUP BY {}", *listed)
        if not self.keys:
            return grouped
        keys = [name(f"c{index}") for index in range(len(self.keys))]
        index = row_number([name(UNIT)], hashed([name(UNIT)], keys))
        return sql("SELECT *, {} AS {} FROM ({})", index, name(ROW_NUMBER), grouped)
