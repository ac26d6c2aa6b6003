"""Bounded questions inside of PostgreSQL beside the raw ones, on one server in one run; 10⁶ rows, or DISCREET_ROWS.

Seconds are those of the processor, of the one process of the server that computes: no parallel workers, no waiting.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.postgres.cluster import MISSING, Cluster, is_here, running

from benchmarks.figures import Figure, at_most
from discreet.composed import Sql
from discreet.curator.curator import Curator
from discreet.curator.state import passing_ledger
from discreet.engines.copy import secret
from discreet.engines.postgres_copy import session
from discreet.engines.postgres_engine import Postgres
from discreet.policy import read

TURNS = 3
ROWS = int(os.environ.get("DISCREET_ROWS", "1000000"))
TABLE = f"""
CREATE TABLE visits AS SELECT 'p' || (g * 7919::int8 % {max(ROWS // 10, 1)}) AS patient,
    chr(65 + (g * 31::int8 % 1013 % 8)::int4) AS ward, 'k' || (g * 17::int8 % 509 % 12) AS kind,
    (g * 13::int8 % 1009)::float8 AS cost, date '2020-01-01' + (g * 11::int8 % 366)::int4 AS day
FROM generate_series(1, {ROWS}) AS g
"""
HEAD = """
name = "clinic"
engine = "postgres"
budget = {{ epsilon = 1000.0 }}
unit = {{ name = "patient" }}
[tables.visits]
source = "{address}"
table = "visits"
unit = "patient"
max_rows = 20
max_groups = 5
[tables.visits.columns]
ward = {{ values = ["A", "B", "C", "D", "E", "F", "G", "H"] }}
cost = {{ min = 0, max = 1000, step = 1 }}
"""
POLICY = (
    HEAD
    + """\
kind = {{ values = ["k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k10", "k11"] }}
day = {{ type = "date", min = 2020-01-01, max = 2020-12-31 }}
"""
)
QUESTIONS = (
    "SELECT COUNT(*) FROM visits",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
    "SELECT ward, SUM(cost) FROM visits GROUP BY ward",
    "SELECT ward, COUNT(*) FROM visits WHERE cost > 500 GROUP BY ward",
    "SELECT ward, kind, COUNT(*) FROM visits GROUP BY ward, kind",
    "SELECT ward, COUNT(DISTINCT patient) FROM visits GROUP BY ward",
)


class Noted:
    """An engine that notes what it is asked."""

    def __init__(self, engine: Postgres) -> None:
        self.engine = engine
        self.query: Sql | None = None

    def __getattr__(self, label: str) -> Any:
        return getattr(self.engine, label)

    def rows(self, query: Sql, seconds: float | None = None) -> list[tuple[Any, ...]]:
        self.query = query
        return self.engine.rows(query, seconds)


def figures() -> Iterator[Figure]:
    if not is_here():
        print(f"figures of PostgreSQL {MISSING}")
        return
    with running() as cluster, tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        cluster.run(TABLE, "ANALYZE visits", "CREATE ROLE reader LOGIN", "GRANT SELECT ON visits TO reader")
        cluster.run("CREATE SCHEMA discreet AUTHORIZATION reader", "ALTER SYSTEM SET work_mem = '256MB'")
        cluster.run("SELECT pg_reload_conf()")
        path = Path(folder) / "clinic.toml"
        path.write_text(POLICY.format(address=cluster.address(user="reader")), encoding="utf-8")
        yield from _figures(cluster, path)


def _figures(cluster: Cluster, path: Path) -> Iterator[Figure]:
    policy = read(path)
    with passing_ledger(policy) as ledger:
        start = time.perf_counter()
        engine = Noted(Postgres(policy, 1))
        made = time.perf_counter() - start
        with cluster.connect() as plain:
            start = time.perf_counter()
            plain.execute("CREATE TABLE sorted AS SELECT * FROM visits ORDER BY patient")
            bare = time.perf_counter() - start
        yield at_most(f"copy of {ROWS:,} rows", f"{made:.1f} s", f"{bare:.1f} s CREATE … ORDER BY", made / bare, 10)
        curator = Curator(policy, ledger, engine=engine)
        for question, here, there in beside(curator, engine, cluster, QUESTIONS):
            yield at_most(question, f"{here:.2f} s", f"{there:.2f} s raw", here / there, 3)
        engine.engine.close()


def beside(
    curator: Curator, engine: Noted, cluster: Cluster, questions: Iterable[str]
) -> Iterator[tuple[str, float, float]]:
    """The seconds of bounded questions, and of the raw ones, in turns."""
    policy = curator.policy
    with session(policy, secret(policy.state), "bench") as ours, cluster.connect() as theirs:
        for connection in (ours, theirs):
            connection.execute("SET max_parallel_workers_per_gather = 0")
        for question in questions:
            curator.query(question, epsilon=1)
            assert engine.query is not None
            text = engine.engine.text(engine.query)
            turns = [(cpu_there(ours, text), cpu_there(theirs, question)) for _ in range(TURNS)]
            yield question, min(here for here, _ in turns), min(there for _, there in turns)


def cpu_there(connection: Any, text: str) -> float:
    """Seconds of the processor that a session's process takes for a statement."""
    before = server_time(connection)
    connection.execute(text.encode()).fetchall()
    return max(server_time(connection) - before, 1e-4)


def server_time(connection: Any) -> float:
    """Seconds of the processor that a session's process took since it began, as Linux counts them for its scheduler:
    in nanoseconds, where the file that everybody reads has hundredths of a second."""
    told = Path(f"/proc/{connection.info.backend_pid}/schedstat").read_text(encoding="ascii")
    return int(told.split()[0]) / 1e9
