"""With `hash = "md5"` Spark chooses the rows and groups that DuckDB chooses, of units that have too many of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from discreet.composed import sql
from discreet.engines.digests import hashed, macros
from discreet.engines.rewriting import rewritten
from discreet.engines.rewriting.spark import SETTINGS, SHARED
from discreet.engines.rewriting.spark_forms import TYPES
from discreet.engines.rewriting.statements import Stored
from discreet.engines.rewriting.terms import TYPES as KINDS
from discreet.engines.spark.copy import folder_of
from discreet.engines.spark.engine import Spark
from tests.budget import later
from tests.engines.contract.test_hostile import DAYS, REALS, TEXTS, TIMES, TRUTHS, WHOLES
from tests.engines.contract.test_same_rows import HEAD, PARTS, SECRET, check_part, crowded, held
from tests.engines.contract.test_same_rows import noted as noted
from tests.engines.contract.worlds import World
from tests.plain import plain
from tests.spark.test_language import in_spark
from tests.sql import tiny

GIVEN: Mapping[str, Sequence[Any]] = {
    "BIGINT": WHOLES,
    "DOUBLE": REALS,
    "VARCHAR": TEXTS,
    "BOOLEAN": TRUTHS,
    "DATE": DAYS,
    "TIMESTAMP": TIMES,
}


@pytest.fixture(scope="module")
def engine(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    world = World(HEAD + tiny.HEADS["delta"] + tiny.TABLES, crowded(), tmp_path_factory.mktemp("there"), SECRET)
    with in_spark(spark, world) as (_, made):
        yield made


@pytest.mark.parametrize("kind", GIVEN)
def test_hashes_are_those_of_duckdb(kind: str, spark: Any) -> None:
    rows, columns = list(enumerate(GIVEN[kind])), {"place": "BIGINT", "x": kind}
    session, table = spark.newSession(), f"hashed_{kind.lower()}"
    for key, value in {"spark.sql.session.timeZone": "UTC", **SETTINGS}.items():
        session.conf.set(key, value)
    typed = ", ".join(f"{column} {TYPES[KINDS[type_]]}" for column, type_ in columns.items())
    session.createDataFrame(rows, typed).createOrReplaceTempView(table)
    query = sql(f"SELECT place, hash('k', x, place) AS h FROM {table} ORDER BY place")
    ours = session.sql(rewritten(query, SHARED, {table: Stored(table, columns)}).text).collect()
    with plain() as local:
        for text in macros("md5"):
            local.execute(text)
        local.execute(f"CREATE TEMP TABLE {table} (place BIGINT, x {kind})")
        local.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
        digests = hashed("md5", "'k'", "x", "place")
        theirs = local.execute(f"SELECT place, {digests} FROM {table} ORDER BY 1").fetchall()
    assert [(row[0], row[1] % 2**64) for row in ours] == theirs


def test_copies_hold_the_same_rows_with_the_same_ranks(noted: Any, engine: Spark) -> None:
    local, policy = noted["delta"][0].engine, engine._policy
    for number, table in enumerate(policy.tables.values()):
        if table.owner is None or table.owner.column is None:
            continue
        columns = held(policy, table.name)
        with plain() as connection:
            files = f"read_parquet('{folder_of(engine.path)}/{number}/*.parquet')"
            ours = connection.execute(f"SELECT {columns} FROM {files}").fetchall()
        theirs = local.execute(f"SELECT {columns} FROM {table.name}")
        assert sorted(map(repr, ours)) == sorted(map(repr, theirs)), table.name


@pytest.mark.parametrize("part", later(range(PARTS)))
def test_every_query_of_a_plan_gives_what_duckdb_gives(part: int, noted: Any, engine: Spark) -> None:
    check_part(part, noted, engine)
