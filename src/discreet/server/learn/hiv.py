"""The perturbed histogram: five patients, and what the counts give away of one of them."""

from __future__ import annotations

from typing import Any, Final

from discreet.lab.blocks import Figure, Figures, Picture, Table, Words
from discreet.lab.charts import INK, OPEN, PRIVATE, WIDTH, altair, chart_of, finished, palette
from discreet.lab.examples.patients import DECADES, RECORDS, counts, positives
from discreet.lab.writing import count, digits
from discreet.mechanisms import Histogram
from discreet.server.learn.fields import Choice, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

TIMES: Final = {
    "1": "5 patients, the lecture's",
    "20": "100 patients",
    "200": "1,000 patients",
    "2000": "10,000 patients",
}
EXACT, RELEASED = "exact", "released, 95 %"


def _body(values: Values) -> Body:
    who, times = values["without"], int(values["times"])
    histogram = Histogram(keys=DECADES, epsilon=values["epsilon"])
    half = histogram.error(0.95)
    worlds = {"with everybody": positives(times=times), f"without {who}": positives(who, times)}
    exact = {world: counts(bars) for world, bars in worlds.items()}
    released = {world: [int(value) for value in histogram.release(bars)] for world, bars in worlds.items()}
    shown = {world: ", ".join(map(count, bars)) for world, bars in released.items()}
    differs = sum(exact["with everybody"]) - sum(exact[f"without {who}"])
    glance = (
        Picture(
            lambda: _chart(exact, released, half),
            f"Two histograms over three decades of age, exact and released, with everybody and without {who}. Exact "
            f"bars differ by {differs}; the released ones, {shown['with everybody']} and {shown[f'without {who}']}, "
            "differ by noise.",
        ),
        Figures(
            (
                Figure(count(differs), f"what exact counts tell of {who}"),
                Figure(f"± {count(half)}", "noise on each count, 95 %"),
                Figure(digits(float(histogram.mechanism.spread)), "scale of the noise: 1/ε"),
            )
        ),
    )
    figures = compared(
        "001",
        ("patients", "5", count(len(RECORDS) * times)),
        ("HIV-positive by age, with everybody", "1, 1, 2", ", ".join(map(count, exact["with everybody"]))),
        ("perturbed histogram", "noise on every bar", shown["with everybody"]),
        ("sensitivity of disjoint counts (003)", "1", "1"),
    )
    more = (
        Table(
            "The lecture's five records",
            ("Name", "Age", "HIV+"),
            tuple((name, str(age), positive) for name, (age, positive) in RECORDS.items()),
            frozenset({list(RECORDS).index(who)}),
        ),
        Words(
            f"Exact histograms with and without {who} differ by {differs}: whoever knows all the others knows {who}. "
            "Released ones look alike whoever is left out, also where there is nobody."
        ),
        Words(
            "Everybody is in one bar only, so one noise of scale 1/ε on every bar is enough for the whole histogram. "
            "For five patients it hides nearly everything; for ten thousand the shape is as clear as before."
        ),
    )
    return Body(glance, figures, more)


def _chart(exact: dict[str, list[int]], released: dict[str, list[int]], half: float) -> Any:
    alt = altair()
    panels = [_panel(world, exact[world], released[world], half) for world in exact]
    drawn = alt.hconcat(*panels, spacing=18).resolve_scale(y="shared")
    return finished(drawn, "HIV-positive by age", "the same question to two hospitals that differ in one patient")


def _panel(world: str, exact: list[int], released: list[int], half: float) -> Any:
    alt = altair()
    kinds = {EXACT: OPEN, RELEASED: PRIVATE}
    records = [
        {"age": age, "kind": kind, "value": value, "low": value - slack, "high": value + slack}
        for kind, heights, slack in ((EXACT, exact, 0.0), (RELEASED, released, half))
        for age, value in zip(DECADES, heights, strict=True)
    ]
    x = alt.X("age:N", sort=list(DECADES), title=None, axis=alt.Axis(labelAngle=0))
    lane = alt.XOffset("kind:N", sort=list(kinds))
    y = alt.Y("value:Q", title="patients", axis=alt.Axis(tickCount=5))
    base = chart_of(records).encode(x=x, xOffset=lane)
    return alt.layer(
        base.mark_bar().encode(y=y, color=palette("kind", kinds)),
        base.transform_filter("datum.high > datum.low")
        .mark_rule(color=INK, strokeWidth=1.5)
        .encode(y="low:Q", y2="high:Q"),
    ).properties(width=(WIDTH - 60) // 2, height=200, title=alt.Title(world, fontSize=13, anchor="middle"))


LESSON: Final = Lesson(
    slug="hiv-histogram",
    title="Five patients, one histogram",
    lectures=("001", "003"),
    teaser="Alice, Frank, Bob, Mary and Dave: a histogram tells who has HIV, a perturbed one does not.",
    shows="Exact counts with and without one patient differ by that patient; noisy counts could come from either.",
    fields=(
        Choice("without", "Leave out", {name: name for name in RECORDS}, "Bob"),
        Choice("times", "Hospital", TIMES, "1"),
        epsilon("0.5"),
    ),
    body=_body,
    sketch=Sketch("Three bars, exact and perturbed.", bars=((0.45, 0.6), (0.45, 0.3), (0.9, 0.75))),
    figure=Figure("1, 1, 2", "HIV-positive in their twenties, thirties, forties"),
    question=ask(
        "Three bars, ε = 0.5 in all. Which noise does each bar get?",
        ("Scale 2, each the whole ε", "Everybody is in one bar: disjoint counts cost once, not three times."),
        ("Scale 6, a third of ε each", "That would be right if a patient could be in all three bars."),
        (
            "Only bars with few patients need noise",
            "Then noise itself would tell which bars are small, empty ones too.",
        ),
    ),
)
