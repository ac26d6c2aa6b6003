"""Examples in docstrings do what they show.

Pytest's own way would import every module and look through every object of it, in every worker, to find these few.
"""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src"
PROMPT = ">" * 3
MODULES = sorted(
    ".".join(file.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
    for file in SOURCES.rglob("*.py")
    if PROMPT in file.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("module", MODULES)
def test_examples(module: str) -> None:
    found = doctest.testmod(import_module(module), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.attempted
    assert found.failed == 0


def test_there_are_some() -> None:
    assert len(MODULES) > 30
