"""The one table of aggregates: which measures each needs, and how noisy measures become its value and its interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Edit, Refused
from discreet.policy.layout import MOST_STEPS
from discreet.policy.model import Kind
from discreet.sql.arguments import Bounds, Call, bounds_of, drawable, numeric, only
from discreet.sql.bind import Binder, apply, written
from discreet.sql.clause import PER_GROUP, PER_ROW
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr
from discreet.sql.formulas import (
    Favourite,
    Formula,
    GeometricMean,
    Listing,
    Mean,
    Ordered,
    Related,
    Spread,
    Total,
)
from discreet.sql.measures import (
    Clamped,
    Distinct,
    Measure,
    Present,
    Product,
    Rows,
    Steps,
    Sum,
    Units,
)
from discreet.sql.syntax import Bounded, not_allowed
from discreet.sql.vectors import Histogram, Layout, Tree
from discreet.sql.work import brief, spend


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of the question, bound: two with the same `key` are one."""

    key: tuple[object, ...]
    measures: tuple[Measure, ...]
    formula: Formula
    domain: Domain
    note: str | None = None


Counts: Final = Domain(Kind.INTEGER, certain=True)


_Bind = Callable[[Binder, Any, Call], Aggregate]


# counts


def _count(bind: Binder, node: exp.Count, call: Call) -> Aggregate:
    inner = node.this
    if isinstance(inner, exp.Star):
        if call.condition is None and call.per_group is None:
            return Aggregate(("COUNT",), (Rows(),), Total(), Counts)
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
    return Aggregate(("COUNT", value.sql, call.per_group), (measure,), Total(), Counts)


def _distinct(bind: Binder, inner: exp.Distinct, call: Call) -> Aggregate:
    if len(inner.expressions) != 1:
        raise Refused("function-not-allowed", "DISTINCT takes one column", "count one column at a time")
    node = inner.expressions[0]
    if call.is_unit(node):
        if call.condition is not None:
            raise Refused("function-not-allowed", "units are counted without FILTER", "put the condition into WHERE")
        return Aggregate(("UNITS",), (Units(),), Total(), Counts)
    call.unbounded(inner)
    value = call.of(bind(node))
    return Aggregate(("DISTINCT", value.sql), (Distinct(value.sql),), Total(), Counts)


def _count_if(bind: Binder, node: exp.CountIf, call: Call) -> Aggregate:
    return _present(call.of(apply("CASE", [bind(node.this), Expr.literal(1), Expr.literal(None)])), call)


# sums


def _sum(bind: Binder, node: exp.Sum, call: Call) -> Aggregate:
    if call.per_group is not None:
        return _clamped_sum(bind, node, call, call.per_group)
    steps = _steps(bind, node, call)
    measure = Sum(steps, 0, f"sum of {written(node.this)}")
    kind = Kind.INTEGER if steps.step == 1 else Kind.NUMBER
    return Aggregate(("SUM", steps), (measure,), Total(steps.step), Domain(kind, certain=True), _assumed(node, steps))


def _clamped_sum(bind: Binder, node: exp.Sum, call: Call, bounds: Bounds) -> Aggregate:
    """Rows are held far out only, so that they can be added as integers; what a unit adds to a group is clamped."""
    value = numeric(bind(node.this), node)
    low, high = bounds
    near = Steps.of(value, low, high)
    far = replace(near, low=-MOST_STEPS, high=MOST_STEPS, stored=None)
    measure = Clamped(
        replace(far, expr=call.of(value)).sql(), near.low, near.high, False, f"sum of {written(node.this)}, clamped"
    )
    kind = Kind.INTEGER if near.step == 1 else Kind.NUMBER
    note = f"what one unit adds to a group of SUM({written(node.this)}) is clamped to [{float(low):g}, {float(high):g}]"
    return Aggregate(("SUM", measure), (measure,), Total(near.step), Domain(kind, certain=True), note)


def _average(bind: Binder, node: exp.Avg, call: Call) -> Aggregate:
    if call.per_group is not None:
        raise Refused("function-not-allowed", "AVG takes bounds per row", f"write {PER_ROW} => (low, high)")
    steps = _steps(bind, node, call)
    total = Sum(steps, steps.middle, f"sum of {written(node.this)} about the middle")
    formula = Mean(steps.step, steps.middle, steps.low, steps.high)
    domain = Domain(Kind.NUMBER, *steps.bounds)
    return Aggregate(("AVG", steps), (total, _counted(steps.expr)), formula, domain, _assumed(node, steps))


def _geometric(bind: Binder, node: exp.Anonymous, call: Call) -> Aggregate:
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
    if low <= 0:
        shown = brief(written(inner))
        raise Refused(
            "undeclared-bounds",
            f"{shown} may be 0 or less, and has no logarithm there",
            f"write GEOMEAN(CLAMP({shown}, 1, 100)) with bounds above 0",
            edit=Edit(f"GEOMEAN({shown})", f"GEOMEAN(CLAMP({shown}, 1, 100))"),
        )
    logarithm = apply("LN", [apply("CLAMP", [call.of(value), Expr.literal(low), Expr.literal(high)])])
    steps = Steps.of(logarithm, *bounds_of(logarithm, "GEOMEAN", written(inner)))
    total = Sum(steps, steps.middle, f"sum of logarithms of {written(inner)} about the middle")
    formula = GeometricMean(Mean(steps.step, steps.middle, steps.low, steps.high), low, high)
    note = f"{written(inner)} is clamped to [{float(low):g}, {float(high):g}]"
    return Aggregate(("GEOMEAN", steps), (total, _counted(logarithm)), formula, Domain(Kind.NUMBER, low, high), note)


def _counted(expr: Expr) -> Measure:
    return Rows() if expr.domain.certain else Present(expr.sql)


# moments


def _spread(bind: Binder, node: Any, call: Call) -> Aggregate:
    word = _SPREADS[type(node)]
    steps = _steps(bind, node, call, coarse=True)
    shown = written(node.this)
    measures = (
        _counted(steps.expr),
        Sum(steps, steps.middle, f"sum of {shown} about the middle"),
        Product(steps, steps, f"sum of squares of {shown}"),
    )
    formula = Spread(steps.step, steps.radius, sample=word.endswith("SAMP"), root=word.startswith("STDDEV"))
    domain = Domain(Kind.NUMBER, Fraction(0))
    return Aggregate((word, steps), measures, formula, domain, _assumed(node, steps))


_SPREADS: Final[dict[type[exp.Expression], str]] = {
    exp.Variance: "VAR_SAMP",
    exp.VariancePop: "VAR_POP",
    exp.Stddev: "STDDEV_SAMP",
    exp.StddevSamp: "STDDEV_SAMP",
    exp.StddevPop: "STDDEV_POP",
}
_RELATED: Final[dict[type[exp.Expression], str]] = {
    exp.CovarPop: "COVAR_POP",
    exp.CovarSamp: "COVAR_SAMP",
    exp.Corr: "CORR",
    exp.RegrSlope: "REGR_SLOPE",
    exp.RegrIntercept: "REGR_INTERCEPT",
}


def _related(bind: Binder, node: Any, call: Call) -> Aggregate:
    """Rows in which one of both is NULL are left out, as SQL says. Regressions take y first, then x."""
    call.unbounded(node)
    word = _RELATED[type(node)]
    parts = [node.this, node.expression]
    y, x = parts if word.startswith("REGR") else parts[::-1]
    a, b = numeric(bind(x), node), numeric(bind(y), node)
    both = _both(a, b, call)
    left, right = (
        Steps.coarse(
            apply("CASE", [both, value, Expr.literal(None)]), *bounds_of(value, node.key.upper(), written(part))
        )
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


# order


def _quantile(bind: Binder, node: Any, call: Call) -> Aggregate:
    given = node.args.get("expression") if isinstance(node, exp.PercentileCont) else node.args.get("quantile")
    share = Expr.literal(Fraction(1, 2)) if isinstance(node, exp.Median) else bind(given) if given is not None else None
    wanted = share.value if share is not None and share.constant else None
    if isinstance(wanted, bool) or not isinstance(wanted, (int, Fraction)) or not 0 <= wanted <= 1:
        raise Refused("function-not-allowed", "a quantile lies between 0 and 1", "write PERCENTILE_CONT(x, 0.5)")
    wanted = Fraction(wanted).limit_denominator(10**6)  # scores are multiples of the denominator, in 64 bits
    ends = {Fraction(0): Fraction(1, 1000), Fraction(1): Fraction(999, 1000)}
    return _ordered(bind, node, node.this, ends.get(Fraction(wanted), Fraction(wanted)), call, extreme=wanted in ends)


def _extreme(bind: Binder, node: Any, call: Call) -> Aggregate:
    share = Fraction(1, 1000) if isinstance(node, exp.Min) else Fraction(999, 1000)
    return _ordered(bind, node, node.this, share, call, extreme=True)


def _ordered(bind: Binder, node: Any, inner: Any, share: Fraction, call: Call, *, extreme: bool) -> Aggregate:
    if call.per_group is not None:
        raise Refused("function-not-allowed", "a quantile takes bounds per row", f"write {PER_ROW} => (low, high)")
    value = numeric(bind(inner), node)
    low, high = call.per_row or bounds_of(value, node.key.upper(), written(inner))
    integral = value.domain.kind is Kind.INTEGER
    if integral:
        low, high = Fraction(math.ceil(low)), Fraction(math.floor(high))
    if low >= high:
        raise Refused("undeclared-bounds", f"{brief(written(inner))} has one possible value", "widen its bounds")
    layout = Layout.over(low, high, integral=integral, groups=call.groups)
    tree = Tree(call.of(value), layout, f"ranks of {written(inner)}")
    kind = Kind.INTEGER if layout.whole else Kind.NUMBER
    note = f"{written(inner)} is clamped to [{float(low):g}, {float(high):g}]"
    if extreme:
        note += f"; {node.key.upper()} is the {'first' if share < Fraction(1, 2) else 'last'} thousandth"
    formula = Ordered(layout, share, low, high, extreme)
    return Aggregate(("QUANTILE", tree, share, extreme), (tree,), formula, Domain(kind, low, high), note)


def _mode(bind: Binder, node: exp.Mode, call: Call) -> Aggregate:
    call.unbounded(node)
    measure = _histogram(bind, node.this, call)
    kind = measure.expr.domain.kind
    return Aggregate(("MODE", measure), (measure,), Favourite(measure.values), Domain(kind, values=measure.values))


def _top(bind: Binder, node: Any, call: Call) -> Aggregate:
    call.unbounded(node)
    inner, wanted = _two(node)
    count = bind(wanted).value if wanted is not None else None
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 10_000:
        raise Refused("function-not-allowed", "APPROX_TOP_COUNT takes a number", "write APPROX_TOP_COUNT(x, 10)")
    measure = _histogram(bind, inner, call)
    few = count < len(measure.values)
    note = (
        f"what is listed of {written(inner)} was picked by noisy counts: the first tend to be too high" if few else None
    )
    return Aggregate(("TOP", measure, count), (measure,), Listing(measure.values, count), Domain(None), note)


def _bins(bind: Binder, node: Any, call: Call) -> Aggregate:
    """HISTOGRAM(x, bins): counts of equal parts of the range, each named by its lower edge."""
    inner, wanted = _two(node)
    bins = bind(wanted).value if wanted is not None else None
    if isinstance(bins, bool) or not isinstance(bins, int) or not 1 <= bins <= 10_000 or call.per_group:
        raise Refused("function-not-allowed", "HISTOGRAM takes a number of bins", "write HISTOGRAM(x, 10)")
    value = numeric(bind(inner), node)
    low, high = call.per_row or bounds_of(value, "HISTOGRAM", written(inner))
    cut = apply("WIDTH_BUCKET", [value, Expr.literal(low), Expr.literal(high), Expr.literal(bins)])
    held = apply("CLAMP", [cut, Expr.literal(1), Expr.literal(bins)])
    spend(5 * bins)
    measure = Histogram(call.of(held), tuple(range(1, bins + 1)), f"histogram of {written(inner)}")
    start, width = low, (high - low) / bins
    common = start.denominator * width.denominator
    first, more = start.numerator * width.denominator, width.numerator * start.denominator
    edges = tuple((first + more * index) / common for index in range(bins))  # int / int is rounded correctly
    return Aggregate(("HISTOGRAM", measure, bins), (measure,), Listing(edges, None), Domain(None))


def _two(node: Any) -> tuple[Any, Any]:
    parts = node.expressions if isinstance(node, exp.Anonymous) else [node.this, node.args.get("expression")]
    return parts[0] if parts else None, parts[1] if len(parts) == 2 else None


def _histogram(bind: Binder, inner: Any, call: Call) -> Histogram:
    if inner is None:
        raise Refused("syntax", "an aggregate has no argument", "write MODE(x)")
    value = bind(inner)
    count = value.domain.count()
    if count is None or not 0 < count <= 10_000:
        raise Refused(
            "undeclared-bounds",
            f"the values of {brief(written(inner))} cannot be listed",
            "declare its values in the policy",
        )
    spend(count)
    return Histogram(call.of(value), tuple(value.domain.keys()), f"histogram of {written(inner)}")


# arguments


def _steps(bind: Binder, node: Any, call: Call, *, coarse: bool = False) -> Steps:
    if call.per_group is not None:
        raise Refused("function-not-allowed", f"{node.key.upper()} takes bounds per row", f"use {PER_ROW}")
    steps = steps_of(bind, node, call.per_row, coarse=coarse)
    return steps if call.condition is None else replace(steps, expr=call.of(steps.expr), stored=None)


def steps_of(bind: Binder, node: Any, bounds: Bounds | None = None, *, coarse: bool = False) -> Steps:
    """The argument of a sum as whole steps, or a refusal where no bounds follow."""
    if isinstance(node.this, exp.Distinct):
        raise not_allowed(node.this)
    value = numeric(bind(node.this), node)
    low, high = bounds or bounds_of(value, node.key.upper(), written(node.this))
    return Steps.coarse(value, low, high) if coarse else Steps.of(value, low, high)


def _assumed(node: Any, steps: Steps) -> str:
    low, high = steps.bounds
    return f"{written(node.this)} is clamped to [{float(low):g}, {float(high):g}]"


AGGREGATES: Final[dict[type[exp.Expression], _Bind]] = {
    exp.Count: _count,
    exp.CountIf: _count_if,
    exp.Sum: _sum,
    exp.Avg: _average,
    exp.Median: _quantile,
    exp.PercentileCont: _quantile,
    exp.Quantile: _quantile,
    exp.Min: _extreme,
    exp.Max: _extreme,
    exp.Mode: _mode,
    exp.ApproxTopK: _top,
    **dict.fromkeys(_SPREADS, _spread),
    **dict.fromkeys(_RELATED, _related),
}
NAMED: Final[dict[str, _Bind]] = {"APPROX_TOP_COUNT": _top, "GEOMEAN": _geometric, "HISTOGRAM": _bins}
"""Aggregates that sqlglot does not know."""


def bound(
    node: exp.Expression, bind: Binder, is_unit: Callable[[exp.Expression], bool], groups: int
) -> Aggregate | None:
    """The aggregate that a node asks for; None if it is none."""
    inner, condition, limits = node, None, {}
    if isinstance(inner, exp.Filter):
        condition = bind(inner.expression.this)
        if condition.domain.kind is not Kind.BOOLEAN:
            raise Refused("function-not-allowed", "FILTER takes a condition", "write FILTER (WHERE x > 1)")
        inner = inner.this
    while isinstance(inner, Bounded):
        inner, label, bounds = _named_bounds(inner, bind)
        limits[label] = bounds
    if isinstance(inner, exp.WithinGroup):
        inner = _within(inner)
    row = AGGREGATES.get(type(inner))
    if row is None and isinstance(inner, exp.Anonymous):
        row = NAMED.get(str(inner.this).upper())
    if row is None:
        return None
    return row(bind, inner, Call(condition, limits.get(PER_GROUP), limits.get(PER_ROW), is_unit, groups))


def _within(node: exp.WithinGroup) -> Any:
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
