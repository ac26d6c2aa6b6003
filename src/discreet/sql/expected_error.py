"""How exact an answer will be: known from the noise alone, before anything is drawn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from discreet.accounting import Concentrated, Pure
from discreet.accounting.combination import width
from discreet.accounting.distributions import DiscreteLaplace, Noise
from discreet.answers import Answer, Preview
from discreet.composed import Sql
from discreet.exit.cost import Choices
from discreet.policy import Kind
from discreet.sql.anchored import Anchored, AnchoredMean, Weighted
from discreet.sql.arguments import Aggregate
from discreet.sql.cost import Allocation, ranks
from discreet.sql.expression import Expr
from discreet.sql.formulas import Both, InCell, Listing, Mean, Recentred, Total
from discreet.sql.intervals import Intervals, Noises, aggregates_in, made_of
from discreet.sql.measures import Measure, Product, Sum
from discreet.sql.origins import views
from discreet.sql.plan import Plan
from discreet.sql.relation import Released
from discreet.sql.release import Release
from discreet.sql.results import aggregate_of, is_list, noisy_items
from discreet.sql.selected import FAR, Passing
from discreet.sql.vectors import Chosen

Drawn = Sequence[Sequence[Noise | None]]
"""The noise of each measure of each release."""
SIZES: Final = (100, 1_000, 10_000)
"""Group sizes for which the error of an average is predicted."""
TYPICAL: Final = 1_000
"""The group size of averages where the question names none."""
MOST_KINDS: Final = 4
"""Of noise, that are named for one column."""
_LINEAR: Final = frozenset({"+", "-", "NEGATE"})
_EXPECTED: Final = (Total, Recentred, Mean, Both, AnchoredMean, Weighted, Passing)
AVERAGES: Final = (Mean, AnchoredMean)


def errors(plan: Plan, noises: Drawn, confidence: Fraction, size: int | None = None) -> dict[str, float]:
    """The half-width of each noisy column at most: of a list, of each of its counts; of an average, in groups of this
    size, or of the least size that is shown; of several releases below each other, the largest."""
    widths: dict[str, list[float | None]] = {}
    for view in views(plan):
        items = noisy_items(view)
        named = _named(view, noises) if items else {}
        for label, expr in items:
            widths.setdefault(label, []).append(half_width(view, named, confidence, expr, size))
    known = {label: [half for half in halves if half is not None] for label, halves in widths.items()}
    return {label: max(halves) for label, halves in known.items() if len(halves) == len(widths[label])}


def averages(plan: Plan, noises: Drawn, confidence: Fraction, size: int | None = None) -> dict[str, dict[int, float]]:
    """How the error of an average falls with the size of a group; this size is among them."""
    sizes = sorted({*SIZES, *(() if size is None else (size,))})
    widths: dict[str, dict[int, float]] = {}
    for view in views(plan):
        items = noisy_items(view)
        named = _named(view, noises) if items else {}
        for label, expr in items:
            aggregate = aggregate_of(view, expr)
            if aggregate is not None and isinstance(aggregate.formula, AVERAGES):
                known = widths.setdefault(label, {})
                for rows in sizes:
                    half = half_width(view, named, confidence, expr, rows)
                    if half is not None:
                        known[rows] = max(half, known.get(rows, half))
    return widths


def rank_errors(plan: Plan, allocation: Allocation, confidence: Fraction) -> dict[str, int]:
    """By how many rows the rank of each quantile that is chosen may be off."""
    known: dict[str, int] = {}
    noisy = [(shown, *item) for shown in views(plan) for item in noisy_items(shown)]
    for view, label, expr in noisy:
        aggregate = aggregate_of(view, expr)
        if aggregate is None or not isinstance(aggregate.formula, InCell):
            continue
        assert isinstance(view.below, Released)
        mechanisms = allocation.mechanisms[view.below.number].measures
        mechanism = dict(zip(shown_release(view).measures, mechanisms, strict=True))[aggregate.measures[0]]
        measure = aggregate.measures[0]
        if isinstance(mechanism, Choices) and isinstance(measure, Chosen):
            known[label] = max(ranks(mechanism, measure, confidence), known.get(label, 0))
    return known


def shown_release(plan: Plan) -> Release:
    """The release whose rows are shown."""
    assert isinstance(plan.below, Released)
    return plan.releases[plan.below.number]


def _named(plan: Plan, noises: Drawn) -> Noises:
    assert isinstance(plan.below, Released)
    return dict(zip(shown_release(plan).measures, noises[plan.below.number], strict=True))


def predictable(plan: Plan, expr: Expr) -> bool:
    """Whether the width of an expression's interval does not depend on what is drawn."""
    if is_list(plan, expr):
        return True
    used = aggregates_in(shown_release(plan), expr)
    return _linear(expr) and all(isinstance(aggregate.formula, _EXPECTED) for aggregate in used.values())


def half_width(
    plan: Plan, noises: Noises, confidence: Fraction, expr: Expr, size: int | None = None, *, widest: bool = False
) -> float | None:
    """Half of the widest interval that an expression can have; None where it is not known in advance.

    Linear expressions of counts and sums have one width, and so have the counts of a list. That of an average depends
    on its group: it is the widest for groups of this size, or of the least size that HAVING lets through. That of a
    selected key's units is the one far above the threshold. `widest`: where noise has large steps, an average of the
    same size elsewhere may be a little wider, unless this is set.
    """
    if not predictable(plan, expr):
        return None
    release = shown_release(plan)
    used = aggregates_in(release, expr)
    listed = used.get(expr.sql)
    if listed is not None and isinstance(listed.formula, Listing):
        return float(width(_noise(noises[listed.measures[0]]), confidence))
    values = {measure: [0] * measure.length for aggregate in used.values() for measure in aggregate.measures}
    miss = made_of(release, expr).miss(confidence)
    for aggregate in used.values():
        if isinstance(aggregate.formula, Passing):
            values[aggregate.measures[0]] = [FAR, 0]
        if not isinstance(aggregate.formula, AVERAGES):
            continue
        rows = size or group_size(plan, aggregate, noises, confidence) or TYPICAL
        if isinstance(aggregate.formula, AnchoredMean):
            (anchored,) = aggregate.measures
            values[anchored] = aggregate.formula.widest(_noise(noises[anchored]), miss, rows)
        else:
            total, count = aggregate.measures
            strays = aggregate.formula.astray(_noise(noises[total]), _noise(noises[count]), 2 * miss)
            # the widest interval is the one whose end just reaches the bound
            values[count] = [rows] * count.length
            values[total] = [max(math.floor(aggregate.formula.radius * rows - strays), 0)]
    ends = Intervals(release, noises, values, confidence, widest=widest).ends(expr, 0)
    return None if ends is None else (ends[1] - ends[0]) / 2


def _noise(noise: Noise | None) -> Noise:
    assert noise is not None
    return noise


def group_size(plan: Plan, average: Aggregate, noises: Noises, confidence: Fraction) -> int | None:
    """How many rows are averaged at least in the groups that HAVING lets through: HAVING COUNT(x) >= 100.

    COUNT(*) is as good where the policy says that x is never NULL, but for the noise on how often it is.
    """
    total, count = average.measures[0], average.measures[-1]
    steps = total.axes[0].steps if isinstance(total, Anchored) else total.steps if isinstance(total, Sum) else None
    nullable = steps is not None and steps.expr.domain.nullable
    sizes = []
    for column, rows in _least(plan.after.having).items():
        aggregate = shown_release(plan).leaves.get(column)
        if aggregate is None:
            continue
        if isinstance(aggregate.formula, Total) and aggregate.measures == (count,):
            sizes.append(rows)
        elif isinstance(aggregate.formula, Both) and aggregate.measures == (count,) and not nullable:
            sizes.append(rows - width(_noise(noises[count]), confidence))
        elif isinstance(aggregate.formula, Weighted) and isinstance(count, Anchored):
            sizes.append(
                _anchored_rows(
                    aggregate.formula, count, rows, width(_noise(noises[count]), confidence), nullable=nullable
                )
            )
    return max((rows for rows in sizes if rows > 0), default=None)


def _anchored_rows(formula: Weighted, measure: Anchored, rows: int, missing: int, *, nullable: bool) -> int:
    """How many rows are averaged at least where a count off the same anchors is at least `rows`, which it may have been
    rounded up to; 0 where it is no count of them. As many as the noise says may be `missing`."""
    if formula == measure.count(every=False):
        return rows - 1
    if formula != measure.count(every=True) or nullable:
        return 0
    return rows - 1 - math.ceil(Fraction(missing, measure.size))


def _conjuncts(expr: Expr | None) -> list[Expr]:
    if expr is None:
        return []
    if expr.function is not None and expr.function.name == "AND":
        return [part for argument in expr.arguments for part in _conjuncts(argument)]
    return [expr]


_TURNED: Final = {"<=": ">=", "<": ">", ">=": "<=", ">": "<"}


def _least(having: Expr | None) -> dict[Sql, int]:
    """Columns with the n that a condition says they are at least."""
    sizes: dict[Sql, int] = {}
    for expr in _conjuncts(having):
        if expr.function is None or expr.function.name not in _TURNED:
            continue
        sign, (left, right) = expr.function.name, expr.arguments
        if left.constant:
            sign, left, right = _TURNED[sign], right, left
        value = right.value if right.constant else None
        if sign in (">=", ">") and isinstance(value, (int, Fraction)):
            rows = math.ceil(value) if sign == ">=" else math.floor(value) + 1
            sizes[left.sql] = max(sizes.get(left.sql, 0), rows)
    return sizes


def _linear(expr: Expr) -> bool:
    if expr.function is None:
        return True
    if expr.function.name in ("*", "/"):
        left, right = expr.arguments
        return (_linear(left) and right.constant) or (expr.function.name == "*" and left.constant and _linear(right))
    return expr.function.name in _LINEAR and all(_linear(argument) for argument in expr.arguments)


def words(plan: Plan, noises: Drawn) -> dict[str, str]:
    """The noise of each noisy column, in words; where several releases are shown, of each that differs."""
    texts: dict[str, dict[str, None]] = {}
    for view in views(plan):
        for label, text in _words(view, noises).items():
            texts.setdefault(label, {})[text] = None
    return {label: " or ".join([*kinds][:MOST_KINDS]) for label, kinds in texts.items()}


def _words(plan: Plan, noises: Drawn) -> dict[str, str]:
    texts = {}
    items = noisy_items(plan)
    named = _named(plan, noises) if items else {}
    for label, expr in items:
        aggregate = aggregate_of(plan, expr)
        if aggregate is None:
            texts[label] = "computed from noisy values"
        else:
            pure = plan.policy.budget.delta is None
            if isinstance(aggregate.formula, Weighted):
                texts[label] = _added(aggregate.formula, named[aggregate.measures[0]])
                continue
            parts = [_word(named[m], _step(aggregate, m), m.words, pure=pure) for m in aggregate.measures]
            texts[label] = " and ".join(parts) if len(parts) > 1 else parts[0].split(" on ")[0]
    return texts


def _added(formula: Weighted, noise: Noise | None) -> str:
    """The noises that a value adds up."""
    times = Counter(map(abs, formula.weights.values()))
    each = [(_word(noise, weight, "", pure=True).removesuffix(" on "), count) for weight, count in times.items()]
    return " and ".join(word if count == 1 else f"{count} times {word}" for word, count in each)


def _step(aggregate: Aggregate, measure: Measure) -> Fraction:
    """What one step of a measure means, in units of the values."""
    if isinstance(measure, Anchored):
        return math.prod((axis.steps.step ** (axis.points - 1) for axis in measure.axes), start=Fraction(1))
    if isinstance(measure, Sum):
        return measure.steps.step
    if isinstance(measure, Product):
        return measure.left.step * measure.right.step
    return aggregate.formula.step if isinstance(aggregate.formula, Total) else Fraction(1)


def _word(noise: Noise | None, step: Fraction, measure: str, *, pure: bool) -> str:
    if noise is None:
        return f"chosen by {'permute-and-flip' if pure else 'the exponential mechanism'} on {measure}"
    if isinstance(noise, DiscreteLaplace):
        return f"discrete Laplace noise of scale {float(noise.scale * step):.4g} on {measure}"
    sigma = float(noise.spread) ** 0.5 * float(step)
    return f"discrete Gaussian noise of σ {sigma:.4g} on {measure}"


def explained(preview: Preview, nothing: Pure | Concentrated) -> Answer:
    """A preview as a table: what EXPLAIN PRIVACY gives."""
    ranged = {"error from": 0, "error to": 1} if preview.ranges else {}
    ranked = ["rank error"] if preview.ranks else []
    rows = []
    for label in preview.columns:
        ends = preview.ranges.get(label, (None, None))
        known = (ends[end] for end in ranged.values()), (preview.ranks.get(label) for _ in ranked)
        rows.append((label, preview.error.get(label), preview.noise.get(label), *known[0], *known[1]))
    return Answer(
        question=preview.question,
        columns=["column", "error", "noise", *ranged, *ranked],
        rows=rows,
        intervals=[{} for _ in preview.columns],
        confidence=preview.confidence,
        loss=nothing,
        cost=preview.loss,
        cached=False,
        receipt="",
        remaining=preview.remaining,
        used=preview.used,
        more=preview.more,
        noise={},
        notes=(*preview.notes, "nothing was asked: this is what the answer would be like"),
        guarantee=preview.guarantee,
        kinds={"column": Kind.TEXT, "error": Kind.NUMBER, "noise": Kind.TEXT}
        | dict.fromkeys(ranged, Kind.NUMBER)
        | dict.fromkeys(ranked, Kind.INTEGER),
    )
