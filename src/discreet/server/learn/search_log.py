"""The search log of the lecture: a release that looks private, and what its δ really says."""

from __future__ import annotations

import math
from typing import Any, Final

from discreet.lab.blocks import Figure, Figures, Heading, Note, Picture, Table, Words
from discreet.lab.charts import OPEN, PRIVATE, finished, pairs
from discreet.lab.examples.search_log import ROWS, SLIDE, Drawn, described, drawn, limit, log
from discreet.lab.writing import count, digits, percent
from discreet.server.learn.fields import Choice, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

DELTAS: Final = {
    "0.000001": "10⁻⁶",
    "0.01": "0.01",
    "0.5": "0.5",
    "0.9": "0.9",
    "0.995": "0.995",
    "0.999999": "0.999999",
}
INPUT, OUTPUT = "in the log", "in your output"


def _body(values: Values) -> Body:
    epsilon_, delta = values["epsilon"], float(values["delta"])
    own, slide = drawn(epsilon_, delta), described(SLIDE)
    totals, suppressed = log().totals, log().suppressed
    glance = (
        Picture(
            lambda: _chart(own),
            "How often each search is in the log, and in your output. "
            f"Yours has {count(own.size)} of {count(sum(totals.values()))}.",
        ),
        Figures(
            (
                Figure(count(own.size), "searches in your output"),
                Figure(digits(limit(epsilon_, delta)), "what each user may lose at most"),
                Figure(percent(_named(own)), "chance that the least protected user is named"),
            )
        ),
        _verdict(own, delta),
    )
    figures = compared(
        "001",
        ("pairs that one user alone has", "suppressed", ", ".join(suppressed)),
        ("x for book", str(SLIDE["book"]), str(own.counts.get("book", 0))),
        ("x for google", str(SLIDE["google"]), str(own.counts.get("google", 0))),
        ("x for car", str(SLIDE["car"]), str(own.counts.get("car", 0))),
        (
            "largest loss of a user, computed",
            digits(max(slide.losses.values()), 4),
            digits(max(own.losses.values(), default=0.0), 4),
        ),
        ("chance that this user is named: δ", "not said", percent(_named(own))),
    )
    more = (
        Heading("What was drawn"),
        Table(
            "Users and searches: the log, your output, and one with the slide's counts",
            ("user and search", "log", "yours", "slide's"),
            tuple(
                (f"{user}: {pair}", str(n), _times(own, user, pair), _times(slide, user, pair))
                for user, pair, n in ROWS
            ),
        ),
        Table(
            "What the counts mean for each user: ε, and the chance to be named",
            ("user", "yours: ε", "named", "slide's: ε", "named"),
            tuple(
                (user, *_protection(own.losses.get(user, 0.0)), *_protection(slide.losses.get(user, 0.0)))
                for user in log().users
            ),
        ),
        Words(
            "For each search some of its users are drawn, as often as optimal counts say. A user who is drawn is named "
            "in the output: without that user it could not happen. So δ is the probability to be published, and a "
            "δ that gives long outputs publishes almost everybody."
        ),
        Words(
            "At a δ that protects (10⁻⁶) nothing can be drawn from three users. And the optimal counts are themselves "
            "chosen by looking at the log, which no theorem here covers. So discreet has this method as a lesson only "
            "and refuses it for private tables; discreet.release.QueryLog counts searches with noise and names nobody."
        ),
    )
    return Body(glance, figures, more)


def _named(made: Drawn) -> float:
    return -math.expm1(-max(made.losses.values(), default=0.0))


def _times(made: Drawn, user: str, pair: str) -> str:
    return str(sum(n for each, what, n in made.output if (each, what) == (user, pair)))


def _protection(loss: float) -> tuple[str, str]:
    return digits(loss), percent(-math.expm1(-loss))


def _verdict(made: Drawn, delta: float) -> Note:
    if not made.size:
        return Note("Nothing can be drawn: any search would name somebody with more than this probability.", "good")
    return Note(
        f"With δ = {digits(delta, 6)} somebody is named with {percent(_named(made))}: that is no protection.", "bad"
    )


def _chart(own: Drawn) -> Any:
    kinds = {INPUT: OPEN, OUTPUT: PRIVATE}
    records = [
        {"name": pair.split()[0], "kind": kind, "value": values.get(pair, 0)}
        for kind, values in zip(kinds, (log().totals, own.counts), strict=True)
        for pair in log().pairs
    ]
    return finished(pairs(records, title="searches", colours=kinds), "How much may be published")


LESSON: Final = Lesson(
    slug="search-log",
    title="A search log, and what δ hides",
    lectures=("001",),
    teaser="Draw users instead of adding noise: the slide's output names almost everybody.",
    shows="A release can satisfy a definition and protect nobody, if its δ is large.",
    fields=(Choice("delta", "δ", DELTAS, "0.9"), epsilon("5", low="0.5", high="20", step="0.5")),
    body=_body,
    sketch=Sketch(
        "Bars of a log, and what is drawn.", bars=((0.1, 0.0), (0.15, 0.1), (0.95, 0.45), (0.22, 0.15), (0.06, 0.0))
    ),
    figure=Figure("99.5 %", "the least chance of any user to be named by the slide's counts"),
    question=ask(
        "“Publish the complete records of one user in a hundred, chosen at random.” Which (ε, δ) does that satisfy?",
        (
            "(0, 0.01), which shows that δ = 0.01 is far too large",
            "With probability 0.99 nothing depends on you at all; with 0.01 everything does. δ must be far below 1/n.",
        ),
        (
            "None: it publishes people",
            "It does, and satisfies the definition all the same, with δ = 0.01. The fault lies with such a δ.",
        ),
        (
            "(0, 0): it is random",
            "Randomness alone is not enough: your records can appear only if you are in the data.",
        ),
        at=1,
    ),
)
