"""Figures in README and docs: each comes from a result file, or stands in a list that says what it is instead."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Any, Final

from benchmarks import marks

ROOT: Final = Path(__file__).parents[1]
LISTED: Final[list[dict[str, Any]]] = tomllib.loads((ROOT / "tests" / "said.toml").read_text("utf-8"))["said"]
UNITS: Final = r"×|times\b|ms\b|µs\b|s\b|[kMG]B\b|seconds?\b|minutes?\b|hours?\b|%|per cent"
MEASURED: Final = re.compile(rf"(?<![\w.])\d[\d.,]*\s*(?:{UNITS})")
MADE: Final = ("docs/benchmarks.md", "docs/auditing-others.md", "docs/guide/codes.md", "docs/guide/language.md")
"""Pages that a program writes from what it found; their own tests compare them."""
DATED: Final = ("docs/mutants.md",)
"""Tables of runs, each with its seed, that are added to and never changed."""
FOLDERS: Final = ("docs/decisions/", "docs/proofs/", "docs/reference/")
"""Records of their day (decision 099), and pages that are made from docstrings."""
KEPT: Final = "docs/guide/28-models-beside-others.md"


def prose(text: str) -> str:
    """Without what is executed, quoted or marked."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!-- tables: .*?<!-- end of tables -->", "", text, flags=re.DOTALL)
    text = re.sub(r"^(?: {4}|\t).*$", "", marks.MARK.sub("…", text), flags=re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "…", text)


def pages() -> dict[str, str]:
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    names = {path.relative_to(ROOT).as_posix(): path for path in paths}
    return {
        name: prose(path.read_text("utf-8"))
        for name, path in names.items()
        if name not in (*MADE, *DATED) and not name.startswith(FOLDERS)
    }


def unexplained(name: str, text: str) -> list[str]:
    """What looks measured and is in no listed text of the page."""
    told = [quote for each in LISTED if each["page"] == name for quote in each["texts"]]
    for quote in told:
        text = text.replace(prose(quote), "")
    return [text[max(0, found.start() - 40) : found.end() + 20] for found in MEASURED.finditer(text)]


def test_what_looks_measured_has_a_mark_or_is_explained() -> None:
    found = {name: left for name, text in pages().items() if (left := unexplained(name, text))}
    assert not found, "mark it (benchmarks/marks.py) or list it in tests/said.toml"


def test_a_figure_without_a_mark_is_noticed() -> None:
    assert unexplained("docs/new.md", prose("It is 3.5 times as fast, in 20 ms.")) != []
    assert unexplained("docs/new.md", prose("<!-- figure a/b ours -->3<!-- / --> times, `20 ms`\n\n    7 s\n")) == []


def test_what_is_listed_is_still_said_and_its_tests_exist() -> None:
    shown = pages()
    for each in LISTED:
        assert each["why"], each["page"]
        assert not [text for text in each["texts"] if prose(text) not in shown[each["page"]]], each["page"]
        assert "test" not in each or (ROOT / each["test"]).is_file()


def test_figures_that_follow_by_arithmetic() -> None:
    """Guide 30: a tree of nine levels over 366 days, its nodes weighed with their halves. Guide 22: two coins."""
    node = [1.0]
    for _ in range(1, 9):
        node.append(1 / (1 + 1 / (2 * node[-1])))
    days = range(1, 367)
    summed = [sum(node[level] for level in range(9) if day >> level & 1) for day in days]
    assert f"{math.sqrt(9 * sum(summed) / 366):.1f}" == "4.7"
    assert f"{math.sqrt(sum(days) / 366):.1f}" == "13.5"
    share = 0.02
    said = 1 / 4 + share / 2
    assert round(said * (1 - said) / (1 / 4) / (share * (1 - share))) == 39


def test_guides_have_the_number_of_their_file_in_their_title() -> None:
    for path in (ROOT / "docs" / "guide").glob("[0-9]*.md"):
        assert path.read_text("utf-8").startswith(f"# {int(path.name[:2])} · "), path.name
