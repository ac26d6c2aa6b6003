"""Who was deleted in a lake is gone after an erasure, also if a refresh was killed while their rows were on the way.

What a lake itself keeps of deleted rows is the source's: Delta until VACUUM, Iceberg until its snapshots expire.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet
from discreet.curator.erasing import Erasure
from discreet.policy import read
from tests.cli.runs import run, told
from tests.curator.test_erasing import found
from tests.lakes.test_lakes import COLUMNS, ROWS, Lake, lake, said
from tests.postgres.worlds import world

__all__ = ["lake"]
CANARY = f"c{secrets.token_hex(24)}"
PEOPLE = ROWS.slice(0, 3).set_column(0, "person", pa.array(["ann", "bob", CANARY]))
SQL = "SELECT COUNT(*) AS n FROM visits"
KILLED = """
import os, pathlib, signal, sys
from discreet.curator.refreshing import refresh
from discreet.engines.lakes import LakeStaging
from discreet.policy import read
copied = LakeStaging._copied
def dies(*given):
    copied(*given)
    os.kill(os.getpid(), signal.SIGKILL)
LakeStaging._copied = dies
refresh(read(pathlib.Path(sys.argv[1])), "killed")
"""


def filled(lake: Lake, folder: Path) -> Any:
    source, name, add, _ = lake
    add(PEOPLE.set_column(1, "ward", pa.array(["A", "B", CANARY])))
    return world(folder, said(source, name, COLUMNS))


def outside_of_the_source(folder: Path) -> list[str]:
    return [name for name in found(folder, CANARY) if not name.startswith(("visits/", "warehouse/", "catalogue.db"))]


def test_a_person_leaves_the_copy_and_whoever_has_it_open(lake: Lake, tmp_path: Path) -> None:
    policy = filled(lake, tmp_path)
    with discreet.open(policy.path) as curator:
        curator.query(SQL, epsilon=0.1)
        assert any(name.startswith("data/") for name in found(policy.state, CANARY)), "the auditor's eyes are good"
        lake[3](CANARY)
        done = curator.refresh(erase=Erasure(patience=5))
        assert (done.held, done.version) == ((), 2)
        assert found(policy.state, CANARY) == []
        curator.query(SQL, epsilon=0.1)
    run("ledger", "backup", policy.path, tmp_path / "after.sqlite")
    assert outside_of_the_source(tmp_path) == []


def test_what_a_killed_refresh_had_on_the_way_goes_too(lake: Lake, tmp_path: Path) -> None:
    policy = filled(lake, tmp_path)
    run("refresh", policy.path)
    ran = subprocess.run([sys.executable, "-c", KILLED, str(policy.path)], cwd=tmp_path, env=os.environ, check=False)
    assert ran.returncode == -signal.SIGKILL
    assert any(name.startswith("spill/") for name in found(policy.state, CANARY)), "the auditor's eyes are good"
    lake[3](CANARY)
    assert told("refresh", policy.path, "--erase")["held"] == []
    assert found(read(policy.path).state, CANARY) == []
    assert outside_of_the_source(tmp_path) == []


@pytest.mark.parametrize("lake", ["delta"], indirect=True)
def test_a_lake_that_cannot_be_read_erases_nobody(lake: Lake, tmp_path: Path) -> None:
    policy = filled(lake, tmp_path)
    run("refresh", policy.path)
    for log in (tmp_path / "visits" / "_delta_log").iterdir():
        log.write_bytes(b"{}")
    run("refresh", policy.path, "--erase", code=5)
    assert found(policy.state, CANARY), "questions are answered from the version before"
