"""Noisy measures as the tables that later queries can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from discreet.composed import Sql, joined, sql
from discreet.sql.arguments import Aggregate
from discreet.sql.cache import NoisyMeasures
from discreet.sql.measures import Measure
from discreet.sql.plan import Plan
from discreet.sql.postprocess import values
from discreet.sql.relation import released_name
from discreet.sql.release import Release
from discreet.sql.select import columns_of


def table_of(release: Release, drawn: NoisyMeasures, number: int) -> list[tuple[Any, ...]]:
    """Keys and aggregates of every group."""
    columns = dict(zip(release.measures, drawn.values[number], strict=True))
    shown = [(aggregate.formula.value, numbers(aggregate, columns)) for aggregate in release.aggregates]
    return [
        (*cell, *(value(noisy(index)) for value, noisy in shown))
        for index, cell in enumerate(release.cells(drawn.selected[number]))
    ]


def numbers(aggregate: Aggregate, columns: Mapping[Measure, Sequence[int]]) -> Callable[[int], list[Sequence[int]]]:
    """The noisy numbers of an aggregate's measures in the group of an index."""
    held = [(columns[measure], measure.length) for measure in aggregate.measures]
    return lambda index: [noisy[index * length : (index + 1) * length] for noisy, length in held]


def with_released(plan: Plan, drawn: NoisyMeasures, query: Sql) -> Sql:
    """A query that finds what was drawn so far under its name, if it asks for it."""
    tables = [table_of(release, drawn, number) for number, release in enumerate(plan.releases[: len(drawn.values)])]
    return _with_tables(plan.releases, tables, query)


def with_nothing(plan: Plan, query: Sql) -> Sql:
    """A query that finds tables without rows where it asks for what is released before it."""
    return _with_tables(plan.releases, [() for _ in plan.releases], query)


def _with_tables(releases: Sequence[Release], tables: Sequence[Sequence[tuple[Any, ...]]], query: Sql) -> Sql:
    parts = [
        sql("{} AS {}", released_name(number), values(columns_of(release), rows))
        for number, (release, rows) in enumerate(zip(releases, tables, strict=False))
        if released_name(number).text in query.skeleton
    ]
    return sql("WITH {} {}", joined(", ", parts), query) if parts else query
