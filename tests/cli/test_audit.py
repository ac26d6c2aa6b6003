"""`discreet audit POLICY`: what it says, what it writes, what it leaves alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from discreet.audit import policies
from discreet.audit.questions import fits, releases
from discreet.cli import audit as command
from discreet.curator.state import balances, entries
from discreet.policy import Policy
from discreet.sql.measures import Contribution
from discreet.sql.release import Release
from tests.cli.runs import run, spend, told
from tests.curator.worlds import SOURCES

FEW = ("--questions", "2")


@pytest.mark.long
def test_a_policy_is_audited_and_the_page_written(policy: Policy, tmp_path: Path) -> None:
    spend(policy, 0.5)
    before = balances(policy), entries(policy), {path: path.stat().st_mtime_ns for path in policy.folder.rglob("*")}
    shown = run("audit", policy.path, *FEW).stdout
    assert "2 questions" in shown
    assert "no difference" in shown
    assert "no source, state or ledger was read" in shown
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["hospital.audit.html"]
    assert "Audit of hospital" in Path("hospital.audit.html").read_text(encoding="utf-8")
    after = {path: path.stat().st_mtime_ns for path in policy.folder.rglob("*")}
    assert (balances(policy), entries(policy)) == before[:2]
    assert {path: when for path, when in after.items() if "sqlite" not in path.name} == {
        path: when for path, when in before[2].items() if "sqlite" not in path.name
    }


def test_a_policy_alone_is_enough_and_stays_alone(policy: Policy, tmp_path: Path) -> None:
    for file in SOURCES:
        (policy.folder / file).unlink()
    found = told("audit", policy.path, *FEW, "--no-report")
    assert (found["policy"], found["questions"], found["differences"], found["report"]) == ("hospital", 2, 0, None)
    assert found["sensitivity"] == 1
    assert found["comparisons"] == sum(result["pairs"] for result in found["results"]) > 10
    assert [result["state"] for result in found["results"]] == ["the same", "the same"]
    assert all(result["difference"] is None for result in found["results"])
    assert list(policy.folder.iterdir()) == [policy.path]
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.long
def test_a_difference_ends_with_6_and_is_told(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Release, "contribution", Contribution(1, 1, 1))
    found = told("audit", policy.path, *FEW, "--report", "mine.html", code=command.DIFFERENCE)
    (difference,) = [result["difference"] for result in found["results"] if result["difference"]]
    assert difference["kind"] == "distance"
    assert "beyond the declared sensitivity" in difference["words"]
    assert found["sensitivity"] > 1
    assert difference["words"] in Path("mine.html").read_text(encoding="utf-8")
    shown = run("audit", policy.path, *FEW, "--report", "mine.html", code=6).stdout
    assert difference["words"] in shown
    assert "1 distinguishes two neighbours" in shown


@pytest.mark.long
def test_options_may_stand_before_the_policy(policy: Policy) -> None:
    one = ("--questions", "1")
    found = told("audit", *one, "--no-report", policy.path)
    assert found == told("audit", "policy", policy.path, *one, "--no-report")


@pytest.mark.long
def test_fits_are_audited_on_demand(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of them: all of them are audited in the slow suite."""
    monkeypatch.setattr(policies, "fits", lambda given: fits(given)[:1])
    monkeypatch.setattr(policies, "releases", lambda given: releases(given)[:1])
    shown = run("audit", policy.path, "--questions", "1", "--no-report", "--fits").stdout
    assert re.search(r"^fits +1 +0 +0 ", shown, re.MULTILINE)
    assert re.search(r"^releases +1 +0 +0 ", shown, re.MULTILINE)
    assert "3 questions" in shown


def test_wrong_use_is_told_before_the_work_begins(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.audit.policies.audit_policy", None)
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    for wrong, reason in {
        ("audit",): "Missing argument",
        ("audit", "none.toml"): "cannot be read",
        ("audit", policy.path, "--questions", "0"): "must be at least 1",
        ("audit", policy.path, "--report", "no/such/folder.html"): "cannot be written",
        ("audit", policy.path, "--report", policy.path): "is the policy itself",
        ("audit", policy.path, "--report", "."): "is a directory",
        ("audit", policy.path, "--report", "a.html", "--no-report"): "contradict each other",
        ("audit", policy.path, "--fits"): "install discreet[learn]",
    }.items():
        assert reason in told(*wrong, code=2)["error"]["reason"]


def test_the_command_explains_itself() -> None:
    shown = " ".join(run("audit", "-h").stdout.split())
    assert "discreet audit POLICY" in shown
    more = " ".join(run("audit", "policy", "-h").stdout.split())
    assert "6 two neighbours could be distinguished" in more
    assert "No source, no state and no ledger is read" in more
    assert "audit" in run("-h").stdout
