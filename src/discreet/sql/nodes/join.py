"""Joins of private rows with private rows of the same unit."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from discreet.composed import Sql, joined, keyword, name, sql
from discreet.policy.layout import UNIT
from discreet.sql.expression import Expr
from discreet.sql.nodes.node import ONE, Field, Limits, Node, Owner, labelled
from discreet.sql.work import once

ALONE = "_discreet_alone"


class Side(StrEnum):
    """Which rows stay without a partner."""

    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"

    def extends(self, letter: str) -> bool:
        """Whether columns of the left (l) or right (r) side can be NULL for want of a partner."""
        return self is Side.FULL or (self is Side.RIGHT if letter == "l" else self is Side.LEFT)


@dataclass(frozen=True)
class Join:
    """Rows of two relations side by side, where both belong to the same unit and a further condition holds.

    Theorem  With m and n rows per unit: INNER, LEFT and RIGHT at most m·n, FULL max(m·n, m + n); at most m·n pairs of
             one unit's rows are compared. The owner is the unit that both sides share; that of the side which is there,
             where one is missing.
    Proof    Rows meet only within a unit, so other units' rows are untouched. A row without a partner stays once. In a
             FULL join let a rows of the left and b of the right have partners: at most a·b + (m − a) + (n − b), which
             is largest at a corner: m·n, m + n, or (a = 1 or b = 1) no more than those.
    """

    left: Node
    right: Node
    side: Side
    condition: Expr | None
    rows: int = dataclasses.field(init=False)
    work: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        """Both are looked at often, and a relation may be joined with itself again and again: added up once."""
        m, n = self.left.rows, self.right.rows
        assert m is not None, "rows are bounded before they are joined"
        assert n is not None, "rows are bounded before they are joined"
        made = max(m * n, m + n) if self.side is Side.FULL else m * n
        object.__setattr__(self, "rows", made)
        object.__setattr__(self, "work", self.left.work + self.right.work + made)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return (*joined_fields(self.left, "l", self.side), *joined_fields(self.right, "r", self.side))

    @cached_property
    def owner(self) -> Owner:
        return Owner(name(UNIT), self.left.owner.names | self.right.owner.names)

    @cached_property
    def order(self) -> tuple[Sql, ...]:
        left = [name(f"lo{index}") for index in range(len(self.left.order))]
        right = [name(f"ro{index}") for index in range(len(self.right.order))]
        return (*left, *right, *([name(ALONE)] if self.side is Side.FULL else []))

    @cached_property
    def limits(self) -> Limits:
        return self.left.limits.joined(self.right.limits, self.rows)

    @cached_property
    def inside(self) -> bool:
        sides = self.left.inside, self.right.inside
        return {Side.INNER: any(sides), Side.LEFT: sides[0], Side.RIGHT: sides[1], Side.FULL: all(sides)}[self.side]

    @once
    def sql(self) -> Sql:
        left, right = name("lu"), name("ru")
        tests = [sql("{} = {}", left, right), *([self.condition.sql] if self.condition else [])]
        both = sql("COALESCE({}, {})", left, right)
        owner = {Side.INNER: left, Side.LEFT: left, Side.RIGHT: right, Side.FULL: both}[self.side]
        columns = [sql("{} AS {}", owner, name(UNIT))]
        if self.side is Side.FULL:
            # a unit of one row on each side has two: which is which must not be left to the engine
            columns.append(sql("CAST({} IS NULL AS BIGINT) AS {}", left, name(ALONE)))
        return sql(
            "SELECT *, {} FROM ({}) {} JOIN ({}) ON {}",
            joined(", ", columns),
            renamed(self.left, "l"),
            keyword(self.side.value),
            renamed(self.right, "r"),
            joined(" AND ", tests),
        )


def joined_fields(node: Node, letter: str, side: Side) -> list[Field]:
    """The fields of one side under names of their own. A key rank stays what it is, unless the side can be missing."""
    fields = []
    for index, field in enumerate(node.fields):
        label = f"{letter}{index}"
        domain = field.expr.domain
        if side.extends(letter):
            domain = domain.but(nullable=True, certain=False)
            fields.append(Field(field.name, Expr(name(label), domain), listed=field.listed))
        else:
            rank = None if field.rank is None else name(f"{label}_rank")
            fields.append(Field(field.name, Expr(name(label), domain), rank, listed=field.listed))
    return fields


def renamed(node: Node, letter: str) -> Sql:
    """One side as a SELECT whose column names begin with a letter."""
    columns = []
    for index, field in enumerate(node.fields):
        columns.append(sql("{} AS {}", field.expr.sql, name(f"{letter}{index}")))
        if field.rank is not None:
            columns.append(sql("{} AS {}", field.rank, name(f"{letter}{index}_rank")))
    if node.owner.column is not None:
        columns.append(sql("{} AS {}", node.owner.column, name(f"{letter}u")))
    columns += labelled(node.order, f"{letter}o")
    return sql("SELECT {} FROM ({})", joined(", ", columns or [ONE]), node.sql())
