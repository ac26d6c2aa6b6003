"""Workers run every test once, tell all of what does not pass, and outlive tests that do not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workers import NONE, Ranges, Row

ROOT = Path(__file__).parents[1]
REGISTERED = """
from tests.workers import Workers


def pytest_configure(config):
    config.pluginmanager.register(Workers(2))
"""
OUTCOMES = """
import os, threading
import pytest


@pytest.fixture
def unprepared():
    raise ValueError("before")


@pytest.fixture
def untidy():
    yield
    raise ValueError("after")


def test_passes(tmp_path): assert not any(tmp_path.iterdir())
def test_fails(capfd):
    os.write(1, b"what was printed")
    print(capfd.readouterr().out)
    assert 1 == 2
def test_is_not_begun(unprepared): pass
def test_ends_badly(untidy): pass
@pytest.mark.skip
def test_is_skipped(): pass
def test_skips_itself(): pytest.skip()
@pytest.mark.xfail
def test_fails_as_expected(): assert False
"""
DEAD = """
import os, pathlib, signal
import pytest


@pytest.mark.parametrize("place", range(12))
def test_it(place):
    (pathlib.Path(__file__).parent / f"ran-{place}").touch(exist_ok=False)
    if place in (3, 4):
        os.kill(os.getpid(), signal.SIGKILL)
"""


def run(folder: Path, text: str, *options: str) -> str:
    (folder / "conftest.py").write_text(REGISTERED, encoding="utf-8")
    (folder / "test_some.py").write_text(text, encoding="utf-8")
    own = ["-p", "no:cacheprovider", "--import-mode=importlib", "-c", "/dev/null", "--basetemp", str(folder / "temp")]
    known = {key: value for key, value in os.environ.items() if key == "PYTHONPYCACHEPREFIX"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *own, *options, str(folder)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **known},
        capture_output=True,
        text=True,
    )
    return done.stdout


def test_everything_but_success_is_told(tmp_path: Path) -> None:
    said = run(tmp_path, OUTCOMES)
    assert "1 failed, 2 passed, 2 skipped, 1 xfailed, 2 errors" in said.splitlines()[-1], said
    told = ("assert 1 == 2", "ValueError: before", "ValueError: after", "what was printed")
    assert all(words in said for words in told), said
    assert "the last of 2 workers ran alone for 0 s" in said


def test_a_test_whose_process_dies_fails_and_the_others_are_run(tmp_path: Path) -> None:
    said = run(tmp_path, DEAD)
    assert said.count("its process died with -9") == 2, said
    assert all(f"test_some.py::test_it[{place}]" in said for place in (3, 4)), said
    assert "2 failed" in said.splitlines()[-1]  # what passed just before a death may be lost with it
    assert {each.name for each in tmp_path.glob("ran-*")} == {f"ran-{place}" for place in range(12)}


def test_the_first_failure_can_end_it(tmp_path: Path) -> None:
    said = run(tmp_path, "def test_a(): assert 0\n" + "def test_b(): pass\ndef test_c(): pass\n", "-x")
    assert "stopping after 1 failures" in said, said
    assert "1 failed" in said.splitlines()[-1]


def test_what_is_imported_starts_no_thread(tmp_path: Path) -> None:
    said = run(
        tmp_path, "import threading, time\nthreading.Thread(target=time.sleep, args=[9], daemon=True).start()\n" + DEAD
    )
    assert ("start none on import" in said) == Path("/proc/self/task").is_dir(), said


def test_what_does_not_pass_while_tests_are_collected_is_told(tmp_path: Path) -> None:
    assert "1 error during collection" in run(tmp_path, "nothing\n" + DEAD)


# who takes what


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
@pytest.mark.parametrize("files", ["", "a", "aab", "aaaaabbbbbbbbbbbcddddddddddddeeeeeeeef"])
def test_every_test_is_taken_once(workers: int, files: str) -> None:
    ranges = Ranges(files, workers)
    for worker in range(workers):
        ranges.advance(worker)
    taken = [row.current for _ in files for worker in range(workers) if (row := ranges.advance(worker)).current != NONE]
    assert sorted(taken) == list(range(len(files)))
    ranges.guard.close()


def test_what_is_taken_begins_with_a_file_if_one_begins_near_the_middle() -> None:
    ranges = Ranges("aaaabbbbbbcccccc", 1)
    assert ranges.cut(0, 16) == 10
    assert ranges.cut(4, 10) == 7
    assert ranges.cut(9, 10) == 9
    ranges.guard.close()


def test_what_a_dead_worker_would_have_run_next_is_not_lost() -> None:
    ranges = Ranges("aaaaaaaa", 2)
    for _ in range(2):
        ranges.advance(0)
    assert ranges[0] == Row(2, 4, 0, 1)
    assert ranges.died(0) == 0
    assert ranges[0] == Row(1, 4)
    ranges.stop()
    assert ranges.advance(0) == Row(0, 0)
    ranges.guard.close()


def test_what_a_dead_worker_left_is_run_by_one_that_had_nothing_left() -> None:
    """It takes it in the step in which it would have ended."""
    ranges = Ranges("aaaa", 2)
    for worker in (0, 0, 1, 1, 1):
        ranges.advance(worker)
    assert ranges[1] == Row(2, 2, 3)
    assert ranges.died(0) == 0
    assert ranges.advance(1) == Row(2, 2, NONE, 1)
    assert ranges[1].is_busy
    assert ranges.advance(1).current == 1
    assert not ranges.advance(1).is_busy
    ranges.guard.close()
