"""Aggregates: what they are called with, their arguments as bounded numbers on a grid, and what is bound of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Edit, Refused
from discreet.policy.layout import MOST_STEPS
from discreet.policy.model import Kind
from discreet.sql.apply import apply
from discreet.sql.bind import Binder, written
from discreet.sql.clause import PER_ROW
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr
from discreet.sql.formulas import Formula
from discreet.sql.measures import Measure, Present, Rows, Steps
from discreet.sql.places import spelled
from discreet.sql.wording import not_allowed
from discreet.sql.work import brief

Bounds = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of the question, bound: two with the same `key` are one."""

    key: tuple[object, ...]
    measures: tuple[Measure, ...]
    formula: Formula
    domain: Domain
    note: str | None = None
    first: date | None = None
    """Of dates: the first, from which days or minutes are counted."""

    def shown(self, noisy: Expr) -> Expr:
        """What is shown of its noisy number."""
        if self.first is None:
            return noisy
        unit = "MINUTES" if isinstance(self.first, datetime) else "DAYS"
        return apply(f"{unit} AFTER", [noisy, Expr.literal(self.first)])


COUNTS: Final = Domain(Kind.INTEGER, certain=True)


@dataclass(frozen=True, slots=True)
class Call:
    """How an aggregate is called: the rows it looks at, its named bounds, and what is public about the grouping."""

    condition: Expr | None
    per_group: Bounds | None
    per_row: Bounds | None
    is_unit: Callable[[exp.Expression], bool]
    groups: int
    search: Callable[[Expr, str, str], Bounds]
    """Bounds of a value that has none, or a refusal."""

    def is_unknown(self, value: Expr) -> bool:
        """Whether neither the policy nor the text bounds a value."""
        return self.per_row is None and value.domain.bounded is None

    def bounds(self, value: Expr, word: str, shown: str) -> Bounds:
        """The bounds per row that the text states, or that are known, or that are searched for."""
        if self.is_unknown(value):
            return self.search(self.of(value), word, shown)
        return self.per_row or bounds_of(value, word, shown)

    def of(self, value: Expr) -> Expr:
        """The argument, NULL in rows that the FILTER leaves out."""
        return value if self.condition is None else apply("CASE", [self.condition, value, Expr.literal(None)])

    def unbounded(self, node: Any) -> None:
        """Refuse bounds where they mean nothing."""
        if self.per_group is not None or self.per_row is not None:
            raise Refused("function-not-allowed", f"{spelled(node)} takes no bounds", "leave them out")


def numeric(value: Expr, node: Any) -> Expr:
    """The value, if it is a number."""
    if value.domain.kind not in (Kind.INTEGER, Kind.NUMBER):
        word = spelled(node)
        raise Refused("function-not-allowed", f"{word} takes a number", "cast it, or count it")
    return value


def bounds_of(value: Expr, word: str, shown: str, *, owner: bool = False) -> Bounds:
    """The bounds that a value is known to have, or a refusal: with what the owner could allow, if that would help."""
    shown = brief(shown)
    allow = "; owners can also let them be found: implicit_bounds = true in the policy" if owner else ""
    if value.domain.bounded is None:
        raise Refused(
            "undeclared-bounds",
            f"{shown} has no bounds, so one unit could move the answer without limit",
            f"add min and max to the policy, or write {word}(CLAMP({shown}, 0, 100)) with bounds you know{allow}",
            edit=Edit(f"{word}({shown})", f"{word}(CLAMP({shown}, 0, 100))"),
        )
    return drawable(value.domain.bounded, shown)


def drawable(bounds: Bounds, shown: str) -> Bounds:
    """Bounds within which noise can be drawn."""
    most = max(abs(edge) for edge in bounds)
    if most and not Fraction(1, 10**90) <= most <= Fraction(10**90):
        raise Refused("undeclared-bounds", f"the bounds of {shown} are too large or too small", "use another unit")
    return bounds


def only(node: exp.Anonymous) -> Any:
    """The one argument of a call."""
    if len(node.expressions) != 1 or isinstance(node.expressions[0], (exp.Distinct, exp.Star)):
        raise Refused("function-not-allowed", f"{str(node.this).upper()} takes one argument", "write GEOMEAN(x)")
    return node.expressions[0]


def bounded_steps(bind: Binder, node: Any, call: Call, *, coarse: bool = False) -> Steps:
    """The argument in whole steps, within the bounds of the call, NULL in rows that the FILTER leaves out."""
    if call.per_group is not None:
        raise Refused("function-not-allowed", f"{spelled(node)} takes bounds per row", f"use {PER_ROW}")
    steps = steps_of(bind, node, call, coarse=coarse)
    return steps if call.condition is None else replace(steps, expr=call.of(steps.expr), stored=None)


def steps_of(bind: Binder, node: Any, call: Call | None = None, *, coarse: bool = False) -> Steps:
    """The argument of a sum as whole steps, or a refusal where no bounds follow."""
    if isinstance(node.this, exp.Distinct):
        raise not_allowed(node.this)
    value = numeric(bind(node.this), node)
    low, high = (bounds_of if call is None else call.bounds)(value, spelled(node), written(node.this))
    if call is not None and call.is_unknown(value) and not coarse:
        return Steps.drawable(value, low, high)
    return Steps.coarse(value, low, high) if coarse else Steps.of(value, low, high)


def unit_steps(value: Expr, bounds: Bounds) -> tuple[Steps, Steps]:
    """The steps between bounds of what a unit adds to a group; and of its rows, which are held far out only, so that
    they can be added up as integers."""
    near = Steps.of(value, *bounds)
    return near, replace(near, low=-MOST_STEPS, high=MOST_STEPS, stored=None)


def assumed(node: Any, steps: Steps) -> str:
    """What is said of values outside of the bounds."""
    low, high = steps.bounds
    return f"{written(node.this)} is clamped to [{float(low):g}, {float(high):g}]"


def counted(expr: Expr) -> Measure:
    """How many rows have a value."""
    return Rows() if expr.domain.certain else Present(expr.sql)
