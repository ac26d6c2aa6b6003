"""How what Spark takes grows with rows: the copy, and bounded counts, each beside the same without bounds.

Seconds are those of the processor, of Python and Java together: for each row they must not rise. The sizes are those
that DISCREET_SIZES names, with `;` between them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import discreet
from benchmarks import spark as once
from benchmarks.figures import Figure, at_most

SIZES = tuple(map(int, os.environ.get("DISCREET_SIZES", "1000000;10000000;30000000").split(";")))
CONFIGURATION = {"spark.driver.memory": "4g", "spark.sql.shuffle.partitions": "16"}
QUERIES = {name: once.QUERIES[name] for name in (once.ONE_KEY, "counts after a filter", "counts of two keys, filtered")}
TURNS = 5
RISE = 1.5
"""How many times as much a row may take where there are ten times as many."""


def figures() -> Iterator[Figure]:
    for spark, folder in once.sessions(CONFIGURATION):
        _warm(spark, folder / "warm")
        rows: dict[int, Mapping[str, float]] = {}
        for size in SIZES:
            rows[size] = yield from _measured(spark, folder / str(size), size)
            yield from _rises({each: rows[each] for each in SIZES if each in rows})


def _warm(spark: Any, folder: Path) -> None:
    """What is compiled once is not what the first size takes."""
    for _ in _measured(spark, folder, 200_000):
        pass


def _measured(spark: Any, folder: Path, size: int) -> Generator[Figure, None, Mapping[str, float]]:
    """Seconds for each row, of the copy and of each query."""
    folder.mkdir()
    place = folder / "visits"
    listed = [text.format(units=max(size // 10, 1)) for text in once.ROWS_OF]
    spark.range(size).selectExpr(*listed).write.parquet(f"file://{place}")
    spark.read.parquet(f"file://{place}").createOrReplaceTempView("visits")
    _, scanned = min(once._took(once._raw(spark, "SELECT count(DISTINCT patient) FROM visits")) for _ in range(2))
    taken: dict[str, float] = {}
    with discreet.open(once._policy(folder, place, "spark").path) as curator:
        took, used = once._took(once._ask(curator, "SELECT COUNT(*) FROM visits"))
        taken["the copy"] = used / size
        what = f"{size:,} rows: the copy"
        yield at_most(what, f"{used:.3g} s of CPU, {took:.3g} s", f"{scanned:.3g} s to count units", used / scanned, 30)
        for what, query in QUERIES.items():
            turns = [(once._took(once._ask(curator, query)), once._took(once._raw(spark, query))) for _ in range(TURNS)]
            ours, bare = (min(turn[side][1] for turn in turns) for side in (0, 1))
            taken[what] = ours / size
            shown = f"{bare:.2f} s without bounds, {bare / size * 1e9:.0f} ns a row"
            yield at_most(
                f"{size:,} rows: {what}, CPU", f"{ours:.2f} s, {ours / size * 1e9:.0f} ns a row", shown, ours / bare, 3
            )
    shutil.rmtree(folder)
    return taken


def _rises(rows: Mapping[int, Mapping[str, float]]) -> Iterator[Figure]:
    """Of the two largest sizes so far: what a row takes."""
    for small, large in list(pairwise(rows))[-1:]:
        for what in rows[large]:
            before, after = rows[small][what], rows[large][what]
            yield at_most(
                f"a row of {large:,} beside one of {small:,}: {what}",
                f"{after * 1e9:.0f} ns",
                f"{before * 1e9:.0f} ns",
                after / before,
                RISE,
            )
