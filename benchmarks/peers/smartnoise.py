"""smartnoise-sql over a pandas frame, where it was faster than over SQLite. It bounds a unit's rows, not its groups.

Its ε is for each column: the cost that it tells for the query is scaled to ε in all. Keys are public (`censor_dims`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import snsql  # type: ignore[import-not-found, unused-ignore]

from benchmarks.figures import best_of, median_of
from benchmarks.peers.task import Report, perform, with_means
from benchmarks.query_setting import DELTA, EPSILON, GROUPED, HIGHEST, MAX_ROWS, REPETITIONS, SMALL, TOTALS


def grouped(path: Path) -> float:
    query = _qualified(GROUPED, "events")
    reader = _reader(path, "events", "category", query, {"max_ids": MAX_ROWS})
    return best_of(2, lambda: reader.execute(query))


def small(path: Path) -> float:
    query = _qualified(SMALL, "events")
    reader = _reader(path, "events", "category", query, {"max_ids": 1})
    return median_of(30, lambda: reader.execute(query))


def report(path: Path) -> list[Report]:
    """One row belongs to each unit, so nothing is sampled."""
    query = _qualified(TOTALS, "report")
    reader = _reader(path, "report", "part", query, {"row_privacy": True})
    released = [reader.execute(query)[1:] for _ in range(REPETITIONS)]
    return [with_means(answer) for answer in released]


def _qualified(query: str, table: str) -> str:
    return query.replace(f"FROM {table}", f"FROM main.{table}")


def _reader(path: Path, table: str, key: str, query: str, bounds: dict[str, object]) -> Any:
    frame = duckdb.connect().execute(f"SELECT user_id, {key}, value FROM '{path}'").df()
    columns = {
        "user_id": {"type": "int", "private_id": "row_privacy" not in bounds},
        key: {"type": "string"},
        "value": {"type": "float", "lower": 0.0, "upper": float(HIGHEST)},
    }
    metadata = {"": {"main": {table: {"rows": len(frame), "censor_dims": False, **bounds, **columns}}}}

    def reader(rows: Any, epsilon: float) -> Any:
        return snsql.from_df(rows, privacy=snsql.Privacy(epsilon=epsilon, delta=DELTA), metadata=metadata)

    cost, _ = reader(frame.head(1), 1.0).get_privacy_cost(query)
    return reader(frame, EPSILON / float(cost))


if __name__ == "__main__":
    perform({"grouped": grouped, "small": small, "report": report})
