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
from discreet.errors import Refused
from discreet.exit.sampler import Sampler
from discreet.policy import Kind, Policy, Table
from discreet.policy.owners import leading_columns
from tests.budget import later
from tests.engines.contract.test_language import asked
from tests.engines.contract.worlds import World
from tests.spark.conftest import MASTER
from tests.sql import tiny
from tests.sql.fixtures import ANSWERED
from tests.sql.test_fixtures import same
from tests.sql.worlds import ledger_of, quiet

PARTS: Final = 5
"""Of all fixtures one part runs always, the others when slow tests are wanted."""
REFUSED: Final = {
    "SELECT SUM(ROUND(x / 8, 1)) FROM beds": "round by what is no constant",
    "SELECT COUNT_IF(CAST(x AS VARCHAR) = '2.5') FROM beds": "a cast from real to text",
    "SELECT COUNT(TRY_CAST(w AS DATE)) FROM beds": "a cast from text to day",
}
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
def in_spark(spark: Any, world: World) -> Iterator[tuple[Policy, Spark]]:
    """The rows as tables of the catalogue, in a database of their own."""
    number = next(NUMBERS)
    there = rf'source = "{MASTER}"\ntable = "rows{number}.\1"'
    head = f'engine = "spark"\nstate = "state{number}"\n'
    policy = world.policy(head + re.sub(r'source = "(\w+)\.csv"', there, world.text))
    policy.folder.mkdir(exist_ok=True)
    spark.sql(f"CREATE DATABASE rows{number}")
    for table in policy.tables.values():
        columns = typed(policy, table, world.rows.get(table.name, ()))
        rows = [[written(row.get(column)) for column in columns] for row in world.rows.get(table.name, ())]
        texts = spark.createDataFrame(rows, ", ".join(f"`{column}` string" for column in columns))
        cast = [texts[f"`{column}`"].cast(kind).alias(column) for column, kind in columns.items()]
        texts.select(*cast).write.saveAsTable(f"rows{number}.{table.name}")
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
    wrong, refused, chosen = [], {}, ANSWERED[part::PARTS]
    for fixture in chosen:
        try:
            rows = asked(curators[fixture.policy], fixture)
        except Refused as refusal:
            refused[fixture.text] = refusal.reason
            continue
        except Exception as failure:
            wrong.append((fixture.text, [(str(failure),)], fixture.gives))
            continue
        pairs = zip(rows, fixture.gives, strict=False)
        if len(rows) != len(fixture.gives) or not all(
            same(a, b, fixture.near) for found, wanted in pairs for a, b in zip(found, wanted, strict=True)
        ):
            wrong.append((fixture.text, rows, fixture.gives))
    assert not wrong
    listed = {text: reason for text, reason in REFUSED.items() if any(fixture.text == text for fixture in chosen)}
    assert {text: reason.rpartition(": ")[2] for text, reason in refused.items()} == listed
