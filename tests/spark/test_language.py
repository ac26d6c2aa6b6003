"""Every construct of the language inside of Spark: the exact answers that DuckDB gives, with the noise off."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import pytest

from discreet.curator.curator import Curator
from discreet.engines.spark.engine import Spark
from discreet.exit.sampler import Sampler
from discreet.policy import Kind, Policy, Table
from discreet.policy.owners import leading_columns
from tests.budget import later
from tests.engines.contract.test_language import PARTS, REFUSED, check_part
from tests.engines.contract.worlds import World
from tests.spark.conftest import MASTER
from tests.sql import tiny
from tests.sql.worlds import ledger_of, quiet

NAMED: Final = {**REFUSED, "SELECT SUM(ROUND(x / 8, 1)) FROM beds": "round by what is no constant"}
NUMBERS: Final = itertools.count()
KINDS: Final = {
    Kind.INTEGER: "bigint",
    Kind.NUMBER: "double",
    Kind.TEXT: "string",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp_ntz",
}


@contextmanager
def in_spark(spark: Any, world: World, master: str = MASTER) -> Iterator[tuple[Policy, Spark]]:
    """The rows as tables of the catalogue, in a database of their own."""
    number = next(NUMBERS)
    there = rf'source = "{master}"\ntable = "rows{number}.\1"'
    head = f'engine = "spark"\nstate = "state{number}"\n'
    policy = world.policy(head + re.sub(r'source = "(\w+)\.csv"', there, world.text))
    policy.folder.mkdir(exist_ok=True)
    if world.secret is not None:
        policy.state.mkdir(mode=0o700)
        (policy.state / "secret").write_text(world.secret, encoding="ascii")
    spark.sql(f"CREATE DATABASE rows{number}")
    for table in policy.tables.values():
        columns = typed(policy, table, world.rows.get(table.name, ()))
        rows = [[written(row.get(column)) for column in columns] for row in world.rows.get(table.name, ())]
        fields = {column: f"c{index}" for index, column in enumerate(columns)}
        texts = spark.createDataFrame(rows, ", ".join(f"{field} string" for field in fields.values()))
        cast = [texts[fields[column]].cast(kind).alias(column) for column, kind in columns.items()]
        texts.select(*cast).write.saveAsTable(table.source.table)
    engine = Spark(policy, 1)
    try:
        yield policy, engine
    finally:
        engine.close()


def written(value: Any) -> str | None:
    return None if value is None else str(value)


def typed(policy: Policy, table: Table, rows: Any) -> dict[str, str]:
    columns = {column.name: KINDS[column.kind] for column in table.columns.values()}
    for label in [*(label for row in rows for label in row), *leading_columns(policy.private_tables, table)]:
        columns.setdefault(label, "string")
    return columns


@pytest.fixture(scope="module")
def curators(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Curator]]:
    with ExitStack() as stack:
        made = {}
        for variant in ("pure", "delta"):
            world = World(tiny.HEADS[variant] + tiny.TABLES, tiny.DATA, tmp_path_factory.mktemp(variant))
            policy, engine = stack.enter_context(in_spark(spark, world))
            ledger = stack.enter_context(ledger_of(policy))
            made[variant] = Curator(policy, ledger, engine=engine, sampler=Sampler(quiet, tiny.every, tiny.best))
        yield made


@pytest.mark.parametrize("part", later(range(PARTS)))
def test_fixtures_give_what_duckdb_gives_or_are_refused_by_name(part: int, curators: dict[str, Curator]) -> None:
    check_part(part, curators, NAMED)
