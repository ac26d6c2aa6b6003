"""Pages for whoever comes next say what is so: files that they name exist, decisions are listed, lines are counted."""

from __future__ import annotations

import ast
import fnmatch
import re
from pathlib import Path
from typing import Final

import pytest

import discreet
from tests import decisions

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src" / "discreet"
ARCHITECTURE: Final = (ROOT / "docs" / "architecture.md").read_text("utf-8")
NAMED: Final = re.compile(r"`([a-z_0-9/]+(?:\.py|/))`")
PAGES: Final = [ROOT / name for name in ("docs/architecture.md", "docs/glossary.md", "CONTRIBUTING.md", "SECURITY.md")]
LINKED: Final = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_they_name_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    named = NAMED.findall(text)
    assert not [name for name in named if not (SOURCE / name).exists() and not (ROOT / name).exists()]
    assert not [link for link in LINKED.findall(text) if not (page.parent / link).exists()]


def test_every_decision_is_listed_with_its_date() -> None:
    assert decisions.INDEX.read_text("utf-8") == decisions.page(), "run python -m tests.decisions"


def test_numbers_of_decisions_are_unique() -> None:
    numbers = [name[:3] for name in decisions.titles()]
    assert len(numbers) == len(set(numbers))


def code_lines(path: Path) -> int:
    """Without blank lines, comments and docstrings."""
    text = path.read_text("utf-8")
    strings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            strings.update(range(node.lineno, (node.end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for number, line in lines if line.strip() and line.lstrip()[0] != "#" and number not in strings)


def trusted() -> list[Path]:
    """The files that `make coverage` covers to the last branch."""
    setting = re.search(r"^TRUSTED := (.+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert setting is not None
    patterns = setting[1].split(",")
    assert all(any(fnmatch.fnmatch(str(path), pattern) for path in SOURCE.rglob("*.py")) for pattern in patterns)
    return [path for path in SOURCE.rglob("*.py") if any(fnmatch.fnmatch(str(path), pattern) for pattern in patterns)]


def test_the_trusted_base_has_as_many_lines_as_is_said() -> None:
    said = re.search(r"\*\*([\d,]+) lines of code\*\* in (\d+) files", ARCHITECTURE)
    assert said is not None
    paths = trusted()
    lines = sum(map(code_lines, paths))
    assert abs(int(said[1].replace(",", "")) - lines) <= 0.05 * lines, f"{lines} lines of code in {len(paths)} files"
    assert abs(int(said[2]) - len(paths)) <= 0.05 * len(paths), f"{lines} lines of code in {len(paths)} files"


def test_every_package_is_in_the_table_of_layers() -> None:
    layers = ARCHITECTURE.partition("## Layers")[2].partition("\n## ")[0]
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    packages |= {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "version"}
    assert not {name for name in packages if f"`{name}`" not in layers}


def test_the_changelog_has_the_version_that_is_built() -> None:
    assert f"## {discreet.__version__} " in (ROOT / "CHANGELOG.md").read_text("utf-8")
