"""Spark as the engine: what its copy holds, what comes back, and what happens when it fails or is stopped."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.composed import literal, sql
from discreet.curator.curator import Curator
from discreet.engines.problems import SourceError
from discreet.engines.spark.copy import folder_of, usable
from discreet.engines.spark.engine import Spark, UnansweredError
from discreet.engines.spark.types import written_as
from discreet.errors import QueryFailed, Refused
from discreet.policy import Policy, PolicyError, read
from discreet.policy.layout import ROW, UNIT, key_mask, key_rank, row_in_key
from tests.plain import plain
from tests.postgres.worlds import HEAD, table
from tests.spark.both import stopped
from tests.spark.conftest import MASTER
from tests.spark.test_reading import made
from tests.sql.worlds import ledger_of

COLUMNS = 'ward = { values = ["A", "B", "C"] }\ncost = { min = 0, max = 100, step = 0.5 }\nn = { type = "integer" }'
BOUNDS = "max_rows = 4\nmax_groups = 2\nmax_rows_per_group = 2"


def rows_of(people: list[str]) -> list[tuple[Any, ...]]:
    return [(who, "ABCD"[(at * 7 + len(who)) % 4], at * 0.3 - 1, 2**62 + at) for who in people for at in range(9)]


def policy_of(spark: Any, folder: Path, called: str, rows: list[tuple[Any, ...]], columns: str = COLUMNS) -> Policy:
    frame = spark.createDataFrame(rows, "person string, ward string, cost double, n bigint")
    return inside(folder, table(MASTER, made(spark, called, frame), columns, more=BOUNDS))


def inside(folder: Path, lines: str) -> Policy:
    (folder / "world.toml").write_text('engine = "spark"\n' + HEAD + lines, encoding="utf-8")
    return read(folder / "world.toml")


@pytest.fixture(scope="module")
def engine(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    people = [f"p{at}" for at in range(6)]
    folder = tmp_path_factory.mktemp("world")
    policy = policy_of(spark, folder, "inside", rows_of(people))
    held = Spark(policy, 1)
    yield held
    held.close()


def copied(engine: Spark, columns: str) -> list[tuple[Any, ...]]:
    with plain() as connection:
        files = f"read_parquet('{folder_of(engine.path)}/0/*.parquet')"
        return connection.execute(f"SELECT {columns} FROM {files} ORDER BY ALL").fetchall()


HELD = (
    f"{UNIT}, {ROW}, ward, cost, n, _discreet_steps_cost, {key_rank('ward')}, {key_mask('ward')}, {row_in_key('ward')}"
)


def test_ranks_and_masks_are_what_they_say_and_other_units_change_none(
    spark: Any, tmp_path: Path, engine: Spark
) -> None:
    held = copied(engine, HELD)
    assert len(held) == 6 * 4
    units: dict[str, list[tuple[Any, ...]]] = {}
    for row in held:
        units.setdefault(row[0], []).append(row)
    for rows in units.values():
        assert [row[1] for row in rows] == [1, 2, 3, 4]
        ranks = {row[2]: row[6] for row in rows}
        assert sorted(ranks.values()) == list(range(1, len(ranks) + 1))
        assert None not in ranks or ranks[None] == len(ranks)
        for row in rows:
            alike = [other for other in rows if other[2] == row[2]]
            assert row[7] == sum(1 << (other[1] - 1) for other in alike)
            assert row[8] == [other[1] for other in alike].index(row[1]) + 1
            assert row[5] == max(0, min(200, math.floor(row[3] / 0.5 + 0.5)))
    folder = tmp_path / "fewer"
    folder.mkdir()
    state = engine._policy.state
    (folder / "world.discreet").mkdir(mode=0o700)
    (folder / "world.discreet" / "secret").write_text((state / "secret").read_text())
    fewer = Spark(policy_of(spark, folder, "fewer", list(reversed(rows_of([f"p{at}" for at in (5, 4, 2, 1, 0)])))), 1)
    assert copied(fewer, HELD) == [row for row in held if row[0] != "p3"]
    fewer.close()
    folders = [path for path in engine._policy.state.rglob("*") if path.is_dir()]
    assert all(path.stat().st_mode & 0o077 == 0 for path in folders)


def test_whole_numbers_are_exact(engine: Spark) -> None:
    ((count, total),) = engine.rows(sql("SELECT COUNT(*), SUM(n) FROM visits WHERE ward = {}", literal("A")))
    listed = [row[4] for row in copied(engine, HELD) if row[2] == "A"]
    assert (count, total) == (len(listed), sum(listed))
    assert total > 2**63
    columns = engine.columns(sql("SELECT ward, SUM(n) FROM visits GROUP BY ward ORDER BY ward NULLS LAST"))
    assert columns[1][0] == total


def test_no_folder_is_a_pattern(spark: Any, tmp_path: Path) -> None:
    """The name of one state folder, as a pattern, is that of another, of the same policy; or of none."""
    text = policy_of(spark, tmp_path, "patterns", rows_of(["ann", "bob"])).path.read_text(encoding="utf-8")
    for called in ("st1", "st*", "st[1]", "st{1}", "${user.name}", "x[", "x}"):
        (tmp_path / called).mkdir()
        path = tmp_path / called / "world.toml"
        path.write_text(text, encoding="utf-8")
        held = Spark(read(path), 1)
        try:
            assert held.rows(sql("SELECT COUNT(*) FROM visits")) == [(8,)], called
        finally:
            held.close()


@pytest.mark.parametrize(
    "value", ["it's", "\\", "\\'", "'; DROP TABLE x; --", "${spark.app.name}", "{0} :p ?", "\n", "ß\U0001f986"]
)
def test_literals_are_values(engine: Spark, value: str) -> None:
    query = sql("SELECT COUNT(*), max({}) FROM visits WHERE ward <> {}", literal(value), literal(value))
    ((count, shown),) = engine.rows(query)
    assert count == sum(row[2] is not None for row in copied(engine, HELD))
    assert shown == value


def test_a_failure_has_one_text_and_the_next_query_a_new_session(engine: Spark) -> None:
    class Dead:
        sparkContext = None  # noqa: N815

        def sql(self, _: str) -> Any:
            raise RuntimeError("CANARY")

        def __getattr__(self, _: str) -> Any:
            return lambda *_: None

    query = sql("SELECT COUNT(*) FROM visits")
    assert engine.rows(query) == [(24,)]
    engine._session = Dead()
    with pytest.raises(UnansweredError) as told:
        engine.rows(query)
    assert "CANARY" not in f"{told.value} {told.value.__cause__}"
    assert told.value.__suppress_context__
    assert engine.rows(query) == [(24,)]


def test_a_charge_stays_when_spark_fails_and_unknown_questions_are_refused_before(
    engine: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> Any:
        raise UnansweredError

    with ledger_of(engine._policy) as ledger:
        curator = Curator(engine._policy, ledger, engine=engine)
        with pytest.raises(Refused, match="Spark, which computes here, is not asked this"):
            curator.query("SELECT COUNT_IF(CAST(cost AS VARCHAR) = '2.5') FROM visits", epsilon=0.5)
        assert curator.budget().spent.epsilon == 0
        monkeypatch.setattr(engine, "_asked_there", failing)
        with pytest.raises(QueryFailed) as told:
            curator.query("SELECT COUNT(*) FROM visits", epsilon=0.5)
        assert "Spark" not in str(told.value)
        assert curator.budget().spent.epsilon > 0


def test_whoever_stops_a_query_stops_spark(engine: Spark, spark: Any) -> None:
    endless = "SELECT count(*) FROM range(1000000000000) AS a JOIN discreet_0 AS b ON hash(a.id) % 7 <> b.n"
    tracker = spark.sparkContext.statusTracker()
    stopped(engine, endless, tracker)
    with pytest.raises(UnansweredError):
        engine._asked_there(endless, 0.1)
    while tracker.getActiveJobsIds():
        time.sleep(0.05)
    assert engine.rows(sql("SELECT COUNT(*) FROM visits")) == [(24,)]


def test_types_that_spark_would_read_otherwise_are_told_to_the_owner(spark: Any, tmp_path: Path) -> None:
    policy = policy_of(spark, tmp_path, "texts", rows_of(["ann"]), "ward = { min = 0, max = 9 }")
    with pytest.raises(SourceError, match="which is not read as number inside of Spark"):
        Spark(policy, 1)
    assert not list((policy.state / "data").glob("*.spark"))


def test_names_into_which_settings_would_be_put_are_told_to_the_owner(spark: Any, tmp_path: Path) -> None:
    """Hadoop puts them into the names of columns of Parquet: the copy would have another column, and queries fail."""
    frame = spark.createDataFrame([("ann", 1, 2)], "person string, a int, b int")
    name, called = "${user.name}", made(spark, "settings", frame)
    named = frame.toDF("person", name, "b").coalesce(1)
    place = tmp_path / "settings"
    named.write.parquet(f"file://{place}")
    columns = f"b = {{ min = 0, max = 9 }}\n'{name}' = {{ min = 0, max = 9 }}"
    for source in (called, str(place)):
        with pytest.raises(SourceError, match="no column '"):
            Spark(inside(tmp_path, table(MASTER, source, columns)), 1)
    assert usable({name: "BIGINT", "$b": "BIGINT", "c}": "DOUBLE"}) == {"$b": "BIGINT", "c}": "DOUBLE"}
    assert written_as(name, "int").of is None


def test_private_tables_of_spark_lie_in_one(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="lies outside of the database that computes"):
        inside(tmp_path, table("a.csv", "x", COLUMNS).replace("table = 'x'", ""))
