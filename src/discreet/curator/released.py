"""Noisy measures as the tables that later queries can read."""

from __future__ import annotations

from typing import Any

from discreet.curator.kept import Drawn
from discreet.sql.after import values
from discreet.sql.plan import Plan
from discreet.sql.relation import released_name
from discreet.sql.release import Release
from discreet.sql.select import columns_of


def table_of(release: Release, drawn: Drawn, number: int) -> list[tuple[Any, ...]]:
    """Keys and aggregates of every group."""
    columns = dict(zip(release.measures, drawn.values[number], strict=True))
    parts = [[columns[measure] for measure in aggregate.measures] for aggregate in release.aggregates]
    found = []
    for place, cell in enumerate(release.cells()):
        aggregates = [
            aggregate.formula.value([column[place] for column in part])
            for aggregate, part in zip(release.aggregates, parts, strict=True)
        ]
        found.append((*cell, *aggregates))
    return found


def with_released(plan: Plan, drawn: Drawn, query: str) -> str:
    """A query that finds what was drawn so far under its name, if it asks for it."""
    parts = [
        f"{released_name(number)} AS {values(columns_of(release), table_of(release, drawn, number))}"
        for number, release in enumerate(plan.releases[: len(drawn.values)])
        if released_name(number) in query
    ]
    return f"WITH {', '.join(parts)} {query}" if parts else query
