"""Workers tell less of what passes, and all of what does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
REGISTERED = """
from tests.terse import Terse


def pytest_configure(config):
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Terse(config))
"""
OUTCOMES = """
import pytest


@pytest.fixture
def unprepared():
    raise ValueError("before")


@pytest.fixture
def untidy():
    yield
    raise ValueError("after")


def test_passes(): pass
def test_fails(): assert 1 == 2
def test_is_not_begun(unprepared): pass
def test_ends_badly(untidy): pass
@pytest.mark.skip
def test_is_skipped(): pass
def test_skips_itself(): pytest.skip()
@pytest.mark.xfail
def test_fails_as_expected(): assert False
"""


def test_everything_but_success_is_told(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(REGISTERED, encoding="utf-8")
    (tmp_path / "test_outcomes.py").write_text(OUTCOMES, encoding="utf-8")
    own = ["-p", "xdist", "-p", "no:cacheprovider", "--import-mode=importlib", "-c", "/dev/null"]
    known = {key: value for key, value in os.environ.items() if key == "PYTHONPYCACHEPREFIX"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "1", *own, str(tmp_path)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **known},
        capture_output=True,
        text=True,
    )
    assert "1 failed, 2 passed, 2 skipped, 1 xfailed, 2 errors" in done.stdout.splitlines()[-1], done.stdout
    assert all(told in done.stdout for told in ("assert 1 == 2", "ValueError: before", "ValueError: after"))
