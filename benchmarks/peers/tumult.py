"""Tumult Analytics on a Spark of its own, over the same files: counts by a key, of at most so many rows of each unit.

It truncates rows of units each time it is asked, and has no copy that it could keep. What the same Spark takes for the
same counts without bounds is measured beside it, in turns.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession  # type: ignore[import-not-found, unused-ignore]
from tmlt.analytics import (  # type: ignore[import-not-found, unused-ignore]
    AddRowsWithID,
    KeySet,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

from benchmarks.peers.task import perform

MAX_ROWS = 20
WARDS = list("ABCDEFGH")
TURNS = 3


def counts(path: Path) -> dict[str, float]:
    """The least seconds of some turns: bounded and with noise, and plain."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.warehouse.dir", os.environ.get("TMPDIR", "/tmp"))
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    rows = spark.read.parquet(f"file://{path}")
    rows.createOrReplaceTempView("visits")
    session = Session.from_dataframe(
        privacy_budget=PureDPBudget(float("inf")),
        source_id="visits",
        dataframe=rows,
        protected_change=AddRowsWithID("patient"),
    )
    bounded = QueryBuilder("visits").enforce(MaxRowsPerID(MAX_ROWS))
    query = bounded.groupby(KeySet.from_dict({"ward": WARDS})).count()
    turns = [
        (
            _took(lambda: session.evaluate(query, PureDPBudget(1)).collect()),
            _took(lambda: spark.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward").collect()),
        )
        for _ in range(TURNS)
    ]
    return {"bounded": min(turn[0] for turn in turns), "plain": min(turn[1] for turn in turns)}


def _took(ask: Any) -> float:
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


if __name__ == "__main__":
    perform({"counts": counts})
