"""Charts are drawn beside threads that import pandas, which altair would take half imported."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from discreet.answers.plots.beside import drawn_beside
from discreet.answers.plots.embedded import picture
from discreet.answers.plots.theme import THEMES, chart_of, dressed

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
