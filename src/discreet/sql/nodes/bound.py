"""Bounding rows when the question is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from discreet.quoting import name
from discreet.sql.nodes.node import Above, Node
from discreet.sql.nodes.scan import SECRET

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
    def order(self) -> tuple[str, ...]:
        return (name(PLACE),)

    def sql(self) -> str:
        columns = [*self.child.order, *(field.expr.sql for field in self.child.fields)]
        order = ", ".join([f"hash({', '.join([SECRET, str(self.owner.column), *columns])})", *columns])
        window = f"row_number() OVER (PARTITION BY {self.owner.column} ORDER BY {order})"
        ranked = f"SELECT *, {window} AS {name(PLACE)} FROM ({self.child.sql()})"
        return f"SELECT * FROM ({ranked}) WHERE {name(PLACE)} <= {self.most}"
