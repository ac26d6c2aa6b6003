"""Rows of which the same unit has others, or has none: IN, EXISTS, SEMI and ANTI joins on the unit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from discreet.composed import Sql, joined, keyword, name, sql
from discreet.sql.domain import BOOLEAN
from discreet.sql.expression import Expr
from discreet.sql.nodes.join import HIDDEN, renamed
from discreet.sql.nodes.node import Above, Field, Node
from discreet.sql.work import once

OTHER: Final = "_discreet_other_"
"""How the columns of the other side begin: no column below can be called so."""


@dataclass(frozen=True)
class Semi(Above):
    """The rows whose unit has a row on the other side for which a condition holds; or, `anti`, whose unit has none.

    Theorem  Rows per unit are those of the left. Proof: a row is kept or not, and what decides it are rows of its own
             unit on both sides: whether there is one of them, and also whether there is none, changes with no row of
             another unit. With a condition at most m·n pairs are compared; without one, rows meet by their unit alone.
    """

    child: Node
    other: Node
    anti: bool
    condition: Expr | None

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Without a condition all rows of a unit stay, or none."""
        return tuple(field.thinned() if self.condition else field for field in self.child.fields)

    @cached_property
    def work(self) -> int:
        m, n = self.child.rows, self.other.rows
        assert m is not None, "rows are bounded before they are compared"
        assert n is not None, "rows are bounded before they are compared"
        return self.child.work + self.other.work + (m if self.condition is None else m * n)

    @cached_property
    def inside(self) -> bool:
        return self.child.inside or (self.other.inside and not self.anti)

    @once
    def sql(self) -> Sql:
        word = keyword("ANTI" if self.anti else "SEMI")
        sides = self.child.sql(), word, renamed(self.other, OTHER), _met(self.child, self.condition)
        return sql("SELECT * FROM ({}) {} JOIN ({}) ON {}", *sides)


@dataclass(frozen=True)
class Mark(Above):
    """All rows, each with whether its unit has a row on the other side for which a condition holds.

    Theorem  Rows per unit are those of the child. Proof: one row in, one row out; what is added is decided by rows of
             its own unit on both sides, as in `Semi`.
    """

    child: Node
    other: Node
    condition: Expr | None
    number: int
    """Of this mark among those of the query."""

    @property
    def mark(self) -> Expr:
        return Expr(name(f"_discreet_mark_{self.number}"), BOOLEAN.but(certain=True))

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return (*self.child.fields, Field(f"{HIDDEN}mark{self.number}", self.mark))

    @cached_property
    def work(self) -> int:
        return Semi(self.child, self.other, False, self.condition).work

    @once
    def sql(self) -> Sql:
        among = sql(
            "EXISTS (SELECT 1 FROM ({}) WHERE {})", renamed(self.other, OTHER), _met(self.child, self.condition)
        )
        return sql("SELECT *, {} AS {} FROM ({})", among, self.mark.sql, self.child.sql())


def _met(child: Node, condition: Expr | None) -> Sql:
    """Where rows of one unit meet."""
    unit = child.owner.column
    assert unit is not None, "rows that are their own unit have no others"
    tests = [sql("{} = {}", unit, name(f"{OTHER}u")), *([condition.sql] if condition else [])]
    return joined(" AND ", tests)
