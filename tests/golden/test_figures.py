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
    then = KNOWN.get(group, {})
    other = {
        name: (found.get(name), then.get(name)) for name in found | then if not _alike(found.get(name), then.get(name))
    }
    assert not other, (
        "now, and then; what is new, or changed on purpose, goes on record: python -m tests.golden.figures"
    )


def _alike(now: Any, then: Any) -> bool:
    """Floats to ten digits, which every machine's logarithms have; everything else exactly."""
    if isinstance(then, list):
        return isinstance(now, list) and len(now) == len(then) and all(map(_alike, now, then))
    if isinstance(then, float):
        return bool(now == pytest.approx(then, rel=1e-10, abs=1e-290))
    if isinstance(then, dict):
        return (
            isinstance(now, dict) and now.keys() == then.keys() and all(_alike(now[name], then[name]) for name in then)
        )
    return type(now) is type(then) and bool(now == then)
