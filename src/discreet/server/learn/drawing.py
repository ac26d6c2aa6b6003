"""What the charts of all lessons share: narrow enough for a phone, and in the look of answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from discreet.curator.answers.plots.theme import COLOURS, NEUTRAL, altair, chart_of, dressed, theme_of

WIDTH: Final = 350
LOOK: Final = theme_of("light")
INK: Final = LOOK.text
OPEN, PRIVATE, OTHER = COLOURS[1], COLOURS[0], COLOURS[2]
"""The colours of what is not protected, of what is, and of a third."""

Records = Iterable[Mapping[str, Any]]


def finished(chart: Any, title: str, *subtitle: str) -> Any:
    return dressed(chart, LOOK, title, subtitle)


def palette(field: str, colours: Mapping[str, str], *, columns: int = 2) -> Any:
    """Colours for the values of a field, with a legend below."""
    alt = altair()
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(f"{field}:N", scale=scale, legend=alt.Legend(title=None, orient="bottom", columns=columns))


def truth_rule(value: float, axis: str = "x", text: str = "truth") -> Any:
    """A dashed line at the true value, named at its end."""
    alt = altair()
    base = chart_of([{"truth": value, "text": text}])
    line = base.mark_rule(color=INK, strokeDash=[4, 3]).encode(**{axis: alt.X("truth:Q") if axis == "x" else "truth:Q"})
    place = {"x": "truth:Q", "y": alt.value(-6)} if axis == "x" else {"x": alt.value(WIDTH), "y": "truth:Q"}
    words = base.mark_text(
        color=INK, fontSize=12, align="center" if axis == "x" else "right", dy=0 if axis == "x" else -7
    )
    return alt.layer(line, words.encode(text="text:N", **place))


def whiskers(
    records: Sequence[Mapping[str, Any]], *, x: Any, colours: Mapping[str, str], height: int = 34, order: str = "row"
) -> Any:
    """One row for each record: a dot at `value`, a bar from `low` to `high`, `shown` beside it."""
    alt = altair()
    rows = list(dict.fromkeys(record[order] for record in records))
    base = chart_of(records).encode(y=alt.Y(f"{order}:N", sort=rows, title=None), color=palette("kind", colours))
    bars = base.mark_rule(strokeWidth=3, opacity=0.75).encode(x=x, x2="high:Q")
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("value:Q"))
    return alt.layer(bars, dots).properties(width=WIDTH, height=alt.Step(height))


__all__ = [
    "INK",
    "LOOK",
    "NEUTRAL",
    "OPEN",
    "OTHER",
    "PRIVATE",
    "WIDTH",
    "altair",
    "chart_of",
    "finished",
    "palette",
    "truth_rule",
    "whiskers",
]
