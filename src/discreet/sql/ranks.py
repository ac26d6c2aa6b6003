"""Aggregates of order and of single values: quantiles, extremes, modes, lists of counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Refused
from discreet.policy.model import Kind
from discreet.sql.apply import apply
from discreet.sql.arguments import Aggregate, Call, bounds_of, numeric
from discreet.sql.bind import Binder, written
from discreet.sql.clause import PER_ROW
from discreet.sql.domain import DATED, Domain
from discreet.sql.expression import Expr
from discreet.sql.formulas import Favourite, Formula, InCell, Listing, Ordered, Part
from discreet.sql.places import spelled
from discreet.sql.vectors import Chosen, Histogram, Layout, Tree
from discreet.sql.work import brief, spend


def quantile_share(bind: Callable[[Any], Expr], node: Any) -> Fraction:
    """Which quantile is asked for."""
    given = node.args.get("expression") if isinstance(node, exp.PercentileCont) else node.args.get("quantile")
    share = Expr.literal(Fraction(1, 2)) if isinstance(node, exp.Median) else bind(given) if given is not None else None
    wanted = share.value if share is not None and share.constant else None
    if isinstance(wanted, bool) or not isinstance(wanted, (int, Fraction)) or not 0 <= wanted <= 1:
        raise Refused("function-not-allowed", "a quantile lies between 0 and 1", "write PERCENTILE_CONT(x, 0.5)")
    return Fraction(wanted).limit_denominator(10**6)  # scores are multiples of the denominator, in 64 bits


def quantile(bind: Binder, node: Any, call: Call) -> Aggregate:
    wanted = quantile_share(bind, node)
    ends = {Fraction(0): Fraction(1, 1000), Fraction(1): Fraction(999, 1000)}
    return _ordered(bind, node, node.this, ends.get(wanted, wanted), call, extreme=wanted in ends)


def quantiles(bind: Binder, node: exp.ApproxQuantiles, call: Call) -> Aggregate:
    """APPROX_QUANTILES(x, n): the least, n − 1 quantiles and the largest, as a list that rises."""
    count = bind(node.expression).value if node.expression is not None else None
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_QUANTILES:
        example = f"write APPROX_QUANTILES({brief(written(node.this))}, 4)"
        raise Refused("function-not-allowed", f"it takes how many parts there are, up to {MOST_QUANTILES}", example)
    ends = {0: Fraction(1, 1000), count: Fraction(999, 1000)}
    each = [
        _ordered(bind, node, node.this, ends.get(k, Fraction(k, count)), call, extreme=k in ends)
        for k in range(count + 1)
    ]
    if each[0].first is not None:
        fix = f"take one of it: APPROX_QUANTILES({brief(written(node.this))}, {count})[OFFSET(1)]"
        raise Refused("function-not-allowed", "a list holds numbers, and these are dates", fix)
    if len(each) <= FEW:
        each = [chosen(aggregate) for aggregate in each]
    measures = tuple(dict.fromkeys(measure for aggregate in each for measure in aggregate.measures))
    formula = Rising(tuple((measures.index(a.measures[0]), a.formula) for a in each))
    key = ("QUANTILES", call.of(bind(node.this)).sql, count, call.per_row)
    note = "; ".join(dict.fromkeys(part for a in each for part in str(a.note).split("; ")))
    return Aggregate(key, measures, formula, Domain(None, lists=True), note)


NO_ROWS: Final = "where there are no rows, a quantile is any value between them"
FEW: Final = 15
"""Up to so many quantiles of one expression are chosen one by one; more of them share a tree of counts."""
MOST_QUANTILES: Final = 100


def chosen(aggregate: Aggregate) -> Aggregate:
    """A quantile that is chosen on its own: some twenty times as exact as one that is read off a tree."""
    tree, formula = aggregate.measures[0], aggregate.formula
    assert isinstance(tree, Tree)
    assert isinstance(formula, Ordered)
    words = f"quantile {float(formula.share):g} of {tree.words.removeprefix('ranks of ')}"
    measure = Chosen(tree.expr, tree.layout, formula.share, words)
    cell = InCell(tree.layout, formula.low, formula.high)
    return replace(aggregate, measures=(measure,), formula=cell, note=f"{aggregate.note}; {NO_ROWS}")


@dataclass(frozen=True, slots=True)
class Rising:
    """Several quantiles as a list, in order: which of several is the larger is known, whatever the noise says."""

    parts: tuple[tuple[int, Formula], ...]
    """Each quantile, with the index of its measure."""

    def value(self, noisy: Sequence[Sequence[int]]) -> list[float] | None:
        values = [formula.value([noisy[index]]) for index, formula in self.parts]
        return None if None in values else sorted(values)

    def interval(self, parts: Sequence[Part]) -> None:  # noqa: ARG002  (many numbers, not one)
        return None


def nth(indexed: exp.Bracket, node: Any) -> Any:
    """APPROX_QUANTILES(x, n)[OFFSET(k)] is the quantile k/n."""
    index = indexed.expressions[0] if len(indexed.expressions) == 1 else None
    parts = [index, node.expression] if isinstance(node, exp.ApproxQuantiles) else []
    numbers = [int(str(part.this)[:7]) for part in parts if isinstance(part, exp.Literal) and part.this.isdecimal()]
    offset = indexed.args.get("offset") or 0
    if len(numbers) != 2 or not 0 <= numbers[0] - offset <= numbers[1] or not numbers[1]:
        raise Refused(
            "function-not-allowed", "there is no such place in a list", "write APPROX_QUANTILES(x, 4)[OFFSET(2)]"
        )
    share = Decimal(numbers[0] - offset) / numbers[1]  # of 28 digits: `quantile` finds the fraction again
    return exp.Quantile(this=node.this, quantile=exp.Literal.number(f"{share:f}"))


def extreme_value(bind: Binder, node: Any, call: Call) -> Aggregate:
    share = Fraction(1, 1000) if isinstance(node, exp.Min) else Fraction(999, 1000)
    return _ordered(bind, node, node.this, share, call, extreme=True)


def _ordered(bind: Binder, node: Any, inner: Any, share: Fraction, call: Call, *, extreme: bool) -> Aggregate:
    if call.per_group is not None:
        raise Refused("function-not-allowed", "a quantile takes bounds per row", f"write {PER_ROW} => (low, high)")
    value, first = _counted_from(bind(inner), node)
    low, high = call.bounds(value, spelled(node), written(inner))
    if value.domain.kind is Kind.INTEGER:
        low, high = Fraction(math.ceil(low)), Fraction(math.floor(high))
    if low >= high:
        raise Refused("undeclared-bounds", f"{brief(written(inner))} has one possible value", "widen its bounds")
    layout = Layout.over(low, high, integral=value.domain.kind is Kind.INTEGER, groups=call.groups)
    tree = Tree(call.of(value), layout, f"ranks of {written(inner)}")
    kind = Kind.INTEGER if layout.whole or first is not None else Kind.NUMBER
    note = f"{written(inner)} is clamped to [{_end(low, first)}, {_end(high, first)}]"
    if extreme:
        note += f"; {spelled(node)} is the {'first' if share < Fraction(1, 2) else 'last'} thousandth"
    formula = Ordered(layout, share, low, high, extreme)
    return Aggregate(("QUANTILE", tree, share, extreme, first), (tree,), formula, Domain(kind, low, high), note, first)


def _counted_from(value: Expr, node: Any) -> tuple[Expr, date | None]:
    """A number; or a date as the number of days, or of minutes, that it lies after the first one that is declared."""
    low, high = value.domain.low, value.domain.high
    if value.domain.kind not in DATED:
        return numeric(value, node), None
    if not (isinstance(low, date) and isinstance(high, date)):
        word = spelled(node)
        raise Refused(
            "undeclared-bounds", f"{word} of a date needs its first and last day", "add min and max to the policy"
        )
    part = "minute" if isinstance(low, datetime) else "day"
    return apply(f"DATE_DIFF {part}", [Expr.literal(low), value]), low


def _end(edge: Fraction, first: date | None) -> str:
    """A bound as it is shown."""
    if first is None:
        return f"{float(edge):g}"
    step = timedelta(minutes=int(edge)) if isinstance(first, datetime) else timedelta(days=int(edge))
    return str(first + step)


def mode(bind: Binder, node: exp.Mode, call: Call) -> Aggregate:
    call.unbounded(node)
    measure = _histogram(bind, node.this, call)
    kind = measure.expr.domain.kind
    return Aggregate(("MODE", measure), (measure,), Favourite(measure.values), Domain(kind, values=measure.values))


def top(bind: Binder, node: Any, call: Call) -> Aggregate:
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
    return Aggregate(
        ("TOP", measure, count), (measure,), Listing(measure.values, count), Domain(None, lists=True), note
    )


def bins(bind: Binder, node: Any, call: Call) -> Aggregate:
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
    return Aggregate(("HISTOGRAM", measure, bins), (measure,), Listing(edges, None), Domain(None, lists=True))


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
