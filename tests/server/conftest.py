"""One server for all tests that leave it as it was, and a rigged one whose questions last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.running import RIGGED, Running, build, serving, until


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(build(Path(tmp_path_factory.mktemp("server")))) as running:
        yield running


@pytest.fixture(scope="session")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    policy = build(Path(tmp_path_factory.mktemp("rigged")))
    with serving(policy, "--workers", "4", program=RIGGED) as running:  # two for each caller
        yield running


@pytest.fixture
def rigged(lasting: Running) -> Running:
    """Questions of earlier tests are let go, however those ended, and new ones are held again."""
    lasting.release()
    with lasting.client() as client:
        until(lambda: client.get("health").json()["running"] == 0)
    for mark in (*lasting.policy.parent.glob("begun-*"), lasting.policy.parent / "go"):
        mark.unlink(missing_ok=True)
    return lasting
