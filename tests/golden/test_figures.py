"""What is promised in numbers stays what it is: `figures.py` says why, and how it is changed on purpose."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.golden.figures import FILE, GROUPS, plain

KNOWN: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("group", GROUPS)
def test_figures_are_what_they_were(group: str) -> None:
    found = {name: plain(value) for name, value in GROUPS[group]()}
    other = {name: (found.get(name), then) for name, then in KNOWN[group].items() if not _alike(found.get(name), then)}
    assert not other, "now, and then; what is new is put on record by `python -m tests.golden.figures`"


def _alike(now: Any, then: Any) -> bool:
    """Floats to ten digits, which every machine's logarithms have; everything else exactly."""
    if isinstance(then, list):
        return isinstance(now, list) and len(now) == len(then) and all(map(_alike, now, then))
    if isinstance(then, float):
        return bool(now == pytest.approx(then, rel=1e-10, abs=1e-290))
    if isinstance(then, dict):
        return isinstance(now, dict) and all(_alike(now.get(name), value) for name, value in then.items())
    return type(now) is type(then) and bool(now == then)
