"""Many processes on one file: no overspend, none lost, exact sum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.ledger import Grant, verify
from tests.ledger.helpers import CENT, child, opened


def together(path: Path, processes: int, times: int, granted: int) -> None:
    """Each spends a hundredth so many times; the budget is enough for `granted` of them."""
    total = granted * CENT.epsilon
    found: dict[str, Any] = child("spend_together", path, processes, times, total, timeout=3000)
    assert found["failed"] == []
    assert found["codes"] == [0]
    receipts = found["receipts"]
    assert len(receipts) == len(set(receipts)) == granted
    assert found["refused"] == processes * times - granted
    report = verify(path, receipts)
    assert report.problems == ()
    assert report.charges == granted
    with opened(path, Grant.of(total, None)) as ledger:
        balance = ledger.balance()
        entries = ledger.entries()
    assert balance.spent.epsilon == balance.total.epsilon == float(total)
    assert balance.remaining.epsilon == 0
    assert sorted(f"{entry.number}" for entry in entries) == sorted(receipt.partition(":")[0] for receipt in receipts)


@pytest.mark.long
def test_six_processes(tmp_path: Path) -> None:
    together(tmp_path / "ledger.sqlite", 6, 40, 200)


@pytest.mark.slow
def test_sixty_four_processes_spend_two_hundred_times_each(tmp_path: Path) -> None:
    together(tmp_path / "ledger.sqlite", 64, 200, 12_799)


def test_verifying_while_a_ledger_is_open_here_leaves_its_locks(tmp_path: Path) -> None:
    """POSIX ends all locks of a process on a file when it closes any descriptor of it: verify must not open the file
    by itself while a ledger is open here, or the next process to close would take the WAL away."""
    found = child("other_closes", tmp_path / "ledger.sqlite")
    assert found == {"during": [], "later": []}
