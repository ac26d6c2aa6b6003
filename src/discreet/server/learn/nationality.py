"""The most common nationality: an answer that is no number, chosen by the exponential mechanism."""

from __future__ import annotations

import math
from typing import Any, Final

from discreet.lab.blocks import Figure, Figures, Heading, Picture, Table, Words
from discreet.lab.charts import INK, NEUTRAL, PRIVATE, WIDTH, altair, chart_of, finished
from discreet.lab.examples.nationality import ROOM, vote
from discreet.lab.writing import count, digits, percent
from discreet.server.learn.fields import Choice, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

ROOMS: Final = {1: "a class of 30", 10: "a hall of 300", 100: "a stadium block of 3,000"}
METHODS: Final = {"lecture": "ε·u/(2Δu), the lecture's", "counts": "ε·u/Δu, enough for counts"}


def _body(values: Values) -> Body:
    times = int(values["room"])
    room = vote(times, values["epsilon"], monotone=values["method"] == "counts")
    names, scores, chances, mechanism, chosen = room.names, room.scores, room.chances, room.mechanism, room.chosen
    short = mechanism.error(0.95, candidates=len(names))
    glance = (
        Picture(
            lambda: _chart(scores, chances, chosen),
            f"A bar for each nationality: how likely it is to be the answer. {names[0]} has {percent(chances[0])}, "
            f"{names[-1]} {percent(chances[-1])}. This time {chosen} was chosen.",
        ),
        Figures(
            (
                Figure(chosen, "chosen this time"),
                Figure(names[0], "most common in truth"),
                Figure(percent(chances[0]), "chance of the true answer"),
                Figure(digits(max(short, 0.0)), "people short of the best at most, 95 %"),
            )
        ),
    )
    weight = 1 if mechanism.monotone else 2
    figures = compared(
        "001",
        ("score u", "people of that nationality", "people of that nationality"),
        ("Δu", "1", digits(float(mechanism.sensitivity))),
        ("Pr ∝", "exp(ε·u/(2Δu))", f"exp({digits(values['epsilon'] / weight)}·u)"),
        ("one person changes a probability at most", "e^ε", f"{digits(math.exp(values['epsilon']))}-fold"),
        (
            "short of the best by R with Pr ≤ (003)",
            "|Y|·e^(−εR/2Δ)",
            f"6·e^(−{digits(values['epsilon'] / weight)}·R)",
        ),
    )
    more = (
        Heading("One person leaves the room"),
        Table(
            f"Probabilities with everybody, and without one of the {names[0]} people",
            ("", "people", "with everybody", "without one", "ratio"),
            tuple(
                (name, count(score), _shown(with_), _shown(less), digits(ratio))
                for name, score, with_, less, ratio in zip(
                    names, scores, chances, room.without, room.ratios, strict=True
                )
            ),
        ),
        Words(
            f"No ratio is beyond e^ε = {digits(math.exp(values['epsilon']))}, up or down; the farthest here is "
            f"{digits(max(room.ratios[0], 1 / room.ratios[1]))}-fold. The smaller ε is, the less a choice tells "
            "whether one person was in the room."
        ),
        Words(
            "Noise on a name makes no sense, so the name itself is drawn at random: good answers often, bad ones "
            "exponentially rarely. In a larger room the same ε finds the truth almost always."
        ),
    )
    return Body(glance, figures, more)


def _shown(chance: float) -> str:
    """A probability; the smallest are beyond what a float holds, and yet not nothing."""
    return percent(chance) if chance else "below 10⁻³⁰⁰ %"


def _chart(scores: tuple[int, ...], chances: tuple[float, ...], chosen: str) -> Any:
    alt = altair()
    records = [
        {"name": name, "label": f"{name} ({count(score)})", "chance": chance, "shown": _shown(chance)}
        for name, score, chance in zip(ROOM, scores, chances, strict=True)
    ]
    labels = [record["label"] for record in records]
    base = chart_of(records).encode(y=alt.Y("label:N", sort=labels, title=None))
    x = alt.X("chance:Q", title="probability of being chosen", scale=alt.Scale(domain=[0, 1.18]))
    x = x.axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    colour = alt.condition(f"datum.name == '{chosen}'", alt.value(PRIVATE), alt.value(NEUTRAL))
    bars = base.mark_bar(height={"band": 0.65}).encode(x=x, color=colour)
    words = base.mark_text(align="left", dx=4, color=INK, fontSize=12).encode(x=x, text="shown:N")
    drawn = alt.layer(bars, words).properties(width=WIDTH - 80, height=alt.Step(30))
    return finished(drawn, "How likely each answer is", f"blue: {chosen}, chosen this time; people in brackets")


LESSON: Final = Lesson(
    slug="nationality",
    title="The most common nationality",
    lectures=("001", "003"),
    teaser="No noise fits on a name: draw the name itself, good answers more often.",
    shows="The exponential mechanism answers with a name: the more people it stands for, the likelier it is.",
    fields=(
        Choice("room", "The room", {str(times): label for times, label in ROOMS.items()}, "1"),
        epsilon("1"),
        Choice("method", "Exponent", METHODS, "lecture"),
    ),
    body=_body,
    sketch=Sketch(
        "Bars that fall exponentially.",
        bars=((0.9, 0.0), (0.62, 0.0), (0.22, 0.0), (0.13, 0.0), (0.08, 0.0), (0.03, 0.0)),
    ),
    figure=Figure("e^(ε·u/2)", "the weight of a name that u people share"),
    question=ask(
        "In a room two nationalities have 9 and 8 people. Why not simply release the one with the larger noisy count?",
        (
            "One may: report noisy max is private too",
            "The name alone is post-processing of noisy counts. The exponential mechanism is another way to choose it.",
        ),
        ("Because counts must never be looked at", "They may be looked at, as long as what is released is noisy."),
        (
            "Because the answer would often be wrong",
            "So is the exponential mechanism's, about as often: at ε = 1 a lead of one person is hard to see.",
        ),
    ),
)
