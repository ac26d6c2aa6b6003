"""`discreet audit zoo`."""

from __future__ import annotations

import json

import pytest

from discreet.audit.zoo import ZOO, Specimen
from tests.cli.runs import run

QUICK = [specimen for specimen in ZOO if specimen.samples <= 20_000][:6]
"""That all of them are caught, the tests of the auditor show."""


@pytest.mark.parametrize("zoo", [QUICK, pytest.param(ZOO, marks=pytest.mark.slow)], ids=["quick", "whole"])
def test_all_are_caught_and_told(zoo: list[Specimen], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.audit.zoo.ZOO", zoo)
    done = run("audit", "zoo")
    assert all(specimen.name in done.stdout for specimen in zoo)
    assert f"{len(zoo)} of {len(zoo)} caught" in done.stdout


def test_what_escapes_is_named() -> None:
    """With a few samples some escape: that is no success."""
    done = run("audit", "zoo", "--samples", "1000", "--json", code=6)
    found = json.loads(done.stdout)
    assert [item["mechanism"] for item in found] == [specimen.name for specimen in ZOO]
    escaped = [item["mechanism"] for item in found if not item["violated"]]
    assert escaped
    assert done.stderr.strip() == f"escaped: {', '.join(escaped)}"


def test_twins_are_not_accused() -> None:
    done = run("audit", "zoo", "--twins", "--samples", "2000", "--confidence", "0.99999999")
    assert f"0 of {len(ZOO)} accused" in done.stdout


def test_wrong_use_is_told() -> None:
    run("audit", "zoo", "--samples", "5", code=2)
    run("audit", "zoo", "--confidence", "1", code=2)
