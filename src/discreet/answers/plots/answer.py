"""Answers as pictures: dots with error bars, series with bands, histograms as bars."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from discreet.answers.layout import cost_words, percent
from discreet.answers.plots.beside import beside_others
from discreet.answers.plots.panels import Panel, bars_told, is_series, is_short
from discreet.answers.plots.points import picture_of
from discreet.answers.plots.theme import (
    COLOURS,
    Theme,
    altair,
    chart_of,
    dressed,
    sentence,
    shortened,
    theme_of,
)

if TYPE_CHECKING:
    from altair.typing import ChartType

    from discreet.answers import Answer

MOST_TICKS: Final = 16
"""Keys that get a tick each."""
HEIGHT: Final = 220
FACET_HEIGHT: Final = 140
DOT_SIZE: Final = 50
"""Square pixels: 8 from side to side."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How much room there is, in pixels."""

    width: int
    """Of a panel that stands alone."""
    beside: int
    """Of one that stands beside others."""
    facet: int
    """Of each of the small charts."""
    columns: int
    letters: int
    """In a line of the subtitle."""
    label: int
    """For the texts along an axis."""


WIDE: Final = Layout(460, 250, 200, 3, 96, 320)
NARROW: Final = Layout(230, 230, 230, 1, 46, 96)
"""For a phone: what stands beside each other elsewhere stands below each other, and letters keep their size."""
LAYOUTS: Final = {"wide": WIDE, "narrow": NARROW}


@beside_others
def answer_chart(answer: Answer, theme: str = "light", layout: Layout = WIDE) -> ChartType:
    """A panel for each column of numbers, each on a scale of its own."""
    look = theme_of(theme)
    if not answer.rows:
        return sentence(look, "no rows", "the answer has no rows: there is nothing to draw")
    picture = picture_of(answer)
    panels = picture.panels
    if not panels:
        return sentence(look, "no numbers", "the answer has no numbers: there is nothing to draw")
    alone = len(panels) == 1
    across = not alone and all(panel.axis.kind in ("text", "bars") and not panel.is_faceted for panel in panels)
    width = layout.beside if across else layout.width
    confidence = percent(answer.confidence)
    charts = [_panel_chart(panel, look, layout, width, confidence, alone) for panel in panels]
    chart = charts[0] if alone else altair().concat(*charts, columns=min(layout.columns, 2) if across else 1)
    claim = bars_told(panels, confidence, _along(panels[0], layout, width))
    heads = [each for each in (_cost(answer), claim) if each]
    heads = [", ".join(heads)] if len(", ".join(heads)) <= layout.letters else heads
    lines = [*heads, *picture.remarks]
    return dressed(chart, look, _title(panels), lines, letters=layout.letters, label=layout.label)


@beside_others
def panel_chart(panel: Panel, title: str, subtitle: Sequence[str], confidence: str, theme: str = "light") -> ChartType:
    """One panel as a chart of its own."""
    look = theme_of(theme)
    return dressed(_panel_chart(panel, look, WIDE, WIDE.width, confidence, alone=True), look, title, subtitle)


def _along(panel: Panel, layout: Layout, width: int) -> int:
    """The pixels along which values are drawn."""
    if panel.axis.kind not in ("text", "none"):
        return HEIGHT if not panel.is_faceted else FACET_HEIGHT
    return layout.facet if panel.is_faceted else width


def _title(panels: list[Panel]) -> str:
    names = ", ".join(panel.title for panel in panels)
    keys = [axis.title for axis in (panels[0].axis, panels[0].by) if axis and axis.kind in _KEYED]
    title = f"{names} by {' and '.join(keys)}" if keys else names
    is_symbol = is_short(title.partition(" ")[0])
    return shortened(title if is_symbol else title[:1].upper() + title[1:], 160)


def _cost(answer: Answer) -> str:
    if not answer.receipt and answer.loss.is_zero:
        return "free: nothing private was read"
    return cost_words(answer.cost, answer.guarantee).replace(" ", " = ", 1)


def _panel_chart(panel: Panel, look: Theme, layout: Layout, width: int, confidence: str, alone: bool) -> Any:
    alt = altair()
    base = chart_of(panel.records).encode(tooltip=_tooltip(panel, confidence))
    if panel.by is not None and not panel.is_faceted:
        base = base.encode(color=_colour(panel, layout))
    chart = SHAPES[panel.axis.kind](base, panel, look, layout.facet if panel.is_faceted else width)
    if panel.is_faceted and panel.by is not None:
        facet = alt.Facet("by:N", sort=panel.by.domain, title=panel.by.title)
        chart = chart.facet(facet=facet, columns=min(layout.columns, len(panel.by.domain)))
    return chart if alone else chart.properties(title=panel.title)


def _ticks(panel: Panel, width: int) -> Any:
    """Few enough for their labels to stand apart; on a logarithmic scale the powers of ten."""
    alt = altair()
    if not panel.is_logarithmic:
        return alt.Axis(tickCount=max(3, width // 75))
    first, last = math.floor(math.log10(min(panel.numbers))), math.ceil(math.log10(max(panel.numbers)))
    powers = range(first, min(last, sys.float_info.max_10_exp) + 1, 1 + (last - first) // 8)
    return alt.Axis(values=[10.0**power for power in powers], format=",~r" if first > -4 and last < 7 else ".0e")


def _tooltip(panel: Panel, confidence: str) -> list[Any]:
    alt = altair()
    named = [] if panel.axis.kind == "none" else [alt.Tooltip("name:N", title=panel.axis.title)]
    by = [] if panel.by is None else [alt.Tooltip("by:N", title=panel.by.title)]
    return [*named, *by, alt.Tooltip("shown:N", title=panel.title), alt.Tooltip("interval:N", title=confidence)]


def _colour(panel: Panel, layout: Layout) -> Any:
    alt = altair()
    assert panel.by is not None
    domain = panel.by.domain
    below = {"orient": "bottom", "columns": 2} if layout.columns == 1 else {}
    scale = alt.Scale(domain=domain, range=list(COLOURS[: len(domain)]))
    return alt.Color("by:N", scale=scale, legend=alt.Legend(title=panel.by.title, **below))


def _scale(panel: Panel) -> Any:
    alt = altair()
    if panel.is_logarithmic:
        return alt.Scale(type="log")
    return alt.Scale(domain=list(panel.ends), nice=True, zero=False)


def _value(channel: Any, panel: Panel, field: str = "value", width: int = WIDE.width) -> Any:
    return channel(f"{field}:Q", scale=_scale(panel), title=panel.axis_title, axis=_ticks(panel, width))


def _dots(base: Any, panel: Panel, channel: str, width: int = WIDE.width) -> list[Any]:
    """Dots with bars along one channel, x or y; of a quantile, of which only the rank is known, a hollow dot."""
    alt = altair()
    encoder, end = {"x": (alt.X, alt.X2), "y": (alt.Y, alt.Y2)}[channel]
    paint = {} if panel.by is not None and not panel.is_faceted else {"color": COLOURS[0]}
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2, **paint)
    hollow = any(record["ranked"] for record in panel.records)
    dots = base.transform_filter("isValid(datum.value)").mark_point(
        filled=not hollow, size=DOT_SIZE, opacity=1, strokeWidth=2, **paint
    )
    return [
        bars.encode(**{channel: _value(encoder, panel, "low", width), f"{channel}2": end("high:Q")}),
        dots.encode(**{channel: _value(encoder, panel, "value", width)}),
    ]


def _across(base: Any, panel: Panel, look: Theme, width: int) -> Any:  # noqa: ARG001
    """Texts down the side, in the answer's order; several dots of one text stand below each other."""
    alt = altair()
    domain = panel.axis.domain
    y = alt.Y("key:N", sort=domain, scale=alt.Scale(domain=domain), title=panel.axis.title)
    base = base.encode(y=y)
    step: Any = alt.Step(max(26 if len(domain) <= 40 else 15, 90 // len(domain)))
    if panel.by is not None and not panel.is_faceted:
        order = panel.by.domain
        base = base.encode(yOffset=alt.YOffset("by:N", sort=order, scale=alt.Scale(domain=order)))
        step = alt.Step(max(9, 24 // len(order)), **{"for": "offset"})
    return alt.layer(*_dots(base, panel, "x", width)).properties(width=width, height=step)


def _upright(base: Any, panel: Panel, look: Theme, width: int) -> Any:  # noqa: ARG001
    """Numbers along the bottom; NULL among them makes the axis one of texts."""
    alt = altair()
    height = FACET_HEIGHT if panel.is_faceted else HEIGHT
    if panel.axis.kind == "number":
        if is_series(panel):
            return _lines(base.encode(x=_numbers(panel)), panel).properties(width=width, height=height)
        return alt.layer(*_dots(base.encode(x=_numbers(panel)), panel, "y")).properties(width=width, height=height)
    domain = panel.axis.domain
    flat = len(" ".join(domain)) <= width // 9
    axis = alt.Axis(labelAngle=0 if flat else -45, labelOverlap=len(domain) > min(MOST_TICKS, width // 18))
    base = base.encode(x=alt.X("key:O", sort=domain, scale=alt.Scale(domain=domain), title=panel.axis.title, axis=axis))
    if panel.by is not None and not panel.is_faceted:
        order = panel.by.domain
        base = base.encode(xOffset=alt.XOffset("by:N", sort=order, scale=alt.Scale(domain=order)))
    return alt.layer(*_dots(base, panel, "y")).properties(width=width, height=height)


def _numbers(panel: Panel) -> Any:
    """An axis of numbers: a tick for each key if they are few whole ones; years get no comma."""
    alt = altair()
    places = sorted(set(panel.axis.places))
    whole = all(isinstance(position, int) for position in places)
    few = whole and len(places) <= MOST_TICKS
    small = whole and max(map(abs, places)) < 10**6
    axis = {"grid": False, **({"values": places} if few else {}), **({"format": "d"} if small else {})}
    return alt.X(
        "key:Q", scale=alt.Scale(zero=False, nice=False, padding=14), title=panel.axis.title, axis=alt.Axis(**axis)
    )


def _series(base: Any, panel: Panel, look: Theme, width: int) -> Any:  # noqa: ARG001
    alt = altair()
    # the axis is in UTC like the dates: elsewhere a month would begin in the evening before
    x = alt.X("key:T", scale=alt.Scale(type="utc"), title=panel.axis.title, axis=alt.Axis(grid=False))
    height = FACET_HEIGHT if panel.is_faceted else HEIGHT
    return _lines(base.encode(x=x), panel).properties(width=width, height=height)


def _lines(base: Any, panel: Panel) -> Any:
    """Points on a line within a band."""
    alt = altair()
    paint = {} if panel.by is not None and not panel.is_faceted else {"color": COLOURS[0]}
    valid = base.transform_filter("isValid(datum.value)").encode(y=_value(alt.Y, panel))
    band = base.transform_filter("isValid(datum.low)").mark_area(opacity=0.25, **paint)
    return alt.layer(
        band.encode(y=_value(alt.Y, panel, "low"), y2=alt.Y2("high:Q")),
        valid.mark_line(strokeWidth=1.5, **paint),
        valid.mark_point(filled=True, size=30 if len(panel.axis.domain) <= 60 else 8, opacity=1, **paint),
    )


def _single(base: Any, panel: Panel, look: Theme, width: int) -> Any:
    """One dot with its bar, and the figure above it."""
    alt = altair()
    figure = base.transform_filter("isValid(datum.value)").mark_text(dy=-16, color=look.text, fontSize=13)
    words = figure.encode(x=_value(alt.X, panel), text="shown:N")
    return alt.layer(*_dots(base, panel, "x"), words).properties(width=width, height=60)


def _bars(base: Any, panel: Panel, look: Theme, width: int) -> Any:
    """The most frequent values: bars in the answer's order, with whiskers where intervals are known."""
    alt = altair()
    domain = panel.axis.domain
    y = alt.Y("key:N", sort=domain, title=None)
    counts = alt.X("value:Q", title="count", axis=alt.Axis(tickCount=max(3, width // 75)))
    whisker = base.transform_filter("isValid(datum.low)").mark_rule(color=look.text, strokeWidth=1.5)
    bars = base.mark_bar(color=COLOURS[0], height={"band": 0.7}).encode(y=y, x=counts, opacity=_pale())
    return alt.layer(
        bars,
        whisker.encode(y=y, x=alt.X("low:Q"), x2=alt.X2("high:Q")),
    ).properties(width=width, height=alt.Step(24))


def _pale() -> Any:
    """A bar that may as well be none is not as strong as others."""
    alt = altair()
    return alt.condition("datum.zero", alt.value(0.35), alt.value(1))


def _bins(base: Any, panel: Panel, look: Theme, width: int) -> Any:
    """A histogram: bars as wide as their bins, with whiskers where intervals are known."""
    alt = altair()
    x = alt.X("key:Q", title="value", scale=alt.Scale(zero=False, nice=False), axis=alt.Axis(grid=False))
    whisker = base.transform_filter("isValid(datum.low)").mark_rule(color=look.text, strokeWidth=1.5)
    middle = whisker.transform_calculate(middle="(datum.key + datum.end) / 2")
    bars = base.mark_bar(color=COLOURS[0], stroke=look.background, strokeWidth=1, orient="vertical")
    return alt.layer(
        bars.encode(
            x=x, x2=alt.X2("end:Q"), opacity=_pale(), y=alt.Y("value:Q", title="count", axis=alt.Axis(tickCount=5))
        ),
        middle.encode(x=alt.X("middle:Q"), y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
    ).properties(width=width, height=FACET_HEIGHT if panel.is_faceted else HEIGHT)


SHAPES: Final[dict[str, Callable[[Any, Panel, Theme, int], Any]]] = {
    "text": _across,
    "time": _series,
    "number": _upright,
    "ordinal": _upright,
    "none": _single,
    "bars": _bars,
    "bins": _bins,
}
_KEYED: Final = frozenset({"text", "time", "number", "ordinal"})
