"""The desk without a browser: from files to a policy that is open, and what it lets nobody do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.policy import read
from tests.server.desk import AtDesk, build, desk, open_it, walk, write
from tests.server.visitor import Visitor, shown


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtDesk]:
    with desk(build(tmp_path_factory.mktemp("desk"))) as made:
        yield made


@pytest.fixture(scope="module")
def owner(clinic: AtDesk) -> Visitor:
    return clinic.owner()


def test_from_files_to_a_policy_that_is_open(tmp_path: Path) -> None:
    with desk(build(tmp_path)) as made:
        owner = made.owner()
        draft = walk(owner)
        page = owner.get(f"{draft}/review")
        assert "Still to decide" not in page.text
        assert write(owner, draft).status_code == 303
        policy = read(tmp_path / "clinic.toml")
        assert policy.tables["visits"].max_rows == 10
        assert open_it(owner, "clinic.toml") == "/data/clinic/owner"
        assert "Owner of clinic" in shown(owner.get("/data/clinic/owner").text)
