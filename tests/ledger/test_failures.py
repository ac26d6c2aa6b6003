"""What the system says is told with what to do about it, whichever file was not there."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

import pytest

from discreet.ledger import LedgerDamaged, LedgerError, back_up
from discreet.ledger.marks import Marks
from discreet.ledger.problems import reported
from discreet.ledger.sqlite.store import Sqlite
from tests.ledger.helpers import filled


@pytest.mark.parametrize(
    ("failure", "kind", "fix"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), LedgerError, "free some space; nothing was answered"),
        (OSError(errno.EXDEV, os.strerror(errno.EXDEV)), LedgerError, "check the state folder"),
        (sqlite3.OperationalError("database is locked"), LedgerError, "try again: other processes are spending"),
        (sqlite3.DatabaseError("file is not a database"), LedgerDamaged, "restore a backup"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), LedgerDamaged, "restore a backup"),
    ],
)
def test_a_failure_says_what_to_do(failure: Exception, kind: type[LedgerError], fix: str) -> None:
    with pytest.raises(LedgerError, match="could not open ledger") as told, reported("open", Path("ledger")):
        raise failure
    assert type(told.value) is kind
    assert told.value.fix == fix


def test_a_copy_that_was_never_begun_leaves_nothing_to_remove(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise LedgerError("the disk is full", "free some space")

    filled(path, 1)
    monkeypatch.setattr(Sqlite, "copy_to", full)
    with pytest.raises(LedgerError, match="the disk is full"):
        back_up(path, tmp_path / "backup.sqlite")


def test_what_nobody_remembers_can_be_forgotten(tmp_path: Path) -> None:
    Marks(tmp_path / "marks").forget(tmp_path / "ledger.sqlite")
    (tmp_path / "marks").mkdir(exist_ok=True)
    Marks(tmp_path / "marks").forget(tmp_path / "ledger.sqlite")
