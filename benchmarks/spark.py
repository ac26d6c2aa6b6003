"""Spark beside itself: bounded counts of a private table against the same counts without bounds, in one session.

10⁶ rows, or DISCREET_ROWS. It needs pyspark (`make test-engines` unpacks it: PYTHONPATH=.spark) and Java.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import discreet
from benchmarks.figures import Figure, at_least, at_most, best_of
from benchmarks.peers.environments import Failed, Peer, result
from discreet.engines.spark.cluster import session
from discreet.policy import Policy, read
from discreet.policy.clusters import read_cluster

ROWS = int(os.environ.get("DISCREET_ROWS", "1000000"))
MASTER = "spark:local[2]"
CONFIGURATION = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "4"}
POLICY = """
name = "clinic"
engine = "{engine}"
state = "{engine}"
budget = {{ epsilon = 1000000.0 }}
unit = {{ name = "patient" }}
[tables.visits]
source = "{master}"
table = "{place}"
unit = "patient"
max_rows = 20
max_groups = 5
[tables.visits.columns]
ward = {{ values = ["A", "B", "C", "D", "E", "F", "G", "H"] }}
kind = {{ values = ["acute", "planned", "other"] }}
cost = {{ min = 0, max = 1000, step = 0.01 }}
"""
ROWS_OF = (
    "concat('p', pmod(xxhash64(id), {units})) AS patient",
    "substr('ABCDEFGH', 1 + CAST(pmod(xxhash64(id, 1), 8) AS INT), 1) AS ward",
    "element_at(array('acute', 'planned', 'other'), 1 + CAST(pmod(xxhash64(id, 2), 3) AS INT)) AS kind",
    "pmod(xxhash64(id, 3), 100000) / 100D AS cost",
)
TURNS = 7
PATIENCE = 600
"""Seconds that Tumult Analytics may take."""
TUMULT = Peer("Tumult Analytics", "tumult", ("tmlt.analytics==0.21.0",))
ONE_KEY = "counts of one key"
QUERIES = {
    ONE_KEY: "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
    "counts of two keys": "SELECT ward, kind, COUNT(*) AS n FROM visits GROUP BY ward, kind",
    "counts after a filter": "SELECT ward, COUNT(*) AS n FROM visits WHERE cost > 500 GROUP BY ward",
    "counts of two keys, filtered": "SELECT ward, kind, COUNT(*) AS n FROM visits WHERE cost > 500 GROUP BY 1, 2",
}


def figures() -> Iterator[Figure]:
    for spark, folder in sessions(CONFIGURATION):
        yield from _measured(spark, folder)


def sessions(configuration: Mapping[str, str]) -> Iterator[tuple[Any, Path]]:
    """A Spark of this machine that is set up so, with a folder of its own; none where it is not installed."""
    if find_spec("pyspark") is None or shutil.which("java") is None:
        print("figures of Spark need pyspark and Java 17, which are not both here")
        return
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        folder = Path(name)
        lines = [f"{key} {value}" for key, value in configuration.items()]
        (folder / "spark-defaults.conf").write_text("\n".join(lines), encoding="utf-8")
        os.environ["SPARK_CONF_DIR"] = str(folder)
        with session(read_cluster(MASTER), folder, "benchmark") as spark:
            yield spark, folder


def _measured(spark: Any, folder: Path) -> Iterator[Figure]:
    place = folder / "visits"
    listed = [text.format(units=max(ROWS // 10, 1)) for text in ROWS_OF]
    spark.range(ROWS).selectExpr(*listed).write.parquet(f"file://{place}")
    raw = spark.read.parquet(f"file://{place}")
    raw.createOrReplaceTempView("visits")
    policies = {engine: _policy(folder, place, engine) for engine in ("spark", "duckdb")}
    scanned = best_of(3, lambda: spark.sql("SELECT count(DISTINCT patient), sum(cost) FROM visits").collect())
    curators: dict[str, Any] = {}
    for engine, policy in policies.items():
        began = time.perf_counter()
        curators[engine] = discreet.open(policy.path)
        _ask(curators[engine], "SELECT COUNT(*) FROM visits")()
        took = time.perf_counter() - began
        yield at_most(
            f"{ROWS:,} rows: the copy that {engine} asks",
            _s(took),
            f"{_s(scanned)} Spark counts units",
            took / scanned,
            30,
        )
    for what, query in QUERIES.items():
        asked = {"raw": _raw(spark, query), **{engine: _ask(curators[engine], query) for engine in curators}}
        turns = [{side: _took(ask) for side, ask in asked.items()} for _ in range(TURNS)]
        bare, ours, there = (min(turn[side][0] for turn in turns) for side in ("raw", "spark", "duckdb"))
        yield at_most(f"{what}, engine = spark", _s(ours), f"{_s(bare)} Spark without bounds", ours / bare, 3)
        cpu, least = (min(turn[side][1] for turn in turns) for side in ("spark", "raw"))
        yield at_most(f"{what}, engine = spark, CPU", _s(cpu), f"{_s(least)} Spark without bounds", cpu / least, 3)
        yield at_least(
            f"{what}, DuckDB over Spark's copy", _s(there), f"{_s(bare)} Spark without bounds", bare / there, 1
        )
        if what == ONE_KEY:
            yield from _beside_tumult(place, ours, bare)
    for curator in curators.values():
        curator.close()


def _beside_tumult(place: Path, ours: float, bare: float) -> Iterator[Figure]:
    """Tumult Analytics over the same rows. It runs on an older Spark: each is compared with its own plain counts."""
    found = result(TUMULT, "counts", place, PATIENCE)
    if isinstance(found, Failed):
        print(f"Tumult Analytics: {found.reason}")
        return
    theirs, plain = found["bounded"], found["plain"]
    against = f"{_s(theirs)} Tumult Analytics"
    yield at_least(f"{ONE_KEY}, beside Tumult Analytics", _s(ours), against, theirs / ours, 5)
    times = f"{theirs / plain:.3g}× Tumult Analytics, of {_s(plain)} plain"
    yield at_least(
        "how often the plain counts, each on its own Spark",
        f"{ours / bare:.3g}×",
        times,
        theirs * bare / plain / ours,
        5,
    )


def _policy(folder: Path, place: Path, engine: str) -> Policy:
    path = folder / f"{engine}.toml"
    path.write_text(POLICY.format(engine=engine, master=MASTER, place=place), encoding="utf-8")
    return read(path)


def _ask(curator: Any, query: str) -> Callable[[], object]:
    return lambda: curator.query(query, epsilon=1, fresh=True)


def _raw(spark: Any, query: str) -> Callable[[], object]:
    """The same question without bounds. It is planned each time: a frame that was collected once keeps its stages, and
    to collect it again reads no row."""
    return lambda: spark.sql(query).collect()


def _took(ask: Callable[[], object]) -> tuple[float, float]:
    """Seconds that it takes, and seconds of the processor, of this process and of Java's."""
    began, used = time.perf_counter(), _used()
    ask()
    return time.perf_counter() - began, max(_used() - used, 0.01)


def _used() -> float:
    """Of this process and those that it started and that still run: Java is one of them."""
    own = str(os.getpid())
    used = time.process_time()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
            used += sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") if fields[1] == own else 0
    return used


def _s(seconds: float) -> str:
    return f"{seconds:.2f} s"
