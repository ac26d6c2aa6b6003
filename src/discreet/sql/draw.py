"""Run a query and add noise: exact integers come from the reader, and only what the exit lets out is returned."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from discreet.exit import Exit, Reader
from discreet.mechanisms.order import public_rank
from discreet.sql.cache import Cell, NoisyMeasures
from discreet.sql.cost import Allocation
from discreet.sql.measures import Measure
from discreet.sql.plan import Plan
from discreet.sql.release import Release
from discreet.sql.released import with_released
from discreet.sql.selected import SelectedUnits
from discreet.sql.vectors import Chosen


def draw(plan: Plan, allocation: Allocation, rows: Reader, exit_: Exit) -> NoisyMeasures:
    """Count, then release every measure of every release, for the shares that were planned."""
    drawn, shares = NoisyMeasures(), iter(allocation.shares)
    for release, mechanisms in zip(plan.releases, allocation.mechanisms, strict=True):
        selected, passed = None, []
        counted_rows = rows.rows(with_released(plan, drawn, release.sql()))
        if mechanisms.selection is not None:
            if release.counts_units:
                units = [(*row[: len(release.keys)], row[-1]) for row in counted_rows]
            else:
                units = rows.rows(with_released(plan, drawn, release.selection_sql()))
            held = {row[:-1]: row[-1] for row in units if _whole(release, row)}
            groups, delta = release.contribution.cells, mechanisms.selection.delta
            keys = exit_.select_keys(held, groups, next(shares), delta)
            selected = tuple(sorted(keys, key=public_rank))
            more = release.least_units - 1
            passed = [n + more for key in selected for n in (keys[key], mechanisms.selection.threshold)]
        exact = counted(release, counted_rows, release.listed(selected))
        if release.other:
            # apart from the rest: a key may really be called OTHER
            unselected = rows.rows(with_released(plan, drawn, release.other_sql(selected or ())))
            rest = counted(release, unselected, release.others())
            exact = [[*known, *further] for known, further in zip(exact, rest, strict=True)]
        values = tuple(
            passed if isinstance(measure, SelectedUnits) else noisy(exit_, release, measure, column, next(shares))
            for _, measure, column in zip(mechanisms.measures, release.measures, exact, strict=True)
        )
        drawn = drawn.then(mechanisms.noises, values, selected)
    return drawn


def noisy(exit_: Exit, release: Release, measure: Measure, exact: list[int], share: Fraction) -> Sequence[int]:
    """The numbers of one measure, in every group, as they may be seen."""
    if not isinstance(measure, Chosen):
        return exit_.release(exact, release.sensitivity(measure), share)
    cells = measure.layout.cells
    groups = [exact[start : start + cells] for start in range(0, len(exact), cells)]
    scores = [measure.scores(group) for group in groups]
    return exit_.choose_each(scores, release.sensitivity(measure), measure.score_sensitivity, share)


def _whole(release: Release, row: tuple[Any, ...]) -> bool:
    """Whether a combination of private keys has no NULL that is not a key."""
    return all(key.domain.nullable or value is not None for key, value in zip(release.private_keys, row, strict=False))


def counted(release: Release, rows: Sequence[tuple[Any, ...]], cells: Sequence[Cell]) -> list[list[int]]:
    """For each measure its integers in every group, 0 where there are no rows. Other groups are dropped."""
    keys = len(release.keys)
    exact = {row[:keys]: row[keys:] for row in rows}
    nothing = (None,) * len(release.measures)
    table = [exact.get(cell, nothing) for cell in cells]
    return [
        [number for row in table for number in measure.vector(row[index])]
        for index, measure in enumerate(release.measures)
    ]
