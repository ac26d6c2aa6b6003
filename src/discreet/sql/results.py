"""From noisy measures to the rows and intervals that people see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from discreet.composed import Sql
from discreet.sql.arguments import Aggregate
from discreet.sql.cache import NoisyMeasures
from discreet.sql.domain import NUMERIC
from discreet.sql.expression import Expr
from discreet.sql.formulas import Listing
from discreet.sql.intervals import Intervals, Known, aggregates_in
from discreet.sql.origins import Origin, origins, views
from discreet.sql.plan import Plan
from discreet.sql.postprocess import shown
from discreet.sql.relation import Derived, Released
from discreet.sql.released import table_of, with_released

Run = Callable[[Sql], list[tuple[Any, ...]]]


class Shown:
    """The table of an answer, computed from what was drawn and nothing else."""

    def __init__(self, plan: Plan, drawn: NoisyMeasures, confidence: Fraction, run: Run) -> None:
        self._plan = plan
        self._drawn = drawn
        self._confidence = confidence
        self._tables = [table_of(release, drawn, index) for index, release in enumerate(plan.releases)]
        self._views = views(plan)
        self._known: dict[int, Intervals] = {}
        self.rows, indices = self._select(run)
        self._origins = self._traced(run) if indices is None else [(0, index) for index in indices]
        ends = any(expr.is_interval_end for view in self._views for _, expr in view.after.items)
        if ends and self._origins is not None:
            self.rows = [self._with_ends(*pair) for pair in zip(self.rows, self._origins, strict=True)]

    def _traced(self, run: Run) -> list[Origin] | None:
        """Whence each row comes, where several releases are shown; None where rows are something else."""
        if not self._views:
            return None
        sizes = [len(table) for table in self._tables]
        shown = Derived(self._plan.after, self._plan.below)
        return origins(shown, sizes, lambda query: run(with_released(self._plan, self._drawn, query)))

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

    def _with_ends(self, row: tuple[Any, ...], origin: Origin) -> tuple[Any, ...]:
        """A row in which the ends of intervals are filled in."""
        branch, index = origin
        filled = dict(zip(self._plan.columns, row, strict=True))
        for label, expr in self._views[branch].after.items:
            if expr.is_interval_end:
                interval = self._intervals(branch).interval(expr.arguments[0], index)
                assert expr.function is not None
                filled[label] = None if interval is None else interval[expr.function.name == "DP_INTERVAL_HIGH"]
        return tuple(filled.values())

    def _intervals(self, branch: int) -> Intervals:
        if branch not in self._known:
            view = self._views[branch]
            assert isinstance(view.below, Released)
            release, number = view.releases[view.below.number], view.below.number
            noises = dict(zip(release.measures, self._drawn.noises[number], strict=True))
            values = dict(zip(release.measures, self._drawn.values[number], strict=True))
            held = self._held
            if branch not in held:
                held[branch] = Intervals(release, noises, {}, self._confidence)
            self._known[branch] = held[branch].over(values)
        return self._known[branch]

    @property
    def _held(self) -> dict[int, Intervals]:
        """Of this plan, for these noises: they hold no values, noisy or not."""
        memo, key = self._plan.memo, (self._drawn.noises, self._confidence)
        held = memo.intervals
        if held is None or held[0] != key:
            held = memo.intervals = key, {}
        return held[1]  # not what another thread has put there meanwhile

    @property
    def intervals(self) -> list[dict[str, Known]]:
        """For each row the interval of each noisy column, where one is proven; of a list, those of its counts."""
        if self._origins is None:
            return [{} for _ in self.rows]
        noisy = self._plan.memo.once("noisy", lambda: [noisy_items(view) for view in self._views])
        return [
            {
                label: known
                for label, expr in noisy[branch]
                if (known := self._intervals(branch).known(expr, index)) is not None
            }
            for branch, index in self._origins
        ]


def noisy_labels(plan: Plan) -> list[str]:
    """The columns that are noisy in any of the releases that are shown."""
    noisy = {label for view in views(plan) for label, _ in noisy_items(view)}
    return [label for label in plan.columns if label in noisy]


def noisy_items(plan: Plan) -> list[tuple[str, Expr]]:
    """The items that depend on noise and are numbers, or lists of counts."""
    below = plan.below
    if not isinstance(below, Released) or not plan.after.keeps_rows:
        return []
    noisy = {column.expr.sql for column in below.columns if column.name.startswith("a")}
    return [
        (label, expr)
        for label, expr in plan.after.items
        if (expr.columns() & noisy and expr.domain.kind in NUMERIC and not expr.is_interval_end) or is_list(plan, expr)
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
