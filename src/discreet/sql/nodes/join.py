"""Joins of private rows with private rows of the same unit."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

from discreet.composed import Sql, joined, keyword, name, sql
from discreet.policy.layout import UNIT
from discreet.sql.domain import BOOLEAN
from discreet.sql.expression import Expr
from discreet.sql.nodes.node import ONE, Field, Limits, Node, Owner, labelled
from discreet.sql.work import once

ALONE = "_discreet_alone"
HIDDEN: Final = "\x00"
"""How names of columns begin that no query can write, and that * leaves out."""
PRESENT: Final = f"{HIDDEN}present"
"""The name of a field that says whether a side is there."""


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

    Theorem  Where each row of the left has at most one partner, INNER and LEFT make at most m, RIGHT m + n − 1, and
             FULL m + n; likewise for the right; no more than the smaller for an INNER join of both. What was unique
             on a side whose rows have one partner stays so.
    Proof    There are at most as many pairs as rows on such a side, each in one. Rows of the other side without a
             partner are added once each: there are at most n − 1 of them where there is a pair, else no pairs.
             A row that has one partner appears once. One partner it has where its unit has one row there; and where a
             column that is unique within the partner's unit equals something of its own, compared in the column's own
             type: the units are equal as well, so all candidates are rows of one unit, and only one has that value.
    """

    left: Node
    right: Node
    side: Side
    condition: Expr | None
    one_partner: frozenset[str] = frozenset()
    """The sides, l or r, whose rows have at most one partner each."""
    rows: int = dataclasses.field(init=False)
    work: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        """Both are looked at often, and a relation may be joined with itself again and again: added up once."""
        m, n = self.left.rows, self.right.rows
        assert m is not None, "rows are bounded before they are joined"
        assert n is not None, "rows are bounded before they are joined"
        made = joined_rows(m, n, self.side, self.one_partner)
        object.__setattr__(self, "rows", made)
        object.__setattr__(self, "work", self.left.work + self.right.work + made)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Those of both sides, then whether a side is there, for each that can be missing."""
        return tuple(
            joined_fields(self.left, "l", self.side, once="l" in self.one_partner)
            + joined_fields(self.right, "r", self.side, once="r" in self.one_partner)
            + [
                Field(PRESENT, Expr(sql("({} IS NOT NULL)", name(f"{letter}u")), BOOLEAN.but(certain=True)))
                for letter in "lr"
                if self.side.extends(letter)
            ]
        )

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


def joined_rows(m: int, n: int, side: Side, one_partner: Collection[str]) -> int:
    """How many rows a join makes of m and n, where rows of some sides (l, r) have one partner at most.

    >>> [joined_rows(40, 200, side, "r") for side in Side], joined_rows(40, 200, Side.INNER, "")
    ([200, 239, 200, 240], 8000)
    """
    if not one_partner:
        return max(m * n, m + n) if side is Side.FULL else m * n
    rows = {"l": m, "r": n}
    if side is Side.INNER:
        return min(rows[letter] for letter in one_partner)
    if side is Side.FULL:
        return m + n
    preserved = "l" if side is Side.LEFT else "r"
    return rows[preserved] if preserved in one_partner else m + n - 1


def joined_fields(node: Node, letter: str, side: Side, *, once: bool = False) -> list[Field]:
    """The fields of one side under names of their own; what is unique stays so where each row appears `once`.

    What is stored about keys stays true, unless the side can be missing; ranks count what is there if no row is left
    out. What a side of one row for each unit holds is the same in all rows of the unit.
    """
    fields = []
    preserved = side is (Side.LEFT if letter == "l" else Side.RIGHT)
    for index, field in enumerate(node.fields):
        label, domain = f"{letter}{index}", field.expr.domain
        if side.extends(letter):
            field, domain = field.extended(), domain.but(nullable=True, certain=False)
        else:
            whole, single = field.whole and preserved, field.single or node.rows == 1
            field = replace(field, nth=None, below=None, whole=whole, single=single)
        made = field.under(label, Expr(name(label), domain))
        fields.append(replace(made, unique=once and field.unique, side=letter + field.side))
    return fields


def renamed(node: Node, letter: str) -> Sql:
    """One side as a SELECT whose column names begin with a letter."""
    columns = []
    for index, field in enumerate(node.fields):
        columns.append(sql("{} AS {}", field.expr.sql, name(f"{letter}{index}")))
        columns += field.stored(f"{letter}{index}")
    if node.owner.column is not None:
        columns.append(sql("{} AS {}", node.owner.column, name(f"{letter}u")))
    columns += labelled(node.order, f"{letter}o")
    return sql("SELECT {} FROM ({})", joined(", ", columns or [ONE]), node.sql())
