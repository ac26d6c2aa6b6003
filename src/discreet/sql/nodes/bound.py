"""Bounding rows when the question is asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from discreet.composed import Sql, literal, name, sql
from discreet.sql.nodes.node import Above, Field, Limits, Node
from discreet.sql.nodes.scan import Scan, hashed, row_number
from discreet.sql.work import once

ROW_NUMBER: Final = "_discreet_place"


@dataclass(frozen=True)
class Bound(Above):
    """At most `most` rows of each unit, after joins that multiply rows and before those that could not bear more.

    Theorem  At most `most` rows belong to one unit; which ones depends on that unit's own rows alone.
    Proof    The place of a row is counted within its unit, by keyed hash of the unit and the places that its row has by
             then, and by these: ties are between identical rows. Where public rows multiplied it, they have no place
             of their own, and all columns are taken as well.
    """

    child: Node
    most: int

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(field.thinned() for field in self.child.fields)

    @cached_property
    def rows(self) -> int:
        return self.most

    @cached_property
    def limits(self) -> Limits:
        rows = self.most if self.child.rows is None else min(self.child.limits.rows, self.most)
        return replace(self.child.limits, rows=rows, multiplied=None)

    @cached_property
    def order(self) -> tuple[Sql, ...]:
        return (name(ROW_NUMBER),)

    @once
    def sql(self) -> Sql:
        assert self.owner.column is not None, "rows that are their own unit are not bounded"
        unit, columns = [self.owner.column], [*self.child.order]
        if self.child.rows is None:
            columns += [field.expr.sql for field in self.child.fields]
        rank = row_number(unit, hashed(unit, columns))
        ranked = sql("SELECT *, {} AS {} FROM ({})", rank, name(ROW_NUMBER), self.child.sql())
        return sql("SELECT * FROM ({}) WHERE {} <= {}", ranked, name(ROW_NUMBER), literal(self.most))


def lowered(node: Node, most: int) -> Node:
    """At most so many rows of each unit: by a rank that is there already, if there is one."""
    if node.rows is not None and node.rows <= most:
        return node
    return replace(node, most=most) if isinstance(node, (Scan, Bound)) else Bound(node, most)
