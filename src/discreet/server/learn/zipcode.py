"""ZIP code 82414: one very rich household, and the mean that gives it away."""

from __future__ import annotations

from typing import Any, Final

from discreet.lab.blocks import Figure, Figures, Picture, Table, Words
from discreet.lab.charts import OPEN, PRIVATE, WIDTH, altair, chart_of, finished, palette
from discreet.lab.examples.zipcode import HOME, PLACES, Place, incomes, published
from discreet.lab.writing import count, digits
from discreet.mechanisms import BoundedMean
from discreet.server.learn.fields import Choice, Slider, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

LABELS: Final = {area: area if area == HOME else f"neighbour {area}" for area in PLACES}
MARGIN: Final = 5_886
"""Of the census's own estimate, from its sample."""
BOUNDS: Final = {"200000": "200,000", "500000": "500,000", "1000000": "1 million", "5000000": "5 million"}


def _body(values: Values) -> Body:
    house, where = values["income"] * 1_000_000, values["place"]
    mechanism = BoundedMean(bounds=(0, int(values["bound"])), epsilon=values["epsilon"], step=1)
    seen = published(house, where, mechanism)
    shown = next(each for each in seen if each.area == where)
    before = PLACES[where][1]
    size = PLACES[HOME][0]
    glance = (
        Picture(
            lambda: _chart(seen),
            f"Mean income of five places. Published exactly, {LABELS[where]} has {count(shown.exact)} dollars, "
            f"{digits(shown.exact / before)} times as much as without one house. Published privately it is "
            f"{count(shown.private.value)} dollars.",
        ),
        Figures(
            (
                Figure(count(before), f"dollars, mean of {LABELS[where]} without the house"),
                Figure(count(shown.exact), "exact mean with it"),
                Figure(count(shown.private.value), "private mean with it"),
            )
        ),
    )
    figures = compared(
        "000",
        ("households in 82414", "6,898", count(len(incomes(HOME)))),
        ("their mean income, dollars", "79,083", count(float(incomes(HOME).mean()))),
        ("margin of error", "± 5,886 (sample)", f"± {count(mechanism.error(0.95, size=size))} (privacy)"),
        ("sensitivity of a mean over all numbers", "unbounded", f"bounds 0 to {BOUNDS[values['bound']]}"),
    )
    more = (
        Table(
            "All five places, in dollars; the neighbours are invented",
            ("place", "households", "exact mean", "private mean", "95 %"),
            tuple(_row(each, where) for each in seen),
            frozenset({list(PLACES).index(where)}),
        ),
        Words(
            "The lecture puts one famous house back into the ZIP code. Whoever compares means of small places finds "
            "it at once, because one income moves the mean as far as it likes."
        ),
        Words(
            "Incomes above the bound count as the bound, so that one household moves the sum by little, and noise of "
            "that size hides it. In small places the same noise weighs more: fewer households, wider bars."
        ),
        Words(
            f"In 82414 the noise (± {count(mechanism.error(0.95, size=size))}) stands against the ± {count(MARGIN)} "
            "that the census has anyway, because it asks a sample only."
        ),
    )
    return Body(glance, figures, more)


def _row(each: Place, where: str) -> tuple[str, ...]:
    low, high = each.private.interval
    name = LABELS[each.area] + (" (the house)" if each.area == where else "")
    households = PLACES[each.area][0] + (each.area == where)
    return name, count(households), count(each.exact), count(each.private.value), f"{count(low)} to {count(high)}"


def _chart(seen: list[Place]) -> Any:
    alt = altair()
    names = [LABELS[each.area] for each in seen]
    kinds = {"exact": OPEN, "private, 95 %": PRIVATE}
    records = []
    for each in seen:
        low, high = each.private.interval
        records.append(
            {"place": LABELS[each.area], "kind": "exact", "value": each.exact, "low": each.exact, "high": each.exact}
        )
        records.append(
            {
                "place": LABELS[each.area],
                "kind": "private, 95 %",
                "value": each.private.value,
                "low": low,
                "high": high,
            }
        )
    y = alt.Y("place:N", sort=names, title=None)
    lane = alt.YOffset("kind:N", sort=list(kinds), scale=alt.Scale(paddingOuter=0.4))
    x = alt.X(
        "low:Q", title="mean income in dollars", axis=alt.Axis(format="~s", tickCount=5), scale=alt.Scale(zero=True)
    )
    base = chart_of(records).encode(y=y, yOffset=lane, color=palette("kind", kinds))
    drawn = alt.layer(
        base.mark_rule(strokeWidth=3, opacity=0.7).encode(x=x, x2="high:Q"),
        base.mark_point(filled=True, size=80, opacity=1).encode(x="value:Q"),
    )
    return finished(drawn.properties(width=WIDTH - 90, height=alt.Step(17)), "Where is the rich house?")


LESSON: Final = Lesson(
    slug="zip-82414",
    title="ZIP code 82414",
    lectures=("000",),
    teaser="Wyoming, 6,898 households, mean 79,083 dollars, and one house worth finding.",
    shows="One very rich household moves the mean of its ZIP code so far that anybody can find it.",
    fields=(
        Slider("income", "Income of the house, million dollars", "1", "200", "1", "150"),
        Choice("place", "Where it stands", LABELS, HOME),
        Choice("bound", "Incomes count up to, dollars", BOUNDS, "500000"),
        epsilon("1"),
    ),
    body=_body,
    sketch=Sketch(
        "Five pairs of bars; one sticks out.",
        bars=((0.95, 0.5), (0.46, 0.45), (0.43, 0.44), (0.38, 0.36), (0.41, 0.46)),
    ),
    figure=Figure("79,083", "dollars, the mean of 6,898 households"),
    question=ask(
        "Incomes are clamped to 500,000 dollars before the mean is released with noise. What does that do?",
        (
            "It bounds what one household can change, and biases the mean a little",
            "Without a bound no noise is enough. What lies above it is lost, in exchange for far less noise.",
        ),
        (
            "It hides the rich house by itself",
            "A clamped but exact mean still moves when the house comes: noise hides that.",
        ),
        ("Nothing, as few households earn more", "One is enough: the bound is there for whoever could be in the data."),
    ),
    invented="invented incomes: the true values are shown",
)
