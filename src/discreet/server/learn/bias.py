"""The bias of a coin: the exponential mechanism over a range of numbers, and noisy counts, which are better here."""

from __future__ import annotations

import math
from typing import Any, Final

from discreet.lab.blocks import Figure, Figures, Heading, Note, Picture, Words
from discreet.lab.charts import OPEN, PRIVATE, WIDTH, altair, chart_of, finished, lines, truth_line
from discreet.lab.examples.bias import (
    biases,
    chosen,
    counted,
    density,
    sensitivity,
    spread_by_choice,
    spread_by_counts,
    weight,
)
from discreet.lab.writing import count, digits
from discreet.server.learn.fields import Choice, Slider, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

LOWS: Final = {"0.1": "0.1 to 0.9, the lecture's", "0.2": "0.2 to 0.8", "0.01": "0.01 to 0.99", "0": "0 to 1"}
TOSSES: Final = (100, 1_000, 10_000, 100_000)
CHOICE, COUNTS = "exponential mechanism", "noisy counts"
LECTURE: Final = 0.1


def _body(values: Values) -> Body:
    low, tosses, epsilon_ = float(values["low"]), int(values["tosses"]), values["epsilon"]
    share = values["share"] / 100
    return _unbounded() if low == 0 else _bounded(low, tosses, epsilon_, share)


def _bounded(low: float, tosses: int, epsilon_: float, share: float) -> Body:
    heads = round(tosses * share)
    bias, noisy = chosen(heads, tosses - heads, epsilon_, low), counted(heads, tosses - heads, epsilon_)
    w = weight(epsilon_, low)
    errors = spread_by_choice(tosses, share, epsilon_, low), spread_by_counts(tosses, share, epsilon_)
    glance = (
        Picture(
            lambda: _chart(heads, tosses, epsilon_, low, bias),
            f"How likely each bias from {low} to {1 - low:g} is to be the answer, with its peak at the true "
            f"{digits(share)}. This time {digits(bias)} was chosen.",
        ),
        Figures(
            (
                Figure(digits(bias), "chosen by the exponential mechanism"),
                Figure(digits(noisy.bias), "from two noisy counts"),
                Figure(digits(share), "share of heads in truth"),
                Figure(digits(w, 2), "what each toss counts for"),
            )
        ),
    )
    figures = compared(
        "003",
        ("Δ of the log-likelihood", "−ln 0.1 ≈ 2.3", digits(sensitivity(low))),
        ("each toss counts for ε/(2Δ)", "0.022", digits(w, 2)),
        (
            "drawn from a truncated",
            "Beta(1 + 0.022·N_H, 1 + 0.022·N_T)",
            f"Beta({digits(1 + w * heads, 4)}, {digits(1 + w * (tosses - heads), 4)})",
        ),
        ("noise on the counts", "Δ/ε = 22", f"{digits(float(noisy.mechanism.scale))} is enough: counts move by 1"),
        (
            "squared error falls like",
            "1/N, and 1/N²",
            f"typical error {digits(errors[0], 2)}, and {digits(errors[1], 2)}",
        ),
    )
    more = (
        Heading("Which is better?"),
        Picture(
            lambda: _errors(epsilon_, low, share),
            "Typical error against the number of tosses, both axes logarithmic: noisy counts fall twice as steeply as "
            "the exponential mechanism.",
        ),
        Words(
            "The exponential mechanism draws a bias with a probability that grows with its likelihood: like a "
            "posterior sample, except that each toss counts for very little. That is what hides a single toss."
        ),
        Words(
            "Where the answer is a count, noise on the count is far better. The exponential mechanism is for answers "
            "that are no counts: a name, a threshold, a whole database."
        ),
    )
    return Body(glance, figures, more)


def _unbounded() -> Body:
    lows = (0.2, 0.1, 0.01, 0.001, 0.0001)
    glance = (
        Picture(
            lambda: _sensitivities(lows),
            "The sensitivity of the log-likelihood against the lowest bias: it grows without end as that nears 0.",
        ),
        Figures((Figure("∞", "Δ of the log-likelihood from 0 to 1"), Figure("none", "answer: no noise is enough"))),
        Note("A toss of heads has probability 0 if the coin never shows heads: one toss can rule out a bias.", "bad"),
    )
    figures = compared(
        "003",
        ("Δ from 0 to 1", "∞", "∞"),
        ("so the exponential mechanism", "cannot be used", "is refused here"),
        ("Δ from 0.1 to 0.9", "−ln 0.1 ≈ 2.3", digits(sensitivity(LECTURE))),
    )
    more = (
        Words(
            "The lecture's way out is a smaller range. What is outside can then not be found, which is the cost of a "
            "finite sensitivity: as with bounds on an income."
        ),
    )
    return Body(glance, figures, more)


def _chart(heads: int, tosses: int, epsilon_: float, low: float, bias: float) -> Any:
    alt = altair()
    law = density(heads, tosses - heads, epsilon_, low)
    records = [
        {"bias": float(each), "chance": float(chance)} for each, chance in zip(biases(low)[::4], law[::4], strict=True)
    ]
    x = alt.X("bias:Q", title="bias of the coin", scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("chance:Q", title="probability", axis=alt.Axis(format="~%", tickCount=4))
    area = chart_of(records).mark_area(opacity=0.35, line={"color": PRIVATE}, color=PRIVATE).encode(x=x, y=y)
    mark = chart_of([{"bias": bias}]).mark_rule(color=PRIVATE, strokeWidth=2.5).encode(x=x)
    drawn = alt.layer(area, mark, truth_line(heads / tosses)).properties(width=WIDTH - 40, height=200)
    return finished(drawn, "Where the answer falls", "blue line: chosen this time")


def _errors(epsilon_: float, low: float, share: float) -> Any:
    alt = altair()
    sizes = [10 ** (step / 4) for step in range(8, 23)]
    records = [
        {"tosses": round(size), "kind": kind, "error": error}
        for size in sizes
        for kind, error in (
            (CHOICE, spread_by_choice(round(size), share, epsilon_, low)),
            (COUNTS, spread_by_counts(round(size), share, epsilon_)),
        )
    ]
    x = alt.X("tosses:Q", title="tosses", scale=alt.Scale(type="log"), axis=alt.Axis(format="~s", tickCount=4))
    y = alt.Y("error:Q", title="typical error", scale=alt.Scale(type="log"), axis=alt.Axis(tickCount=4, format="~g"))
    return finished(
        lines(records, x=x, y=y, colours={CHOICE: OPEN, COUNTS: PRIVATE}), "More tosses", "both logarithmic"
    )


def _sensitivities(lows: tuple[float, ...]) -> Any:
    alt = altair()
    records = [{"low": low, "kind": "Δ", "value": sensitivity(low)} for low in lows]
    x = alt.X("low:Q", title="lowest bias", scale=alt.Scale(type="log"), axis=alt.Axis(format="~g", tickCount=4))
    y = alt.Y("value:Q", title="sensitivity", axis=alt.Axis(tickCount=5))
    return finished(lines(records, x=x, y=y, colours={"Δ": OPEN}), "The nearer to 0, the more sensitive")


LESSON: Final = Lesson(
    slug="coin-bias",
    title="The bias of a coin",
    lectures=("003",),
    teaser="Choose a number as if it were a name: a posterior sample in which each toss counts for 0.022.",
    shows="The exponential mechanism can choose a number too; noisy counts do it better, where there are counts.",
    fields=(
        Choice("tosses", "Tosses", {str(size): count(size) for size in TOSSES}, "1000"),
        Slider("share", "Heads", "20", "80", "1", "60", "%"),
        Choice("low", "Biases from", LOWS, "0.1"),
        epsilon("0.1"),
    ),
    body=_body,
    sketch=Sketch(
        "A broad peak.",
        lines=(tuple((x / 40, 0.85 * math.exp(-(((x - 24) / 9) ** 2))) for x in range(41)),),
    ),
    figure=Figure("0.022", "of a toss is what each toss counts for, at ε = 0.1"),
    question=ask(
        "Why does the lecture restrict the bias to (0.1, 0.9)?",
        (
            "So that one toss moves every score by a bounded amount",
            "At a bias near 0 one toss of heads would lower the score without limit, and no ε could hide it.",
        ),
        (
            "Because coins are never more biased than that",
            "They may be. The range is chosen so that the sensitivity is finite, and costs us such coins.",
        ),
        (
            "So that fewer candidates have to be scored",
            "The number of candidates matters little. Without a range the sensitivity is infinite.",
        ),
        at=2,
    ),
)
