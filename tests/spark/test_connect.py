"""Spark Connect: a server that holds nothing of ours but a session, which it may lose at any time.

The server is real, in the Java machine of these tests: it starts and stops in no time there, and what it runs can be
looked at. One in a process of its own is killed.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from glob import glob
from pathlib import Path
from traceback import format_exception
from typing import Any, Final

import pytest

import discreet
from discreet.composed import sql
from discreet.curator.curator import Curator
from discreet.curator.erasing import Erasure
from discreet.engines.problems import SourceError
from discreet.engines.spark import buckets, reading, rehearsal, remote
from discreet.engines.spark.cluster import session
from discreet.engines.spark.copy import folder_of
from discreet.engines.spark.engine import Spark, UnansweredError
from discreet.errors import QueryFailed
from discreet.policy.clusters import read_cluster
from tests.curator.test_erasing import found
from tests.engines.contract.test_same_rows import (
    FILTERED,
    HEAD,
    PARTS,
    SECRET,
    answered,
    check_part,
    crowded,
    policy_of,
    with_tables,
)
from tests.engines.contract.test_same_rows import noted as noted
from tests.engines.contract.worlds import World
from tests.postgres.worlds import copied, table, world
from tests.spark import test_erasing as erasing
from tests.spark.both import exactly, pair, stopped
from tests.spark.conftest import CONFIGURATION, MASTER
from tests.spark.servers import Service, connect
from tests.spark.test_buckets import ONE_GROUP, answers
from tests.spark.test_engine import BOUNDS, COLUMNS, inside
from tests.spark.test_engine import rows_of as people
from tests.spark.test_language import in_spark
from tests.spark.test_reading import COLUMNS as PLAIN
from tests.spark.test_reading import made, rows_of, staged, visits
from tests.sql import tiny
from tests.sql.worlds import ledger_of

TOKEN: Final = "s3cret;use_ssl=false;token==/+%41"
"""With every sign that would mean something in an address."""
ENDLESS: Final = "SELECT count(*) FROM range(1000000000000) AS a JOIN discreet_0 AS b ON hash(a.id) % 7 <> b.n"
COUNT: Final = sql("SELECT COUNT(*) FROM visits")


@pytest.fixture(scope="module")
def service(spark: Any) -> Iterator[Service]:
    held = Service(spark)
    held.start()
    yield held
    held.stop()


@pytest.fixture(scope="module")
def address(service: Service) -> str:
    return f"sc://127.0.0.1:{service.port}"


@pytest.fixture(scope="module")
def engine(spark: Any, address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    frame = spark.createDataFrame(
        people([f"p{at}" for at in range(6)]), "person string, ward string, cost double, n bigint"
    )
    policy = inside(
        tmp_path_factory.mktemp("world"), table(address, made(spark, "connected", frame), COLUMNS, more=BOUNDS)
    )
    held = Spark(policy, 1)
    yield held
    held.close()


def test_a_copy_has_the_rows_that_the_same_spark_gives_itself(spark: Any, address: str, tmp_path: Path) -> None:
    called = visits(spark, "far", *((f"p{at % 7}", f"w{at}", float(at)) for at in range(70)), (None, "x", 1.0))
    rows = []
    for at, source in enumerate((MASTER, address)):
        policy = world(tmp_path, table(source, called, PLAIN, more="max_rows = 3"), name=f"w{at}")
        rows.append(rows_of(staged(policy, tmp_path / f"s{at}", key="k"), policy, "visits", "person", "ward", "cost"))
    assert rows[0] == rows[1]
    assert len(rows[0]) == 21


def test_answers_are_those_of_duckdb_and_nothing_is_said_of_buckets(address: str, tmp_path: Path) -> None:
    """Of units with too many rows and groups, after a filter as well: rows are moved, and the same groups chosen."""
    theirs, there = pair(tmp_path, address)
    engine = Spark(there, 1)
    try:
        assert exactly(there, engine) == exactly(theirs)
        folders = [folder for folder in folder_of(engine.path).iterdir() if folder.is_dir()]
        assert folders
        assert not any((folder / buckets.NOTE).exists() for folder in folders), "a client can say nothing of buckets"
    finally:
        engine.close()


@pytest.fixture(scope="module")
def crowd(spark: Any, address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    """Units with too many rows and groups."""
    text = HEAD + tiny.HEADS["delta"] + tiny.TABLES
    there = World(text, crowded(), tmp_path_factory.mktemp("crowd"), SECRET)
    with in_spark(spark, there, address) as (_, made_there):
        yield made_there


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_query_of_a_plan_gives_what_duckdb_gives(part: int, noted: Any, crowd: Spark) -> None:
    check_part(part, noted, crowd)


@pytest.mark.slow
def test_groups_are_chosen_after_a_filter_as_duckdb_chooses_them(spark: Any, address: str, tmp_path: Path) -> None:
    text = ONE_GROUP.sub("max_groups = 1", HEAD + tiny.HEADS["delta"] + tiny.TABLES)
    theirs, _ = answered(with_tables(policy_of("delta", tmp_path), max_groups=1, pairs=False), FILTERED)
    with in_spark(spark, World(text, crowded(), tmp_path / "there", SECRET), address) as (_, held):
        assert answers(held)[0] == theirs


def test_whole_numbers_are_exact_and_plans_are_made_before_a_charge(engine: Spark) -> None:
    ((count, total),) = engine.rows(sql("SELECT COUNT(*), SUM(n) FROM visits"))
    assert count == 24
    assert total > 2**64
    assert rehearsal.plans(engine._policy, COUNT, {})


def test_whoever_stops_a_query_stops_the_server(engine: Spark, spark: Any) -> None:
    tracker = spark.sparkContext.statusTracker()
    stopped(engine, ENDLESS, tracker)
    with pytest.raises(UnansweredError):
        engine._asked_there(ENDLESS, 0.1)
    while tracker.getActiveJobsIds():
        time.sleep(0.05)
    assert engine.rows(COUNT) == [(24,)]


def test_a_server_that_is_gone_has_one_text_and_a_new_one_answers(
    engine: Spark, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was charged stays charged; and the new server, which knows nothing of the session, is never asked in it:
    there neither settings nor views would be those of a query."""
    asked = engine._asked_there

    def gone(*given: Any) -> Any:
        service.stop()
        return asked(*given)

    assert engine.rows(COUNT) == [(24,)]
    before = engine._session
    with ledger_of(engine._policy) as ledger:
        curator = Curator(engine._policy, ledger, engine=engine)
        with monkeypatch.context() as patch:
            patch.setattr(engine, "_asked_there", gone)
            with pytest.raises(QueryFailed) as told:
                curator.query("SELECT COUNT(*) FROM visits", epsilon=0.5)
        assert "127.0.0.1" not in "".join(format_exception(told.value))
        assert curator.budget().spent.epsilon == 0.5
    service.start()
    assert engine.rows(COUNT) == [(24,)]
    assert engine._session is not before
    after = engine._session
    service.stop()
    service.start()  # nobody asked meanwhile
    with pytest.raises(UnansweredError):
        engine.rows(COUNT)
    assert engine.rows(COUNT) == [(24,)]
    assert engine._session is not after


def test_nothing_of_a_row_is_said_whatever_is_debugged(
    spark: Any, address: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from pyspark.sql.connect.logging import logger

    visits(spark, "far_canary", ("ann", "CANARY-7391", 1.0))
    failing = "SELECT person, CAST(ward AS INT) AS ward, cost FROM clinic.far_canary"
    spark.sql(f"CREATE OR REPLACE VIEW clinic.far_view AS {failing}")
    policy = world(tmp_path, table(address, "clinic.far_view", PLAIN))
    logger.disabled = False
    logger.setLevel("DEBUG")
    with pytest.raises(SourceError, match=reading.INTERRUPTED[0]) as told:
        copied(policy, "SELECT 1")
    shown = "".join([*format_exception(told.value), *capfd.readouterr()])
    assert "CANARY" not in shown
    assert "far_canary" not in shown
    assert [file.name for file in (policy.state / "data").iterdir()] == ["lock"]


def test_tokens_reach_the_server_and_nobody_else(
    spark: Any, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """On this machine without TLS, which gRPC allows after it has seen that the other end is here."""
    called = visits(spark, "guarded", ("ann", "A", 1.0))
    service.stop()
    service.start(**{"spark.connect.authenticate.token": TOKEN})
    source = f"sc://localhost:{service.port}?token_variable=SPARK_TOKEN"
    said = []
    try:
        monkeypatch.setenv("SPARK_TOKEN", TOKEN)
        assert copied(world(tmp_path, table(source, called, PLAIN), name="known"), "SELECT count(*) FROM visits") == [
            (1,)
        ]
        for at, (token, where) in enumerate(
            [
                (f"{TOKEN}x", source),
                (TOKEN, source.replace("localhost", "127.0.0.1")),
                (TOKEN, source.partition("?")[0]),
            ]
        ):
            monkeypatch.setenv("SPARK_TOKEN", token)
            with pytest.raises(SourceError, match="could not connect") as told:
                copied(world(tmp_path, table(where, called, PLAIN), name=f"w{at}"), "SELECT 1")
            said.append("".join(format_exception(told.value)))
        monkeypatch.setenv("SPARK_TOKEN", "")
        with pytest.raises(SourceError, match="the variable SPARK_TOKEN has no token"):
            copied(world(tmp_path, table(source, called, PLAIN), name="none"), "SELECT 1")
    finally:
        service.stop()
        service._conf.remove("spark.connect.authenticate.token")
        service.start()
    shown = "".join([*said, *capfd.readouterr()])
    assert not any(part in shown for part in (TOKEN, "s3cret", "token==", "%41"))


def test_a_person_leaves_copies_and_what_the_server_shuffled(address: str, tmp_path: Path) -> None:
    erasing.write(tmp_path / "rows", canary=True)
    policy = erasing.policy_of(tmp_path, "spark", address)
    with discreet.open(policy.path) as curator:
        curator.query(erasing.SQL, epsilon=0.1)
        assert any(".spark" in name for name in found(policy.state, erasing.CANARY)), "the auditor's eyes are good"
        erasing.write(tmp_path / "rows", canary=False)
        done = curator.refresh(erase=Erasure(patience=60))
        assert (done.held, done.version) == ((), 2)
        assert (found(policy.state, erasing.CANARY), erasing.shuffled()) == ([], [])
    assert found(tmp_path, erasing.CANARY) == []


def test_a_client_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(*_: object) -> Any:
        raise ImportError("grpcio")

    monkeypatch.setattr(remote, "_connected", missing)
    with pytest.raises(SourceError, match="pip install"), session(read_cluster("sc://127.0.0.1:1"), tmp_path, "visits"):
        pass


def test_a_server_that_is_killed_while_it_reads_has_one_text(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """In a process of its own, with nothing set but where it listens: what it logs of rows is its owner's business, and
    the guide says what to set."""
    with connect(tmp_path / "server", CONFIGURATION) as server:
        place = f"sc://{server.said}"
        with session(read_cluster(place), tmp_path, "visits") as held:
            rows = held.range(10**12).selectExpr("id % 9 AS person", "1 AS n")
            rows.createOrReplaceGlobalTempView("endless")
        policy = world(tmp_path, table(place, "global_temp.endless", "n = { min = 0, max = 100 }"))
        told: list[BaseException] = []

        def ask() -> None:
            try:
                copied(policy, "SELECT 1")
            except SourceError as error:
                told.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        while not glob(f"{policy.folder}/**/spark-0/_temporary", recursive=True) and asking.is_alive():
            asking.join(0.05)
        os.kill(server.process.pid, signal.SIGKILL)
        asking.join()
    (error,) = told
    assert str(error) == str(SourceError("visits", *reading.INTERRUPTED))
    assert error.__cause__ is None
    assert "127.0.0.1" not in "".join(capfd.readouterr())
    assert [file.name for file in (policy.state / "data").iterdir()] == ["lock"]
    assert not list(policy.state.rglob("*.parquet"))
