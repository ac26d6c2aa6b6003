"""Reading a table of PostgreSQL beside a bare COPY of it, in a cluster of its own; 10⁶ rows, or DISCREET_ROWS."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.postgres.cluster import MISSING, OWNER, Cluster, is_here, programs, running

from benchmarks.figures import Figure, at_most

ROWS = int(os.environ.get("DISCREET_ROWS", "1000000"))
TABLE = """
CREATE TABLE visits AS SELECT g AS id, 'p' || g % 100000 AS patient, (random() * 1000)::float8 AS cost,
    date '2020-01-01' + g % 1000 AS day, timestamp '2020-01-01' + g * interval '1 minute' AS seen,
    CASE WHEN g % 3 = 0 THEN 'A' ELSE 'B' END AS ward, g % 2 = 0 AS acute, (g % 9999)::numeric(8,2) AS fee
FROM generate_series(1, {rows}) AS g
"""
BARE = "psql, COPY to nowhere"
POLICY = """
name = "clinic"
budget = {{ epsilon = 3.0 }}
unit = {{ name = "patient" }}
[tables.visits]
source = "{address}"
table = "visits"
unit = "patient"
max_rows = 20
[tables.visits.columns]
id = {{ type = "integer" }}
cost = {{ min = 0, max = 1000 }}
day = {{ type = "date" }}
seen = {{ type = "timestamp" }}
ward = {{ values = ["A", "B"] }}
acute = {{ type = "boolean" }}
fee = {{ min = 0, max = 10000 }}
"""
EXTRACT = """
import json, resource, sys, tempfile, time
from pathlib import Path
import psycopg
from discreet.engines.connection import connect
from discreet.engines.sources import Sources
from discreet.policy import read
policy = read(Path(sys.argv[1]))
start, used = time.perf_counter(), time.process_time()
with tempfile.TemporaryDirectory() as folder, connect(Path(folder) / "rows.duckdb", spill=Path(folder)) as connection:
    (part,) = Sources(policy, connection, Path(folder)).parts(policy.tables["visits"])
    written = time.perf_counter() - start
    columns = ", ".join(f"{value} AS {column}" for column, (value, _) in part.columns.items())
    connection.execute(f"CREATE TABLE rows AS SELECT {columns} FROM {part.text}")
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    (count,) = connection.execute("SELECT count(*) FROM rows").fetchone()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps({"count": count, "written": written, "wall": seconds, "cpu": cpu, "memory": memory}))
"""


def table(rows: int) -> str:
    return TABLE.format(rows=rows)


def figures() -> Iterator[Figure]:
    if not is_here():
        print(f"figures of PostgreSQL {MISSING}")
        return
    with running() as cluster, tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        cluster.run(table(ROWS), "ANALYZE visits", "CHECKPOINT")
        policy = Path(folder) / "clinic.toml"
        policy.write_text(POLICY.format(address=cluster.address()), encoding="utf-8")
        runs = [(bare(cluster), extracted(cluster, policy)) for _ in range(3)]
    assert {ours["count"] for _, ours in runs} == {ROWS}
    least = {key: min(ours[key] for _, ours in runs) for key in runs[0][1]}
    wall, cpu = (min(bare[key] for bare, _ in runs) for key in ("wall", "cpu"))
    what, against = f"{ROWS:,} rows of PostgreSQL", BARE
    yield at_most(f"{what} in a file", _s(least["written"]), f"{_s(wall)} {against}", least["written"] / wall, 2)
    yield at_most(f"{what} in DuckDB, typed", _s(least["wall"]), f"{_s(wall)} {against}", least["wall"] / wall, 2)
    yield at_most("CPU of that, with the server's", _s(least["cpu"]), f"{_s(cpu)} {against}", least["cpu"] / cpu, 2)
    yield at_most("memory of that", f"{least['memory']:.2f} GB", "limit 2 GB", least["memory"] / 2, 1)


def _s(seconds: float) -> str:
    return f"{seconds:.2f} s"


def bare(cluster: Cluster) -> dict[str, float]:
    folder = programs()
    assert folder is not None
    address = ["-h", str(cluster.folder), "-p", str(cluster.port), "-U", OWNER, "-d", "postgres"]
    copy = [str(folder / "psql"), *address, "-q", "-c", "COPY visits TO STDOUT"]
    start, used, before = time.perf_counter(), _children(), _server(cluster)
    subprocess.run(copy, check=True, stdout=subprocess.DEVNULL)
    wall, cpu = time.perf_counter() - start, _children() - used
    return {"wall": wall, "cpu": cpu + _server(cluster) - before}


def extracted(cluster: Cluster, policy: Path) -> dict[str, float]:
    before = _server(cluster)
    shown = subprocess.run([sys.executable, "-c", EXTRACT, str(policy)], check=True, capture_output=True, text=True)
    took: dict[str, float] = json.loads(shown.stdout.splitlines()[-1])
    return {**took, "cpu": took["cpu"] + _server(cluster) - before}


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _server(cluster: Cluster) -> float:
    """Seconds of the processor that sessions took, as the system counts them for who started them once they ended."""
    server = (cluster.folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split("\n")[0]
    with cluster.connect() as connection:
        query = (
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        while connection.execute(query).fetchall() != [(0,)]:
            time.sleep(0.05)
    time.sleep(0.5)
    fields = Path(f"/proc/{server}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")
