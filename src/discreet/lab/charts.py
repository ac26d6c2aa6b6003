"""What the charts of experiments and lessons share: narrow enough for a phone, and in the look of answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from discreet.answers.plots.theme import COLOURS, NEUTRAL, altair, chart_of, dressed, theme_of
from discreet.mechanisms import Laplace

WIDTH: Final = 350
LOOK: Final = theme_of("light")
INK: Final = LOOK.text
OPEN, PRIVATE, OTHER = COLOURS[1], COLOURS[0], COLOURS[2]
"""The colours of what is not protected, of what is, and of a third."""
POINTS: Final = 60
"""On either side of a curve's middle."""


def finished(chart: Any, title: str, *subtitle: str) -> Any:
    return dressed(chart, LOOK, title, subtitle)


def palette(field: str, colours: Mapping[str, str], *, columns: int = 2) -> Any:
    """Colours for the values of a field, with a legend below."""
    alt = altair()
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(f"{field}:N", scale=scale, legend=alt.Legend(title=None, orient="bottom", columns=columns))


def truth_line(value: float) -> Any:
    """A dashed upright line at the true value, named above it."""
    alt = altair()
    base = chart_of([{"truth": value}])
    words = base.mark_text(color=INK, fontSize=12, text="truth").encode(x="truth:Q", y=alt.value(-6))
    return alt.layer(base.mark_rule(color=INK, strokeDash=[4, 3]).encode(x="truth:Q"), words)


def truth_level(value: float, *, below: bool) -> Any:
    """A dashed level line at the true value, named above it or below, where there is room."""
    alt = altair()
    base = chart_of([{"truth": value}])
    words = base.mark_text(color=INK, fontSize=12, text="truth", align="right", dy=10 if below else -8)
    words = words.encode(x=alt.value(WIDTH), y="truth:Q")
    return alt.layer(base.mark_rule(color=INK, strokeDash=[4, 3]).encode(y="truth:Q"), words)


def whiskers(records: Sequence[Mapping[str, Any]], *, x: Any, colours: Mapping[str, str]) -> Any:
    """One row for each record: a dot at `value`, a bar from `low` to `high`, in the colour of its `kind`."""
    alt = altair()
    rows = list(dict.fromkeys(record["row"] for record in records))
    base = chart_of(records).encode(y=alt.Y("row:N", sort=rows, title=None), color=palette("kind", colours))
    bars = base.mark_rule(strokeWidth=3, opacity=0.75).encode(x=x, x2="high:Q")
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("value:Q"))
    return alt.layer(bars, dots).properties(height=alt.Step(34))


def bars(records: Sequence[Mapping[str, Any]], *, title: str, most: float, marked: str = "", form: str = "~s") -> Any:
    """One level bar for each record: its `name`, its `value`, and beside it what is `shown`; one may be marked."""
    alt = altair()
    base = chart_of(records).encode(y=alt.Y("name:N", sort=[record["name"] for record in records], title=None))
    ticks = alt.Axis(format=form, values=[most * step / 4 for step in range(5)])
    x = alt.X("value:Q", title=title, scale=alt.Scale(domain=[0, most * 1.25]), axis=ticks)
    drawn = [{**record, "colour": PRIVATE if not marked or record["name"] == marked else NEUTRAL} for record in records]
    coloured = base.properties(data=alt.Data(values=drawn)).mark_bar(height={"band": 0.65})
    words = base.mark_text(align="left", dx=4, color=INK, fontSize=12).encode(x=x, text="shown:N")
    solid = coloured.encode(x=x, color=alt.Color("colour:N", scale=None))
    return alt.layer(solid, words).properties(width=WIDTH - 90, height=alt.Step(30))


def pairs(records: Sequence[Mapping[str, Any]], *, title: str, colours: Mapping[str, str], form: str = "~s") -> Any:
    """Upright bars of several kinds side by side for each `name`."""
    alt = altair()
    names = list(dict.fromkeys(record["name"] for record in records))
    return (
        chart_of(records)
        .mark_bar()
        .encode(
            x=alt.X("name:N", sort=names, title=None, axis=alt.Axis(labelAngle=0, labelLimit=70)),
            xOffset=alt.XOffset("kind:N", sort=list(colours)),
            y=alt.Y("value:Q", title=title, axis=alt.Axis(format=form, tickCount=5)),
            color=palette("kind", colours),
        )
        .properties(width=WIDTH - 40, height=210)
    )


def lines(records: Sequence[Mapping[str, Any]], *, x: Any, y: Any, colours: Mapping[str, str]) -> Any:
    """A line for each kind, in its colour."""
    marks = chart_of(records).mark_line(strokeWidth=2.5).encode(x=x, y=y, color=palette("kind", colours))
    return marks.properties(width=WIDTH - 40, height=220)


def heaps(
    noises: Mapping[str, tuple[int, Laplace]], sensitivity: int, colours: Mapping[str, str], *, title: str
) -> Any:
    """How likely each answer is, for mechanisms about their exact values."""
    alt = altair()
    places = sorted({round(sensitivity * step / POINTS) for step in range(-POINTS, POINTS + 1)})
    records = [
        {"answer": z, "chance": chance(mechanism, z - exact), "kind": name}
        for name, (exact, mechanism) in noises.items()
        for z in places
    ]
    y = alt.Y("chance:Q", stack=None, title="probability", axis=alt.Axis(format="~%", tickCount=4))
    return (
        chart_of(records)
        .mark_area(opacity=0.3, line=True, interpolate="step")
        .encode(
            x=alt.X("answer:Q", title=title, axis=alt.Axis(tickCount=5)),
            y=y,
            color=palette("kind", colours),
        )
    )


def chance(mechanism: Laplace, z: int) -> float:
    """P(Z = z) of discrete Laplace noise on an integer."""
    ratio = math.exp(-1 / float(mechanism.scale))
    return (1 - ratio) / (1 + ratio) * ratio ** abs(z)


__all__ = [
    "COLOURS",
    "INK",
    "LOOK",
    "NEUTRAL",
    "OPEN",
    "OTHER",
    "PRIVATE",
    "WIDTH",
    "altair",
    "bars",
    "chance",
    "chart_of",
    "finished",
    "heaps",
    "lines",
    "pairs",
    "palette",
    "truth_level",
    "truth_line",
    "whiskers",
]
