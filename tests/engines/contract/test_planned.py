"""Before a charge PostgreSQL is asked for a plan over no rows: what it has none for is refused, and free."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from discreet.composed import Sql, literal, sql
from discreet.curator.curator import Curator
from discreet.engines import rehearsal
from discreet.engines.memory import Memory
from discreet.engines.postgres_engine import Postgres, UnansweredError
from discreet.engines.postgres_rehearsal import plans
from discreet.errors import QueryFailed, Refused
from discreet.policy import Policy
from tests.engines.contract.test_postgres import TEXT, visits
from tests.engines.contract.worlds import NUMBERS, World, load, pushed
from tests.postgres.cluster import Cluster
from tests.sql.worlds import ledger_of

WARDS = """
[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns]
ward = { type = "text" }
least = { min = 0, max = 50 }
"""
FULL = "SELECT COUNT(*) FROM visits WHERE cost IN (SELECT a.least FROM wards a FULL JOIN wards b ON a.least > b.least)"
"""PostgreSQL joins this way by equalities alone, and says so when it plans."""


@pytest.fixture(scope="module")
def policy(database: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Policy]:
    """Tables of a database, of which no copy was made."""
    number = next(NUMBERS)
    rows = {"visits": visits(3, 2), "wards": [{"ward": "A", "least": 5}, {"ward": "B", "least": 9}]}
    world = World(TEXT + WARDS, rows, tmp_path_factory.mktemp("planned"))
    held = world.policy(pushed(world.text, database, number))
    load(database, f"rows{number}", held, rows)
    database.run(f"CREATE SCHEMA copy{number} AUTHORIZATION reader")
    yield held
    database.run(f"DROP SCHEMA rows{number} CASCADE", f"DROP SCHEMA copy{number} CASCADE")


def made(database: Cluster, policy: Policy) -> int:
    """How many things are in the schema of the copy."""
    here = f"'{policy.engine_schema}'::regnamespace"
    relations = f"SELECT oid FROM pg_class WHERE relnamespace = {here}"
    functions = f"SELECT oid FROM pg_proc WHERE pronamespace = {here}"
    return int(database.value(f"SELECT count(*) FROM ({relations} UNION ALL {functions}) AS t"))


PUBLIC = {"wards": {"ward": "VARCHAR", "least": "DOUBLE"}}
COUNT = sql("SELECT COUNT(*) FROM visits WHERE LOWER(note) = 'x'")
JOINED = sql("SELECT COUNT(*) FROM visits AS v FULL JOIN wards AS w ON v.cost > w.least")


def test_a_plan_needs_no_copy_and_leaves_nothing(database: Cluster, policy: Policy) -> None:
    assert plans(policy, COUNT, PUBLIC)
    assert not plans(policy, JOINED, PUBLIC)
    assert made(database, policy) == 0


def test_what_has_no_plan_is_refused_before_the_charge(policy: Policy) -> None:
    with ledger_of(policy) as ledger:
        engine = Postgres(policy, 1)
        curator = Curator(policy, ledger, engine=engine)
        for question in (FULL, f"{FULL} AND ward = 'B'", FULL):
            with pytest.raises(Refused, match="PostgreSQL, which computes here, has no plan for this combination"):
                curator.query(question, epsilon=1)
        assert not ledger.entries()
        assert len(curator.query(FULL.replace(">", "="), epsilon=1).rows) == 1
        assert len(ledger.entries()) == 1
        engine.close()


def test_a_query_is_planned_once_whatever_its_literals_are(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()

    def planned(_: Policy, query: Sql, __: Any) -> bool:
        asked.append(query.text)
        return True

    monkeypatch.setitem(rehearsal._INSIDE, "postgres", ("PostgreSQL", lambda *_: None, planned))
    texts = [sql("SELECT COUNT(*) FROM visits WHERE cost > {}", literal(most)) for most in (1, 2, 3)]
    rehearsal.demand_planned(policy, "once", [*texts, sql("SELECT COUNT(*) FROM wards")], {})
    assert asked == [texts[0].text]


@pytest.mark.parametrize("failure", [UnansweredError(), OSError("canary7f3a"), ValueError("canary7f3a")])
def test_a_server_that_says_nothing_is_charged_nothing(
    policy: Policy, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def silent(*_: object) -> bool:
        raise failure

    monkeypatch.setitem(rehearsal._INSIDE, "postgres", ("PostgreSQL", lambda *_: None, silent))
    with pytest.raises(QueryFailed, match="PostgreSQL did not answer; nothing was charged") as told:
        rehearsal.demand_planned(policy, f"silent {failure!r}", [COUNT], {})
    assert told.value.__suppress_context__


def test_a_server_that_is_not_there_says_nothing(policy: Policy) -> None:
    """Neither does one where the schema of the copy is not."""
    first = next(iter(policy.private_tables.values()))
    assert first.source.login is not None
    elsewhere = replace(first.source, login=replace(first.source.login, host="/nowhere"))
    for gone in (
        replace(policy, tables={**policy.tables, first.name: replace(first, source=elsewhere)}),
        replace(policy, engine_schema="nowhere"),
    ):
        with pytest.raises(UnansweredError):
            plans(gone, COUNT, {})


def test_dummy_rows_need_no_server(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object) -> bool:
        raise AssertionError

    monkeypatch.setitem(rehearsal._INSIDE, "postgres", ("PostgreSQL", lambda *_: None, asked))
    with ledger_of(policy) as ledger:
        local = Memory(policy, {"visits": visits(3, 2), "wards": []})
        assert len(Curator(policy, ledger, engine=local).query("SELECT COUNT(*) FROM visits", epsilon=1).rows) == 1
        local.close()
