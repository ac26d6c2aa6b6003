"""WHERE."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from discreet.composed import Sql, sql
from discreet.sql.expression import Expr
from discreet.sql.nodes.node import Above, Field, Node
from discreet.sql.work import once


@dataclass(frozen=True)
class Filter(Above):
    """The rows for which a condition is true.

    Theorem  Rows per unit do not grow. Proof: each row is kept or not by its own values.
    """

    child: Node
    condition: Expr

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(field.thinned() for field in self.child.fields)

    @once
    def sql(self) -> Sql:
        return sql("SELECT * FROM ({}) WHERE {}", self.child.sql(), self.condition.sql)
