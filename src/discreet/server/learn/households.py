"""The census: noise at every level of a hierarchy, and one table that adds up."""

from __future__ import annotations

from typing import Any, Final

from discreet.lab.blocks import Block, Figure, Figures, Note, Picture, Table, Words
from discreet.lab.charts import OPEN, PRIVATE, finished, pairs
from discreet.lab.examples.households import HOME, HOUSEHOLDS, LEVELS, Census, census, exact, expected, places
from discreet.lab.writing import count, digits
from discreet.server.learn.fields import Choice, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

WAYS: Final = {
    "equal": "at every level, a quarter of ε each",
    "leaves": "at ZIP codes only, all of ε",
    "top": "at every level, more at the top",
}
RAW, SMOOTH = "as measured", "made to add up"


def _body(values: Values) -> Body:
    epsilon_, way = values["epsilon"], values["way"]
    made = census(epsilon_, way)
    (raw, smooth), other = expected(epsilon_, way), "leaves" if way != "leaves" else "equal"
    places_ = len(places().paths)
    glance: tuple[Block, ...] = (
        Picture(
            lambda: _chart(raw, smooth),
            "Typical error of a count at each level, as measured and after all levels were made to add up: "
            + ", ".join(
                f"{level} {digits(a, 2)} and {digits(b, 2)}" for level, a, b in zip(LEVELS, raw, smooth, strict=True)
            )
            + ".",
        ),
        Figures(
            (
                Figure(count(made.whole[0][0]), f"households in the country (truth {count(exact()[0][0])})"),
                Figure(count(made.whole[3][0]), f"in 82414 (truth {count(HOUSEHOLDS)})"),
                Figure(count(made.gap()), "by which the states, as measured, miss the country"),
                Figure("0", "after they were made to add up"),
            )
        ),
        *([Note(f"A sum of small places has much noise: {count(places_)} noises.", "bad")] * (way == "leaves")),
    )
    figures = compared(
        "000",
        ("households in 82414", "6,898", f"{count(made.whole[3][0])} released"),
        ("noise on a count (003: blue eyes)", "1/ε", _scales(made)),
        ("one household more moves", "1 in each level", f"1 in each of {len(LEVELS)} levels"),
        ("sensitivity of disjoint places (003)", "1", "1: places of a level cost once"),
        ("US census 2020 (003, 004)", "uses DP", "the same idea, smaller"),
    )
    more = (
        Table(
            "One path from the top, in households",
            ("", "truth (invented)", "measured", "adds up", "published"),
            tuple(
                (
                    name,
                    count(exact()[level][0]),
                    count(float(made.measured[level][0])),
                    f"{float(made.consistent[level][0]):,.1f}",
                    count(int(made.whole[level][0])),
                )
                for level, name in enumerate(("country", *HOME))
            ),
        ),
        Table(
            "Typical errors by level: your way, and another at the same ε",
            ("level", "places", "yours", WAYS[other]),
            tuple(
                (level, count(len(nodes)), digits(a), digits(b))
                for level, nodes, a, b in zip(LEVELS, places().nodes, smooth, expected(epsilon_, other)[1], strict=True)
            ),
        ),
        Words(
            "Every household is in one place of each level, so each level costs its share of ε, however many places "
            "it has. Measured separately, states do not add up to the country. Least squares makes them, and every "
            "level helps the others: making numbers add up is post-processing, and makes them better. ZIP codes "
            "alone would be more exact with all of ε; the country would not."
        ),
        Words(
            "Published counts are whole and not negative. In small places that adds a bias: noise below zero is cut "
            "off, noise above stays. Whoever needs unbiased counts should get the measured ones too."
        ),
    )
    return Body(glance, figures, more)


def _scales(made: Census) -> str:
    return ", ".join(digits(scale) if scale else "–" for scale in made.scales)


def _chart(raw: list[float], smooth: list[float]) -> Any:
    kinds = {RAW: OPEN, SMOOTH: PRIVATE}
    records = [
        {"name": level, "kind": kind, "value": error}
        for kind, errors in zip(kinds, (raw, smooth), strict=True)
        for level, error in zip(LEVELS, errors, strict=True)
    ]
    return finished(pairs(records, title="typical error, households", colours=kinds), "Errors from top to bottom")


LESSON: Final = Lesson(
    slug="census",
    title="A census that adds up",
    lectures=("000", "003", "004"),
    teaser="Country, states, counties, ZIP codes: noise at every level, and yet everything adds up.",
    shows="Noise at every level keeps large places exact; made to add up, every level gets better.",
    fields=(Choice("way", "Noise", WAYS, "equal"), epsilon("1", low="0.1")),
    body=_body,
    sketch=Sketch("Pairs of bars: errors before and after.", bars=((0.3, 0.28), (0.35, 0.3), (0.5, 0.42), (0.9, 0.8))),
    figure=Figure("6,898", "households in ZIP code 82414, and everybody else's"),
    question=ask(
        "Noise was added at ZIP codes only, and you add up the 1,000 noisy counts of the country. How large is the "
        "error of the sum, compared with that of one ZIP code?",
        (
            "About √1,000 ≈ 32 times as large",
            "Independent noises add up like a random walk. That is why levels above are measured too.",
        ),
        ("The same: noise cancels", "It cancels in part only: the sum of 1,000 noises grows with the root of 1,000."),
        ("1,000 times as large", "That would be so if all noises pointed in the same direction. They are independent."),
        at=2,
    ),
)
