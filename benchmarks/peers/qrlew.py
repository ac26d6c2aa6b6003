"""Qrlew's rewritten SQL, in PostgreSQL's words, on DuckDB: Gaussian noise for (ε, δ), from the engine's own `random()`.

With public keys it bounds the norm of what a unit adds and not its groups, which is weaker and cheaper.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyqrlew  # type: ignore[import-not-found, unused-ignore]
import sqlalchemy  # type: ignore[import-not-found, unused-ignore]

from benchmarks.figures import best_of, median_of
from benchmarks.peers.task import Report, perform, with_means
from benchmarks.query_setting import (
    CATEGORIES,
    DELTA,
    EPSILON,
    GROUPED,
    HIGHEST,
    MAX_GROUPS,
    MAX_ROWS,
    PARTS,
    REPETITIONS,
    SMALL,
    TOTALS,
)


def grouped(path: Path) -> float:
    """Only the query is timed: rewriting took place before, and the table is loaded."""
    connection = _loaded(path, "events")
    dataset = _dataset(connection, "events", "category").with_possible_values(None, "events", "category", CATEGORIES)
    query = _rewritten(dataset, GROUPED, "events", MAX_ROWS)
    return best_of(3, lambda: connection.execute(query).fetchall())


def small(path: Path) -> float:
    connection = _loaded(path, "events")
    dataset = _dataset(connection, "events", "category")
    return median_of(50, lambda: connection.execute(_rewritten(dataset, SMALL, "events", 1)).fetchall())


def report(path: Path) -> list[Report]:
    connection = _loaded(path, "report")
    dataset = _dataset(connection, "report", "part").with_possible_values(None, "report", "part", PARTS)
    query = _rewritten(dataset, TOTALS, "report", 1)
    return [with_means(connection.execute(query).fetchall()) for _ in range(REPETITIONS)]


def _loaded(path: Path, table: str) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE {table} AS FROM '{path}'")
    return connection


def _dataset(connection: duckdb.DuckDBPyConnection, table: str, key: str) -> Any:
    """Qrlew reads names, types and the number of rows from a database known to sqlalchemy: a table of NULLs will do."""
    [rows] = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone() or [0]
    engine = sqlalchemy.create_engine("sqlite://")
    with engine.begin() as shape:
        shape.execute(sqlalchemy.text(f"CREATE TABLE {table} (user_id INTEGER, {key} TEXT, value FLOAT)"))
        count = f"WITH RECURSIVE count(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM count WHERE i < {rows})"
        shape.execute(sqlalchemy.text(f"INSERT INTO {table} {count} SELECT NULL, NULL, NULL FROM count"))
    dataset = pyqrlew.Dataset.from_database("bench", engine, None)
    return dataset.with_range(None, table, "value", 0.0, float(HIGHEST))


def _rewritten(dataset: Any, query: str, table: str, rows: int) -> str:
    private = dataset.relation(query).rewrite_with_differential_privacy(
        dataset,
        [(table, [], "user_id")],
        {"epsilon": EPSILON, "delta": DELTA},
        max_multiplicity=float(rows),
        max_multiplicity_share=1.0,
        max_privacy_unit_groups=min(rows, MAX_GROUPS),
    )
    return str(private.relation().to_query(pyqrlew.Dialect.PostgreSql))


if __name__ == "__main__":
    perform({"grouped": grouped, "small": small, "report": report})
