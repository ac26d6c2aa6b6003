"""Aggregates of moments: averages, variances, and how two columns are related."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Edit, Refused
from discreet.policy.model import Kind
from discreet.sql.apply import apply
from discreet.sql.arguments import (
    Aggregate,
    Bounds,
    Call,
    assumed,
    bounded_steps,
    bounds_of,
    counted,
    numeric,
    only,
    unit_steps,
)
from discreet.sql.bind import Binder, written
from discreet.sql.clause import PER_ROW
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr
from discreet.sql.formulas import GeometricMean, Mean, Spread
from discreet.sql.measures import FINE, Averaged, Clamped, Measure, Present, Product, Steps, Sum
from discreet.sql.places import spelled
from discreet.sql.related import Related
from discreet.sql.work import brief


def average(bind: Binder, node: exp.Avg, call: Call) -> Aggregate:
    if call.per_group is not None:
        return _per_unit(bind, node, call, call.per_group)
    steps = bounded_steps(bind, node, call)
    total = Sum(steps, steps.middle, f"sum of {written(node.this)} about the middle")
    formula = Mean(steps.step, steps.middle, steps.low, steps.high)
    domain = Domain(Kind.NUMBER, *steps.bounds)
    return Aggregate(("AVG", steps), (total, counted(steps.expr)), formula, domain, assumed(node, steps))


def _per_unit(bind: Binder, node: exp.Avg, call: Call, bounds: Bounds) -> Aggregate:
    """The average over units, each with the average of its rows in the group, clamped: as BigQuery bounds groups."""
    value = numeric(bind(node.this), node)
    near, far = unit_steps(value, bounds)
    shown = written(node.this)
    held = replace(far, expr=call.of(value)).sql()
    parts = max(FINE // max(abs(near.low), abs(near.high), 1), 1)
    fine = near.step / parts
    least, most = math.ceil(bounds[0] / fine), math.floor(bounds[1] / fine)
    total = Averaged(held, least, most, parts, f"sum of each unit's average of {shown}")
    units = Clamped(held, 0, 1, True, f"units with {shown}")
    low, high = least * fine, most * fine
    note = f"AVG({shown}) is over units: the average of each in a group is clamped to [{float(low):g}, {float(high):g}]"
    formula = Mean(fine, total.middle, least, most)
    return Aggregate(("AVG OF UNITS", total), (total, units), formula, Domain(Kind.NUMBER, low, high), note)


def geometric(bind: Binder, node: exp.Anonymous, call: Call) -> Aggregate:
    """The mean of logarithms on a grid; the root follows after the noise.

    Theorem  The sensitivity is that of AVG: a row moves Σ(LN x − m) by half of ln(high/low), the count by 1.
    Proof    Values are clamped to [low, high] with low > 0 before the logarithm, which grows with its argument; so
             LN x lies in [ln low, ln high], whatever the row holds. `Steps` rounds it to the grid and clamps it to the
             bounds of the domain once more, so the platform's logarithm is not trusted. exp is post-processing.
    """
    inner = only(node)
    value = numeric(bind(inner), node)
    low, high = call.per_row or bounds_of(value, "GEOMEAN", written(inner))
    if call.per_group is not None:
        raise Refused("function-not-allowed", "GEOMEAN takes bounds per row", f"write {PER_ROW} => (low, high)")
    shown = brief(written(inner))
    if low <= 0:
        raise Refused(
            "undeclared-bounds",
            f"{shown} may be 0 or less, and has no logarithm there",
            f"write GEOMEAN(CLAMP({shown}, 1, 100)) with bounds above 0",
            edit=Edit(f"GEOMEAN({shown})", f"GEOMEAN(CLAMP({shown}, 1, 100))"),
        )
    logarithm = apply("LN", [apply("CLAMP", [call.of(value), Expr.literal(low), Expr.literal(high)])])
    ends = bounds_of(logarithm, "GEOMEAN", written(inner)) if low < high else (_near_log(low),) * 2
    steps = Steps.of(logarithm, *ends)
    total = Sum(steps, steps.middle, f"sum of logarithms of {written(inner)} about the middle")
    formula = GeometricMean(Mean(steps.step, steps.middle, steps.low, steps.high), low, high)
    note = f"{written(inner)} is clamped to [{float(low):g}, {float(high):g}]"
    return Aggregate(("GEOMEAN", steps), (total, counted(logarithm)), formula, Domain(Kind.NUMBER, low, high), note)


def _near_log(value: Fraction) -> Fraction:
    """A logarithm, about: of a value that is the only one, what it is does not show."""
    return Fraction(round((math.log(value.numerator) - math.log(value.denominator)) * FINE), FINE)


def spread(bind: Binder, node: Any, call: Call) -> Aggregate:
    word = SPREADS[type(node)]
    steps = bounded_steps(bind, node, call, coarse=True)
    shown = written(node.this)
    measures = (
        counted(steps.expr),
        Sum(steps, steps.middle, f"sum of {shown} about the middle"),
        Product(steps, steps, f"sum of squares of {shown}"),
    )
    formula = Spread(steps.step, steps.radius, sample=word.endswith("SAMP"), root=word.startswith("STDDEV"))
    domain = Domain(Kind.NUMBER, Fraction(0))
    return Aggregate((word, steps), measures, formula, domain, assumed(node, steps))


SPREADS: Final[dict[type[exp.Expression], str]] = {
    exp.Variance: "VAR_SAMP",
    exp.VariancePop: "VAR_POP",
    exp.Stddev: "STDDEV_SAMP",
    exp.StddevSamp: "STDDEV_SAMP",
    exp.StddevPop: "STDDEV_POP",
}
RELATED: Final[dict[type[exp.Expression], str]] = {
    exp.CovarPop: "COVAR_POP",
    exp.CovarSamp: "COVAR_SAMP",
    exp.Corr: "CORR",
    exp.RegrSlope: "REGR_SLOPE",
    exp.RegrIntercept: "REGR_INTERCEPT",
}


def related(bind: Binder, node: Any, call: Call) -> Aggregate:
    """Rows in which one of both is NULL are left out, as SQL says. Regressions take y first, then x."""
    call.unbounded(node)
    word = RELATED[type(node)]
    parts = [node.this, node.expression]
    y, x = parts if word.startswith("REGR") else parts[::-1]
    a, b = numeric(bind(x), node), numeric(bind(y), node)
    both = _both(a, b, call)
    left, right = (
        Steps.coarse(apply("CASE", [both, value, Expr.literal(None)]), *bounds_of(value, spelled(node), written(part)))
        for value, part in ((a, x), (b, y))
    )
    measures: list[Measure] = [
        Present(left.sql()),
        Sum(left, left.middle, f"sum of {written(x)} about the middle"),
        Sum(right, right.middle, f"sum of {written(y)} about the middle"),
        Product(left, right, f"sum of products of {written(x)} and {written(y)}"),
    ]
    if word in ("CORR", "REGR_SLOPE", "REGR_INTERCEPT"):
        measures.append(Product(left, left, f"sum of squares of {written(x)}"))
    if word == "CORR":
        measures.append(Product(right, right, f"sum of squares of {written(y)}"))
    return Aggregate((word, left, right), tuple(measures), Related(left, right, word), Domain(Kind.NUMBER))


def _both(a: Expr, b: Expr, call: Call) -> Expr:
    there = [apply("NOT", [apply("IS NULL", [value])]) for value in (a, b)]
    both = apply("AND", there)
    return both if call.condition is None else apply("AND", [both, call.condition])
