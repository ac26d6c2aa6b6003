"""The rows that the query benchmarks ask about, the same in every run, and the policies over them."""

from __future__ import annotations

from pathlib import Path

import duckdb

from benchmarks.query_setting import CATEGORIES, HIGHEST, PARTS

SMALLEST_PART, LARGEST_PART = 50, 50_000
EVENTS = """
SELECT (hash(i) % {units})::BIGINT AS user_id, 'c' || floor(pow(101, {first}))::INTEGER AS category,
       cents::BIGINT AS cents, cents / 100 AS value
FROM (SELECT i, round({highest} * 100 * {second}) AS cents FROM range({rows}) AS r(i))
"""
"""Ten rows per unit on average; the category k comes up in proportion to log(1 + 1/k), about 1/k."""
REPORT = """
SELECT row_number() OVER () AS user_id, part, cents::BIGINT AS cents, cents / 100 AS value
FROM (SELECT part, round({highest} * 100 * {second}) AS cents
      FROM (SELECT unnest({parts}) AS part, unnest({sizes}) AS size), range({largest}) AS r(i) WHERE i < size)
"""
FIRST = "(hash(i, 1) / pow(2, 64))"
SECOND = "(hash(i, 2) / pow(2, 64))"
POLICY = """
name = "bench"
[budget]
epsilon = 1000000.0
[unit]
name = "user"
[tables.{table}]
source = "{table}.parquet"
unit = "user_id"
{bounds}
[tables.{table}.columns]
{key} = {{ values = {keys} }}
value = {{ min = 0, max = {highest}, step = 0.01 }}
"""


def events(folder: Path, rows: int) -> Path:
    """A Parquet file of this many rows, with a tenth as many units."""
    query = EVENTS.format(units=rows // 10, rows=rows, first=FIRST, second=SECOND, highest=HIGHEST)
    return _written(folder / "events.parquet", query)


def report(folder: Path) -> Path:
    """A Parquet file with one row per unit, in parts from small to large."""
    growth = (LARGEST_PART / SMALLEST_PART) ** (1 / (len(PARTS) - 1))
    sizes = [round(SMALLEST_PART * growth**place) for place in range(len(PARTS))]
    query = REPORT.format(parts=list(PARTS), sizes=sizes, largest=LARGEST_PART, second=SECOND, highest=HIGHEST)
    return _written(folder / "report.parquet", query)


def policy(folder: Path, name: str, bounds: dict[str, int], *, table: str = "events") -> Path:
    """A policy over the Parquet file in this folder."""
    key, keys = ("category", CATEGORIES) if table == "events" else ("part", PARTS)
    lines = "\n".join(f"{bound} = {most}" for bound, most in bounds.items())
    path = folder / f"{name}.toml"
    path.write_text(
        POLICY.format(table=table, bounds=lines, key=key, keys=list(keys), highest=HIGHEST), encoding="utf-8"
    )
    return path


def _written(path: Path, query: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return path
