"""The language over hostile rows: what DuckDB computes for each query of a plan, engines compute, and never fail.

Where rows of a unit tie in an order, ranks decide, which are by each engine's own hash: no days tie here.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.engines.postgres_engine import Postgres, is_private
from discreet.engines.rewriting import UnknownError
from discreet.errors import Refused
from discreet.exit.sampler import Sampler
from discreet.policy import Kind
from tests.budget import later
from tests.engines.contract.test_hostile import DAYS, REALS, TEXTS, TIMES, TRUTHS, WHOLES
from tests.engines.contract.worlds import Recording, Rows, World, in_postgres
from tests.postgres.cluster import Cluster
from tests.sql import tiny
from tests.sql.fixtures import ANSWERED, Fixture
from tests.sql.worlds import ledger_of, quiet

PARTS = 12
VALUES: Mapping[Kind, Sequence[Any]] = {
    Kind.NUMBER: REALS, Kind.INTEGER: WHOLES, Kind.TEXT: TEXTS, Kind.DATE: DAYS, Kind.TIMESTAMP: TIMES,
    Kind.BOOLEAN: TRUTHS,
}  # fmt: skip
NAMES = {"visits": "patient", "patients": "patient", "bills": "patient"}
EACH = {"visits": 2, "patients": 1, "bills": 2, "labs": 2, "items": 2, "beds": 40}
"""Rows of a unit: no more than count, so that no engine has to choose."""


def hostile() -> Rows:
    """Of each table rows with values of everything that could fail, some of them declared ones."""
    dice, rows = random.Random(7), dict[str, Any](tiny.DATA)
    for label, count in EACH.items():
        table = tiny.policy("delta").tables[label]
        units = range(1 if label == "beds" else 20)
        rows[label] = [
            {
                **{
                    column.name: dice.choice([*(column.values or ()), *VALUES[column.kind]])
                    for column in table.columns.values()
                },
                **({NAMES[label]: f"p{unit}"} if label in NAMES else {}),
                **({"day": DAYS[(unit + row) % len(DAYS)]} if label == "visits" else {}),
                **({"visit_id": unit * 2 + row} if label in ("visits", "labs") else {}),
                **({"bill": unit * 2 + row} if label in ("bills", "items") else {}),
            }
            for unit in units
            for row in range(count)
        ]
    return rows


@pytest.fixture(scope="module")
def worlds(
    database: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, Recording], dict[str, Curator], Postgres]]:
    """A curator over DuckDB for each policy, what it asks, and PostgreSQL with the same rows."""
    rows = hostile()
    world = World(tiny.HEADS["delta"] + tiny.TABLES, rows, tmp_path_factory.mktemp("hostile"))
    noted = {variant: Recording(Memory(tiny.policy(variant), rows)) for variant in ("pure", "delta")}
    with (
        in_postgres(database)(world) as (_, engine),
        ledger_of(tiny.policy("pure")) as pure,
        ledger_of(tiny.policy("delta")) as delta,
    ):
        assert isinstance(engine, Postgres)
        sampler = Sampler(quiet, tiny.every, tiny.best)
        curators = {
            variant: Curator(tiny.policy(variant), ledger, engine=noted[variant], sampler=sampler)
            for variant, ledger in (("pure", pure), ("delta", delta))
        }
        yield noted, curators, engine
    for each in noted.values():
        each.engine.close()


def ordered(rows: list[tuple[Any, ...]]) -> list[str]:
    """Groups come in any order, and so do the items of a list."""
    return sorted(repr(tuple(sorted(value) if isinstance(value, list) else value for value in row)) for row in rows)


@pytest.mark.long
@pytest.mark.parametrize("part", later(range(PARTS)))
def test_every_query_of_a_plan_gives_what_duckdb_gives(part: int, worlds: Any) -> None:
    noted, curators, engine = worlds
    different, compared = [], 0
    for fixture in ANSWERED[part::PARTS]:
        for query in _asked(fixture, noted[fixture.policy], curators[fixture.policy]):
            try:
                ours = engine.rows(query)
            except UnknownError:
                continue  # refused by its text: `test_language` lists which
            compared += 1
            if ordered(ours) != ordered(noted[fixture.policy].engine.rows(query)):
                different.append((fixture.text, query.text, ours))
    assert not different, different[:3]
    assert compared > len(ANSWERED) // PARTS // 2


def _asked(fixture: Fixture, noted: Recording, curator: Curator) -> list[Any]:
    """The queries about private rows that a fixture makes over these rows."""
    noted.asked.clear()
    try:
        curator.query(fixture.text, params=fixture.params, fresh=True, **fixture.cost)
    except Refused as refused:
        raise AssertionError(fixture.text) from refused
    return [query for query in noted.asked if is_private(query, curator.policy) and "hash(" not in query.text]
