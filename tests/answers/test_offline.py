"""Charts in notebooks need no network: neither to be drawn, nor to be seen."""

from __future__ import annotations

import copy
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt
import pytest
from IPython.core.formatters import DisplayFormatter

from discreet.answers.plots import privacy_loss
from discreet.answers.plots.theme import THEMES, chart_of, dressed
from discreet.mechanisms import Laplace

NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
"""Names, which nobody fetches."""


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("there is no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def addresses(text: str) -> set[str]:
    return set(re.findall(r"""(?:https?:)?//[\w.-]+\.[a-z]{2,}[^\s"'<>)\\]*""", text)) - NAMESPACES


def chart() -> Any:
    drawn = chart_of([{"x": 1, "y": "<script>a</script>"}]).mark_bar().encode(x="x:Q", y="y:N")
    return dressed(drawn, THEMES["light"], "title", ["and more"])


def formatted(drawn: Any) -> dict[str, str]:
    """What a notebook is sent."""
    formatter: Any = DisplayFormatter
    shown, _ = formatter().format(drawn)
    return dict(shown)


CHARTS: dict[str, Callable[[], Any]] = {
    "one": chart,
    "beside": lambda: dressed(alt.hconcat(chart_of([]).mark_bar()), THEMES["dark"], "", []),
    "changed": lambda: chart().properties(width=50),
    "copied": lambda: copy.deepcopy(chart()),
    "losses": lambda: privacy_loss(Laplace(epsilon=1, sensitivity=1)),
}


@pytest.mark.parametrize("case", CHARTS)
def test_a_notebook_shows_a_picture_that_loads_nothing(case: str) -> None:
    drawn = CHARTS[case]()
    assert isinstance(drawn, alt.TopLevelMixin)
    shown = formatted(drawn)
    assert set(shown) == {"image/svg+xml", "text/plain"}
    assert shown["image/svg+xml"].startswith("<svg")
    assert addresses(shown["image/svg+xml"]) == set()
    assert not re.search(r"<script|<image|<foreignObject|\son\w+=|url\((?!#)", shown["image/svg+xml"], re.I)
    assert "Chart" in shown["text/plain"]
    assert drawn.to_dict()["$schema"]


def test_what_altair_shows_by_itself_loads_scripts() -> None:
    """So that the above means something."""
    assert addresses(str(formatted(chart_of([{"x": 1}]).mark_bar().encode(x="x:Q"))))


@pytest.mark.slow  # the scripts are put together for seconds
def test_a_page_of_a_chart_loads_nothing(tmp_path: Path) -> None:
    chart().save(tmp_path / "chart.html")
    page = (tmp_path / "chart.html").read_text(encoding="utf-8")
    assert not re.search(r"""<script[^>]*\ssrc=|<link[^>]*\shref=""", page)
    assert "vegaEmbed" in page


def test_files_are_written_as_altair_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chart().save(tmp_path / "chart.svg")
    assert (tmp_path / "chart.svg").read_text(encoding="utf-8").startswith("<svg")
    seen: dict[str, Any] = {}
    monkeypatch.setattr(alt.TopLevelMixin, "save", lambda *_, **settings: seen.update(settings))
    chart().save(tmp_path / "chart.html", scale_factor=2)
    assert seen == {"inline": True, "scale_factor": 2}
