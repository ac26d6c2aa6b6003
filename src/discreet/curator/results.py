"""From noisy measures to the rows, intervals and errors that people see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from discreet.accounting.distributions import DiscreteLaplace, Noise
from discreet.curator.kept import Drawn
from discreet.curator.released import numbers, table_of, with_released
from discreet.policy import Kind
from discreet.sql.after import shown
from discreet.sql.aggregates import Aggregate
from discreet.sql.domain import NUMERIC, Domain
from discreet.sql.expression import Expr
from discreet.sql.formulas import Both, Interval, Mean, Part, Recentred, Total
from discreet.sql.measures import Measure, Product, Sum
from discreet.sql.plan import Plan
from discreet.sql.relation import Released
from discreet.sql.release import Release

Run = Callable[[str], list[tuple[Any, ...]]]
SIZES: Final = (100, 1_000, 10_000)
"""Group sizes for which the error of an average is foretold."""
TYPICAL: Final = 1_000
_LINEAR: Final = frozenset({"+", "-", "NEGATE"})


class Shown:
    """The table of an answer, computed from what was drawn and nothing else."""

    def __init__(self, plan: Plan, drawn: Drawn, confidence: Fraction, run: Run) -> None:
        self._plan = plan
        self._drawn = drawn
        self._confidence = confidence
        self._tables = [table_of(release, drawn, place) for place, release in enumerate(plan.releases)]
        self.rows, self._places = self._select(run)
        ends = [place for place, (_, expr) in enumerate(plan.after.items) if _is_end(expr)]
        if ends and self._places is not None:
            self.rows = [self._with_ends(row, below, ends) for row, below in zip(self.rows, self._places, strict=True)]

    def _select(self, run: Run) -> tuple[list[tuple[Any, ...]], list[int] | None]:
        """The rows shown, and for each the row below that it is."""
        plan, below = self._plan, self._plan.below
        leaves = {column.expr.sql: place for place, column in enumerate(below.columns)}
        if plan.after.plain and isinstance(below, Released):
            picked = [leaves[expr.sql] for _, expr in plan.after.items if not expr.constant]
            if len(picked) == len(plan.after.items):
                table = self._tables[below.number]
                return [tuple(row[place] for place in picked) for row in table], list(range(len(table)))
        found = run(with_released(plan, self._drawn, plan.after.sql(below.sql())))
        width_ = len(plan.after.items)
        rows = [
            tuple(shown(value, expr.domain) for value, (_, expr) in zip(row, plan.after.items, strict=False))
            for row in found
        ]
        if not plan.after.keeps_rows:
            return rows, None
        places = [int(row[width_]) for row in found]
        if not isinstance(below, Released):
            return rows, None
        return [self._exact_leaves(row, place, leaves) for row, place in zip(rows, places, strict=True)], places

    def _exact_leaves(self, row: tuple[Any, ...], place: int, leaves: Mapping[str, int]) -> tuple[Any, ...]:
        """Columns that are only passed on keep their Python values: integers beyond 64 bits, too."""
        below = self._plan.below
        assert isinstance(below, Released)
        source = self._tables[below.number][place]
        items = self._plan.after.items
        return tuple(
            source[leaves[expr.sql]] if expr.sql in leaves else value
            for value, (_, expr) in zip(row, items, strict=True)
        )

    def _with_ends(self, row: tuple[Any, ...], below: int, ends: Sequence[int]) -> tuple[Any, ...]:
        """A row in which the ends of intervals are filled in."""
        filled = list(row)
        for place in ends:
            expr = self._plan.after.items[place][1]
            found = self._sources.interval(expr.arguments[0], below)
            assert expr.function is not None
            filled[place] = None if found is None else found[expr.function.name == "DP_INTERVAL_HIGH"]
        return tuple(filled)

    @cached_property
    def _sources(self) -> _Sources:
        below = self._plan.below
        assert isinstance(below, Released)
        return _Sources(self._plan.releases[below.number], self._drawn, below.number, self._confidence)

    @property
    def intervals(self) -> list[dict[str, tuple[float, float]]]:
        """For each row the interval of each noisy column, where one is proven."""
        if self._places is None:
            return [{} for _ in self.rows]
        noisy = noisy_items(self._plan)
        return [
            {label: found for label, expr in noisy if (found := self._sources.interval(expr, place)) is not None}
            for place in self._places
        ]


def _is_end(expr: Expr) -> bool:
    return expr.function is not None and expr.function.name.startswith("DP_INTERVAL")


def noisy_items(plan: Plan) -> list[tuple[str, Expr]]:
    """The items that depend on noise and are numbers."""
    below = plan.below
    if not isinstance(below, Released) or not plan.after.keeps_rows:
        return []
    noisy = {column.expr.sql for column in below.columns if column.name.startswith("a")}
    return [
        (label, expr)
        for label, expr in plan.after.items
        if expr.columns() & noisy and expr.domain.kind in NUMERIC and not _is_end(expr)
    ]


class _Sources:
    """Intervals of aggregates from those of their measures.

    Theorem  An interval of an expression over m measures holds with the confidence 1 − β asked for.
    Proof    Each measure lies in its own interval except with probability β/m, all of them except with β; the rules of
             interval arithmetic do the rest. Sums of noises have intervals of their own and count as further measures.
    """

    def __init__(self, release: Release, drawn: Drawn, number: int, confidence: Fraction) -> None:
        self._aggregates = {f'"a{place}"': aggregate for place, aggregate in enumerate(release.aggregates)}
        self._keys = len(release.keys)
        self._values = dict(zip(release.measures, drawn.values[number], strict=True))
        self._noises = dict(zip(release.measures, drawn.noises[number], strict=True))
        self._miss = 1 - confidence

    def interval(self, expr: Expr, place: int) -> tuple[float, float] | None:
        used = [self._aggregates[column] for column in sorted(expr.columns()) if column in self._aggregates]
        count = len({(m, type(a.formula) if isinstance(a.formula, (Both, Recentred)) else None)
                     for a in used for m in a.measures})  # fmt: skip
        facts = {}
        for sql, aggregate in self._aggregates.items():
            if aggregate in used:
                found = self._of(aggregate, place, count)
                if found is None:
                    return None
                facts[sql] = _domain(found)
        low, high = expr.under(facts).numbers
        if low is None or high is None:
            return None
        return _plain(low), _plain(high)

    def _of(self, aggregate: Aggregate, place: int, count: int) -> Interval | None:
        noisy = numbers(aggregate, self._values, place)
        return aggregate.formula.interval(
            [
                Part(values, self._noises[measure], self._miss / count)
                for measure, values in zip(aggregate.measures, noisy, strict=True)
            ]
        )


def _domain(interval: Interval) -> Domain:
    low, high = interval
    return Domain(Kind.NUMBER, low, high, certain=True)


def _plain(edge: Fraction) -> int | float:
    return int(edge) if edge.denominator == 1 and abs(edge) < 2**53 else float(edge)


# what is known before anything is drawn


def errors(plan: Plan, noises: Sequence[Sequence[Noise | None]], confidence: Fraction) -> dict[str, float]:
    """The half-width of each noisy column; of an average, for groups of a typical size."""
    found = {}
    for label, expr in noisy_items(plan):
        half = _half(plan, noises, confidence, expr, TYPICAL)
        if half is not None:
            found[label] = half
    return found


def averages(plan: Plan, noises: Sequence[Sequence[Noise | None]], confidence: Fraction) -> dict[str, dict[int, float]]:
    """How the error of an average falls with the size of a group."""
    found: dict[str, dict[int, float]] = {}
    for label, expr in noisy_items(plan):
        aggregate = _aggregate(plan, expr)
        if aggregate is not None and isinstance(aggregate.formula, Mean):
            sizes = {size: _half(plan, noises, confidence, expr, size) for size in SIZES}
            found[label] = {size: half for size, half in sizes.items() if half is not None}
    return found


def _aggregate(plan: Plan, expr: Expr) -> Aggregate | None:
    below = plan.below
    if not isinstance(below, Released) or not expr.sql.startswith('"a'):
        return None
    aggregates = plan.releases[below.number].aggregates
    return next((a for place, a in enumerate(aggregates) if expr.sql == f'"a{place}"'), None)


def _half(
    plan: Plan, noises: Sequence[Sequence[Noise | None]], confidence: Fraction, expr: Expr, size: int
) -> float | None:
    """Half an interval around typical values: exact for linear expressions, where it does not depend on them."""
    below = plan.below
    assert isinstance(below, Released)
    release = plan.releases[below.number]
    used = [a for place, a in enumerate(release.aggregates) if f'"a{place}"' in expr.columns()]
    if not _linear(expr) or not all(isinstance(a.formula, (Total, Recentred, Mean, Both)) for a in used):
        return None
    typical = {measure: _typical(release, measure, size) for measure in release.measures}
    drawn = Drawn(
        tuple(tuple(part) for part in noises),
        tuple(
            tuple([typical.get(measure, 0)] * measure.length for measure in other.measures) if other is release else ()
            for other in plan.releases
        ),
    )
    interval = _Sources(release, drawn, below.number, confidence).interval(expr, 0)
    return None if interval is None else (interval[1] - interval[0]) / 2


def _typical(release: Release, measure: Any, size: int) -> int:
    """A measure of a group of this size whose average lies halfway between the middle and a bound."""
    for aggregate in release.aggregates:
        if isinstance(aggregate.formula, Mean) and measure in aggregate.measures:
            return size if measure is aggregate.measures[1] else measure.size * size // 2
    return 0


def _linear(expr: Expr) -> bool:
    if expr.function is None:
        return True
    if expr.function.name in ("*", "/"):
        left, right = expr.arguments
        return (_linear(left) and right.constant) or (expr.function.name == "*" and left.constant and _linear(right))
    return expr.function.name in _LINEAR and all(_linear(argument) for argument in expr.arguments)


def words(plan: Plan, noises: Sequence[Sequence[Noise | None]]) -> dict[str, str]:
    """The noise of each noisy column, in words."""
    found = {}
    for label, expr in noisy_items(plan):
        below = plan.below
        assert isinstance(below, Released)
        release = plan.releases[below.number]
        named = dict(zip(release.measures, noises[below.number], strict=True))
        aggregate = _aggregate(plan, expr)
        if aggregate is None:
            found[label] = "computed from noisy values"
        else:
            parts = [_word(named[m], _step(aggregate, m), m.words) for m in aggregate.measures]
            found[label] = " and ".join(parts) if len(parts) > 1 else parts[0].split(" on ")[0]
    return found


def _step(aggregate: Aggregate, measure: Measure) -> Fraction:
    """What one step of a measure means, in units of the values."""
    if isinstance(measure, Sum):
        return measure.steps.step
    if isinstance(measure, Product):
        return measure.left.step * measure.right.step
    return aggregate.formula.step if isinstance(aggregate.formula, Total) else Fraction(1)


def _word(noise: Noise | None, step: Fraction, measure: str) -> str:
    if noise is None:
        return f"chosen by the exponential mechanism on {measure}"
    if isinstance(noise, DiscreteLaplace):
        return f"discrete Laplace noise of scale {float(noise.scale * step):.4g} on {measure}"
    sigma = float(noise.spread) ** 0.5 * float(step)
    return f"discrete Gaussian noise of σ {sigma:.4g} on {measure}"
