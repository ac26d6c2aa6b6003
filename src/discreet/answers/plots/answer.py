"""Answers as pictures: dots with error bars, series with bands, histograms as bars."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from discreet.answers.layout import cost_words, percent
from discreet.answers.plots.panels import Panel, cost_and_bars, is_series
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

WIDE: Final = 460
NARROW: Final = 250
"""The width of a panel that stands beside others."""
NEAR: Final = 0.4
"""Zero is on the scale if the least value is below this part of the largest."""
MOST_TICKS: Final = 16
"""Keys that get a tick each."""


def answer_chart(answer: Answer, theme: str = "light") -> ChartType:
    """A panel for each column of numbers, each on a scale of its own."""
    look = theme_of(theme)
    if not answer.rows:
        return sentence(look, "no rows", "the answer has no rows: there is nothing to draw")
    picture = picture_of(answer)
    panels = picture.panels
    if not panels:
        return sentence(look, "no numbers", "the answer has no numbers: there is nothing to draw")
    alone = len(panels) == 1
    across = not alone and all(panel.axis.kind in ("text", "bars") for panel in panels)
    width = NARROW if across else WIDE
    charts = [_panel_chart(panel, look, width, percent(answer.confidence), alone) for panel in panels]
    chart = charts[0] if alone else altair().concat(*charts, columns=2 if across else 1)
    subtitle = cost_and_bars(_cost(answer), panels, percent(answer.confidence))
    return dressed(chart, look, _title(panels), [subtitle, *picture.remarks])


def panel_chart(panel: Panel, title: str, subtitle: Sequence[str], confidence: str, theme: str = "light") -> ChartType:
    """One panel as a chart of its own."""
    look = theme_of(theme)
    return dressed(_panel_chart(panel, look, WIDE, confidence, alone=True), look, title, subtitle)


def _title(panels: list[Panel]) -> str:
    names = shortened(", ".join(panel.name for panel in panels))
    keys = [axis.title for axis in (panels[0].axis, panels[0].by) if axis and axis.kind in _KEYED]
    return f"{names} by {' and '.join(keys)}" if keys else names


def _cost(answer: Answer) -> str:
    if not answer.receipt and answer.loss.is_zero:
        return "free: nothing private was read"
    return cost_words(answer.cost, answer.guarantee).replace(" ", " = ", 1)


def _panel_chart(panel: Panel, look: Theme, width: int, confidence: str, alone: bool) -> Any:
    alt = altair()
    base = chart_of(panel.records).encode(tooltip=_tooltip(panel, confidence))
    faceted = panel.by is not None and (panel.is_faceted or panel.axis.kind in ("bars", "bins"))
    if panel.by is not None and not faceted:
        base = base.encode(color=_colour(panel))
    chart = SHAPES[panel.axis.kind](base, panel, look, 180 if faceted else width)
    if faceted and panel.by is not None:
        facet = alt.Facet("by:N", sort=panel.by.domain, title=panel.by.title)
        chart = chart.facet(facet=facet, columns=3)
    return chart if alone else chart.properties(title=panel.name)


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
    return [*named, *by, alt.Tooltip("shown:N", title=panel.name), alt.Tooltip("interval:N", title=confidence)]


def _colour(panel: Panel) -> Any:
    alt = altair()
    assert panel.by is not None
    domain = panel.by.domain
    scale = alt.Scale(domain=domain, range=list(COLOURS[: len(domain)]))
    return alt.Color("by:N", scale=scale, legend=alt.Legend(title=panel.by.title))


def _scale(panel: Panel) -> Any:
    """From zero where zero is near; else the differences would be too small to see."""
    alt = altair()
    if panel.is_logarithmic:
        return alt.Scale(type="log")
    numbers = panel.numbers or [0.0]
    low, high = min(numbers), max(numbers)
    if 0 <= low <= NEAR * high:
        low = 0
    room = (high / 25 - low / 25) or abs(high) / 10 or 1.0
    most = sys.float_info.max
    return alt.Scale(domain=[low and max(low - room, -most), min(high + room, most)], nice=True, zero=False)


def _value(channel: Any, panel: Panel, field: str = "value", width: int = WIDE) -> Any:
    title = f"{panel.name} (logarithmic)" if panel.is_logarithmic else panel.name
    return channel(f"{field}:Q", scale=_scale(panel), title=title, axis=_ticks(panel, width))


def _dots(base: Any, panel: Panel, channel: str, width: int = WIDE) -> list[Any]:
    """Dots with bars along one channel, x or y; a value without an interval is a dot, with how far its rank is off."""
    alt = altair()
    encoder, end = {"x": (alt.X, alt.X2), "y": (alt.Y, alt.Y2)}[channel]
    paint = {} if panel.by is not None and not panel.is_faceted else {"color": COLOURS[0]}
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2, **paint)
    dots = base.transform_filter("isValid(datum.value)").mark_point(filled=True, size=70, opacity=1, **paint)
    layers = [
        bars.encode(**{channel: _value(encoder, panel, "low", width), f"{channel}2": end("high:Q")}),
        dots.encode(**{channel: _value(encoder, panel, "value", width)}),
    ]
    if any(record.get("ranks") for record in panel.records):
        ranks = base.transform_filter("isValid(datum.ranks)").mark_text(align="left", dx=8, **paint)
        layers.append(ranks.encode(**{channel: _value(encoder, panel, "value", width)}, text="ranks:N"))
    return layers


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
    height = 220
    if panel.axis.kind == "number":
        if is_series(panel):
            return _lines(base.encode(x=_numbers(panel)), panel).properties(width=width, height=height)
        return alt.layer(*_dots(base.encode(x=_numbers(panel)), panel, "y")).properties(width=width, height=height)
    domain = panel.axis.domain
    axis = alt.Axis(labelAngle=0 if len(" ".join(domain)) <= width // 9 else -45, labelOverlap=True)
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
    return _lines(base.encode(x=x), panel).properties(width=width, height=200)


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
    return alt.layer(
        base.mark_bar(color=COLOURS[0], height={"band": 0.7}).encode(y=y, x=counts),
        whisker.encode(y=y, x=alt.X("low:Q"), x2=alt.X2("high:Q")),
    ).properties(width=width, height=alt.Step(24))


def _bins(base: Any, panel: Panel, look: Theme, width: int) -> Any:  # noqa: ARG001
    """A histogram: bars as wide as their bins, with whiskers where intervals are known."""
    alt = altair()
    x = alt.X("key:Q", title="value", scale=alt.Scale(zero=False, nice=False), axis=alt.Axis(grid=False))
    whisker = base.transform_filter("isValid(datum.low)").mark_rule(color=look.text, strokeWidth=1.5)
    middle = whisker.transform_calculate(middle="(datum.key + datum.end) / 2")
    bars = base.mark_bar(color=COLOURS[0], stroke=look.background, strokeWidth=1, orient="vertical")
    return alt.layer(
        bars.encode(x=x, x2=alt.X2("end:Q"), y=alt.Y("value:Q", title="count", axis=alt.Axis(tickCount=5))),
        middle.encode(x=alt.X("middle:Q"), y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
    ).properties(width=width, height=140 if width < NARROW else 200)


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
