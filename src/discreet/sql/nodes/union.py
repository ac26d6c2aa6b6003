"""UNION ALL."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from discreet.composed import Sql, joined, literal, name, sql
from discreet.policy.layout import UNIT
from discreet.sql.domain import union
from discreet.sql.expression import Expr
from discreet.sql.nodes.node import Field, Limits, Node, Owner, labelled
from discreet.sql.work import once


@dataclass(frozen=True)
class Union:
    """The rows of one relation and those of another, columns by position.

    Theorem  Rows per unit add up. Proof: each row is a row of one branch and keeps its owner. Rows that are their own
             unit are not taken: the same row may come from both branches.
    """

    left: Node
    right: Node
    rows: int = field(init=False)
    work: int = field(init=False)

    def __post_init__(self) -> None:
        m, n = self.left.rows, self.right.rows
        assert m is not None, "rows are bounded before they are united"
        assert n is not None, "rows are bounded before they are united"
        object.__setattr__(self, "rows", m + n)
        object.__setattr__(self, "work", self.left.work + self.right.work + m + n)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(
            Field(a.name, Expr(name(f"c{index}"), union([a.expr.domain, b.expr.domain])))
            for index, (a, b) in enumerate(zip(self.left.fields, self.right.fields, strict=True))
        )

    @cached_property
    def owner(self) -> Owner:
        return Owner(name(UNIT), self.left.owner.names | self.right.owner.names)

    @cached_property
    def order(self) -> tuple[Sql, ...]:
        return tuple(name(f"o{index}") for index in range(self._orders + 1))

    @cached_property
    def _orders(self) -> int:
        return max(len(self.left.order), len(self.right.order))

    @cached_property
    def limits(self) -> Limits:
        return self.left.limits.joined(self.right.limits, self.rows)

    @cached_property
    def inside(self) -> bool:
        return self.left.inside and self.right.inside

    @once
    def sql(self) -> Sql:
        return sql("{} UNION ALL {}", self._branch(self.left, 0), self._branch(self.right, 1))

    def _branch(self, node: Node, number: int) -> Sql:
        assert node.owner.column is not None, "rows that are their own unit are not united"
        columns = labelled(field.expr.sql for field in node.fields)
        padded = [*node.order, *[literal(None)] * (self._orders - len(node.order))]
        columns += [sql("{} AS {}", node.owner.column, name(UNIT)), sql("{} AS {}", literal(number), name("o0"))]
        columns += labelled((sql("CAST({} AS BIGINT)", part) for part in padded), "o", start=1)
        return sql("(SELECT {} FROM ({}))", joined(", ", columns), node.sql())
