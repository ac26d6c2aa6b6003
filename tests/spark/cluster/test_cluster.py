"""A cluster answers what DuckDB answers, and nothing that it leaves on disks or in logs can be read.

In the order in which they stand here: the last ones kill what the others need.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from traceback import format_exception
from typing import Any, Final

import pytest

from discreet.cli.failures import FAILED
from discreet.composed import sql
from discreet.curator.curator import Curator
from discreet.engines.problems import SourceError
from discreet.engines.spark import buckets, reading
from discreet.engines.spark.cluster import _running
from discreet.engines.spark.copy import folder_of
from discreet.engines.spark.engine import Spark
from discreet.errors import QueryFailed
from tests.cli.runs import told
from tests.curator.test_erasing import found
from tests.postgres.worlds import copied, table, world
from tests.spark.both import exactly, pair, stopped
from tests.spark.cluster.conftest import SECRET, Machines
from tests.spark.test_erasing import CANARY, SHUFFLED, policy_of, write
from tests.spark.test_reading import COLUMNS, visits
from tests.sql.worlds import ledger_of

COUNT: Final = sql("SELECT COUNT(*) FROM visits")
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""pyspark leaves a socket open where it sends rows to a Java machine that encrypts."""
ENDLESS: Final = "SELECT count(*) FROM range(1000000000000) AS a JOIN discreet_0 AS b ON hash(a.id) % 7 <> b.n"


@pytest.fixture(scope="module")
def engine(machines: Machines, tmp_path_factory: pytest.TempPathFactory) -> Any:
    theirs, there = pair(tmp_path_factory.mktemp("world"), machines.address)
    held = Spark(there, 1)
    yield held, theirs
    held.close()


def test_answers_are_those_of_duckdb(engine: Any) -> None:
    """Of units with too many rows and groups, after a filter as well; each unit's rows lie in one file."""
    there, theirs = engine
    assert exactly(there._policy, there) == exactly(theirs)
    assert (folder_of(there.path) / "0" / buckets.NOTE).exists()
    files = {path: oct(path.stat().st_mode) for path in folder_of(there.path).rglob("*") if path.name != buckets.NOTE}
    assert len(files) > 3
    assert all(mode.endswith("00") for mode in files.values()), files
    assert there.rows(sql("SELECT SUM(n) FROM visits"))[0][0] > 2**63


def test_a_copy_for_duckdb_is_bounded_there(machines: Machines, tmp_path: Path) -> None:
    called = visits(
        machines.spark, "many", *((f"p{at % 7}", f"w{at}", float(at)) for at in range(70)), (None, "x", 1.0)
    )
    policy = world(tmp_path, table(machines.address, called, COLUMNS, more="max_rows = 3"))
    assert copied(policy, "SELECT count(*), count(DISTINCT _discreet_unit) FROM visits") == [(21, 7)]
    assert not list(policy.state.rglob("*.parquet"))


def test_nothing_of_a_row_is_said_here_or_there(
    machines: Machines, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Executors fail, four times, over a value; their logs lie where others may read them, and on the worker's page."""
    visits(machines.spark, "canary", ("ann", CANARY, 1.0))
    view = "CREATE OR REPLACE VIEW clinic.fails AS SELECT person, CAST(ward AS INT) AS ward, cost FROM clinic.canary"
    machines.spark.sql(view)
    policy = world(tmp_path, table(machines.address, "clinic.fails", COLUMNS))
    with pytest.raises(SourceError, match=reading.INTERRUPTED[0]) as failed:
        copied(policy, "SELECT 1")
    assert CANARY not in "".join([*format_exception(failed.value), *capfd.readouterr()])
    assert list((machines.folder / "work").rglob("stderr"))
    assert found(machines.folder, CANARY) == []
    assert CANARY not in machines.master.log.read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_machines_shuffled_is_encrypted_and_an_erasure_says_that_it_is_there(
    machines: Machines, tmp_path: Path
) -> None:
    write(tmp_path / "rows", canary=True)
    policy = policy_of(tmp_path, "duckdb", machines.address)
    held_by = machines.spark.newSession()
    held_by.conf.set(SHUFFLED, "false")
    held = held_by.read.parquet(str(tmp_path / "rows")).repartition(2, "person")._jdf.queryExecution().toRdd()
    assert held.count() == 18
    shuffled = list((machines.folder / "local").rglob("shuffle_*.data"))
    assert any(file.stat().st_size for file in shuffled)
    assert found(machines.folder, CANARY) == []
    write(tmp_path / "rows", canary=False)
    done = told("refresh", policy.path, "--erase", "--wait", "0", code=FAILED)
    assert done["held"] == ["rows that Spark, in this program, put on disk for a running query"]


@pytest.mark.slow
def test_an_erasure_beside_a_cluster_in_use_comes_to_an_end(machines: Machines, tmp_path: Path) -> None:
    write(tmp_path / "rows", canary=True)
    policy = policy_of(tmp_path, "duckdb", machines.address)
    held_by = machines.spark.newSession()
    held_by.conf.set(SHUFFLED, "false")
    held = held_by.read.parquet(str(tmp_path / "rows")).repartition(2, "person")._jdf.queryExecution().toRdd()
    assert held.count() == 18
    del held
    assert told("refresh", policy.path, "--erase", "--wait", "60")["held"] == []


def test_the_secret_of_machines_stands_in_no_command_and_no_log(machines: Machines) -> None:
    (running,) = _running.values()
    for process in [running.gateway.proc.pid, machines.worker.process.pid, *machines.executors]:
        assert SECRET.encode() not in Path(f"/proc/{process}/cmdline").read_bytes()
    assert machines.executors
    assert found(machines.folder / "work", SECRET) == []


def test_whoever_stops_a_query_stops_the_cluster(machines: Machines, engine: Any) -> None:
    stopped(engine[0], ENDLESS, machines.spark.sparkContext.statusTracker())


@pytest.mark.slow
def test_an_executor_that_is_killed_changes_no_answer_and_a_cluster_without_any_has_one_text(
    machines: Machines, engine: Any
) -> None:
    """The former is started anew. Without any, time runs out, and what was charged stays
    charged."""
    there, _ = engine
    before = there.rows(COUNT)
    for process in machines.executors:
        os.kill(process, signal.SIGKILL)
    assert there.rows(COUNT) == before
    with ledger_of(there._policy) as ledger:
        curator = Curator(there._policy, ledger, engine=there, time_limit=1.0)
        os.kill(machines.worker.process.pid, signal.SIGSTOP)
        for process in machines.executors:
            os.kill(process, signal.SIGKILL)
        try:
            with pytest.raises(QueryFailed) as failed:
                curator.query("SELECT COUNT(*) FROM visits", epsilon=0.5)
        finally:
            os.kill(machines.worker.process.pid, signal.SIGCONT)
        assert "127.0.0.1" not in "".join(format_exception(failed.value))
        assert curator.budget().spent.epsilon == 0.5
    assert there.rows(COUNT) == before


@pytest.mark.slow
def test_nothing_is_left(machines: Machines, engine: Any) -> None:
    """The worker removes what was shuffled as it hears that the driver has gone."""
    engine[0].close()
    machines.driver.close()
    assert not _running, "somebody still has a session"
    pause = threading.Event()
    while [file for file in (machines.folder / "local").rglob("*") if file.is_file()]:
        pause.wait(0.05)
    assert {file.name for file in (machines.folder / "work").rglob("*") if file.is_file()} == {"stdout", "stderr"}
    assert found(machines.folder, CANARY) == []
