"""kill −9 around every write, and wherever else: what the caller saw is on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ledger.helpers import child

# Where a process dies; charges to make; threads; points of the sample and of the whole sweep. `creation` and `growth`
# are file sizes in bytes: the process dies inside the write that crosses them, and what fits is written. A new -shm has
# 32768 bytes, so smaller sizes hit the making of the ledger, and `growth` begins when it is open.
SWEEPS = {
    "creation": (2, 1, range(0, 34_000, 11_003), range(0, 34_000, 331)),
    "growth": (24, 1, range(8_000, 90_000, 16_301), range(4_100, 90_000, 331)),
    "statement": (6, 1, range(1, 90, 17), range(90)),
    "line": (3, 1, range(11, 1_000, 173), range(0, 1_000, 4)),
    "time": (8, 4, range(5_000, 100_000, 17_001), range(1_000, 100_000, 501)),
}


@pytest.mark.long
@pytest.mark.parametrize("way", SWEEPS)
def test_what_was_seen_is_on_disk_after_a_kill(way: str, tmp_path: Path) -> None:
    times, threads, points, _ = SWEEPS[way]
    found = child("kill", tmp_path / "ledger", way, times, threads, *points)
    assert found["points"] == len(points)
    assert found["killed"] >= 0.5 * len(points)


@pytest.mark.slow
@pytest.mark.parametrize("way", SWEEPS)
def test_what_was_seen_is_on_disk_after_many_kills(way: str, tmp_path: Path) -> None:
    """More than 500 kills in all: each sweep but the last is the same every time, and most of its points kill."""
    times, threads, _, points = SWEEPS[way]
    found = child("kill", tmp_path / "ledger", way, times, threads, *points, timeout=1200)
    print(way, found)
    assert found["killed"] >= 0.7 * len(points)


@pytest.mark.long
@pytest.mark.parametrize("kills", [6, pytest.param(200, marks=pytest.mark.slow)])
def test_processes_killed_while_others_spend(kills: int, tmp_path: Path) -> None:
    """Those that live go on, and those that are started next find everything."""
    found = child("kill_together", tmp_path / "ledger.sqlite", 4, kills)
    assert found["seen"] >= kills / 3
    assert found["charges"] >= found["seen"]
