"""Units that the policy calls integers: engines choose the rows and groups that DuckDB chooses, and nothing fails.

A unit that is a number is hashed and sorted as one: as a text it would be another, and some engines would fail to sort
it, once the charge is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from discreet.engines.postgres_engine import Postgres
from discreet.engines.spark.copy import stored
from discreet.policy import parse
from discreet.policy.layout import UNIT
from tests.budget import later
from tests.engines.contract.test_hostile_rows import NAMES
from tests.engines.contract.test_same_rows import HEAD, PARTS, SECRET, Noted, check_part, crowded, over_duckdb
from tests.engines.contract.worlds import Rows, World, in_postgres
from tests.postgres.cluster import Cluster
from tests.sql import tiny

NUMBERS: Final = (0, -1, 2**63 - 1, -(2**63), 7, 10, 9, -10, 100, 2**31, 42, 1)
"""Of the units, in another order than that of their texts."""


def text_of(variant: str) -> str:
    return HEAD + tiny.HEADS[variant] + 'type = "integer"\n' + tiny.TABLES


def numbered() -> Rows:
    """The units with too many rows, by numbers."""
    rows = dict(crowded())
    for label, column in NAMES.items():
        rows[label] = [{**row, column: NUMBERS[int(row[column][1:])]} for row in rows[label]]
    return rows


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Noted]:
    rows, place = numbered(), tmp_path_factory.mktemp("numbered") / "world.toml"
    policies = {variant: parse(text_of(variant).encode(), place) for variant in ("pure", "delta")}
    with over_duckdb(rows, policies) as made:
        yield made


@pytest.fixture(scope="module")
def engine(database: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    world = World(text_of("delta"), numbered(), tmp_path_factory.mktemp("there"), SECRET)
    with in_postgres(database)(world) as (_, made):
        assert isinstance(made, Postgres)
        yield made


@pytest.mark.long
@pytest.mark.parametrize("part", later(range(PARTS)))
def test_every_query_of_a_plan_gives_what_duckdb_gives(part: int, noted: Any, engine: Postgres) -> None:
    check_part(part, noted, engine)


@pytest.mark.parametrize(("kind", "type_"), [("integer", "BIGINT"), ("text", "VARCHAR")])
def test_queries_find_units_of_the_type_that_the_policy_says(kind: str, type_: str, tmp_path: Any) -> None:
    text = f'{tiny.HEADS["pure"]}type = "{kind}"\n{tiny.TABLES}'
    policy = parse(text.encode(), tmp_path / "world.toml")
    assert {table.columns[UNIT] for table in stored(policy, {}).values() if UNIT in table.columns} == {type_}
