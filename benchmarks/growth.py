"""Bounded grouped counts inside of PostgreSQL beside the raw ones, over 10⁶, 10⁷ and 3·10⁷ rows, or DISCREET_GROWTH.

Seconds are those of the processor, of the one process of the server that computes. Keys and costs are random, so that
after the filter some units have too many groups, and most have not.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.postgres.cluster import MISSING, Cluster, is_here, running

from benchmarks import pushdown
from benchmarks.figures import Figure, at_most
from discreet.curator.curator import Curator
from discreet.curator.state import passing_ledger
from discreet.engines.postgres_engine import Postgres
from discreet.policy import read

SIZES: Final = tuple(int(size) for size in os.environ.get("DISCREET_GROWTH", "1000000,10000000,30000000").split(","))
TABLE: Final = """
CREATE UNLOGGED TABLE visits AS SELECT 'p' || (g * 7919::int8 % {units}) AS patient,
    chr(65 + (random() * 8)::int4 % 8) AS ward, (random() * 1000)::float8 AS cost
FROM generate_series(1, {rows}) AS g
"""
QUESTIONS: Final = (
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
    "SELECT ward, COUNT(*) FROM visits WHERE cost > 500 GROUP BY ward",
)


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of the processor, ours and theirs."""

    ours: float
    theirs: float

    def figure(self, what: str, against: str, most: float) -> Figure:
        return at_most(what, f"{self.ours:.2f} s", f"{self.theirs:.2f} s {against}", self.ours / self.theirs, most)


def figures() -> Iterator[Figure]:
    if not is_here():
        print(f"figures of PostgreSQL {MISSING}")
        return
    yield from grown((size, what, took) for size in SIZES for what, took in _measured(size))


def grown(measured: Iterable[tuple[int, str, Took]], against: str = "raw", most: float = 3) -> Iterator[Figure]:
    """Each size beside what it is compared with, and how much more it takes than the size before."""
    before: dict[str, tuple[int, Took]] = {}
    for size, what, took in measured:
        yield took.figure(f"{what}, {size:,} rows", against, most)
        if what in before:
            smaller, less = before[what]
            times, rows = took.ours / less.ours, size / smaller
            shown = f"{smaller:,} to {size:,} rows: {what}"
            yield at_most(shown, f"{times:.1f} times the seconds", f"{rows:g} times the rows", times / rows, 1.5)
        before[what] = (size, took)


def _measured(size: int) -> Iterator[tuple[str, Took]]:
    with running() as cluster, tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        cluster.run(TABLE.format(rows=size, units=max(size // 10, 1)), "ANALYZE visits", "CREATE ROLE reader LOGIN")
        cluster.run("GRANT SELECT ON visits TO reader", "CREATE SCHEMA discreet AUTHORIZATION reader")
        cluster.run("ALTER SYSTEM SET work_mem = '1GB'", "SELECT pg_reload_conf()")
        path = Path(folder) / "clinic.toml"
        path.write_text(pushdown.HEAD.format(address=cluster.address(user="reader")), encoding="utf-8")
        yield from _asked(cluster, path)


def _asked(cluster: Cluster, path: Path) -> Iterator[tuple[str, Took]]:
    """Questions that are bounded, beside the raw ones, in turns."""
    policy = read(path)
    with passing_ledger(policy) as ledger:
        engine = pushdown.Noted(Postgres(policy, 1))
        curator = Curator(policy, ledger, engine=engine)
        for question, here, there in pushdown.beside(curator, engine, cluster, QUESTIONS):
            yield question, Took(here, there)
        engine.engine.close()
