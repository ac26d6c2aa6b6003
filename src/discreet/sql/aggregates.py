"""The one table of aggregates: which measures each needs, and how noisy measures become its value and its interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Refused
from discreet.policy.model import Kind
from discreet.sql.apply import apply
from discreet.sql.arguments import (
    COUNTS,
    Aggregate,
    Bounds,
    Call,
    assumed,
    bounded_steps,
    drawable,
    numeric,
    only,
    unit_steps,
)
from discreet.sql.bind import Binder, written
from discreet.sql.clause import PER_GROUP, PER_ROW
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr
from discreet.sql.formulas import Total
from discreet.sql.measures import Clamped, Distinct, Measure, Present, Rows, Sum, Units
from discreet.sql.moments import RELATED, SPREADS, average, geometric, related, spread
from discreet.sql.ranks import bins, extreme_value, mode, nth, quantile, quantiles, top
from discreet.sql.syntax import Bounded
from discreet.sql.wording import not_allowed

_Bind = Callable[[Binder, Any, Call], Aggregate]


# counts


def _count(bind: Binder, node: exp.Count, call: Call) -> Aggregate:
    inner = node.this
    if isinstance(inner, exp.Star) or call.is_unit(inner):  # rows without a unit are dropped
        if call.condition is None and call.per_group is None:
            return Aggregate(("COUNT",), (Rows(),), Total(), COUNTS)
        return _present(call.of(Expr.literal(1)), call)
    if isinstance(inner, exp.Distinct):
        return _distinct(bind, inner, call)
    return _present(call.of(bind(inner)), call)


def _present(value: Expr, call: Call) -> Aggregate:
    if call.per_row is not None:
        raise Refused("function-not-allowed", "a row counts for one", f"use {PER_GROUP}")
    if call.per_group is not None:
        low, high = call.per_group
        measure: Measure = Clamped(value.sql, math.ceil(max(low, Fraction(0))), math.floor(high), True, "rows, clamped")
    else:
        measure = Rows() if value.domain.certain else Present(value.sql)
    return Aggregate(("COUNT", value.sql, call.per_group), (measure,), Total(), COUNTS)


def _distinct(bind: Binder, inner: exp.Distinct, call: Call) -> Aggregate:
    if len(inner.expressions) != 1:
        raise Refused("function-not-allowed", "DISTINCT takes one column", "count one column at a time")
    return _distinct_values(bind, inner.expressions[0], call)


def _approximate(bind: Binder, node: exp.ApproxDistinct, call: Call) -> Aggregate:
    """What others count approximately is counted exactly before the noise."""
    return _distinct_values(bind, node.this, call)


def _distinct_values(bind: Binder, node: exp.Expression, call: Call) -> Aggregate:
    """COUNT(DISTINCT unit) with a FILTER counts each unit once that has a row in it: its rows, clamped to [0, 1]."""
    if call.is_unit(node):
        if call.condition is None:
            return Aggregate(("UNITS",), (Units(),), Total(), COUNTS)
        here = call.of(Expr.literal(1))
        return Aggregate(("UNITS", here.sql), (Clamped(here.sql, 0, 1, True, "units"),), Total(), COUNTS)
    call.unbounded(node)
    value = call.of(bind(node))
    return Aggregate(("DISTINCT", value.sql), (Distinct(value.sql),), Total(), COUNTS)


def _count_if(bind: Binder, node: exp.CountIf, call: Call) -> Aggregate:
    return _present(call.of(apply("CASE", [bind(node.this), Expr.literal(1), Expr.literal(None)])), call)


# sums


def _sum(bind: Binder, node: exp.Sum, call: Call) -> Aggregate:
    if call.per_group is not None:
        return _clamped_sum(bind, node, call, call.per_group)
    steps = bounded_steps(bind, node, call)
    measure = Sum(steps, 0, f"sum of {written(node.this)}")
    kind = Kind.INTEGER if steps.step == 1 else Kind.NUMBER
    return Aggregate(("SUM", steps), (measure,), Total(steps.step), Domain(kind, certain=True), assumed(node, steps))


def _clamped_sum(bind: Binder, node: exp.Sum, call: Call, bounds: Bounds) -> Aggregate:
    """What a unit adds to a group is clamped."""
    value = numeric(bind(node.this), node)
    low, high = bounds
    near, far = unit_steps(value, bounds)
    measure = Clamped(
        replace(far, expr=call.of(value)).sql(), near.low, near.high, False, f"sum of {written(node.this)}, clamped"
    )
    kind = Kind.INTEGER if near.step == 1 else Kind.NUMBER
    note = f"what one unit adds to a group of SUM({written(node.this)}) is clamped to [{float(low):g}, {float(high):g}]"
    return Aggregate(("SUM", measure), (measure,), Total(near.step), Domain(kind, certain=True), note)


AGGREGATES: Final[dict[type[exp.Expression], _Bind]] = {
    exp.Count: _count,
    exp.ApproxDistinct: _approximate,
    exp.CountIf: _count_if,
    exp.Sum: _sum,
    exp.Avg: average,
    exp.Median: quantile,
    exp.PercentileCont: quantile,
    exp.Quantile: quantile,
    exp.ApproxQuantile: quantile,
    exp.ApproxQuantiles: quantiles,
    exp.Min: extreme_value,
    exp.Max: extreme_value,
    exp.Mode: mode,
    exp.ApproxTopK: top,
    **dict.fromkeys(SPREADS, spread),
    **dict.fromkeys(RELATED, related),
}
NAMED: Final[dict[str, _Bind]] = {
    "APPROX_TOP_COUNT": top,
    "GEOMEAN": geometric,
    "HISTOGRAM": bins,
    "VAR": lambda bind, node, call: spread(bind, exp.Variance(this=only(node)), call),
}
"""Aggregates that sqlglot does not know."""


def bound(
    node: exp.Expression,
    bind: Binder,
    is_unit: Callable[[exp.Expression], bool],
    groups: int,
    search: Callable[[Expr, str, str], Bounds],
) -> Aggregate | None:
    """The aggregate that a node asks for; None if it is none."""
    inner, condition, limits = node, None, {}
    if isinstance(inner, exp.Filter):
        condition = bind(inner.expression.this)
        if condition.domain.kind is not Kind.BOOLEAN:
            raise Refused("function-not-allowed", "FILTER takes a condition", "write FILTER (WHERE x > 1)")
        inner = inner.this
    indexed = inner if isinstance(inner, exp.Bracket) else None
    if indexed is not None:
        inner = indexed.this
    while isinstance(inner, Bounded):
        inner, label, bounds = _named_bounds(inner, bind)
        limits[label] = bounds
    if isinstance(inner, exp.WithinGroup):
        inner = within(inner)
    if indexed is not None:
        inner = nth(indexed, inner)
    row = AGGREGATES.get(type(inner))
    if row is None and isinstance(inner, exp.Anonymous):
        row = NAMED.get(str(inner.this).upper())
    if row is None:
        return None
    return row(bind, inner, Call(condition, limits.get(PER_GROUP), limits.get(PER_ROW), is_unit, groups, search))


def within(node: exp.WithinGroup) -> Any:
    """PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x) is PERCENTILE_CONT(x, q); MODE likewise."""
    orders = node.expression.expressions
    if len(orders) != 1 or orders[0].args.get("desc"):
        raise Refused("function-not-allowed", "WITHIN GROUP orders by one column, upwards", "write ORDER BY x")
    if isinstance(node.this, exp.PercentileCont):
        return exp.PercentileCont(this=orders[0].this, expression=node.this.this)
    if isinstance(node.this, exp.Mode):
        return exp.Mode(this=orders[0].this)
    raise not_allowed(node.this)


def _named_bounds(node: Bounded, bind: Binder) -> tuple[Any, str, Bounds]:
    low, high = (bind(node.args[edge]).value for edge in ("low", "high"))
    exact = [Fraction(edge) for edge in (low, high) if isinstance(edge, (int, Fraction)) and not isinstance(edge, bool)]
    if len(exact) != 2 or exact[0] >= exact[1]:
        raise Refused("syntax", "bounds are two numbers, the lower first", f"write {PER_GROUP} => (0, 100)")
    return node.this, str(node.args["label"]), drawable((exact[0], exact[1]), "an aggregate")


def is_named(node: exp.Expression) -> bool:
    """Whether a call that sqlglot does not know is an aggregate."""
    return isinstance(node, Bounded) or (isinstance(node, exp.Anonymous) and str(node.this).upper() in NAMED)
