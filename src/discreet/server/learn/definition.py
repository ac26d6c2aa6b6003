"""The definition: an answer may hardly depend on one person, and no answer without noise keeps that."""

from __future__ import annotations

import math
from typing import Any, Final

from discreet.lab.blocks import Figure, Figures, Heading, Note, Picture, Table, Words
from discreet.lab.charts import OPEN, PRIVATE, WIDTH, altair, chart_of, finished, palette
from discreet.lab.examples.definition import DETERMINISTIC, LAWS, MOST_PEOPLE, Comparison, drawn, first_step, tested
from discreet.lab.writing import digits, percent
from discreet.server.learn.fields import Choice, Slider, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

METHODS: Final = {
    "exact": "exactly",
    "rounded": "rounded to tens",
    "shifted": "three too many, always",
    "uniform": "with noise from −5 to 5",
    "laplace": "with Laplace noise",
}
WORLDS: Final = {"with her": OPEN, "without her": PRIVATE}
SHOWN: Final = 12
"""Answers on either side of the count in the picture."""


def _body(values: Values) -> Body:
    method, count, epsilon_ = values["method"], values["count"], values["epsilon"]
    test = tested(method, count, epsilon_)
    answer, step = drawn(method, count, epsilon_), first_step(method)
    glance = (
        Picture(
            lambda: _chart(test, count),
            f"How likely each answer is with {count} people and with {count - 1}. "
            + ("Some answer is possible in one of the two only." if math.isinf(test.loss) else _alike(test)),
        ),
        Figures(
            (
                Figure(str(answer), "the answer this time"),
                Figure("∞" if math.isinf(test.loss) else digits(math.exp(test.loss)), "largest ratio, e^loss"),
                Figure(percent(test.belief), "what whoever thought it even can come to believe"),
            )
        ),
        _verdict(method, test, count),
    )
    limit = math.exp(epsilon_)
    figures = compared(
        "001",
        ("Pr[A(D₁) = O] / Pr[A(D₂) = O]", "at most e^ε, for every O", _ratio(test)),
        ("e^ε at your ε (000: ε = 0.01)", "≈ 1 + ε = 1.01", digits(limit, 4)),
        ("an answer without noise, not always the same", "is not private", _without_noise(method)),
        (
            "two inputs, one record apart, two outputs",
            "exist",
            "none needed" if step is None else f"counts of {step - 1} and {step}",
        ),
    )
    more = (
        Heading("All five ways"),
        Table(
            f"The same count of {count}, with and without one person",
            ("answered", "largest ratio here", "worst count up to 50", "ε-private?"),
            tuple(_row(each, count, epsilon_) for each in LAWS),
            frozenset({list(LAWS).index(method)}),
        ),
        Words(
            "Walk from any input to any other, changing one record at a time. An answer without noise that is not "
            "always the same must change somewhere on the way, and there one person is seen with certainty. So privacy "
            "needs chance; the definition says how much."
        ),
        Words(
            "It asks for every pair of neighbours, because nobody knows who the others are; and for every answer, "
            "because one answer that is possible in one world only gives everything away. Noise from −5 to 5 fails "
            "there: its largest answer says that she is in."
        ),
    )
    return Body(glance, figures, more)


def _alike(test: Comparison) -> str:
    return f"No answer is more than {digits(math.exp(test.loss))} times as likely in one as in the other."


def _ratio(test: Comparison) -> str:
    return "unbounded" if math.isinf(test.loss) else f"at most {digits(math.exp(test.loss), 4)}"


def _without_noise(method: str) -> str:
    return "yours is one" if method in DETERMINISTIC else "yours has noise"


def _verdict(method: str, test: Comparison, count: int) -> Note:
    if math.isinf(test.loss):
        return Note(f"Whoever knows the other {count - 1} people can tell for sure, if the answer falls so.", "bad")
    if method == "rounded":
        return Note("Here rounding hides her. Move the count to 15, 25 or 35: there it shows her.", "bad")
    return Note("Every answer is possible with her and without her, and hardly more likely.", "good")


def _row(method: str, count: int, epsilon_: float) -> tuple[str, ...]:
    here = tested(method, count, epsilon_).loss
    worst = max(tested(method, each, epsilon_).loss for each in range(1, MOST_PEOPLE + 1))
    shown = ("∞" if math.isinf(loss) else digits(math.exp(loss)) for loss in (here, worst))
    return METHODS[method], *shown, "no" if math.isinf(worst) else f"yes, ε = {digits(worst)}"


def _chart(test: Comparison, count: int) -> Any:
    alt = altair()
    places = range(count - SHOWN, count + SHOWN + 1)
    records = [
        {"answer": answer, "kind": kind, "chance": law.get(answer, 0.0)}
        for kind, law in zip(WORLDS, (test.with_, test.without), strict=True)
        for answer in places
    ]
    x = alt.X("answer:O", title="answer", axis=alt.Axis(labelAngle=0, values=[*places][:: SHOWN // 3]))
    y = alt.Y("chance:Q", title="probability", axis=alt.Axis(format="~%", tickCount=5))
    marks = chart_of(records).mark_bar().encode(x=x, y=y, xOffset="kind:N", color=palette("kind", WORLDS))
    return finished(
        marks.properties(width=WIDTH - 40, height=210), "Is she in the data?", "the two worlds side by side"
    )


LESSON: Final = Lesson(
    slug="definition",
    title="Why an exact answer is never private",
    lectures=("001", "003", "000"),
    teaser="Rounding hides her at 14 and shows her at 15. Chance is needed, and the definition says how much.",
    shows="An answer is private if it is almost as likely with one person as without, whoever that is.",
    fields=(
        Choice("method", "The count is answered", METHODS, "rounded"),
        Slider("count", "People counted, with her", "1", str(MOST_PEOPLE), "1", "15"),
        epsilon("0.5"),
    ),
    body=_body,
    sketch=Sketch(
        "Two heaps that overlap almost everywhere.",
        lines=(
            tuple((x / 40, 0.9 * math.exp(-abs(x - 18) / 6)) for x in range(41)),
            tuple((x / 40, 0.9 * math.exp(-abs(x - 22) / 6)) for x in range(41)),
        ),
    ),
    figure=Figure("≤ e^ε", "every answer, with any one person or without"),
    question=ask(
        "A curator rounds every count to the nearest hundred and adds no noise. For which ε is that ε-private?",
        ("For none", "A count of 50 says 100 and one of 49 says 0: an infinite ratio, whatever ε is."),
        ("For a large ε", "A ratio of 1 to 0 is above every e^ε, however large ε is."),
        ("For every ε", "It would be, if the answer never changed. It changes between 49 and 50."),
        at=1,
    ),
)
