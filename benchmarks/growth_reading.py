"""Reading a table of PostgreSQL into DuckDB beside a bare COPY of it, over 10⁶ and 10⁷ rows, or DISCREET_GROWTH.

Seconds by the clock, which an owner waits, and those of the processor, of both sides.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.postgres.cluster import MISSING, is_here, running

from benchmarks import growth, postgres, pushdown
from benchmarks.figures import Figure

MOST: Final = 10_000_000
"""Larger tables take disk and minutes, and tell nothing else."""
MEASURES: Final = {"typed in DuckDB, by the clock": "wall", "typed in DuckDB, CPU": "cpu"}


def figures() -> Iterator[Figure]:
    if not is_here():
        print(f"figures of PostgreSQL {MISSING}")
        return
    sizes = [size for size in growth.SIZES if size <= MOST]
    yield from growth.grown((each for size in sizes for each in _read(size)), postgres.BARE, 2)


def _read(size: int) -> Iterator[tuple[int, str, growth.Took]]:
    with running() as cluster, tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        cluster.run(postgres.table(size), "ANALYZE visits", "CHECKPOINT")
        path = Path(folder) / "clinic.toml"
        path.write_text(postgres.POLICY.format(address=cluster.address()), encoding="utf-8")
        turns = [(postgres.extracted(cluster, path), postgres.bare(cluster)) for _ in range(pushdown.TURNS)]
    assert {ours["count"] for ours, _ in turns} == {size}
    for what, key in MEASURES.items():
        yield size, what, growth.Took(min(ours[key] for ours, _ in turns), min(bare[key] for _, bare in turns))
