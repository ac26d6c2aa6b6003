"""The look of all charts: the same colours on light and on dark pages, quiet axes, a title that says what it cost.

Every colour of data has a contrast of at least 3 : 1 against either background, so that a theme changes paper and ink
only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from discreet.answers.plots.offline import offline

if TYPE_CHECKING:
    from altair.typing import ChartType

COLOURS: Final = ("#3d7fd6", "#c9661b", "#2c9465", "#9a69d6", "#cf4f5a", "#1d8fa1", "#c2559b", "#8a8433")
"""Neighbours differ in hue; more than these nobody can tell apart."""
NEUTRAL: Final = "#7d828c"
FONT: Final = "system-ui, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


@dataclass(frozen=True, slots=True)
class Theme:
    """Paper and ink."""

    background: str
    text: str
    faint: str
    grid: str


THEMES: Final = {
    "light": Theme("#ffffff", "#1f2328", "#596069", "#e4e6ea"),
    "dark": Theme("#1b1b1f", "#e8e8ec", "#a3a7b0", "#35353c"),
}


def theme_of(name: object) -> Theme:
    if not isinstance(name, str) or name not in THEMES:
        raise ValueError(f"theme must be {' or '.join(map(repr, THEMES))}, not {name!r}")
    return THEMES[name]


def altair() -> Any:
    import discreet.preloaded  # noqa: F401

    try:
        return import_module("altair")
    except ImportError:
        raise ImportError("altair is not installed: pip install 'discreet[plot]'", name="altair") from None


def chart_of(records: Iterable[Mapping[str, Any]]) -> Any:
    """A chart of these records, without marks yet."""
    alt = altair()
    return alt.Chart(alt.Data(values=tuple(records)))  # a list would be copied with every change to the chart


def dressed(
    chart: Any, theme: Theme, title: str, subtitle: Sequence[str], *, letters: int = 96, label: int = 320
) -> ChartType:
    """A chart with its title, ready to be shown or saved: so many letters to a line, so many pixels to a label."""
    alt = altair()
    lines = [line for text in subtitle for line in wrap(text, letters, break_long_words=False)]
    heading = wrap(title, letters * 3 // 4) or [""]
    titled = chart.properties(title=alt.Title(heading if len(heading) > 1 else heading[0], subtitle=lines))
    done: ChartType = offline(titled.configure(**_config(theme, label)))
    return done


def sentence(theme: Theme, title: str, text: str) -> ChartType:
    """A chart of nothing that says why."""
    words = chart_of([{"text": text}]).mark_text(color=theme.faint, fontSize=13)
    return dressed(words.encode(text="text:N").properties(width=420, height=80), theme, title, [])


def shortened(text: str, most: int = 80) -> str:
    """
    >>> shortened("COUNT(*)"), shortened("abcdef", 4)
    ('COUNT(*)', 'abc…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _config(theme: Theme, label: int) -> dict[str, Any]:
    ink = {"labelColor": theme.text, "titleColor": theme.text}
    return {
        "background": theme.background,
        "font": FONT,
        "padding": 16,
        "view": {"stroke": None},
        "title": {
            "anchor": "start",
            "color": theme.text,
            "fontSize": 15,
            "fontWeight": 600,
            "subtitleColor": theme.faint,
            "subtitleFontSize": 12,
            "subtitlePadding": 4,
            "offset": 12,
        },
        "axis": {
            **ink,
            "domainColor": NEUTRAL,
            "gridColor": theme.grid,
            "tickColor": NEUTRAL,
            "labelFontSize": 12,
            "labelLimit": label,
            "maxExtent": 400,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titleLimit": 400,
            "titlePadding": 8,
        },
        "axisBand": {"grid": False},
        "header": {**ink, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 180},
        "legend": {
            **ink,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelLimit": 180,
            "symbolOpacity": 1,
        },
        "concat": {"spacing": 28},
        "facet": {"spacing": 18},
    }
