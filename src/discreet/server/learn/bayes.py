"""Naïve Bayes from noisy counts: every feature more is one count more that a person moves."""

from __future__ import annotations

from typing import Any, Final

from discreet.lab.blocks import Figure, Figures, Picture, Table, Words
from discreet.lab.charts import OPEN, PRIVATE, altair, chart_of, finished, lines
from discreet.lab.examples.bayes import CLASSES, MOST_FEATURES, SICK, TESTED, Fitted, fitted, people
from discreet.lab.writing import count, digits, percent
from discreet.server.learn.fields import Choice, Slider, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

PEOPLE: Final = (200, 1_000, 5_000, 20_000)
EXACT, PRIVATELY = "exact counts", "noisy counts"


def _body(values: Values) -> Body:
    features, epsilon_ = values["features"], values["epsilon"]
    those, others = people(int(values["people"]), "data"), people(TESTED, "test")
    models = {many: fitted(those, many, epsilon_) for many in range(1, MOST_FEATURES + 1)}
    right = {many: (each.exact.accuracy(others), each.private.accuracy(others)) for many, each in models.items()}
    own = models[features]
    glance = (
        Picture(
            lambda: _chart(right, features),
            f"How often the diagnosis is right against the number of features: with {features}, "
            f"{percent(right[features][0])} by exact counts and {percent(right[features][1])} by noisy ones.",
        ),
        Figures(
            (
                Figure(percent(right[features][1]), "right, from noisy counts"),
                Figure(percent(right[features][0]), "right, from exact counts"),
                Figure(digits(float(own.mechanism.scale)), "scale of the noise on each count"),
                Figure(percent(1 - SICK), "right if everybody is called healthy, about"),
            )
        ),
    )
    figures = compared(
        "003",
        ("sensitivity of all counts", "D", count(features)),
        ("scale of the noise at ε = 0.1", "10·D", count(10 * features)),
        ("at your ε", "D/ε", digits(float(own.mechanism.scale))),
        ("as D questions of ε/D each", "D/ε", digits(features / epsilon_)),
        ("counts", "K_t · ΣK_j", count(2 * CLASSES * features)),
    )
    more = (
        _first_table(own, features),
        Words(
            "A person has one value of each feature and one class, so one person more is one more in one cell of each "
            "of the D tables: all counts together move by D."
        ),
        Words(
            "More features tell more, and each makes all counts noisier. With few people a model of few features is "
            "better; with many people the noise is forgotten. Whoever chooses D by looking at these lines on real "
            "data has looked at the data: that choice costs too."
        ),
    )
    return Body(glance, figures, more)


def _first_table(own: Fitted, features: int) -> Table:
    rows = []
    for feature in range(min(features, 3)):
        for ill, name in ((1, "ill"), (0, "healthy")):
            exact, noisy = own.exact.counts[feature][ill], own.private.counts[feature][ill]
            pairs = (count(float(each)) for pair in zip(exact, noisy, strict=True) for each in pair)
            rows.append((f"symptom {feature + 1}, {name}", *pairs))
    return Table(
        "The first counts: invented truth, and released",
        ("", "without it", "released", "with it", "released"),
        tuple(rows),
    )


def _chart(right: dict[int, tuple[float, float]], features: int) -> Any:
    alt = altair()
    kinds = {EXACT: OPEN, PRIVATELY: PRIVATE}
    records = [
        {"features": many, "kind": kind, "right": share}
        for many, shares in right.items()
        for kind, share in zip(kinds, shares, strict=True)
    ]
    x = alt.X("features:Q", title="features, D", axis=alt.Axis(tickCount=6))
    y = alt.Y("right:Q", title="right on others", axis=alt.Axis(format="%", tickCount=5), scale=alt.Scale(zero=False))
    mark = chart_of([{"features": features}]).mark_rule(strokeDash=[4, 3], opacity=0.5).encode(x=x)
    return finished(
        alt.layer(lines(records, x=x, y=y, colours=kinds), mark), "More features, more noise", "dashed: yours"
    )


LESSON: Final = Lesson(
    slug="naive-bayes",
    title="A diagnosis from noisy counts",
    lectures=("003",),
    teaser="D features, D tables, D counts that a person moves: noise of 10·D at ε = 0.1.",
    shows="Naïve Bayes needs counts alone, so noise on counts is all it takes; each feature adds to it.",
    fields=(
        Slider("features", "Features, D", "1", str(MOST_FEATURES), "1", "6"),
        Choice("people", "People in the data", {str(size): count(size) for size in PEOPLE}, "1000"),
        epsilon("0.1", low="0.05"),
    ),
    body=_body,
    sketch=Sketch(
        "One line rises with the features, one turns down.",
        lines=(
            tuple((x / 12, 0.3 + 0.6 * (1 - 0.8**x)) for x in range(13)),
            tuple((x / 12, 0.3 + 0.5 * (1 - 0.8**x) - 0.003 * x * x) for x in range(13)),
        ),
    ),
    figure=Figure("10·D", "the noise on every count at ε = 0.1"),
    question=ask(
        "You double the number of features and want the same noise on every count. What must ε be?",
        ("Twice as large", "The scale is D/ε: twice the D needs twice the ε."),
        (
            "The same: the tables are separate",
            "Everybody is in every table, so the tables are not disjoint: they add up.",
        ),
        ("Four times as large", "Noise grows in proportion to D, not to its square."),
    ),
)
