"""Charts are drawn beside threads that import pandas, which altair would take half imported."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from discreet.answers.plots import privacy_loss
from discreet.answers.plots.beside import beside_others, drawn_beside
from discreet.answers.plots.embedded import picture
from discreet.answers.plots.theme import THEMES, chart_of, dressed
from discreet.lab.blocks import Picture
from discreet.lab.report import standalone
from discreet.learn.curves import LearningCurve
from discreet.mechanisms import Laplace
from tests.answers.test_answers import answer, preview

BEGUN, GO = threading.Event(), threading.Event()
HALF = f"""
from {__name__} import BEGUN, GO
BEGUN.set()
assert GO.wait(300)
DataFrame = Series = Index = Timestamp = type("Timestamp", (), {{}})
"""
"""A pandas whose import lasts."""


def chart() -> object:
    marked = chart_of([{"x": 1, "y": "a"}]).mark_bar().encode(x="x:Q", y="y:N")
    return dressed(marked, THEMES["light"], "title", [])


def drawn() -> str | None:
    return picture(chart, "a chart")


@pytest.fixture(autouse=True)
def _no_pandas(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        for name in [name for name in sys.modules if name.partition(".")[0] == "pandas"]:
            patch.delitem(sys.modules, name)
        yield
        sys.modules.pop("pandas", None)


def test_pandas_that_another_thread_imports_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page failed as this does when somebody looked at an answer while the first fit loaded scikit-learn."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pandas.py").write_text(HALF, encoding="utf-8")
    due = drawn()
    with ThreadPoolExecutor(2) as pool:
        imported = pool.submit(import_module, "pandas")
        try:
            assert BEGUN.wait(300)
            with pytest.raises(AttributeError, match="Timestamp"):
                chart()
            made = pool.submit(drawn)
            with pytest.raises(TimeoutError):
                made.result(0.05)
        finally:
            GO.set()
        assert made.result(300) == due
        assert imported.result(300) is sys.modules["pandas"]


def test_an_import_that_begins_while_something_is_drawn_is_waited_for_too(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def draw() -> str:
        tries.append("pandas" in sys.modules)
        if len(tries) == 1:
            monkeypatch.setitem(sys.modules, "pandas", ModuleType("pandas"))
            raise AttributeError("half of it is there")
        return "drawn"

    assert drawn_beside(draw) == "drawn"
    assert tries == [False, True]


@pytest.mark.parametrize("there", [False, True])
def test_other_errors_are_told(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if there:
        monkeypatch.setitem(sys.modules, "pandas", ModuleType("pandas"))
    with pytest.raises(AttributeError, match="another"):
        drawn_beside(lambda: getattr(ModuleType("x"), "another"))  # noqa: B009  # as a program that is wrong does


CHARTS: dict[str, Callable[[], object]] = {
    "answer": lambda: answer().plot(),
    "preview": lambda: preview().plot("dark"),
    "privacy loss": lambda: privacy_loss(Laplace(epsilon=1, sensitivity=1)),
    "learning curve": lambda: LearningCurve("GaussianNB", (0.1, 1.0), ((0.5, 0.7), (0.9, 0.9)), (0.95,), 1e-5).plot(),
    "notebook": lambda: MADE["chart"]._repr_mimebundle_(),
    "file": lambda: MADE["chart"].save(StringIO(), "svg"),
    "lab": lambda: standalone(Picture(chart, "a chart")),
}
MADE: dict[str, Any] = {}


def test_charts_of_users_wait_in_their_own_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer.plot() and the others, a chart that is shown or written later, and pictures of the lab."""
    BEGUN.clear()
    GO.clear()
    MADE["chart"] = chart()
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pandas.py").write_text(HALF, encoding="utf-8")
    with ThreadPoolExecutor(len(CHARTS) + 1) as pool:
        pool.submit(import_module, "pandas")
        try:
            assert BEGUN.wait(300)
            made = {name: pool.submit(draw) for name, draw in CHARTS.items()}
            done, _ = wait(made.values(), 0.2)
        finally:
            GO.set()
        assert not done
        for name, each in made.items():
            assert each.exception(300) is None, name


def test_a_function_that_draws_keeps_its_name_and_what_it_is_given() -> None:
    @beside_others
    def draw(first: int, *, second: int = 2) -> tuple[int, int]:
        """Drawn."""
        return first, second

    assert (draw(1), draw(1, second=3), draw.__name__, draw.__doc__) == ((1, 2), (1, 3), "draw", "Drawn.")
