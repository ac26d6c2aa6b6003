"""Before a charge Spark is asked for a plan over no rows: what it has none for is refused, and free."""

from __future__ import annotations

import os
from typing import Any

import pytest

from discreet.composed import sql
from discreet.curator.curator import Curator
from discreet.engines import rehearsal
from discreet.engines.rehearsal import Layout, demand_planned, demand_runnable, empty_tables
from discreet.engines.spark import rehearsal as planning
from discreet.engines.spark.engine import Spark, UnansweredError
from discreet.engines.spark.rehearsal import plans
from discreet.errors import QueryFailed, Refused
from discreet.policy import Policy, fingerprint
from tests.spark.test_engine import policy_of, rows_of
from tests.sql.worlds import ledger_of

COUNT = sql("SELECT COUNT(*) FROM visits WHERE LOWER(ward) = 'x'")
CANARY = "canary7f3a"


@pytest.fixture(scope="module")
def policy(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """Tables of Spark, of which no copy was made."""
    return policy_of(spark, tmp_path_factory.mktemp("planned"), "planned", rows_of(["ann", "bob"]))


def test_a_plan_needs_no_copy_and_leaves_nothing(policy: Policy) -> None:
    assert plans(policy, COUNT, {})
    assert not (policy.state / "data").exists()


def test_empty_tables_have_what_a_copy_for_spark_has(policy: Policy) -> None:
    """The layout is Spark's: units have numbers, and nobody counts their keys; what DuckDB plans, Spark plans."""
    layout = Layout.of(policy, fingerprint(policy))
    assert (layout.process, layout.engine, layout.pairs) == (os.getpid(), "spark", True)
    stored = {
        "key_ward": True,
        "same_ward": True,
        "seen_ward": True,
        "code_ward": True,
        "unit_number": True,
        "many_ward": False,
    }
    for text, there in stored.items():
        query = sql(f"SELECT COUNT(_discreet_{text}) FROM visits")
        assert empty_tables(policy, fingerprint(policy)).runs(query, {}) is there, text
        if there:
            assert plans(policy, query, {})
    inner = "SELECT bit_or(n) OVER (PARTITION BY _discreet_unit) AS f FROM visits"
    window = sql(f"SELECT COUNT(*) FROM ({inner}) WHERE f > 1")
    demand_runnable(policy, fingerprint(policy), [window], {})
    demand_planned(policy, fingerprint(policy), [window], {})


def test_what_has_no_plan_is_refused_before_the_charge(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's own analysis says no: a table that its session does not have stands for a construct that it lacks."""
    with ledger_of(policy) as ledger:
        engine = Spark(policy, 1)
        curator = Curator(policy, ledger, engine=engine)
        with monkeypatch.context() as patch:
            patch.setattr(planning, "show_empty", lambda *_: None)
            for _ in range(2):
                with pytest.raises(Refused, match="Spark, which computes here, has no plan for this combination"):
                    curator.query("SELECT COUNT(*) FROM visits WHERE n > 7", epsilon=1)
        assert not ledger.entries()
        assert len(curator.query("SELECT COUNT(*) FROM visits WHERE n > 7", epsilon=1).rows) == 1
        assert len(ledger.entries()) == 1
        engine.close()


@pytest.mark.parametrize("failure", [RuntimeError(CANARY), OSError(CANARY), UnansweredError()])
def test_a_spark_that_says_nothing_is_charged_nothing(
    policy: Policy, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def silent(*_: object) -> Any:
        raise failure

    monkeypatch.setattr(planning, "session", silent)
    with pytest.raises(UnansweredError):
        plans(policy, COUNT, {})
    with pytest.raises(QueryFailed, match="Spark did not answer; nothing was charged") as told:
        demand_planned(policy, f"silent {failure!r}", [COUNT], {})
    assert told.value.__suppress_context__
    assert CANARY not in str(told.value)


def test_rows_that_would_leave_are_refused_and_public_questions_need_no_plan(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Refused, match="may not leave their database"):
        demand_runnable(policy, "rows", [sql("SELECT ward FROM visits")], {})

    def asked(*_: object) -> bool:
        raise AssertionError

    monkeypatch.setitem(rehearsal._INSIDE, "spark", ("Spark", lambda *_: None, asked))
    demand_planned(policy, "public", [sql("SELECT 1")], {})
