from __future__ import annotations

from pathlib import Path

import pytest

from discreet.policy import Policy
from tests.curator.worlds import hospital


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Policy:
    """A policy, and an empty folder to work in."""
    (tmp_path / "hospital").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return hospital(tmp_path / "hospital")
