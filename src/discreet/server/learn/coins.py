"""Randomised response: the reader's own coins, and what an observer then believes."""

from __future__ import annotations

import math
from typing import Any, Final

from discreet import noise
from discreet.lab.blocks import Figure, Figures, Heading, Note, Picture, Words
from discreet.lab.charts import (
    INK,
    NEUTRAL,
    OPEN,
    PRIVATE,
    WIDTH,
    altair,
    chart_of,
    finished,
    palette,
    truth_line,
    whiskers,
)
from discreet.lab.examples.coins import COINS, crowd, posterior, sent
from discreet.lab.writing import count, digits, percent
from discreet.mechanisms import RandomizedResponse
from discreet.server.learn.fields import Choice, Slider, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

PRIOR: Final = 0.02
PEOPLE: Final = (100, 1_000, 10_000, 100_000)
SIDES: Final = {"heads": "heads", "tails": "tails", "flip": "flip it for me"}
ANSWERS: Final = {"yes": "Yes", "no": "No"}


def _after_yes(mechanism: RandomizedResponse) -> str:
    """The lecture's question: Tammy believed 0.02, and Bob said Yes."""
    return f"{posterior(PRIOR, 'yes', mechanism):.3f}"


def _flipped(side: str) -> str:
    return ("heads", "tails")[noise.below(2)] if side == "flip" else side


def _body(values: Values) -> Body:
    first, second = _flipped(values["first"]), _flipped(values["second"])
    said, prior = sent(values["truth"], first, second), values["prior"] / 100
    own = RandomizedResponse(epsilon=values["epsilon"])
    beliefs = [posterior(prior, said, mechanism) for mechanism in (COINS, own)]
    how = "so you told the truth" if first == "heads" else f"so the second coin answered: {second}"
    glance = (
        Note(f"First coin: {first}, {how}. You send “{ANSWERS[said]}”. The truth was “{ANSWERS[values['truth']]}”."),
        Picture(
            lambda: _beliefs(prior, said, own),
            "Belief after the answer against belief before. The two coins and your ε bend away from the dashed "
            f"diagonal, on which nothing is learnt. A prior of {percent(prior)} becomes {percent(beliefs[0])} with "
            f"the two coins and {percent(beliefs[1])} with your ε.",
        ),
        Figures(
            (
                Figure(percent(prior), "believed before"),
                Figure(percent(beliefs[0]), "after your answer, two coins"),
                Figure(percent(beliefs[1]), f"after it, ε = {digits(values['epsilon'])}"),
            )
        ),
    )
    bound = math.exp(values["epsilon"])
    figures = compared(
        "003",
        ("probability of the true answer", "3/4", digits(own.truth)),
        ("of the other one", "1/4", digits(own.lie)),
        ("ε", f"ln 3 ≈ {digits(math.log(3), 4)}", digits(values["epsilon"])),
        ("prior 0.02 and a Yes: posterior", _after_yes(COINS), _after_yes(own)),
        ("prior 0.4: posterior at least", "0.4·e^−ε", digits(0.4 / bound)),
        ("prior 0.4: posterior at most", "0.4·e^ε", digits(min(0.4 * bound, 1.0))),
    )
    more = (
        Heading("And yet the crowd can be counted"),
        *_crowd(int(values["people"]), values["share"] / 100, own),
        Words(
            "Nobody can tell from your answer whether you spoke or the coin did. From many answers the coins can be "
            "subtracted: the estimate is 2 · mean − 1/2 for two coins, and its variance is at least four times that of "
            "truthful answers."
        ),
        Words(
            "Whoever trusts a curator gets much more for the same ε: Laplace noise adds a variance of order 1/N² "
            "instead of 1/N."
        ),
    )
    return Body(glance, figures, more)


def _crowd(people: int, share: float, own: RandomizedResponse) -> tuple[Picture, Figures]:
    answers = crowd(people, share, own)
    flips = {"two coins, ε = ln 3": answers.coins, f"your ε = {digits(float(own.epsilon))}": answers.own}
    records = [_record(name, "everybody flips", each.value, *each.interval) for name, each in flips.items()]
    low, high = answers.curator - answers.half, answers.curator + answers.half
    records.append(_record("curator, ε = ln 3", "Laplace noise on the count", answers.curator, low, high))
    summary = ", ".join(f"{record['row']}: {percent(record['value'])}" for record in records)
    return (
        Picture(
            lambda: _estimates(records, answers.true, people),
            f"Estimates of the share with 95 % intervals about the true {percent(answers.true)}. {summary}. The "
            "curator's interval is by far the shortest.",
        ),
        Figures(
            (
                Figure(percent(answers.true), "say Yes in truth"),
                Figure(
                    f"{digits(answers.times)} ×",
                    "the variance of truthful answers, two coins (lecture 003: at least 4 ×)",
                ),
                Figure(
                    digits(float(answers.trusted.scale), 2), "scale of Laplace noise at ε = ln 3 (lecture 003: ≈ 0.91)"
                ),
            )
        ),
    )


def _record(row: str, kind: str, value: float, low: float, high: float) -> dict[str, Any]:
    return {"row": row, "kind": kind, "value": value, "low": low, "high": high}


def _estimates(records: list[dict[str, Any]], true: float, people: int) -> Any:
    alt = altair()
    x = alt.X(
        "low:Q", title="estimated share of Yes", axis=alt.Axis(format="%", tickCount=5), scale=alt.Scale(zero=False)
    )
    drawn = whiskers(records, x=x, colours={"everybody flips": OPEN, "Laplace noise on the count": PRIVATE})
    drawn = alt.layer(drawn, truth_line(true)).properties(width=WIDTH - 90)
    return finished(drawn, f"What {count(people)} answers tell", "bars hold the truth with 95 %")


def _beliefs(prior: float, said: str, own: RandomizedResponse) -> Any:
    alt = altair()
    names = {"two coins, ε = ln 3": (COINS, OPEN), f"your ε = {digits(float(own.epsilon))}": (own, PRIVATE)}
    records = [
        {"prior": step / 50, "posterior": posterior(step / 50, said, mechanism), "kind": name}
        for name, (mechanism, _) in names.items()
        for step in range(51)
    ]
    dots = [
        {"prior": prior, "posterior": posterior(prior, said, mechanism), "kind": name}
        for name, (mechanism, _) in names.items()
    ]
    axis, whole = alt.Axis(format="%", tickCount=5), alt.Scale(domain=[0, 1])
    x, y = (
        alt.X("prior:Q", title="believed before", axis=axis, scale=whole),
        alt.Y("posterior:Q", title=f"believed after a {ANSWERS[said]}", axis=axis, scale=whole),
    )
    colour = palette("kind", {name: colour for name, (_, colour) in names.items()})
    nothing = chart_of([{"prior": end, "posterior": end} for end in (0, 1)])
    drawn = alt.layer(
        nothing.mark_line(color=NEUTRAL, strokeDash=[4, 4]).encode(x=x, y=y),
        chart_of(records).mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour),
        chart_of([{"prior": prior}]).mark_rule(color=INK, opacity=0.5).encode(x=x),
        chart_of(dots).mark_point(filled=True, size=90, opacity=1).encode(x=x, y=y, color=colour),
    )
    return finished(
        drawn.properties(width=WIDTH - 40, height=250), "What your answer tells", "dashed: nothing is learnt"
    )


LESSON: Final = Lesson(
    slug="randomised-response",
    title="Your own two coins",
    lectures=("003", "002"),
    teaser="Flip twice, answer, and see how little your answer gives away.",
    shows="With two coins you can answer an awkward question, and whoever reads your answer learns little.",
    fields=(
        Choice("truth", "Did you dodge your taxes?", ANSWERS, "no"),
        Choice("first", "Your first coin", SIDES, "tails"),
        Choice("second", "Your second coin", SIDES, "heads"),
        Slider("prior", "What an observer believed before", "0", "100", "1", "2", "%"),
        epsilon("0.5", label="Another ε"),
        Choice("people", "People asked", {str(size): count(size) for size in PEOPLE}, "1000"),
        Slider("share", "Who would truly say Yes", "1", "99", "1", "20", "%"),
    ),
    body=_body,
    sketch=Sketch(
        "A curve close to the diagonal.",
        lines=(((0.0, 0.0), (1.0, 1.0)), tuple((x / 20, 3 * x / (3 * x + 20 - x) if x else 0.0) for x in range(21))),
    ),
    figure=Figure("2 % → 5.8 %", "what a Yes tells whoever believed 2 %"),
    question=ask(
        "You answered Yes with the lecture's two coins. Can you be proven to have dodged your taxes?",
        (
            "No: one in four who did not also says Yes",
            "A Yes is at most three times as likely if it is true: e^ε = 3, and you can always point at the coins.",
        ),
        (
            "Yes, if I believed it to be likely before",
            "Then it was believed before: the answer moves odds by 3 at most.",
        ),
        ("Yes: three in four who say Yes did", "That is the chance of a Yes if you did, not of having done it if Yes."),
    ),
    invented="invented people: the true share is shown",
)
