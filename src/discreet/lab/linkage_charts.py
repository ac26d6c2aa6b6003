"""Pictures of who stands alone, for the experiment and the lesson alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from discreet.lab.charts import INK, OPEN, PRIVATE, WIDTH, altair, chart_of, finished
from discreet.lab.invented import Integers
from discreet.lab.measures import LARGE
from discreet.lab.writing import count, percent


def funnel(steps: Sequence[tuple[str, int]]) -> Any:
    """How many are left, step by step."""
    alt = altair()
    records = [{"step": name, "people": many, "shown": count(many)} for name, many in steps]
    base = chart_of(records).encode(y=alt.Y("step:N", sort=[name for name, _ in steps], title=None))
    scale = alt.Scale(type="log", domain=[0.5, 400_000], nice=False)
    x = alt.X(
        "people:Q", scale=scale, title="people who fit (logarithmic)", axis=alt.Axis(values=[1, 10, 100, 1000, 10000])
    )
    bars = base.mark_bar(color=OPEN, height={"band": 0.65}).encode(x=x, x2=alt.datum(0.5))
    words = base.mark_text(align="left", dx=4, color=INK, fontSize=13, fontWeight="bold").encode(x=x, text="shown:N")
    return finished(
        alt.layer(bars, words).properties(width=WIDTH - 80, height=alt.Step(34)), "Looking for the governor"
    )


def crowds(own: Integers) -> Any:
    """People by how many look like them: `own` is the size of each one's class."""
    return finished(_sizes(own), "Who is alone")


def _sizes(own: Integers) -> Any:
    alt = altair()
    edges = [0, *LARGE.values()]
    shares = [float(((own > low) & (own <= high)).mean()) for low, high in pairwise(edges)]
    records = [
        {"size": name, "share": share, "shown": percent(share)} for name, share in zip(LARGE, shares, strict=True)
    ]
    base = chart_of(records).encode(y=alt.Y("size:N", sort=list(LARGE), title="people who look alike"))
    x = alt.X("share:Q", title="share of the people", scale=alt.Scale(domain=[0, 1.2]))
    x = x.axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    colour = alt.condition("datum.size == '1'", alt.value(OPEN), alt.value(PRIVATE))
    bars = base.mark_bar(height={"band": 0.65}).encode(x=x, color=colour)
    words = base.mark_text(align="left", dx=4, color=INK, fontSize=12).encode(x=x, text="shown:N")
    return alt.layer(bars, words).properties(width=WIDTH - 70, height=alt.Step(28))


def crowds_beside(own: Integers, alone: Mapping[str, float]) -> Any:
    """Who is alone, here and elsewhere, above people by how many look like them."""
    alt = altair()
    records = [{"who": name, "share": share, "shown": percent(share)} for name, share in alone.items()]
    base = chart_of(records).encode(y=alt.Y("who:N", sort=list(alone), title="alone"))
    x = alt.X("share:Q", title=None, scale=alt.Scale(domain=[0, 1.2])).axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    bars = base.mark_bar(color=OPEN, height={"band": 0.65}).encode(x=x)
    words = base.mark_text(align="left", dx=4, color=INK, fontSize=12).encode(x=x, text="shown:N")
    above = alt.layer(bars, words).properties(width=WIDTH - 70, height=alt.Step(28))
    return finished(alt.vconcat(above, _sizes(own)), "Who is alone")
