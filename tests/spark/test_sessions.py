"""Sessions of Spark: one for a process, ended with whoever needs it last, and stopped when somebody stops a query."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from discreet.engines.problems import SourceError
from discreet.engines.spark import cluster
from discreet.engines.spark.cluster import session
from discreet.engines.stopping import Stop
from discreet.policy.clusters import read_cluster
from tests.postgres.worlds import copied, table, world
from tests.spark.conftest import MASTER

COLUMNS = "n = { min = 0, max = 100 }"
FLUSHED = "spark.sql.parser.parserDfaCacheFlushRatio"
TEXTS = (
    "SELECT id FROM range(9)",
    "SELECT id, count(*) AS n FROM range(9) WHERE id BETWEEN 1 AND 5 GROUP BY id HAVING count(*) > 0 ORDER BY n",
    "SELECT row_number() OVER (PARTITION BY id % 2 ORDER BY id DESC) AS r FROM range(9) AS t",
    "WITH a AS (SELECT id FROM range(9)) SELECT a.id FROM a LEFT JOIN a AS b ON a.id = b.id AND b.id IN (1, 2)",
    "SELECT CASE WHEN id > 3 THEN array(id, 1) END[0] FROM range(9) UNION ALL SELECT CAST('1' AS BIGINT)",
)
OWN = """
import pathlib, sys
from discreet.policy import read
from discreet.engines.copy import private_copy
assert "pyspark" not in sys.modules
policy = read(pathlib.Path(sys.argv[1]))
heard = []
private_copy(policy, 1, lambda *said: heard.append(said))
tasks = pathlib.Path("/proc/self/task").iterdir()
children = [line for task in tasks for line in (task / "children").read_text().split()]
left = [path.name for path in policy.state.rglob("*") if path.suffix in (".parquet", ".crc")]
print(children, left, heard[-1])
"""


def test_a_spark_of_its_own_ends_with_the_copy(spark: Any, tmp_path: Path) -> None:
    """In a process of its own: no Java machine, and nothing that it wrote, is left."""
    spark.range(20).selectExpr("id % 5 AS person", "id AS n").write.parquet(str(tmp_path / "rows"))
    policy = world(tmp_path, table("spark:local[1]", str(tmp_path / "rows"), COLUMNS, more="max_rows = 2"))
    ran = subprocess.run(
        [sys.executable, "-c", OWN, str(policy.path)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (ran.stdout, ran.stderr) == ("[] [] ('visits', 1.0)\n", "")
    assert copied(policy, "SELECT count(*) FROM visits") == [(10,)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows", "world.discreet", "world.toml"]


@pytest.mark.usefixtures("spark")
def test_a_process_has_one(tmp_path: Path) -> None:
    with (
        pytest.raises(SourceError, match="has a Spark of its own already"),
        session(read_cluster("spark:local[1]"), tmp_path, "visits"),
    ):
        pass


def test_whoever_stops_a_query_stops_spark(spark: Any, tmp_path: Path) -> None:
    spark.sql("CREATE DATABASE IF NOT EXISTS clinic")
    spark.sql("CREATE OR REPLACE VIEW clinic.endless AS SELECT id % 9 AS person, 1 AS n FROM range(1000000000000)")
    policy = world(tmp_path, table(MASTER, "clinic.endless", COLUMNS))
    stop, told, tracker = Stop(), [], spark.sparkContext.statusTracker()

    def ask() -> None:
        with stop:
            try:
                copied(policy, "SELECT 1")
            except SourceError as error:
                told.append(str(error))

    asking = threading.Thread(target=ask)
    asking.start()
    while not tracker.getActiveJobsIds() and asking.is_alive():
        asking.join(0.05)
    stop.now()
    asking.join()
    assert told
    assert "Spark did not read it to its end" in told[0]
    while tracker.getActiveJobsIds():
        asking.join(0.05)


def test_java_that_is_not_there_is_told(tmp_path: Path) -> None:
    """In a process of its own, whose path has no Java."""
    policy = world(tmp_path, table("spark:local[1]", "/nowhere/rows", COLUMNS))
    (tmp_path / "bin").mkdir()
    for program in ("bash", "sh", "dirname", "env", "python3", "cat", "sed", "grep", "ls", "tr", "uname", "id"):
        found = next(
            (f"{place}/{program}" for place in ("/bin", "/usr/bin") if os.path.exists(f"{place}/{program}")), ""
        )
        if found:
            (tmp_path / "bin" / program).symlink_to(found)
    environment = {**os.environ, "PATH": str(tmp_path / "bin")}
    environment.pop("JAVA_HOME", None)
    ran = subprocess.run(
        [sys.executable, "-c", OWN, str(policy.path)], capture_output=True, text=True, env=environment, check=False
    )
    last = ran.stderr.splitlines()[-1]
    assert "Spark did not start" in last
    assert "java -version" in last


def test_what_the_parser_learns_of_texts_is_let_go_of(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps what it learns of each form of text, and a few thousand of ours had filled the memory of the driver."""
    assert 0 < float(cluster.SETTINGS[FLUSHED]) <= 10
    known = spark._jvm.java.lang.Class.forName("org.apache.spark.sql.catalyst.parser.AbstractParser$")
    states = known.getDeclaredField("numDFACacheStates")
    states.setAccessible(True)
    monkeypatch.setitem(cluster.SETTINGS, FLUSHED, "0.3")  # of a gigabyte: some three hundred states
    seen = []
    with session(read_cluster(MASTER), tmp_path, "texts") as held:
        for text in TEXTS:
            held.sql(text)
            seen.append(states.get(None))
    assert max(seen) > 0
    assert any(later < earlier for earlier, later in itertools.pairwise(seen)), seen
