"""From noisy measures to the rows and intervals that people see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from discreet.composed import Sql
from discreet.sql.arguments import Aggregate
from discreet.sql.cache import NoisyMeasures
from discreet.sql.domain import NUMERIC
from discreet.sql.expression import Expr
from discreet.sql.formulas import Listing
from discreet.sql.intervals import Intervals, Known, aggregates_in
from discreet.sql.plan import Plan
from discreet.sql.postprocess import INTERVAL, shown
from discreet.sql.relation import Released
from discreet.sql.released import table_of, with_released

Run = Callable[[Sql], list[tuple[Any, ...]]]


class Shown:
    """The table of an answer, computed from what was drawn and nothing else."""

    def __init__(self, plan: Plan, drawn: NoisyMeasures, confidence: Fraction, run: Run) -> None:
        self._plan = plan
        self._drawn = drawn
        self._confidence = confidence
        self._tables = [table_of(release, drawn, index) for index, release in enumerate(plan.releases)]
        self.rows, self._indices = self._select(run)
        ends = [index for index, (_, expr) in enumerate(plan.after.items) if _is_end(expr)]
        if ends and self._indices is not None:
            self.rows = [self._with_ends(row, below, ends) for row, below in zip(self.rows, self._indices, strict=True)]

    def _select(self, run: Run) -> tuple[list[tuple[Any, ...]], list[int] | None]:
        """The rows shown, and for each the row below that it is."""
        plan, below = self._plan, self._plan.below
        leaves = {column.expr.sql: index for index, column in enumerate(below.columns)}
        if plan.after.plain and isinstance(below, Released):
            picked = [leaves[expr.sql] for _, expr in plan.after.items if expr.sql in leaves]
            if len(picked) == len(plan.after.items):
                table = self._tables[below.number]
                return [tuple(row[index] for index in picked) for row in table], list(range(len(table)))
        selected = run(with_released(plan, self._drawn, plan.after.sql(below.sql())))
        width_ = len(plan.after.items)
        rows = [
            tuple(shown(value, expr.domain) for value, (_, expr) in zip(row, plan.after.items, strict=False))
            for row in selected
        ]
        if not plan.after.keeps_rows:
            return rows, None
        indices = [int(row[width_]) for row in selected]
        if not isinstance(below, Released):
            return rows, None
        return [self._exact_leaves(row, index, leaves) for row, index in zip(rows, indices, strict=True)], indices

    def _exact_leaves(self, row: tuple[Any, ...], index: int, leaves: Mapping[Sql, int]) -> tuple[Any, ...]:
        """Columns that are only passed on keep their Python values: integers beyond 64 bits, too."""
        below = self._plan.below
        assert isinstance(below, Released)
        source = self._tables[below.number][index]
        items = self._plan.after.items
        return tuple(
            source[leaves[expr.sql]] if expr.sql in leaves else value
            for value, (_, expr) in zip(row, items, strict=True)
        )

    def _with_ends(self, row: tuple[Any, ...], below: int, ends: Sequence[int]) -> tuple[Any, ...]:
        """A row in which the ends of intervals are filled in."""
        filled = list(row)
        for index in ends:
            expr = self._plan.after.items[index][1]
            interval = self._intervals.interval(expr.arguments[0], below)
            assert expr.function is not None
            filled[index] = None if interval is None else interval[expr.function.name == "DP_INTERVAL_HIGH"]
        return tuple(filled)

    @cached_property
    def _intervals(self) -> Intervals:
        below = self._plan.below
        assert isinstance(below, Released)
        release, number = self._plan.releases[below.number], below.number
        noises = dict(zip(release.measures, self._drawn.noises[number], strict=True))
        values = dict(zip(release.measures, self._drawn.values[number], strict=True))
        return Intervals(release, noises, values, self._confidence)

    @property
    def intervals(self) -> list[dict[str, Known]]:
        """For each row the interval of each noisy column, where one is proven; of a list, those of its counts."""
        if self._indices is None:
            return [{} for _ in self.rows]
        noisy = noisy_items(self._plan)
        return [
            {label: known for label, expr in noisy if (known := self._intervals.known(expr, index)) is not None}
            for index in self._indices
        ]


def _is_end(expr: Expr) -> bool:
    return expr.function is not None and expr.function.name.startswith(INTERVAL)


def noisy_items(plan: Plan) -> list[tuple[str, Expr]]:
    """The items that depend on noise and are numbers, or lists of counts."""
    below = plan.below
    if not isinstance(below, Released) or not plan.after.keeps_rows:
        return []
    noisy = {column.expr.sql for column in below.columns if column.name.startswith("a")}
    return [
        (label, expr)
        for label, expr in plan.after.items
        if (expr.columns() & noisy and expr.domain.kind in NUMERIC and not _is_end(expr)) or is_list(plan, expr)
    ]


def is_list(plan: Plan, expr: Expr) -> bool:
    """Whether an expression is a list of noisy counts, and nothing more than that."""
    aggregate = aggregate_of(plan, expr)
    return aggregate is not None and isinstance(aggregate.formula, Listing)


def aggregate_of(plan: Plan, expr: Expr) -> Aggregate | None:
    """The aggregate that an expression is, if it is nothing more than that."""
    if not isinstance(plan.below, Released):
        return None
    return aggregates_in(plan.releases[plan.below.number], expr).get(expr.sql)
