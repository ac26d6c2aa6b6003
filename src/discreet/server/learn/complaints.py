"""Complaints: whoever may count five times needs five times the noise."""

from __future__ import annotations

import math
from typing import Any, Final

from discreet.lab.blocks import Figure, Figures, Heading, Picture, Words
from discreet.lab.charts import (
    NEUTRAL,
    OPEN,
    OTHER,
    PRIVATE,
    WIDTH,
    altair,
    chart_of,
    finished,
    heaps,
    palette,
)
from discreet.lab.examples.complaints import LECTURE, MAX_SENT, TRUE, best_limit, counted, half_width
from discreet.lab.writing import count, digits
from discreet.mechanisms import Laplace
from discreet.server.learn.fields import Slider, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared


def _body(values: Values) -> Body:
    limit, epsilon_ = values["limit"], values["epsilon"]
    one, many = (Laplace(epsilon=epsilon_, sensitivity=sensitivity) for sensitivity in (1, limit))
    released = many.release(counted(limit))
    glance = (
        Picture(
            lambda: _noises(one, many, limit),
            "Two peaks over the error of the count. With one complaint per person the noise is narrow, with a scale "
            f"of {digits(float(one.scale))}; with {limit} it is {limit} times as wide, with a scale of "
            f"{digits(float(many.scale))}.",
        ),
        Figures(
            (
                Figure(count(released), f"released, at most {limit} per person"),
                Figure(count(TRUE), "complaints in truth"),
                Figure(f"± {count(many.error(0.95))}", "noise, 95 %"),
                Figure(count(TRUE - counted(limit)), "complaints not counted"),
            )
        ),
    )
    figures = compared(
        "004",
        ("noise if everybody counts once", "Lap(1/ε)", f"Lap({digits(float(one.scale))})"),
        ("someone very unhappy counts", str(LECTURE), str(limit)),
        ("noise then", "Lap(5/ε)", f"Lap({digits(float(many.scale))})"),
        ("mean squared error, 2·Δ²/ε² (lecture 001)", "50/ε²", digits(many.variance(), 4)),
    )
    more = (
        Heading("Which limit is best?"),
        Picture(
            lambda: _limits(epsilon_, limit),
            f"For each limit from 1 to {MAX_SENT} two stacked bars: complaints left out, which fall, and noise, which "
            f"grows with the limit. At your ε the sum is smallest at {best_limit(epsilon_)}.",
        ),
        Words(
            "A low limit leaves complaints out, a high one needs more noise. Leaving some out is not private by "
            "itself: it is what makes the sensitivity finite."
        ),
        Words(
            f"At ε = {digits(epsilon_)} a limit of {best_limit(epsilon_)} is best for this day. On real data choose it "
            "from what you know beforehand, never by looking: the best limit is itself a secret of the data."
        ),
    )
    return Body(glance, figures, more)


def _noises(one: Laplace, many: Laplace, limit: int) -> Any:
    names = {"1 per person": OTHER, f"{limit} per person": PRIVATE}
    noises = {name: (0, mechanism) for name, mechanism in zip(names, (one, many), strict=False)}
    extent = max(3, math.ceil(4 * float(many.scale)))
    drawn = heaps(noises, extent, names, title="error of the count").properties(width=WIDTH - 40, height=190)
    title = "Everybody counts once" if limit == 1 else f"{limit} times the sensitivity, {limit} times the noise"
    return finished(drawn, title)


def _limits(epsilon_: float, limit: int) -> Any:
    alt = altair()
    parts = {"left out": OPEN, "noise, 95 %": PRIVATE}
    records = [
        {"limit": each, "kind": kind, "size": size}
        for each in range(1, MAX_SENT + 1)
        for kind, size in zip(parts, (TRUE - counted(each), half_width(epsilon_, each)), strict=True)
    ]
    bars = (
        chart_of(records)
        .mark_bar()
        .encode(
            x=alt.X("limit:O", title="most complaints of one person", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("size:Q", title="complaints", axis=alt.Axis(tickCount=5)),
            color=palette("kind", parts),
            opacity=alt.condition(f"datum.limit == {limit}", alt.value(1), alt.value(0.55)),
        )
    )
    mark = chart_of([{"limit": limit}]).mark_text(text="yours", dy=-6, color=NEUTRAL, fontSize=12)
    named = mark.encode(x="limit:O", y=alt.value(0))
    return finished(alt.layer(bars, named).properties(width=WIDTH - 20, height=190), "Left out, or drowned in noise")


LESSON: Final = Lesson(
    slug="complaints",
    title="Complaints: one or five per person",
    lectures=("004", "001"),
    teaser="Somebody very unhappy sends five complaints: then the noise must hide five.",
    shows="The noise must hide all that one person can change, so it grows with the complaints that a person may send.",
    fields=(
        Slider("limit", "Most complaints of one person", "1", str(MAX_SENT), "1", str(LECTURE)),
        epsilon("1"),
    ),
    body=_body,
    sketch=Sketch(
        "A narrow and a wide peak.",
        lines=(
            tuple((x / 40, 0.9 * math.exp(-abs(x - 20) / 2)) for x in range(41)),
            tuple((x / 40, 0.3 * math.exp(-abs(x - 20) / 10)) for x in range(41)),
        ),
    ),
    figure=Figure("Lap(5/ε)", "instead of Lap(1/ε)"),
    question=ask(
        "A shop limits everybody to five complaints and adds Lap(5/ε). One customer has sent twelve. What happens?",
        (
            "Five of them count, and the noise hides all five",
            "What is left out needs no hiding; the limit makes Δ finite.",
        ),
        ("The noise must be Lap(12/ε)", "Only if twelve could count. With the limit five is the most anybody moves."),
        ("The customer is not protected", "All that they can change is five, and that is what the noise was made for."),
    ),
)
