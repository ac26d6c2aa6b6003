"""Laplace against Gaussian: a loss that is never above ε, and one that sometimes is."""

from __future__ import annotations

import math
from typing import Any, Final

from discreet.accounting.curves import delta_of
from discreet.answers.plots.losses import Curve, privacy_loss
from discreet.lab.blocks import Figure, Figures, Heading, Picture, Words
from discreet.lab.charts import INK, OPEN, PRIVATE, WIDTH, altair, chart_of, finished, palette
from discreet.lab.examples.losses import SENSITIVITY, beyond, errors, ordered
from discreet.lab.writing import count, digits
from discreet.mechanisms import Gaussian, Laplace
from discreet.server.learn.fields import Choice, Slider, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

DELTAS: Final = {"0.05": "0.05", "0.01": "0.01", "0.001": "0.001", "0.00001": "10⁻⁵", "0.000001": "10⁻⁶"}
MOST_NUMBERS: Final = 256
NAMES: Final = {"Laplace": PRIVATE, "Gaussian": OPEN}


def _body(values: Values) -> Body:
    epsilon_, delta, numbers = values["epsilon"], float(values["delta"]), values["numbers"]
    laplace = Laplace(epsilon=epsilon_, sensitivity=SENSITIVITY)
    gaussian = Gaussian(epsilon=epsilon_, delta=delta, sensitivity=SENSITIVITY)
    curves = {"Laplace": Curve.of(laplace), "Gaussian": Curve.of(gaussian)}
    chance = beyond(curves["Gaussian"], epsilon_)
    spent = delta_of(curves["Gaussian"].noise, curves["Gaussian"].shift, epsilon_)
    widths = errors(epsilon_, delta, numbers)
    glance = (
        Picture(
            lambda: _events(curves, epsilon_),
            f"All events in order of their loss against e to the loss. Laplace rises and then stays at e^ε = "
            f"{digits(math.exp(epsilon_))}. Gaussian crosses that line for the last {digits(100 * chance)} per cent of "
            "events.",
        ),
        Figures(
            (
                Figure("0", "Laplace: chance of a loss above ε"),
                Figure(digits(chance), "Gaussian: chance of a loss above ε"),
                Figure(digits(spent), "δ, what those events weigh"),
                Figure(
                    digits(gaussian.sigma / SENSITIVITY), "σ for a count (Laplace: scale " + digits(1 / epsilon_) + ")"
                ),
            )
        ),
    )
    figures = compared(
        "004",
        ("Laplace: the loss is", "always within ε", f"at most {digits(epsilon_)}, always"),
        ("Gaussian: the loss is", "sometimes above ε", f"above {digits(epsilon_)} with {digits(chance)}"),
        ("δ should be", "below 1/n", f"enough for fewer than {count(1 / delta)} people"),
        (
            "noise for k numbers grows like",
            "k, and √k",
            f"k = {numbers}: ± {count(widths[0])}, ± {count(widths[1])}",
        ),
    )
    more = (
        Picture(
            lambda: privacy_loss(laplace, gaussian),
            "How likely the loss exceeds each ε, on a logarithmic axis: Laplace's line falls to nothing at its ε, "
            "Gaussian's goes on, ever lower.",
        ),
        Heading("Why use Gaussian noise at all?"),
        Picture(
            lambda: _numbers(epsilon_, delta, numbers),
            "Error of each of k numbers that one person changes: Laplace's grows in proportion, Gaussian's with the "
            f"root. At k = {numbers}: {count(widths[0])} against {count(widths[1])}.",
        ),
        Words(
            "δ is not simply the chance of a bad event: each counts by how far its loss is beyond ε. So a Gaussian "
            "that is just (ε, δ)-private exceeds ε more often than δ says, mostly by very little."
        ),
        Words(
            "For one number Laplace noise is smaller and never fails. As soon as a person changes many numbers, "
            "Gaussian noise is far smaller; that is why budgets with a δ use it."
        ),
    )
    return Body(glance, figures, more)


def _events(curves: dict[str, Curve], epsilon_: float) -> Any:
    alt = altair()
    records = [record for name, curve in curves.items() for record in ordered(name, curve)]
    limit = math.exp(epsilon_)
    x = alt.X("place:Q", title="all events, by probability", axis=alt.Axis(format="%", tickCount=5))
    top = alt.Scale(domain=[0, max(record["ratio"] for record in records) * 1.05])
    y = alt.Y("ratio:Q", title="e^loss", scale=top)
    lines = chart_of(records).mark_line(strokeWidth=2.5).encode(x=x, y=y, color=palette("kind", NAMES))
    bad = [record for record in records if record["ratio"] > limit * (1 + 1e-9) and record["kind"] == "Gaussian"]
    edge = chart_of([{"ratio": limit, "text": "e^ε"}])
    drawn = alt.layer(
        chart_of([{**record, "limit": limit} for record in bad])
        .mark_area(color=OPEN, opacity=0.3)
        .encode(x=x, y=alt.Y("limit:Q"), y2="ratio:Q"),
        lines,
        edge.mark_rule(color=INK, strokeDash=[4, 3]).encode(y=y),
        edge.mark_text(color=INK, dy=-8, fontSize=12, align="left", dx=4).encode(y=y, x=alt.value(0), text="text:N"),
    )
    return finished(
        drawn.properties(width=WIDTH - 30, height=220),
        "The lecture's picture, exactly computed",
        "shaded: the bad events, which Laplace does not have",
    )


def _numbers(epsilon_: float, delta: float, numbers: int) -> Any:
    alt = altair()
    sizes = sorted({2**power for power in range(MOST_NUMBERS.bit_length())} | {numbers})
    records = [
        {"numbers": size, "kind": name, "error": error}
        for size in sizes
        for name, error in zip(NAMES, errors(epsilon_, delta, size), strict=True)
    ]
    ticks = alt.Axis(values=[1, 4, 16, 64, 256])
    x = alt.X("numbers:Q", title="numbers that one person changes, k", scale=alt.Scale(type="log"), axis=ticks)
    y = alt.Y("error:Q", title="error of each, 95 %", scale=alt.Scale(type="log"), axis=alt.Axis(tickCount=4))
    base = chart_of(records).encode(x=x, y=y, color=palette("kind", NAMES))
    own = base.transform_filter(f"datum.numbers == {numbers}").mark_point(filled=True, size=90, opacity=1)
    drawn = alt.layer(base.mark_line(strokeWidth=2.5), own).properties(width=WIDTH - 30, height=200)
    return finished(drawn, "k against √k", "both axes logarithmic; dots: yours")


LESSON: Final = Lesson(
    slug="privacy-loss",
    title="Laplace against Gaussian",
    lectures=("004", "003"),
    teaser="One never loses more than ε. The other sometimes does, and is often better all the same.",
    shows="Laplace noise never gives away more than ε; Gaussian noise sometimes does: δ weighs how often, and how far.",
    fields=(
        epsilon("1", low="0.1"),
        Choice("delta", "δ", DELTAS, "0.01"),
        Slider("numbers", "Numbers that one person changes", "1", str(MOST_NUMBERS), "1", "64"),
    ),
    body=_body,
    sketch=Sketch(
        "One line that levels off, one that goes on rising.",
        lines=(tuple((x / 20, 0.15 * math.exp(x / 11)) for x in range(21)),),
    ),
    figure=Figure("never > ε", "for Laplace noise; for Gaussian only mostly"),
    question=ask(
        "A mechanism is (1, 10⁻⁶)-private. Which of these may happen?",
        (
            "With a tiny probability an answer tells very much",
            "That is what δ allows. Gaussian noise exceeds ε by little, mostly; the definition does not ask for it.",
        ),
        (
            "In one case of a million ε is 1 instead of 0",
            "ε bounds the loss in all other cases; δ is for what exceeds it.",
        ),
        ("Nothing: a millionth is rounding", "It is one person in a million. So δ should be well below 1/n."),
        at=1,
    ),
    invented="no data at all: exact probabilities",
)
