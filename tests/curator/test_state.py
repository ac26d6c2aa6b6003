"""Opening, looking, raising and refreshing: what is recorded, and what is left alone."""

from __future__ import annotations

import os
import shutil
import stat
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from discreet.accounting import Pure
from discreet.curator import state
from discreet.curator.refreshing import refresh
from discreet.curator.state import (
    back_up_ledger,
    balances,
    entries,
    ledger_path,
    open_ledger,
    raise_budget,
    recorded_grant,
    recorded_ledger,
    restore_ledger,
)
from discreet.engines.problems import SourceError
from discreet.errors import Refused
from discreet.ledger import LedgerDamaged, LedgerError, verify
from discreet.policy import Policy
from tests.curator.worlds import hospital, write_source
from tests.threads import at_once

PURE = {"epsilon = 3.0\ndelta = 1e-6": "epsilon = 3.0"}

ONE_PATIENT = "SELECT 1 AS patient_id, 42 AS age, 'F' AS sex, '1' AS zip, DATE '2000-01-01' AS born, true AS vip"


def with_budget(folder: Path, budget: str) -> Policy:
    return hospital(folder, {"epsilon = 3.0\ndelta = 1e-6": budget})


def spend(policy: Policy, epsilon: float, analyst: str | None = None) -> str:
    with open_ledger(policy) as ledger:
        charge = ledger.charge(Pure(epsilon, unit=policy.unit), why="SELECT COUNT(*) FROM patients", analyst=analyst)
        with charge:
            pass
        return charge.receipt


def copies(policy: Policy) -> list[str]:
    return sorted(path.name.partition(".")[0] for path in (policy.state / "data").glob("*.duckdb"))


def ages(policy: Policy, version: int) -> int:
    (path,) = (policy.state / "data").glob(f"{version}.*.duckdb")
    with duckdb.connect(str(path), read_only=True) as connection:
        row = connection.execute("SELECT sum(age) FROM patients").fetchone()
    assert row is not None
    return int(row[0])


# opening and looking


def test_the_state_folder_is_for_its_owner(tmp_path: Path) -> None:
    policy = hospital(tmp_path, {'name = "hospital"': 'name = "hospital"\nstate = "deep/down/state"'})
    open_ledger(policy).close()
    assert stat.S_IMODE(policy.state.stat().st_mode) == 0o700
    assert ledger_path(policy) == tmp_path / "deep" / "down" / "state" / "ledger.sqlite"


def test_a_state_folder_that_cannot_be_made_is_a_ledger_error(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    policy.state.write_text("in the way", encoding="utf-8")
    with pytest.raises(LedgerError, match="could not make the state folder"):
        open_ledger(policy)


def test_the_ledger_knows_the_policy(tmp_path: Path) -> None:
    policy = hospital(tmp_path, PURE)
    spend(policy, 0.5, "fraud")
    with open_ledger(policy) as ledger:
        assert ledger.balance("fraud").remaining.epsilon == 1.5
        assert ledger.balance().remaining.epsilon == 2.5


def test_looking_begins_nothing(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    assert recorded_ledger(policy) is None
    assert recorded_grant(policy).epsilon == 3
    assert entries(policy) == []
    assert balances(policy)[None].total.epsilon == 3.0
    assert balances(policy, "fraud")["fraud"].total.epsilon == 2.0
    assert not policy.state.exists()


@pytest.mark.parametrize("changes", [PURE, {}], ids=["pure", "concentrated"])
def test_balances_are_those_that_the_ledger_tells(tmp_path: Path, changes: dict[str, str]) -> None:
    policy = hospital(tmp_path, changes)
    before = balances(policy)
    open_ledger(policy).close()
    assert balances(policy) == before
    spend(policy, 0.1, "fraud")
    with open_ledger(policy) as ledger:
        assert balances(policy) == {who: ledger.balance(who) for who in (None, "epidemiology", "fraud")}
    assert list(balances(policy, "fraud")) == ["fraud"]


def test_an_analyst_without_a_share_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"'nobody' has no share in the policy → analysts: epidemiology, fraud"):
        balances(hospital(tmp_path), "nobody")


def test_looking_records_nothing_whatever_the_policy_says(tmp_path: Path) -> None:
    spend(with_budget(tmp_path, "epsilon = 3.0"), 1)
    before = verify(ledger_path(hospital(tmp_path))).head
    for budget in ("epsilon = 9.0", "epsilon = 2.0", "epsilon = 3.0\ndelta = 1e-6"):
        policy = with_budget(tmp_path, budget)
        assert balances(policy)[None].total.epsilon == 3.0
        assert [entry.loss for entry in entries(policy)] == [Pure(1)]
    assert verify(ledger_path(policy)).head == before


@pytest.mark.long
def test_a_ledger_of_many_records_is_looked_at(tmp_path: Path) -> None:
    policy = with_budget(tmp_path, "epsilon = 5000")
    with open_ledger(policy) as ledger:
        for _ in range(1100):
            with ledger.charge(Pure(1, unit=policy.unit), why="q"):
                pass
    assert len(entries(policy)) == 1100
    assert balances(policy)[None].spent.epsilon == 1100


def test_a_ledger_that_was_begun_and_not_written_is_begun_again(tmp_path: Path) -> None:
    policy = hospital(tmp_path, PURE)
    policy.state.mkdir(mode=0o700)
    ledger_path(policy).touch()
    assert balances(policy)[None].spent.epsilon == 0


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["removed", "emptied"])
def test_a_ledger_that_is_gone_is_not_taken_for_a_new_one(tmp_path: Path, spoil: object) -> None:
    policy = hospital(tmp_path, PURE)
    spend(policy, 1)
    assert callable(spoil)
    spoil(ledger_path(policy))
    with pytest.raises(LedgerDamaged, match=r"had 3 records (when it was closed|and is gone)"):
        balances(policy)


def test_looking_undoes_no_raise_of_somebody_else(tmp_path: Path) -> None:
    spend(with_budget(tmp_path, "epsilon = 3.0"), 1)
    old = with_budget(tmp_path, "epsilon = 3.0")
    raise_budget(with_budget(tmp_path, "epsilon = 5.0"), "")
    assert balances(old)[None].total.epsilon == 5


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_ledger_of_somebody_else_is_a_ledger_error(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    open_ledger(policy).close()
    policy.state.chmod(0)
    try:
        with pytest.raises(LedgerError, match="could not"):
            balances(policy)
    finally:
        policy.state.chmod(0o700)


def test_what_the_system_refuses_is_a_ledger_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    policy = hospital(tmp_path)
    monkeypatch.setattr(Path, "exists", refuse)
    with pytest.raises(LedgerError, match=r"could not read .*: Permission denied → run this as the owner"):
        recorded_ledger(policy)


# raising


def test_raising_is_recorded_and_keeps_what_is_spent(tmp_path: Path) -> None:
    spend(with_budget(tmp_path, "epsilon = 3.0"), 1)
    policy = with_budget(tmp_path, "epsilon = 5.0")
    with pytest.raises(LedgerError, match="discreet budget raise"):
        open_ledger(policy)
    assert recorded_grant(policy).epsilon == 3
    assert raise_budget(policy, "a second study").epsilon == 5
    assert recorded_grant(policy).epsilon == 5
    with open_ledger(policy) as ledger:
        assert ledger.balance().remaining.epsilon == 4.0
    assert "a second study" in ledger_path(policy).read_bytes().decode("latin-1")


def test_a_pure_budget_may_become_concentrated(tmp_path: Path) -> None:
    spend(with_budget(tmp_path, "epsilon = 3.0"), 0.5)
    policy = with_budget(tmp_path, "epsilon = 3.0\ndelta = 1e-6")
    assert raise_budget(policy, "").delta == Fraction(1, 10**6)
    assert balances(policy)[None].spent.epsilon > 0


@pytest.mark.parametrize("budget", ["epsilon = 3.0", "epsilon = 2.0"], ids=["the same", "less"])
def test_what_is_no_raise_is_refused(tmp_path: Path, budget: str) -> None:
    spend(with_budget(tmp_path, "epsilon = 3.0"), 1)
    with pytest.raises(Refused, match="and there is epsilon 3 on record") as refused:
        raise_budget(with_budget(tmp_path, budget), "")
    assert refused.value.code == "not-a-raise"


def test_there_is_nothing_to_raise_before_the_first_question(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="the policy grants epsilon 3 with delta 1e-06, and there is no ledger yet"):
        raise_budget(hospital(tmp_path), "")


# refreshing


def test_refreshing_advances_version_and_data(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    told: list[tuple[str, float]] = []
    assert refresh(policy, "monthly", lambda table, share: told.append((table, share))) == 2
    assert copies(policy) == ["2"]
    assert {table for table, _ in told} == {"patients", "visits", "payments", "wards"}
    write_source(tmp_path / "patients.parquet", ONE_PATIENT)
    assert refresh(policy, "monthly") == 3
    assert copies(policy) == ["3"]
    assert ages(policy, 3) == 42
    with open_ledger(policy) as ledger:
        assert ledger.data_version == 3


def test_a_refresh_that_cannot_read_changes_nothing(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    refresh(policy, "")
    before = verify(ledger_path(policy)).head
    (tmp_path / "visits.parquet").write_bytes(b"damaged")
    with pytest.raises(SourceError, match="visits"):
        refresh(policy, "")
    assert verify(ledger_path(policy)).head == before
    assert copies(policy) == ["2"]
    write_source(tmp_path / "visits.parquet", "SELECT 1 AS visit_id, 1 AS patient_id, 1 AS cost")
    assert refresh(policy, "") == 3


def test_a_copy_that_was_never_recorded_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = hospital(tmp_path)

    def dies(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("discreet.ledger.Ledger.advance_data", dies)
        with pytest.raises(KeyboardInterrupt):
            refresh(policy, "")
    assert copies(policy) == ["2"]
    with open_ledger(policy) as ledger:
        assert ledger.data_version == 1
    write_source(tmp_path / "patients.parquet", ONE_PATIENT)
    assert refresh(policy, "") == 2
    assert ages(policy, 2) == 42


@pytest.mark.long
def test_many_refreshes_at_once_run_one_after_the_other(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    assert sorted(at_once(6, lambda: refresh(policy, ""))) == [2, 3, 4, 5, 6, 7]
    assert copies(policy) == ["7"]


# backup and restore


def test_a_backup_brings_a_lost_state_folder_back(tmp_path: Path) -> None:
    policy = hospital(tmp_path, PURE)
    receipt = spend(policy, 1)
    assert back_up_ledger(policy, tmp_path / "saved.sqlite").charges == 1
    shutil.rmtree(policy.state)
    assert restore_ledger(policy, tmp_path / "saved.sqlite").sound
    assert stat.S_IMODE(policy.state.stat().st_mode) == 0o700
    assert verify(ledger_path(policy), [receipt]).sound
    assert balances(policy)[None].spent.epsilon == 1


def test_there_is_no_backup_of_no_ledger(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    with pytest.raises(LedgerError, match="there is no ledger"):
        back_up_ledger(policy, tmp_path / "saved.sqlite")
    assert not policy.state.exists()


def test_budgets_in_words(tmp_path: Path) -> None:
    assert state.shown(state.grant_of(hospital(tmp_path))) == "epsilon 3 with delta 1e-06"
    assert state.shown(state.grant_of(hospital(tmp_path, PURE))) == "epsilon 3"
