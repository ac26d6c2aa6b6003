"""Blue eyes: the noise does not know how many people there are."""

from __future__ import annotations

from typing import Any, Final

from discreet.lab.blocks import Figure, Figures, Picture, Table, Words
from discreet.lab.charts import INK, OPEN, PRIVATE, WIDTH, altair, chart_of, finished
from discreet.lab.examples.blue_eyes import LECTURE, PEOPLE, eyes
from discreet.lab.writing import count, digits, percent
from discreet.mechanisms import Laplace
from discreet.server.learn.fields import Choice, Slider, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared


def _body(values: Values) -> Body:
    people, share = int(values["people"]), values["share"] / 100
    answer = eyes(people, share, values["epsilon"])
    exact, noisy, mechanism = answer.exact, answer.released, answer.mechanism
    half = mechanism.error(0.95)
    glance = (
        Picture(
            lambda: _chart(mechanism, people),
            f"Two rows of bars for {len(PEOPLE)} populations. In people, all bars are equally long: plus or minus "
            f"{count(half)}. In per cent of the population they shrink from {percent(half / PEOPLE[0])} for "
            f"{PEOPLE[0]} people to almost nothing for {count(PEOPLE[-1])}.",
        ),
        Figures(
            (
                Figure(count(noisy[0]), f"released count of blue eyes (truth {count(exact[0])})"),
                Figure(f"± {count(half)}", "95 % of answers are at most this far off"),
                Figure(f"± {percent(half / people)}", f"of {count(people)} people"),
            )
        ),
    )
    figures = compared(
        "003",
        ("ε", "0.1", digits(values["epsilon"])),
        ("scale of the noise, Δf/ε", digits(float(LECTURE.scale)), digits(float(mechanism.scale))),
        ("people", "all of Canada", count(people)),
    )
    more = (
        Table(
            "What is released: two counts",
            ("", "truth (invented)", "released"),
            (("blue eyes", count(exact[0]), count(noisy[0])), ("other eyes", count(exact[1]), count(noisy[1]))),
        ),
        Words(
            "One person more or less moves one of the two counts by one, in a village and in Canada. So the noise "
            "needs to hide one person only, and its scale is 1/ε whatever the population."
        ),
        Words(
            "For a hundred people that noise drowns the answer. For millions nobody notices it: privacy is cheap where "
            "there are many."
        ),
    )
    return Body(glance, figures, more)


def _chart(mechanism: Laplace, people: int) -> Any:
    alt = altair()
    half = mechanism.error(0.95)
    records = [
        {
            "people": count(size),
            "who": "yours" if size == people else "others",
            "half": half,
            "minus": -half,
            "share": min(half / size, 1.0),
            "less": -min(half / size, 1.0),
            "in people": f"± {count(half)}",
            "in percent": f"± {percent(half / size)}",
        }
        for size in PEOPLE
    ]
    panels = [
        _panel(records, ("minus", "half"), "in people", "error in people", None),
        _panel(records, ("less", "share"), "in percent", "error in % of the population", ".0%"),
    ]
    return finished(alt.vconcat(*panels), "The same noise, more and more people", "bars hold 95 % of the answers")


def _panel(records: list[dict[str, Any]], ends: tuple[str, str], label: str, title: str, form: str | None) -> Any:
    alt = altair()
    most = max(record[ends[1]] for record in records) * 1.75
    x = alt.X(f"{ends[0]}:Q", title=title, scale=alt.Scale(domain=[-most, most]))
    x = x.axis(format=form) if form else x
    colour = alt.condition("datum.who == 'yours'", alt.value(OPEN), alt.value(PRIVATE))
    y = alt.Y("people:N", sort=[count(size) for size in PEOPLE], title=None)
    base = chart_of(records).encode(y=y)
    bars = base.mark_bar(height={"band": 0.5}, minBandSize=2).encode(x=x, x2=f"{ends[1]}:Q", color=colour)
    words = base.mark_text(align="left", dx=5, color=INK, fontSize=12).encode(x=f"{ends[1]}:Q", text=f"{label}:N")
    return alt.layer(bars, words).properties(width=WIDTH - 60, height=alt.Step(22))


LESSON: Final = Lesson(
    slug="blue-eyes",
    title="How many have blue eyes?",
    lectures=("003",),
    teaser="The noise does not grow with the population: ten people in a village, ten in all of Canada.",
    shows="The noise that hides one person is as large for a hundred people as for forty million.",
    fields=(
        Choice("people", "People", {str(size): count(size) for size in PEOPLE}, str(PEOPLE[-1])),
        Slider("share", "With blue eyes", "1", "99", "1", "30", "%"),
        epsilon("0.1", low="0.01", high="2", step="0.01"),
    ),
    body=_body,
    sketch=Sketch(
        "Errors that shrink as the population grows.",
        bars=((0.95, 0.0), (0.5, 0.0), (0.25, 0.0), (0.12, 0.0), (0.05, 0.0), (0.02, 0.0)),
    ),
    figure=Figure("10", "the scale of the noise at ε = 0.1, for any population"),
    question=ask(
        "A village of 100 and a country of 40 million each release how many people have blue eyes, at ε = 0.1. Where "
        "is the noise larger?",
        ("It is the same", "One person moves either count by one, so both have noise of scale 10."),
        ("In the country, where more people are protected", "Every single person is hidden by the same noise."),
        ("In the village, where everybody knows everybody", "It weighs more there, but it is the same noise."),
        at=1,
    ),
)
