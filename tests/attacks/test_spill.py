"""Somebody with an account on the machine reads private rows that queries left on disk when memory was short.

They look into the folder that the owner started from, into files that others may read, and for what a killed process
never removed. And a server of several datasets is killed for memory, because each took what the machine has.
"""

from __future__ import annotations

import ast
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

import discreet
from discreet.engines import connection
from discreet.engines.connection import MEMORY, SPILL, connect, size, sweep, total_memory
from discreet.engines.duckdb import DuckDB
from discreet.engines.session import Scratch
from discreet.policy import Policy, read
from discreet.server.datasets import Dataset
from tests.curator.worlds import hospital

SOURCE = Path(discreet.__file__).parent
CANARY = b"CANARY"
POLICY = """\
name = "notes"
[budget]
epsilon = 3.0
[unit]
name = "person"
[tables.notes]
source = "notes.parquet"
unit = "person"
[tables.notes.columns]
note = { type = "text" }
"""
ASKING = "import discreet, os, sys; os.nice(19); discreet.open(sys.argv[1]).make_copy()"
"""Nicer than whoever watches it, who shall not miss anything on a busy machine."""
TRIES = 20


@pytest.fixture
def notes(tmp_path: Path) -> Policy:
    """So many rows that their copy does not fit into a small memory, each with a word to look for."""
    rows = "SELECT i AS person, 'CANARY' || hash(i) || hash(i + 1) || hash(i + 2) AS note FROM range(400000) AS t(i)"
    with duckdb.connect() as writing:
        writing.execute(f"COPY ({rows}) TO '{tmp_path / 'notes.parquet'}' (FORMAT parquet)")
    (tmp_path / "notes.toml").write_text(POLICY, encoding="utf-8")
    return read(tmp_path / "notes.toml")


@contextmanager
def spilling(policy: Policy, here: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that asks with too little memory, started in some folder, when it has begun to spill.

    It is held each time that something is on disk, and looked at then. Where it has ended before anybody looked, which
    says nothing about it, the copy is made once more.
    """
    here.mkdir()
    small = {**os.environ, MEMORY: "64MB"}
    for _ in range(TRIES):
        with subprocess.Popen([sys.executable, "-c", ASKING, str(policy.path)], cwd=here, env=small) as asking:
            try:
                if held_with_spill(asking, policy):
                    yield asking
                    return
            finally:
                asking.kill()
        for copy in (policy.state / "data").glob("*.duckdb"):
            copy.unlink()
    pytest.fail(f"{TRIES} times it ended before it was seen to spill")


def held_with_spill(asking: subprocess.Popen[bytes], policy: Policy) -> bool:
    while asking.poll() is None:
        if spilled(policy):
            os.kill(asking.pid, signal.SIGSTOP)
            if any(CANARY in file.read_bytes() for file in spilled(policy)):
                return True
            os.kill(asking.pid, signal.SIGCONT)
        time.sleep(0.002)
    return False


def spilled(policy: Policy) -> list[Path]:
    return [path for path in (policy.state / SPILL).glob("*/*/*") if path.is_file()]


@pytest.mark.long
def test_spill_is_out_of_sight_and_goes_with_the_next_opening(notes: Policy, tmp_path: Path) -> None:
    here = tmp_path / "here"
    with spilling(notes, here) as asking:
        assert list(here.iterdir()) == []
        for folder in (notes.state, notes.state / SPILL, *(notes.state / SPILL).glob("*/")):
            if folder.is_dir():
                assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
        discreet.open(notes.path).close()
        assert spilled(notes), "the spill of a process that lives was removed"
        asking.kill()
        asking.wait()
        assert spilled(notes)
        discreet.open(notes.path).close()
        assert not spilled(notes)
        assert [path.name for path in (notes.state / SPILL).iterdir()] == ["lock"]
    assert list(here.iterdir()) == []


def test_only_folders_of_ours_are_swept(tmp_path: Path) -> None:
    root = tmp_path / SPILL
    elsewhere = tmp_path / "elsewhere"
    for folder in (root / "precious", root / "12-xyz", root / f"7-{'a' * 16}", elsewhere):
        folder.mkdir(parents=True)
        (folder / "file").touch()
    (root / f"8-{'b' * 16}").symlink_to(elsewhere)
    sweep(tmp_path)
    assert sorted(path.name for path in root.iterdir()) == ["12-xyz", f"8-{'b' * 16}", "lock", "precious"]
    assert (elsewhere / "file").exists()


def test_a_fork_does_not_take_its_parents_spill_along(tmp_path: Path) -> None:
    with connect(spill=tmp_path) as parent:
        mine = Path(setting(parent, "temp_directory")).parent
        child = os.fork()
        if not child:
            with connect(spill=tmp_path) as own:
                os._exit(Path(setting(own, "temp_directory")).parent == mine)
        assert os.waitpid(child, 0)[1] == 0
        sweep(tmp_path)
        assert mine.is_dir()


def setting(opened: duckdb.DuckDBPyConnection | DuckDB | Scratch, name: str) -> Any:
    query = f"SELECT current_setting('{name}')"
    found = opened.execute(query)
    return (found if isinstance(found, list) else found.fetchall())[0][0]


def test_every_engine_has_limits_and_cannot_lift_them(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    for engine in (DuckDB(policy, 0), Scratch()):
        assert setting(engine, "TimeZone") == "UTC"
        assert setting(engine, "disabled_optimizers") == connection.CAREFUL
        assert setting(engine, "enable_external_access") is False
        folder = setting(engine, "temp_directory")
        assert folder == "" or Path(folder).is_relative_to(policy.state / SPILL)
        for change in ("memory_limit = '99GB'", "temp_directory = '/tmp'", "threads = 64", "TimeZone = 'Asia/Tokyo'"):
            with pytest.raises(duckdb.Error):
                engine.execute(f"SET {change}")
        engine.close()


def test_datasets_of_a_server_share_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY, "900MB")
    policy = hospital(tmp_path)
    dataset = Dataset(policy, among=3)
    dataset.curator.make_copy()
    engine = dataset.curator._engine(1)
    assert size(setting(engine, "memory_limit")) <= 300_000_000  # type: ignore[arg-type]
    dataset.close()


def test_memory_is_half_of_the_machine_unless_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MEMORY, raising=False)
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < total_memory() <= machine // 2
    for wrong in ("much", "-1GB", "1e9", "8 potatoes"):
        monkeypatch.setenv(MEMORY, wrong)
        with pytest.raises(ValueError, match="write it like 8GB"):
            total_memory()


def test_a_look_at_sources_without_a_state_folder_spills_where_nobody_else_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = connection.before_state(tmp_path / "missing")
    assert stat.S_IMODE(found.stat().st_mode) == 0o700
    assert connection.before_state(tmp_path) == tmp_path
    found.chmod(0o755)
    with pytest.raises(PermissionError):
        connection.before_state(tmp_path / "missing")


def test_nothing_else_opens_a_database() -> None:
    """Of the module `duckdb` others use its types and its tokenizer; every other function of it opens a database."""
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "duckdb" in text else ():
            if isinstance(node, ast.ImportFrom) and node.module == "duckdb":
                assert all(alias.name[0].isupper() for alias in node.names), path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "duckdb":
                known = node.attr[0].isupper() or node.attr in ("tokenize", "token_type")
                assert known or path.name == "connection.py", f"{path}: duckdb.{node.attr}"
            if isinstance(node, ast.Import):
                assert all(alias.asname is None for alias in node.names if alias.name == "duckdb"), path
