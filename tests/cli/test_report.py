"""`discreet report POLICY`: what it writes, and what it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.policy import Policy
from tests.cli.runs import run, told
from tests.curator.worlds import SOURCES


def test_a_page_is_written_once(policy: Policy) -> None:
    assert "may be published" in run("report", policy.path).stdout
    assert "Statement of privacy: hospital" in Path("hospital.statement.html").read_text(encoding="utf-8")
    refused = run("report", policy.path, code=2)
    assert "exists already" in refused.stderr
    assert {path.name for path in policy.folder.iterdir()} == {*SOURCES, "hospital.toml"}


def test_programs_get_it_and_files_are_what_they_are_called(policy: Policy) -> None:
    made = told("report", policy.path, "--no-names")
    assert [each["analyst"] for each in made["released"]["by"]] == ["analyst 1", "analyst 2"]
    assert list(Path().iterdir()) == []
    run("report", policy.path, "-o", "said.json")
    assert json.loads(Path("said.json").read_text(encoding="utf-8"))["registry"] == made["registry"]
    assert "neither .html nor .json" in run("report", policy.path, "-o", "said.pdf", code=2).stderr


@pytest.mark.long
def test_an_audit_may_go_with_it(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.audit import policies

    whole = policies.audit_policy
    monkeypatch.setattr(policies, "audit_policy", lambda read, progress: whole(read, most=1, progress=progress))
    audit = told("report", policy.path, "--audit")["audit"]
    assert (audit["questions"], audit["differences"]) == (1, 0)
    assert audit["comparisons"] >= 1
