"""Copies of Spark by units: each unit's rows lie in one file, in order, and to choose its groups moves none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from discreet.composed import sql
from discreet.curator.curator import Curator
from discreet.engines.problems import SourceError
from discreet.engines.spark import buckets, cluster, reading
from discreet.engines.spark import copy as copies
from discreet.engines.spark.copy import folder_of
from discreet.engines.spark.engine import Spark, aggregate
from discreet.exit.sampler import Sampler
from discreet.policy.columns import MOST_VALUES
from discreet.policy.layout import PLACE, ROW, UNIT, coded_keys, key_code
from tests.engines.contract.test_same_rows import FILTERED, HEAD, SECRET, answered, crowded, policy_of, with_tables
from tests.engines.contract.worlds import Recording, World
from tests.plain import plain
from tests.spark.test_engine import policy_of as small
from tests.spark.test_engine import rows_of
from tests.spark.test_language import in_spark
from tests.sql import tiny
from tests.sql.worlds import ledger_of, quiet

COUNT: Final = 3
COMPILED: Final = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
"""As Spark is by itself."""
ONE_GROUP: Final = re.compile(r"max_groups = \d+")


@pytest.fixture(scope="module")
def engine(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    """Units with too many rows and groups, in three buckets, of which one may have no unit."""
    text = ONE_GROUP.sub("max_groups = 1", HEAD + tiny.HEADS["delta"] + tiny.TABLES)
    world = World(text, crowded(), tmp_path_factory.mktemp("buckets"), SECRET)
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setattr(buckets, "wanted", lambda _: COUNT)
        _, made = stack.enter_context(in_spark(spark, world))
        patch.undo()
        yield made


def place(engine: Spark, label: str = "visits") -> Path:
    return folder_of(engine.path) / str(list(engine._policy.tables).index(label))


def test_each_file_is_a_bucket_in_order(spark: Any, engine: Spark) -> None:
    files = sorted(place(engine).glob("*.parquet"))
    assert 1 < len(files) <= COUNT
    assert (place(engine) / buckets.NOTE).read_text() == str(COUNT)
    with plain() as connection:
        for file in files:
            number = file.name.partition(".")[0].rpartition("_")[2]
            held = connection.execute(f'SELECT "{UNIT}", "{ROW}" FROM read_parquet(?)', [str(file)]).fetchall()
            assert held
            assert held == sorted(held, key=lambda row: (row[0].encode(), row[1]))
            units = spark.createDataFrame([(row[0],) for row in held], "u string")
            assert {row[0] for row in units.selectExpr(f"pmod(hash(u), {COUNT})").collect()} == {int(number)}
    sums = [file for file in place(engine).iterdir() if file.name.endswith(".parquet.crc")]
    assert all(file.with_name(file.name[1 : -len(".crc")]).exists() for file in sums)


def test_units_and_listed_keys_have_numbers(engine: Spark) -> None:
    """A unit has one number, and no other unit has it; in a file they come in order. A code is a declared value."""
    numbers: dict[int, str] = {}
    table = engine._policy.tables["visits"]
    keys = coded_keys(table)
    assert {"ward", "kind"} <= set(keys)
    with plain() as connection:
        for file in place(engine).glob("*.parquet"):
            columns = ", ".join(f'"{column}"' for column in (UNIT, PLACE, *keys, *map(key_code, keys)))
            held = connection.execute(f"SELECT {columns} FROM read_parquet(?)", [str(file)]).fetchall()
            assert [row[1] for row in held] == sorted(row[1] for row in held)
            for unit, number, *rest in held:
                assert numbers.setdefault(number, unit) == unit
                for key, value, code in zip(keys, rest, rest[len(keys) :], strict=False):
                    assert value == (None if code is None else (table.columns[key].values or ())[code])
    assert len(set(numbers.values())) == len(numbers) > COUNT


def answers(engine: Spark) -> tuple[list[Any], list[Any]]:
    """What filtered questions answer without noise, and what they ask."""
    recording = Recording(engine)
    with ledger_of(engine._policy) as ledger:
        curator = Curator(engine._policy, ledger, engine=recording, sampler=Sampler(quiet, tiny.every, tiny.best))
        given = [sorted(map(repr, curator.query(text, rho=0.1, fresh=True).rows)) for text in FILTERED]
    return given, recording.asked


def test_groups_are_chosen_after_a_filter_as_duckdb_chooses_them_and_no_row_is_moved(
    engine: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same answers as from DuckDB's masks, and with a copy of which Spark does not know that it has buckets."""
    given, asked = answers(engine)
    theirs, _ = answered(with_tables(policy_of("delta", tmp_path), max_groups=1, pairs=False), FILTERED)
    assert given == theirs
    plans = [planned(engine, query) for query in asked[:4]]
    for plan in plans:
        below = plan[plan.index("Window ") :]
        assert "Exchange" not in below
        assert "Sort" not in below
        assert "Bucketed: true" in below
    with monkeypatch.context() as patch:
        patch.setattr(buckets, "NOTE", "_nothing")
        engine._leave_session()
        assert answers(engine)[0] == theirs
        plan = planned(engine, asked[0])
        assert "Exchange" in plan[plan.index("Window ") :]
    engine._leave_session()


def planned(engine: Spark, query: Any) -> str:
    text = aggregate(query, engine._policy, engine._public).text
    return str(engine._opened_session().sql(text)._jdf.queryExecution().executedPlan().toString())


@pytest.mark.parametrize("note", ["", "x", "0", "-3", "3.0", "9" * 30, "\x00", "٣ "])
def test_a_note_that_says_nothing_is_not_followed(spark: Any, tmp_path: Path, note: str) -> None:
    spark.range(4).selectExpr(f"id AS {UNIT}", f"id AS {ROW}").write.parquet(str(tmp_path / "rows"))
    (tmp_path / "rows" / buckets.NOTE).write_text(note, encoding="utf-8")
    assert buckets.read(spark, tmp_path / "rows").count() == 4


def test_rows_that_lie_elsewhere_make_no_copy(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Spark moved them in another way than it finds buckets, units would be taken for several."""

    def elsewhere(rows: Any, count: int | None, made: Any, **how: Any) -> Any:
        class Moved:
            def repartition(self, many: int, _: Any) -> Any:
                return rows.repartition(many, "n")

        return buckets.parted(Moved(), count, made, **how)

    from discreet.engines.spark import rows as ranking

    monkeypatch.setattr(buckets, "wanted", lambda _: COUNT)
    monkeypatch.setattr(ranking, "parted", elsewhere)
    policy = small(spark, tmp_path, "elsewhere", rows_of([f"p{at}" for at in range(6)]))
    with pytest.raises(SourceError, match=reading.INTERRUPTED[0]) as told:
        Spark(policy, 1)
    assert "elsewhere" not in str(told.value)
    assert not list((policy.state / "data").glob("*.spark"))


def test_buckets_are_as_many_as_rows_need(spark: Any) -> None:
    assert buckets.wanted(spark.range(10)) == 1  # as many as tests cut anything into
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "50")
    assert buckets.wanted(session.range(10)) == 2  # one for each core
    assert buckets.wanted(session.range(buckets.BYTES)) == 8
    assert buckets.wanted(session.range(2**50)) == 50
    assert buckets.wanted(object()) is None  # as of a client of Spark Connect, which has no plan to look at


def test_nothing_is_named_where_there_are_no_buckets(tmp_path: Path) -> None:
    (tmp_path / "part-00000-a-c000.snappy.parquet").touch()
    buckets.named(tmp_path, None)
    assert [file.name for file in tmp_path.iterdir()] == ["part-00000-a-c000.snappy.parquet"]
    assert copies.folder_of(Path("a/1.duckdb")).name == "1.spark"


def test_a_copy_without_units_has_no_buckets(engine: Spark) -> None:
    assert not (place(engine, "beds") / buckets.NOTE).exists()
    assert engine.rows(sql("SELECT COUNT(*) FROM beds"))[0][0] > 0


def test_as_many_values_may_be_declared_as_a_policy_allows(spark: Any, tmp_path: Path) -> None:
    """Whoever has one of ten thousand values gets its number: Spark makes no program that is as long as the list."""
    listed = [f"v{at}" for at in range(MOST_VALUES)]
    columns = f"ward = {{ values = {listed} }}".replace("'", '"')
    rows = [(f"p{at}", value, 0.0, at) for at, value in enumerate(["v0", "v9999", "v5000", "x"])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "SETTINGS", {**cluster.SETTINGS, **COMPILED})
        held = Spark(small(spark, tmp_path, "many_values", rows, columns), 1)
    try:
        with plain() as connection:
            query = f'SELECT ward, "{key_code("ward")}" FROM read_parquet(?) ORDER BY {UNIT}'
            found = connection.execute(query, [f"{place(held)}/*.parquet"]).fetchall()
    finally:
        held.close()
    assert found == [("v0", 0), ("v9999", 9999), ("v5000", 5000), (None, None)]
