"""The exercises of the course: one notebook for each week, run cell by cell as readers run them."""

from __future__ import annotations

import ast
import re
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from discreet.server.learn.lessons import WEEKS
from tests.notebooks import EXERCISES, FOLDER, executed, read


@cache
def run(path: Path) -> tuple[list[Any], str]:
    """What the code cells end with, and what they print: without a kernel, which takes seconds to start."""
    names: dict[str, Any] = {}
    shown, printed = [], StringIO()
    for cell in read(path).cells:
        if cell.cell_type == "code":
            tree = ast.parse(cell.source, str(path))
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            with redirect_stdout(printed):
                exec(compile(tree, str(path), "exec"), names)
                if isinstance(last, ast.Expr):
                    shown.append(eval(compile(ast.Expression(last.value), str(path), "eval"), names))
    return shown, printed.getvalue()


def test_every_week_has_its_notebook() -> None:
    assert [FOLDER.parent / week.notebook for week in WEEKS] == EXERCISES


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_exercises_run(path: Path) -> None:
    shown, printed = run(path)
    assert any(value is not None for value in shown)
    assert not re.search(r"\b(nan|inf)\b", printed)


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_exercises_are_stored_without_what_they_show_and_say_what_to_do(path: Path) -> None:
    notebook = read(path)
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    assert all(
        cell.outputs == [] and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code"
    )
    number = int(path.stem.split("-")[1])
    assert texts[0].startswith(f"# Week {number}: {WEEKS[number - 1].title.lower()[:8]}")
    assert len(re.findall(r"^## Exercise \d$", "\n".join(texts), re.MULTILINE)) >= len(WEEKS[number - 1].tasks)
    titles = [lesson.title for lesson in WEEKS[number - 1].lessons]
    assert all(title.split(":")[0].split(",")[0] in texts[0] for title in titles)


@pytest.mark.slow
@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_exercises_run_in_a_kernel(path: Path) -> None:
    executed(path)


# what the exercises find, where it is exact


def test_figures_of_the_lectures_in_the_exercises() -> None:
    weeks = {path.stem.split("-")[1]: path for path in EXERCISES}
    (city, _, rebecca, _), _ = run(weeks["1"])
    assert [many for _, many in city] == [54_000, 6, 3, 1]
    assert rebecca == (2, 2, {"HIV": 0.5, "Ulcerative colitis": 0.5})
    (_, steps, (posterior, _), *_), _ = run(weeks["2"])
    assert steps == [25, 75, 125, 175]
    assert round(posterior, 3) == 0.058
    assert "ε = 0.25: up to 8 days" in run(weeks["8"])[1]
