"""WHERE."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.sql.expression import Expr
from discreet.sql.nodes.node import Above, Node


@dataclass(frozen=True, slots=True)
class Filter(Above):
    """The rows for which a condition is true.

    Theorem  Rows per unit do not grow. Proof: each row is kept or not by its own values.
    """

    child: Node
    condition: Expr

    def sql(self) -> str:
        return f"SELECT * FROM ({self.child.sql()}) WHERE {self.condition.sql}"
