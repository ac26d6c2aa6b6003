"""Backups of a ledger again and again: the newest stay, nothing else is touched, and what fails is tried again."""

from __future__ import annotations

import signal
import sqlite3
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest

from discreet.curator.state import ledger_path, restore_ledger, verify_ledger
from discreet.ledger import LedgerError, Report
from discreet.owner.backups import TIME, back_up_again_and_again, next_backup
from discreet.policy import Policy
from tests.cli.runs import program, run, spend
from tests.curator.worlds import hospital
from tests.server.running import until

verifying = import_module("discreet.ledger.sqlite.verify")
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    (tmp_path / "hospital").mkdir()
    return hospital(tmp_path / "hospital")


def test_the_newest_stay_and_other_files_too(policy: Policy, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (tmp_path / "second").mkdir()
    others = hospital(tmp_path / "second")
    receipt = spend(policy, 0.1)
    spend(others, 0.1)
    theirs, _ = next_backup(others, folder, 1, NOON - timedelta(days=9))
    (folder / "hospital.sqlite").write_text("mine", encoding="utf-8")
    made = [next_backup(policy, folder, 2, NOON + timedelta(hours=hour))[0] for hour in range(4)]
    assert set(folder.iterdir()) == {*made[2:], theirs, folder / "hospital.sqlite"}
    assert all(not each.stat().st_mode & 0o077 for each in made[2:])
    ledger_path(policy).unlink()
    assert restore_ledger(policy, made[-1]).sound
    assert verify_ledger(policy, [receipt]).sound


def test_a_clock_that_was_set_back_removes_no_backup_that_was_just_made(policy: Policy, tmp_path: Path) -> None:
    """Whatever the clock said before: the newest stay, and the newest is the one that was made last."""
    spend(policy, 0.1)
    folder, long_ago = tmp_path / "elsewhere", datetime(1970, 1, 1, tzinfo=UTC)
    made = [next_backup(policy, folder, 2, moment)[0] for moment in (NOON, NOON, NOON - timedelta(hours=1), long_ago)]
    assert made == sorted(made)
    assert set(folder.iterdir()) == set(made[-2:])
    invented = made[-1].with_name(f"{made[-1].name[:-28]}99999999T999999999999Z.sqlite")
    invented.write_text("mine", encoding="utf-8")
    last, report = next_backup(policy, folder, 1, NOON)
    assert (last.exists(), report.sound) == (True, True)


def test_a_clock_that_was_ahead_leaves_the_newest(policy: Policy, tmp_path: Path) -> None:
    """It was a year ahead: for a year each backup went as soon as it was made, as the oldest, and was told as made."""
    folder = tmp_path / "elsewhere"
    for day in range(2):
        spend(policy, 0.1)
        next_backup(policy, folder, 2, NOON + timedelta(days=365 + day))
    made, receipts = [], []
    for day in range(3):
        receipts.append(spend(policy, 0.1))
        path, report = next_backup(policy, folder, 2, NOON + timedelta(days=day))
        assert report.charges == day + 3
        assert path.exists()
        made.append(path)
    assert sorted(folder.iterdir()) == made[1:]
    ledger_path(policy).unlink()
    assert restore_ledger(policy, max(folder.iterdir())).sound
    assert verify_ledger(policy, receipts).sound


def test_a_clock_that_stands_still_takes_no_backup_away(policy: Policy, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    spend(policy, 0.1)
    made = [next_backup(policy, folder, 5, NOON)[0] for _ in range(3)]
    assert sorted(folder.iterdir()) == made == sorted(set(made))


def test_not_where_they_would_be_lost_together(policy: Policy) -> None:
    spend(policy, 0.1)
    with pytest.raises(LedgerError, match="lies in the state folder"):
        next_backup(policy, policy.state / "backups", 1)


def test_a_full_disk_leaves_nothing_behind(policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither half a copy nor what SQLite lays beside it, as it does on a disk of 64 kB: the next would find less."""
    spend(policy, 0.1)
    folder = tmp_path / "elsewhere"

    def full(_: object, path: Path) -> None:
        for ending in ("", "-wal", "-shm"):
            path.with_name(path.name + ending).write_bytes(b"half")
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(verifying.Sqlite, "copy_to", full)
    with pytest.raises(LedgerError, match="disk is full"):
        next_backup(policy, folder, 5)
    assert list(folder.iterdir()) == []
    assert verify_ledger(policy).sound


def test_a_copy_that_was_not_verified_is_no_backup(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no such name before; what a process leaves that is killed is none of the copies, and goes with them."""
    spend(policy, 0.1)
    folder, verified = tmp_path / "elsewhere", list[list[Path]]()
    whole = [next_backup(policy, folder, 2, NOON + timedelta(hours=hour))[0] for hour in range(2)]
    honest = verifying.verify

    def noted(*given: Any) -> Report:
        verified.append([each for each in folder.iterdir() if each.suffix == ".sqlite"])
        return cast(Report, honest(*given))

    monkeypatch.setattr(verifying, "verify", noted)
    for hour in (2, 3):
        moment = (NOON + timedelta(hours=hour)).strftime(TIME)
        left = folder / f"{whole[0].name.rpartition('-')[0]}-{moment}.sqlite.77.unfinished"
        for ending in ("", "-wal", ".lock"):
            left.with_name(left.name + ending).write_bytes(b"half")
    (folder / "77.unfinished").write_bytes(b"somebody else's")
    third = next_backup(policy, folder, 2, NOON + timedelta(hours=4))[0]
    assert set(verified[0]) == set(whole)
    assert {each for each in folder.iterdir() if each.suffix == ".sqlite"} == {whole[1], third}
    fourth = next_backup(policy, folder, 2, NOON + timedelta(hours=5))[0]
    assert set(folder.iterdir()) == {third, fourth, folder / "77.unfinished"}


def test_what_fails_is_told_and_tried_again(policy: Policy, tmp_path: Path) -> None:
    folder, told = tmp_path / "elsewhere", list[str]()
    good = policy.path.read_text(encoding="utf-8")

    def wait() -> bool:
        if len(told) == 1:  # no ledger yet
            spend(policy, 0.1)
            policy.path.write_text("[", encoding="utf-8")
        elif len(told) == 2:  # not a policy
            policy.path.write_text(good, encoding="utf-8")
            folder.rmdir()
            folder.write_text("", encoding="utf-8")
        elif len(told) == 3:  # not a folder
            folder.unlink()
        return len(told) == 4

    back_up_again_and_again(policy.path, folder, 5, told.append, wait)
    assert [text.startswith("no backup: ") for text in told] == [True, True, True, False]
    assert [each.name for each in folder.iterdir()] == [told[3].partition(":")[0]]
    assert told[3].endswith("sound")


def test_the_command_ends_when_it_is_told(policy: Policy, tmp_path: Path) -> None:
    spend(policy, 0.1)
    folder = tmp_path / "elsewhere"
    process = program("ledger", "backup", policy.path, folder, "--every", "1w")
    until(lambda: folder.is_dir() and any(folder.iterdir()))
    process.send_signal(signal.SIGTERM)
    shown, wrong = process.communicate()
    assert (process.returncode, wrong) == (0, b"")
    assert b"sound" in shown


@pytest.mark.parametrize("every", ["0m", "soon", "1.5h", "-1h", "٣h"])
def test_spans_that_are_none(policy: Policy, tmp_path: Path, every: str) -> None:
    assert "span of time" in run("ledger", "backup", policy.path, tmp_path / "x", f"--every={every}", code=2).stderr


def test_how_many_stay_is_for_those_that_are_made_again_and_again(policy: Policy, tmp_path: Path) -> None:
    assert "add it" in run("ledger", "backup", policy.path, tmp_path / "x", "--copies", "3", code=2).stderr
    assert not (tmp_path / "x").exists()
