"""Empty tables have the columns of the private copy; what cannot be run is known before it is charged."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from discreet.composed import sql
from discreet.engines import rehearsal
from discreet.engines.memory import Memory
from discreet.engines.rehearsal import MAX_POLICIES, empty_tables
from discreet.engines.session import rows
from discreet.engines.stopping import Stop, Stopped
from discreet.errors import QueryFailed
from discreet.policy import Policy, fingerprint, parse
from discreet.policy.layout import copied_columns, ranked_pairs
from tests.sql import tiny
from tests.sql.test_language_noise_off import POLICY
from tests.sql.twins import POLICY as TWINS
from tests.sql.worlds import policy_of

OWN_ROWS = policy_of(
    '[tables.a]\nsource = "a.csv"\nunit = "who"\n[tables.a.columns]\nx = { min = 0, max = 1 }',
    '[tables.b]\nsource = "b.csv"\nunit = "row"\n[tables.b.columns]\nx = { min = 0, max = 1 }',
)
NUMBERED = parse(f'{tiny.HEADS["pure"]}type = "integer"\n{tiny.TABLES}'.encode(), Path("/nowhere/numbered.toml"))


@pytest.mark.parametrize(
    "policy", [tiny.policy(), POLICY, TWINS, OWN_ROWS, NUMBERED], ids=["tiny", "language", "twins", "rows", "numbered"]
)
def test_empty_tables_look_like_the_copy(policy: Policy) -> None:
    engine = Memory(policy, {})
    try:
        for table in policy.tables.values():
            if table.is_public and not table.columns:
                continue
            columns = copied_columns(table, policy.unit_kind)
            found = engine.schema(table.name)
            assert {label.lower() for label in found} == {label.lower() for label in columns}
            wider = {label: "BIGINT" if label.startswith("_discreet_steps") else kind for label, kind in found.items()}
            assert wider == columns
    finally:
        engine.close()


def test_what_cannot_be_bound_is_known() -> None:
    tables = empty_tables(TWINS, fingerprint(TWINS))
    assert tables.runs(sql("SELECT COUNT(*) FROM t"), {})
    assert tables.runs(sql("SELECT COUNT(*) FROM t"), {})
    assert not tables.runs(sql("SELECT nothing FROM t"), {})
    assert not tables.runs(sql("SELECT COUNT(*) FROM t GROUP BY 7"), {})
    assert not tables.runs(sql("SELECT x FROM late"), {})
    assert tables.runs(sql("SELECT x FROM late"), {"late": {"x": "INTEGER"}})
    assert not tables.runs(sql("SELECT x FROM late"), {"late": {"y": "INTEGER"}})
    assert not tables.runs(sql("SELECT x FROM late"), {"late": {"y": "NO SUCH TYPE"}})


def test_tables_that_were_stopped_while_they_were_made_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever stops a preview at the wrong moment must not end all queries of a policy in that process."""
    real, stopped = rows, []

    def stopping(connection: Any, text: str, seconds: float | None) -> list[tuple[Any, ...]]:
        kind = " ".join(text.split()[:2])
        if kind.startswith("CREATE") and kind not in stopped:  # once before each kind of statement
            stopped.append(kind)
            raise Stopped
        return real(connection, text, seconds)

    monkeypatch.setattr(rehearsal, "rows", stopping)
    tables = empty_tables(TWINS, "stopped half made")
    tries = 0
    while not tables.runs(sql("SELECT COUNT(*) FROM t"), {}):
        tries += 1
        assert tries <= len(stopped)
    assert stopped == ["CREATE SCHEMA", "CREATE MACRO", "CREATE OR"]


def test_policies_do_not_see_each_other() -> None:
    stages = [empty_tables(TWINS, f"digest {number}") for number in range(MAX_POLICIES + 3)]
    assert stages[-1].runs(sql("SELECT x FROM own"), {"own": {"x": "INTEGER"}})
    assert not stages[-2].runs(sql("SELECT x FROM own"), {})
    assert not stages[0].runs(sql("SELECT COUNT(*) FROM t"), {})  # it was closed: too many were open
    assert empty_tables(TWINS, "digest 0").runs(sql("SELECT COUNT(*) FROM t"), {})


@pytest.mark.parametrize("asked", [(0, 1), (1, 0)])
def test_policies_of_one_digest_that_are_stored_differently_have_tables_of_their_own(asked: tuple[int, ...]) -> None:
    """Answers of both mean the same; with a hash that engines share, the copy has columns that the other lacks."""
    text = tiny.HEADS["delta"] + tiny.TABLES
    policies = [parse((head + text).encode(), Path("world.toml")) for head in ("", 'hash = "md5"\n')]
    assert len({fingerprint(policy) for policy in policies}) == 1
    shared = f"in either order {asked}"
    pairs = ranked_pairs(policies[1].tables["visits"]).values()
    query = sql("SELECT " + ", ".join(pairs) + " FROM visits")
    assert [empty_tables(policies[each], shared).runs(query, {}) for each in asked] == [bool(each) for each in asked]


def test_threads_share_a_stage() -> None:
    tables, found = empty_tables(TWINS, "threads"), list[bool]()
    queries = [sql("SELECT COUNT(*) FROM t"), sql("SELECT SUM(i) FROM s"), sql("SELECT nothing FROM t")]
    threads = [
        threading.Thread(target=lambda query: found.append(tables.runs(query, {})), args=(query,))
        for query in queries * 4
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [False] * 4 + [True] * 8


def test_a_database_that_died_is_opened_again() -> None:
    tables = empty_tables(TWINS, "dead")
    query = sql("SELECT COUNT(*) FROM t")
    assert tables.runs(query, {})
    database = tables._database
    database.alive().close()  # as dead as it can be
    assert not tables.runs(sql("SELECT SUM(i) FROM t"), {})
    database.alive()
    assert tables.runs(sql("SELECT SUM(i) FROM t"), {})
    assert tables.runs(query, {})
    assert not tables.runs(sql("SELECT nothing FROM t"), {})


def test_what_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without rows, only generators could: nothing that analysts write has them, and still."""
    monkeypatch.setattr(rehearsal, "SECONDS", 0.05)
    endless = sql("SELECT COUNT(*) FROM range(1000000000) AS a, range(1000000000) AS b WHERE a.range + b.range = 5")
    assert not empty_tables(TWINS, "slow").runs(endless, {})
    assert empty_tables(TWINS, "slow").runs(sql("SELECT COUNT(*) FROM t"), {})


def test_what_is_stopped_is_no_refusal() -> None:
    stop = Stop()
    stop.now()
    with stop, pytest.raises(QueryFailed, match="nothing was charged"):
        empty_tables(TWINS, "stopped").runs(sql("SELECT COUNT(*) FROM t"), {})
    assert empty_tables(TWINS, "stopped").runs(sql("SELECT COUNT(*) FROM t"), {})
