"""What is promised in numbers stays what it is: `figures.py` says why, and how it is changed on purpose."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.golden.figures import FILE, GROUPS, plain

KNOWN: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("group", GROUPS)
def test_figures_are_what_they_were(group: str) -> None:
    names = iter(KNOWN[group])
    for name, value in GROUPS[group]():
        assert name == next(names)
        now, then = plain(value), KNOWN[group][name]
        assert _alike(now, then), f"{name}: {now}, and it was {then}"
    assert not list(names)


def _alike(now: Any, then: Any) -> bool:
    """Floats to ten digits, which every machine's logarithms have; everything else exactly."""
    if isinstance(then, list):
        return isinstance(now, list) and len(now) == len(then) and all(map(_alike, now, then))
    if isinstance(then, float):
        return bool(now == pytest.approx(then, rel=1e-10, abs=1e-290))
    return type(now) is type(then) and bool(now == then)
