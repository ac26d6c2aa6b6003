"""The one table of aggregates: which measures each needs, and how noisy measures become its value and its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Protocol

from sqlglot import exp

from discreet.errors import Refused
from discreet.policy.model import Kind
from discreet.sql.bind import Binder, apply, not_allowed, only
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr
from discreet.sql.measures import Measure, Present, Rows, Steps, Sum, Units

Interval = tuple[Fraction, Fraction]


class Formula(Protocol):
    """From noisy measures to a value."""

    def value(self, noisy: Sequence[int]) -> int | float: ...
    def interval(self, intervals: Sequence[Interval]) -> Interval:
        """Where the exact value lies, if each exact measure lies in its interval."""


@dataclass(frozen=True, slots=True)
class Total:
    """One measure, in steps."""

    step: Fraction = Fraction(1)

    def value(self, noisy: Sequence[int]) -> int | float:
        return noisy[0] if self.step == 1 else float(noisy[0] * self.step)

    def interval(self, intervals: Sequence[Interval]) -> Interval:
        low, high = intervals[0]
        return low * self.step, high * self.step


@dataclass(frozen=True, slots=True)
class Recentred:
    """A sum from the sum about the middle, which the average needs too: Σx = Σ(x − m) + m·n.

    Its error is no larger than that of a sum bought beside it: √(a² + m²) ≤ |m| + a with a half the range.
    """

    step: Fraction
    middle: int

    def value(self, noisy: Sequence[int]) -> int | float:
        steps = noisy[0] + self.middle * noisy[1]
        return steps if self.step == 1 else float(steps * self.step)

    def interval(self, intervals: Sequence[Interval]) -> Interval:
        (low, high), (least, most) = intervals
        ends = sorted((self.middle * least, self.middle * most))
        return (low + ends[0]) * self.step, (high + ends[1]) * self.step


@dataclass(frozen=True, slots=True)
class Mean:
    """m + Σ(x − m)/n, held between the bounds; the middle where nothing is known."""

    step: Fraction
    middle: int
    low: int
    high: int

    def value(self, noisy: Sequence[int]) -> float:
        total, count = noisy
        mean = self.middle + Fraction(total, count) if count > 0 else Fraction(self.middle)
        return float(min(max(mean, Fraction(self.low)), Fraction(self.high)) * self.step)

    def interval(self, intervals: Sequence[Interval]) -> Interval:
        (least, most), (fewest, largest) = intervals
        if largest < 1:
            return self.low * self.step, self.high * self.step
        fewest = max(fewest, Fraction(1))
        below = self.middle + min(least / fewest, least / largest)
        above = self.middle + max(most / fewest, most / largest)
        low, high = Fraction(self.low), Fraction(self.high)
        return min(max(below, low), high) * self.step, max(min(above, high), low) * self.step


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of the question, bound: two with the same `key` are one."""

    key: tuple[object, ...]
    measures: tuple[Measure, ...]
    formula: Formula
    domain: Domain
    note: str | None = None


Counts: Final = Domain(Kind.INTEGER, certain=True)
_Bind = Callable[[Binder, Any, "Asked"], Aggregate]


@dataclass(frozen=True, slots=True)
class Asked:
    """How an aggregate is asked: the rows it looks at, and whether an expression names the unit."""

    condition: Expr | None
    is_unit: Callable[[exp.Expression], bool]

    def of(self, value: Expr) -> Expr:
        """The argument, NULL in rows that the FILTER leaves out."""
        return value if self.condition is None else apply("CASE", [self.condition, value, Expr.literal(None)])


def _count(bind: Binder, node: exp.Count, asked: Asked) -> Aggregate:
    only(node, "this")
    inner = node.this
    if isinstance(inner, exp.Star):
        if asked.condition is None:
            return Aggregate(("COUNT",), (Rows(),), Total(), Counts)
        return _present(asked.of(Expr.literal(1)))
    if isinstance(inner, exp.Distinct):
        return _distinct(inner, asked)
    return _present(asked.of(bind(inner)))


def _present(value: Expr) -> Aggregate:
    measure: Measure = Rows() if value.domain.certain else Present(value.sql)
    return Aggregate(("COUNT", value.sql), (measure,), Total(), Counts)


def _distinct(inner: exp.Distinct, asked: Asked) -> Aggregate:
    if len(inner.expressions) != 1 or not asked.is_unit(inner.expressions[0]) or asked.condition is not None:
        raise Refused(
            "function-not-allowed", "DISTINCT is answered for the unit alone", "count distinct units, or rows"
        )
    return Aggregate(("UNITS",), (Units(),), Total(), Counts)


def _count_if(bind: Binder, node: exp.CountIf, asked: Asked) -> Aggregate:
    only(node, "this")
    return _present(asked.of(apply("CASE", [bind(node.this), Expr.literal(1), Expr.literal(None)])))


def _sum(bind: Binder, node: exp.Sum, asked: Asked) -> Aggregate:
    steps = _steps(bind, node, asked)
    measure = Sum(steps, 0, f"sum of {_shown(node.this)}")
    kind = Kind.INTEGER if steps.step == 1 else Kind.NUMBER
    return Aggregate(("SUM", steps), (measure,), Total(steps.step), Domain(kind, certain=True), _assumed(node, steps))


def _average(bind: Binder, node: exp.Avg, asked: Asked) -> Aggregate:
    steps = _steps(bind, node, asked)
    total = Sum(steps, steps.middle, f"sum of {_shown(node.this)} about the middle")
    count = Rows() if steps.expr.domain.certain else Present(steps.expr.sql)
    formula = Mean(steps.step, steps.middle, steps.low, steps.high)
    domain = Domain(Kind.NUMBER, *steps.bounds, certain=True)
    return Aggregate(("AVG", steps), (total, count), formula, domain, _assumed(node, steps))


def _steps(bind: Binder, node: Any, asked: Asked) -> Steps:
    steps = steps_of(bind, node)
    return steps if asked.condition is None else replace(steps, expr=asked.of(steps.expr))


def steps_of(bind: Binder, node: Any) -> Steps:
    """The argument of a sum as whole steps, or a refusal where no bounds follow."""
    only(node, "this")
    if isinstance(node.this, exp.Distinct):
        raise not_allowed(node.this)
    value = bind(node.this)
    if value.domain.kind not in (Kind.INTEGER, Kind.NUMBER):
        raise Refused("function-not-allowed", f"{node.key.upper()} takes a number", "cast it, or count it")
    if value.domain.bounded is None:
        shown = _shown(node.this)
        raise Refused(
            "undeclared-bounds",
            f"{shown} has no bounds, so one unit could move the answer without limit",
            f"add min and max to the policy, or write {node.key.upper()}(CLAMP({shown}, 0, 100)) with bounds you know",
        )
    return Steps.of(value, *value.domain.bounded)


def _shown(node: exp.Expression) -> str:
    return node.sql(dialect="duckdb")


def _assumed(node: Any, steps: Steps) -> str:
    low, high = steps.bounds
    return f"{_shown(node.this)} is held between {float(low):g} and {float(high):g}"


AGGREGATES: Final[dict[type[exp.Expression], _Bind]] = {
    exp.Count: _count,
    exp.CountIf: _count_if,
    exp.Sum: _sum,
    exp.Avg: _average,
}


def bound(node: exp.Expression, bind: Binder, is_unit: Callable[[exp.Expression], bool]) -> Aggregate | None:
    """The aggregate that a node asks for; None if it is none."""
    condition = None
    if isinstance(node, exp.Filter):
        condition = bind(node.expression.this)
        if condition.domain.kind is not Kind.BOOLEAN:
            raise Refused("function-not-allowed", "FILTER takes a condition", "write FILTER (WHERE x > 1)")
        node = node.this
    row = AGGREGATES.get(type(node))
    if row is None:
        return None
    return row(bind, node, Asked(condition, is_unit))


def shared(aggregates: Sequence[Aggregate]) -> list[Aggregate]:
    """The same aggregates with what can be bought once bought once."""
    averaged = {aggregate.key[1]: aggregate for aggregate in aggregates if aggregate.key[0] == "AVG"}
    return [
        replace(aggregate, measures=mean.measures, formula=Recentred(mean.formula.step, mean.formula.middle))
        if aggregate.key[0] == "SUM"
        and (mean := averaged.get(aggregate.key[1])) is not None
        and isinstance(mean.formula, Mean)
        else aggregate
        for aggregate in aggregates
    ]
