"""A policy that is changed while it is served."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.policy import read
from discreet.server.datasets import Dataset
from tests.server.running import POLICY, build

WITHOUT = POLICY.replace("[analysts.finance]\nepsilon = 5.0\n", "")


@pytest.fixture
def dataset(tmp_path: Path) -> Iterator[Dataset]:
    found = Dataset(read(build(tmp_path, patients=3)))
    yield found
    found.close()


def test_who_is_taken_out_is_shut_out(dataset: Dataset, caplog: pytest.LogCaptureFixture) -> None:
    dataset.curator.policy.path.write_text(WITHOUT, encoding="utf-8")
    dataset.reload()
    assert list(dataset.curator.policy.analysts) == ["epidemiology"]
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("max = 120", "max = -1"), "max"),
        (("epsilon = 30.0", "epsilon = 31.0"), "budget raise"),
        (('name = "hospital"', 'name = "clinic"'), "start the server again"),
        (('name = "hospital"', 'name = "hospital"\nstate = "elsewhere"'), "start the server again"),
    ],
)
def test_a_policy_that_cannot_be_used_is_complained_about_once(
    dataset: Dataset, caplog: pytest.LogCaptureFixture, change: tuple[str, str], told: str
) -> None:
    """Somebody was taken out as well, and is still let in: the owner must be able to see why."""
    path = dataset.curator.policy.path
    assert WITHOUT.count(change[0]) == 1
    path.write_text(WITHOUT.replace(*change), encoding="utf-8")
    with caplog.at_level(logging.WARNING, "discreet.server"):
        for _ in range(3):
            dataset.reload()
        assert "finance" in dataset.curator.policy.analysts
        (record,) = caplog.records
        assert "the policy before still holds" in record.getMessage()
        assert told in record.getMessage()
        assert "\n" not in record.getMessage()
        path.write_text(WITHOUT, encoding="utf-8")
        dataset.reload()
    assert list(dataset.curator.policy.analysts) == ["epidemiology"]
    assert len(caplog.records) == 1
