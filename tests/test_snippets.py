"""Every snippet in README and docs runs, and what it is said to print is what it prints, but for the noise."""

from __future__ import annotations

import io
import re
import shutil
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from discreet.lab.hospital import build

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUNNABLE = {"python", "text"}


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def shape(text: str) -> list[str]:
    """The text without its numbers, receipts and widths of tables: noise changes those and nothing else."""
    text = re.sub(r"\b\d+:[0-9a-f]{64}\b", "#", text)
    return re.sub(r"─+", "─", re.sub(r"-?\d[\d.,]*", "#", text)).split()


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("hospital")).parent


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_snippets_run_and_print_what_the_page_shows(
    page: Path, hospital: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page has a folder of its own, with the hospital of the demo in it."""
    shutil.copytree(hospital, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = ""
    for language, code in blocks(page):
        if language == "python":
            output = io.StringIO()
            with redirect_stdout(output):
                exec(compile(code, str(page), "exec"), names)
            printed = output.getvalue()
        elif language == "text":
            assert shape(printed) == shape(code)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_block_escapes_execution(page: Path) -> None:
    assert {language for language, _ in blocks(page)} <= RUNNABLE


def test_make_targets_named_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"^    make ([a-z-]+) ", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert named
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named)


def test_the_shape_of_a_text_ignores_numbers_and_nothing_else() -> None:
    assert shape("n: 41 ± 3.5") == shape("n: -1,042 ± 3")
    assert shape("n: 41 ± 3") != shape("m: 41 ± 3")


def test_the_shape_of_a_text_ignores_receipts_and_the_width_of_tables() -> None:
    assert shape(f"─── receipt 3:{'0a' * 32}") == shape(f"───── receipt 17:{'fe' * 32}")
    assert shape("receipt 3:abc") != shape("receipt 3:abd")
