"""WHERE."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.composed import Sql, sql
from discreet.sql.expression import Expr
from discreet.sql.nodes.node import Above, Node
from discreet.sql.work import once


@dataclass(frozen=True)
class Filter(Above):
    """The rows for which a condition is true.

    Theorem  Rows per unit do not grow. Proof: each row is kept or not by its own values.
    """

    child: Node
    condition: Expr

    @once
    def sql(self) -> Sql:
        return sql("SELECT * FROM ({}) WHERE {}", self.child.sql(), self.condition.sql)
