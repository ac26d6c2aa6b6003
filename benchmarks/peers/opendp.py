"""opendp's Context over polars: pure ε, sums of integer cents, public keys. It is fastest when it scans Parquet itself.

`truncate_num_groups` chooses by 'first', since its default fails on a grouping by one column.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import opendp.prelude as dp
import polars as pl
from opendp.extras.polars import Margin, dp_len

from benchmarks.figures import best_of, median_of
from benchmarks.peers.task import Report, perform, with_means
from benchmarks.query_setting import (
    CATEGORIES,
    EPSILON,
    HIGHEST,
    MAX_GROUPS,
    MAX_ROWS_PER_GROUP,
    PARTS,
    REPETITIONS,
    SMALL_ROWS,
)

dp.enable_features("contrib")


def grouped(path: Path) -> float:
    return best_of(2, lambda: _grouped(path).release().collect())


def small(path: Path) -> float:
    rows = pl.read_parquet(path).lazy()
    margin = Margin(max_length=SMALL_ROWS)

    def ask() -> object:
        context = _context(rows, dp.unit_of(contributions=1, identifier="user_id"), margin)
        return context.query().truncate_per_group(1).select(dp_len(signed=True)).release().collect()

    return median_of(5, ask)


def report(path: Path) -> list[Report]:
    """One row belongs to each unit, so nothing is truncated."""
    rows = pl.read_parquet(path).lazy()
    margin = Margin(by=["part"], max_length=10**6, max_groups=len(PARTS))
    query = _totals(_context(rows, dp.unit_of(contributions=1), margin).query(), "part", PARTS)
    measurement = query.resolve()
    released = [measurement(rows).collect().select("part", "len", "cents").rows() for _ in range(REPETITIONS)]
    return [with_means([(part, n, cents / 100) for part, n, cents in answer]) for answer in released]


def _grouped(path: Path) -> Any:
    margin = Margin(by=["category"], max_length=10**8, max_groups=len(CATEGORIES))
    unit = dp.unit_of(contributions=1, identifier="user_id")
    query = (
        _context(pl.scan_parquet(path), unit, margin)
        .query()
        .truncate_per_group(MAX_ROWS_PER_GROUP, by=["category"])
        .truncate_num_groups(MAX_GROUPS, by=["category"], keep="first")
    )
    return _totals(query, "category", CATEGORIES)


def _context(rows: pl.LazyFrame, unit: Any, margin: Any) -> Any:
    loss = dp.loss_of(epsilon=EPSILON)
    return dp.Context.compositor(data=rows, privacy_unit=unit, privacy_loss=loss, split_evenly_over=1, margins=[margin])


def _totals(query: Any, key: str, keys: tuple[str, ...]) -> Any:
    total = pl.col("cents").fill_null(0).dp.sum((0, 100 * HIGHEST))
    return query.group_by(key).agg(dp_len(signed=True), total).with_keys(pl.LazyFrame({key: keys}))


if __name__ == "__main__":
    perform({"grouped": grouped, "small": small, "report": report})
