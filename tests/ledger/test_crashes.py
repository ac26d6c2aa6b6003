"""kill −9 around every write, and wherever else: what the caller saw is on disk."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ledger.children import survived
from tests.ledger.helpers import ROOT, child

# Where a process dies; charges to make; threads; points of the sample and of the whole sweep. `creation` and `growth`
# are file sizes in bytes: the process dies inside the write that crosses them, and what fits is written. A new -shm has
# 32768 bytes, so smaller sizes hit the making of the ledger, and `growth` begins when it is open. `time` never runs out
# of charges to make: on a machine of any speed every point kills.
SWEEPS = {
    "creation": (2, 1, range(0, 34_000, 11_003), range(0, 34_000, 331)),
    "growth": (24, 1, range(8_000, 90_000, 16_301), range(4_100, 90_000, 331)),
    "statement": (6, 1, range(1, 90, 17), range(90)),
    "line": (3, 1, range(11, 1_000, 173), range(0, 1_000, 4)),
    "time": (50_000, 4, range(5_000, 100_000, 17_001), range(1_000, 100_000, 501)),
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


# System calls that change files, and how often a run of eight charges makes them.
CALLS = {"pwrite64": 126, "fdatasync": 30, "ftruncate": 6, "unlink": 3, "rename": 1}


def traceable() -> bool:
    """Whether processes can be traced here."""
    command = ["strace", "-f", "-o", "/dev/null", "-e", "trace=unlink", "true"]
    return bool(shutil.which("strace")) and subprocess.run(command, capture_output=True, check=False).returncode == 0


def kill_at_call(path: Path, call: str, count: int) -> bool:
    """Kill a process where it makes a system call for the so-and-so-manieth time; whether it died."""
    trace = [
        "strace",
        "-f",
        "-o",
        "/dev/null",
        "-e",
        f"trace={call}",
        "-e",
        f"inject={call}:signal=SIGKILL:when={count}",
    ]
    command = [*trace, sys.executable, "-m", "tests.ledger.children", "end_well", str(path), "8"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False)
    receipts = [line for line in run.stdout.splitlines() if line[0].isdecimal()]
    survived(path, receipts, most=len(receipts) + 1)
    return run.returncode != 0


@pytest.mark.skipif(not traceable(), reason="no strace here")
@pytest.mark.parametrize(
    "step",
    [pytest.param(33, marks=pytest.mark.long), pytest.param(3, marks=pytest.mark.slow)],
)
def test_a_kill_at_every_system_call_that_changes_a_file(tmp_path: Path, step: int) -> None:
    """Some of all calls, others each time."""
    every = [(call, count) for call, most in CALLS.items() for count in range(1, most + 1)]
    points = every[random.randrange(step) :: step]
    killed = [kill_at_call(tmp_path / f"{call}-{count}.sqlite", call, count) for call, count in points]
    print(f"{sum(killed)} kills at {len(points)} points")
    assert sum(killed) >= 0.8 * len(points)
