"""Ledgers that nobody closes: a process that lives for weeks opens thousands of them, and has so many descriptors."""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from pathlib import Path

from discreet.ledger import Ledger
from discreet.ledger.marks import Marks
from discreet.ledger.sqlite.files import OwnLock, beside
from discreet.ledger.sqlite.store import Sqlite
from tests.ledger.helpers import PURE, opened, spend


def test_a_ledger_that_nobody_closes_leaves_no_file_open(tmp_path: Path) -> None:
    """The high-water mark stayed open for as long as the process lived, once for every policy that was opened."""
    marks, state = Marks(tmp_path / "marks"), tmp_path / "state"
    state.mkdir()
    for _ in range(3):
        ledger = Ledger(Sqlite(state / "ledger.sqlite", marks=marks), PURE, shares={}, protected="p")
        spend(ledger)
        assert _open_in(state)
        assert _open_in(marks.folder)
        del ledger
        gc.collect()
        assert not _open_in(state)
        assert not _open_in(marks.folder)


def test_what_could_not_be_closed_during_a_charge_is_closed_by_whoever_opens_next(tmp_path: Path) -> None:
    """It is collected whenever Python likes, also while somebody else writes; it was left for ever then."""
    path = tmp_path / "ledger.sqlite"
    ledger = opened(path)
    spend(ledger)
    charging = OwnLock(beside(path, ".lock"))
    with charging.held(1):
        del ledger
        gc.collect()
        assert _open_in(tmp_path) > 1, "it was closed while somebody else was writing"
    charging.close()
    with opened(path) as ledger:
        spend(ledger)
    assert not _open_in(tmp_path)
    assert not beside(path, "-wal").exists()


def _open_in(folder: Path) -> int:
    """How many descriptors of this process lead to files that lie in a folder."""
    files = {(each.stat().st_dev, each.stat().st_ino) for each in folder.iterdir() if each.is_file()}
    found = 0
    for descriptor in os.listdir("/dev/fd"):
        with suppress(OSError):
            status = os.fstat(int(descriptor))
            found += (status.st_dev, status.st_ino) in files
    return found
