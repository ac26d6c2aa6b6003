"""The columns of a subquery that keeps rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from discreet.composed import Sql, joined, name, sql
from discreet.policy.layout import UNIT
from discreet.sql.expression import Expr
from discreet.sql.nodes.node import ONE, Above, Field, Node, Owner
from discreet.sql.work import once

ORDER = "_discreet_order"


@dataclass(frozen=True)
class Project(Above):
    """Computed columns, each under a name of its own.

    Theorem  Rows per unit stay as they are. Proof: one row in, one row out, computed from its own values.
    """

    child: Node
    items: tuple[tuple[str, Expr], ...]
    windows: int = 0
    """How many windows are in them: each sorts the rows of a unit."""
    names: frozenset[str] = frozenset()
    """Names of the unit beside those that it had."""

    @property
    def work(self) -> int:
        return self.child.work + self.windows * (self.child.rows or 0)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        stored = {field.expr.sql: field for field in self.child.fields}
        return tuple(self._field(index, *item, stored) for index, item in enumerate(self.items))

    def _field(self, index: int, label: str, expr: Expr, stored: dict[Sql, Field]) -> Field:
        field = stored.get(expr.sql) or Field(label, expr)
        return replace(field.under(f"c{index}", Expr(name(f"c{index}"), expr.domain)), name=label)

    @cached_property
    def owner(self) -> Owner:
        owner = self.child.owner
        shadowed = {label.lower() for label, _ in self.items}
        return Owner(None if owner.column is None else name(UNIT), (owner.names | self.names) - shadowed)

    @cached_property
    def order(self) -> tuple[Sql, ...]:
        return tuple(name(f"{ORDER}{index}") for index in range(len(self.child.order)))

    @once
    def sql(self) -> Sql:
        stored = {field.expr.sql: field for field in self.child.fields}
        columns = []
        for index, (_, expr) in enumerate(self.items):
            columns.append(sql("{} AS {}", expr.sql, name(f"c{index}")))
            field = stored.get(expr.sql)
            columns += field.stored(f"c{index}") if field else []
        if self.child.owner.column is not None:
            columns.append(sql("{} AS {}", self.child.owner.column, name(UNIT)))
        columns += [sql("{} AS {}", *pair) for pair in zip(self.child.order, self.order, strict=True)]
        return sql("SELECT {} FROM ({})", joined(", ", columns or [ONE]), self.child.sql())
