"""Bounding rows when the question is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from discreet.composed import Sql, literal, name, sql
from discreet.sql.nodes.node import Above, Node
from discreet.sql.nodes.scan import hashed, place_of

PLACE: Final = "_discreet_place"


@dataclass(frozen=True, slots=True)
class Bound(Above):
    """At most `most` rows of each unit, after joins that multiply rows.

    Theorem  At most `most` rows belong to one unit; which ones depends on that unit's own rows alone.
    Proof    The place of a row is counted within its unit, by keyed hash of the unit and all columns, then by the
             columns: ties are between identical rows.
    """

    child: Node
    most: int

    @property
    def rows(self) -> int:
        return self.most

    @property
    def order(self) -> tuple[Sql, ...]:
        return (name(PLACE),)

    def sql(self) -> Sql:
        assert self.owner.column is not None, "rows that are their own unit are not bounded"
        unit, columns = [self.owner.column], [*self.child.order, *(field.expr.sql for field in self.child.fields)]
        rank = place_of(unit, hashed(unit, columns))
        ranked = sql("SELECT *, {} AS {} FROM ({})", rank, name(PLACE), self.child.sql())
        return sql("SELECT * FROM ({}) WHERE {} <= {}", ranked, name(PLACE), literal(self.most))
