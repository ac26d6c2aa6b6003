"""`--dummy`: dummy data for nothing, without sources, without a trace."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from discreet.curator.dummy import NOTE
from discreet.curator.state import balances, entries
from discreet.policy import Policy
from tests.cli.runs import run, told
from tests.curator.worlds import SOURCES, hospital

BY_SEX = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"
ASKED = ("--epsilon", "0.2", "--dummy")


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return hospital(tmp_path)


@pytest.fixture
def bare(policy: Policy) -> Policy:
    """The policy alone: no source is there."""
    for file in SOURCES:
        (policy.folder / file).unlink()
    return policy


@pytest.mark.parametrize("command", ["query", "preview"])
def test_a_policy_alone_is_enough_and_stays_alone(
    command: str, bare: Policy, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    shown = run(command, bare.path, BY_SEX, *ASKED).stdout
    assert "dummy data" in shown
    assert "and is free" in shown
    found = told(command, bare.path, BY_SEX, *ASKED)
    assert NOTE in found["notes"]
    assert found["columns"] == ["sex", "n"]
    assert list(bare.folder.iterdir()) == [bare.path]
    assert list(place.iterdir()) == []


def test_answers_have_rows_and_no_receipt(bare: Policy) -> None:
    found = told("query", bare.path, BY_SEX, *ASKED, "--analyst", "fraud", "--time-limit", "20")
    assert [row[0] for row in found["rows"]] == ["F", "M"]
    assert all(row[1] > 100 for row in found["rows"])
    assert found["receipt"] == ""
    assert "receipt" not in run("query", bare.path, BY_SEX, *ASKED).stdout


def test_the_budget_is_as_it_was(policy: Policy) -> None:
    paid = told("query", policy.path, BY_SEX, "--epsilon", "0.1")
    before = balances(policy), entries(policy)
    assert len(before[1]) == 1
    for _ in range(2):
        free = told("query", policy.path, BY_SEX, "--epsilon", "0.5", "--fresh", "--dummy")
        assert free["remaining"]["epsilon"] > paid["remaining"]["epsilon"]
    told("preview", policy.path, BY_SEX, *ASKED)
    assert (balances(policy), entries(policy)) == before


def test_the_cost_is_the_real_one(policy: Policy) -> None:
    free, real = (told("preview", policy.path, BY_SEX, "--epsilon", "0.2", *more) for more in (("--dummy",), ()))
    free["notes"].remove(NOTE)
    assert free == real


def test_refusals_are_the_real_ones(bare: Policy) -> None:
    assert told("query", bare.path, "SELECT age FROM patients", *ASKED, code=3)["error"]["spent"] == 0
    assert told("query", bare.path, BY_SEX, "--epsilon", "9", "--dummy", code=4)["error"]["code"] == "budget-exhausted"
    assert told("query", bare.folder / "none.toml", BY_SEX, *ASKED, code=2)["error"]["reason"]
    assert told("query", bare.path, BY_SEX, "--dummy", code=3)["error"]["code"] == "cost-missing"


@pytest.mark.parametrize("command", ["query", "preview"])
def test_the_option_explains_itself(command: str) -> None:
    assert "dummy data" in " ".join(run(command, "-h").stdout.split())
