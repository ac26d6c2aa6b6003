"""How losses add up: the same people twice, different people once, groups, and what comes after the noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from discreet.lab.blocks import Block, Figure, Figures, Heading, Picture, Table, Words
from discreet.lab.charts import OPEN, OTHER, PRIVATE, altair, finished, lines
from discreet.lab.examples.composition import (
    in_parallel,
    in_sequence,
    laplace_of,
    of_group,
    processed,
    repeated_loss,
    with_delta,
)
from discreet.lab.writing import count, digits
from discreet.server.learn.fields import Choice, Slider, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

DELTAS: Final = {"0": "none: ε alone", "0.00001": "10⁻⁵", "0.000001": "10⁻⁶"}
SAME, APART, GAUSSIAN = "same people", "disjoint people", "same people, Gaussian"
MOST_QUESTIONS: Final = 100
PEOPLE: Final = 30
"""In the count that is processed further."""
AFTER: Final[dict[str, Callable[[int], int]]] = {
    "as it is": lambda answer: answer,
    "negative ones set to 0": lambda answer: max(answer, 0),
    "rounded to tens": lambda answer: round(answer, -1),
    "is it at least 30?": lambda answer: int(answer >= PEOPLE),
    "its last digit": lambda answer: answer % 10,
    "thrown away": lambda _: 0,
}


def _body(values: Values) -> Body:
    questions, epsilon_, size = values["questions"], values["epsilon"], values["group"]
    delta = float(values["delta"])
    grown = of_group(size, epsilon_, delta)
    total = in_sequence(questions, epsilon_)
    glance = (
        Picture(
            lambda: _chart(questions, epsilon_, delta),
            f"Cost against the number of questions. About the same people it rises in proportion, to {digits(total)} "
            f"for {questions}. About disjoint people it stays at {digits(epsilon_)}.",
        ),
        Figures(
            (
                Figure(digits(total), f"ε of {questions} questions about the same people"),
                Figure(digits(in_parallel(questions, epsilon_)), "ε if each is about other people"),
                Figure(digits(grown[0]), f"ε for a group of {size}"),
                Figure(digits(epsilon_), "ε after any post-processing"),
            )
        ),
    )
    features = laplace_of(questions, epsilon_)
    figures = compared(
        "002",
        ("k answers", "kε, kδ", f"{questions} · {digits(epsilon_)} = {digits(total)}"),
        ("on disjoint data (001)", "max ε", digits(in_parallel(questions, epsilon_))),
        ("group of k: ε", "kε", f"{size} · {digits(epsilon_)} = {digits(grown[0])}"),
        ("group of k: δ", "k·e^(kε)·δ", digits(grown[1]) if delta else "0"),
        ("f(A(x)), whatever f is", "ε", digits(epsilon_)),
        (
            f"D = {questions} counts at once, or D times ε/D (003)",
            "D/ε, both",
            f"{digits(float(features[0].scale))}, {digits(float(features[1].scale))}",
        ),
    )
    more: tuple[Block, ...] = (
        Heading("Seen on the noise itself"),
        Table(
            f"A count of {PEOPLE} with Laplace noise, and what is left of ε when it is processed further",
            ("", "largest ratio", "loss", "at most e^ε?"),
            tuple(
                (
                    each.name,
                    digits(math.exp(each.loss)),
                    digits(each.loss),
                    "yes" if each.loss <= epsilon_ * 1.000001 else "no",
                )
                for each in processed(PEOPLE, epsilon_, AFTER)
            ),
        ),
        Words(
            f"The answers to one count, asked {questions} times, differ between neighbours by a factor of up to "
            f"e^{digits(repeated_loss(questions, epsilon_))}: nothing is lost in the sum, it can really happen."
        ),
        *_gaussian(questions, epsilon_, delta),
        Words(
            "Nothing that is done after the noise can undo it: rounding, sorting, a model, a lawyer. It may lose "
            "information, as the table shows, but never adds any, as long as nobody looks at the data again."
        ),
        Words(
            "A family that answers alike is a group: whoever wants to know whether any of them is in the data has k "
            "times the ε. That is why a unit should be whatever wants protection: a person with all rows, or a "
            "household."
        ),
    )
    return Body(glance, figures, more)


def _gaussian(questions: int, epsilon_: float, delta: float) -> tuple[Words, ...]:
    if not delta:
        return ()
    together = with_delta(questions, epsilon_, delta)
    return (
        Words(
            f"With a δ losses add up more slowly: {count(questions)} questions of ε = {digits(epsilon_)} each, with "
            f"Gaussian noise, are ({digits(together)}, {digits(delta)})-private together instead of "
            f"{digits(questions * epsilon_)}."
        ),
    )


def _chart(questions: int, epsilon_: float, delta: float) -> Any:
    alt = altair()
    places = sorted({*range(1, 11), *range(10, MOST_QUESTIONS + 1, 5), questions})
    kinds = {SAME: OPEN, APART: PRIVATE} | ({GAUSSIAN: OTHER} if delta else {})
    costs: dict[str, Callable[[int, float], float]] = {
        SAME: in_sequence,
        APART: in_parallel,
        GAUSSIAN: lambda many, each: with_delta(many, each, delta),
    }
    records = [
        {"questions": many, "kind": kind, "cost": costs[kind](many, epsilon_)}
        for kind in kinds
        for many in (places if kind != GAUSSIAN else places[::3])
    ]
    x = alt.X("questions:Q", title="questions, k", axis=alt.Axis(tickCount=5))
    y = alt.Y("cost:Q", title="ε of all of them", axis=alt.Axis(tickCount=5))
    return finished(lines(records, x=x, y=y, colours=kinds), "What many questions cost")


LESSON: Final = Lesson(
    slug="composition",
    title="How losses add up",
    lectures=("002", "001", "003"),
    teaser="The same people twice cost twice, other people once. Afterwards, compute whatever you like.",
    shows="Costs add up over questions about the same people; about other people the largest counts.",
    fields=(
        Slider("questions", "Questions, k", "1", str(MOST_QUESTIONS), "1", "10"),
        epsilon("0.1", low="0.05", high="1", label="ε of each"),
        Slider("group", "People in a group", "1", "10", "1", "4"),
        Choice("delta", "δ of each", DELTAS, "0"),
    ),
    body=_body,
    sketch=Sketch(
        "A line that rises and one that stays.", lines=(((0.0, 0.05), (1.0, 0.95)), ((0.0, 0.2), (1.0, 0.2)))
    ),
    figure=Figure("kε or max ε", "the same people k times, or others each time"),
    question=ask(
        "You release, at ε = 0.5 each, the mean income of every one of fifty states; everybody lives in one. Then you "
        "sort the states by it. What did it cost in all?",
        ("0.5", "Nobody is in two states, so the largest counts; and sorting noisy numbers is post-processing: free."),
        ("25", "That would be so if everybody were in all fifty means. Everybody is in one."),
        ("25.5, as sorting looks at all of them", "Sorting looks at noisy numbers only, never at the data."),
    ),
    invented="no data at all: exact probabilities",
)
