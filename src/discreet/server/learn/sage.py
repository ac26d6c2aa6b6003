"""Sage: a budget for each block of growing data, and models that are let out when they are surely good enough."""

from __future__ import annotations

from typing import Any, Final

from discreet.lab.blocks import Figure, Figures, Heading, Picture, Table, Words
from discreet.lab.charts import OPEN, PRIVATE, WIDTH, altair, chart_of, finished, lines
from discreet.lab.examples.sage import Accepted, Rule, Trained, accepted, trained
from discreet.lab.writing import count, digits, percent
from discreet.server.learn.fields import Slider, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

DAYS: Final = 60
BLOCKS, ONE = "a budget for each block", "one budget for all"
CORRECTED, NAIVE = "Sage's test", "the noisy mean alone"
TARGET, ETA, TEST_EPSILON = 0.2, 0.05, 0.1
LOSSES: Final = (0.2, 0.19, 0.18, 0.17)
"""Expected losses of models; the first is as bad as the target allows."""


def _body(values: Values) -> Body:
    window, epsilon_, budget = values["window"], values["epsilon"], values["budget"]
    made = trained(DAYS, window, epsilon_, budget)
    rule = Rule(values["rows"], TEST_EPSILON, ETA, TARGET)
    tests = [accepted(loss, rule) for loss in LOSSES]
    glance = (
        Picture(
            lambda: _chart(made),
            f"Models trained up to each day. With one budget they end at {made.by_one[-1]}; with a budget for each "
            f"block there are {made.by_blocks[-1]} after {DAYS} days.",
        ),
        Figures(
            (
                Figure(str(made.by_blocks[-1]), f"models in {DAYS} days, a budget for each block"),
                Figure(str(made.by_one[-1]), "models ever, with one budget"),
                Figure(digits(max(made.spent)), f"spent of the fullest block (budget {digits(budget)})"),
            )
        ),
    )
    figures = compared(
        "004",
        ("system", "Sage", "blocks of a day, one model a day"),
        ("composition (Lecuyer et al. 2019)", "per block, not per stream", f"no block above {digits(budget)}"),
        (
            "when a block is used up (the same)",
            "it is retired; new data comes",
            f"{_full(made, budget)} of {DAYS} retired",
        ),
        ("bad models that pass (the same)", "at most η", f"{percent(tests[0].corrected)} seen, η = {percent(ETA)}"),
    )
    more = (
        Picture(
            lambda: _blocks(made, budget),
            f"What was spent of each block's budget of {digits(budget)}, day after day: "
            f"{_full(made, budget)} of {DAYS} are used up.",
        ),
        Heading("Is the model good enough?"),
        Table(
            f"How often a model passes a test on {count(rule.rows)} rows at ε = {digits(TEST_EPSILON)}, if its loss "
            f"must be below {digits(TARGET)}",
            ("expected loss", CORRECTED, NAIVE),
            tuple(_row(each) for each in tests),
            frozenset({0}),
        ),
        Words(
            "With one budget for all data training ends when it is spent. Sage divides growing data into blocks that "
            "share nobody. A query costs only the blocks that it reads, so new data brings new budget, and training "
            "goes on for ever. No block is ever charged more than its own budget: parallel composition."
        ),
        Words(
            "A noisy mean on too few rows lets bad models pass about every second time. Sage's test allows for the "
            "noise of the sum, of the count and of the draw, so that it is wrong with probability η at most; it then "
            "needs more rows, and says: try again with more."
        ),
    )
    return Body(glance, figures, more)


def _full(made: Trained, budget: float) -> int:
    return sum(spent > budget - 1e-9 for spent in made.spent)


def _row(each: Accepted) -> tuple[str, ...]:
    bad = " (too high)" if each.loss >= TARGET else ""
    return f"{digits(each.loss)}{bad}", percent(each.corrected), percent(each.naive)


def _chart(made: Trained) -> Any:
    alt = altair()
    kinds = {BLOCKS: PRIVATE, ONE: OPEN}
    records = [
        {"day": day + 1, "kind": kind, "models": models[day]}
        for kind, models in zip(kinds, (made.by_blocks, made.by_one), strict=True)
        for day in range(DAYS)
    ]
    x = alt.X("day:Q", title="day", axis=alt.Axis(tickCount=6))
    y = alt.Y("models:Q", title="models so far", axis=alt.Axis(tickCount=5))
    return finished(lines(records, x=x, y=y, colours=kinds), "Training that never ends")


def _blocks(made: Trained, budget: float) -> Any:
    alt = altair()
    records = [{"day": day + 1, "spent": spent} for day, spent in enumerate(made.spent)]
    x = alt.X("day:O", title="block of day", axis=alt.Axis(values=list(range(10, DAYS + 1, 10)), labelAngle=0))
    y = alt.Y("spent:Q", title="ε spent", axis=alt.Axis(tickCount=4))
    line = chart_of([{"spent": budget}]).mark_rule(color=OPEN, strokeDash=[4, 3]).encode(y=y)
    drawn = alt.layer(chart_of(records).mark_bar(color=PRIVATE).encode(x=x, y=y), line)
    return finished(drawn.properties(width=WIDTH - 40, height=150), "No block above its budget", "dashed: the budget")


LESSON: Final = Lesson(
    slug="sage",
    title="Data that grows",
    lectures=("004",),
    teaser="Each day brings people, and each block of them its own budget: training never has to stop.",
    shows="Where data grows, each block has its own budget, and models can be trained for ever.",
    fields=(
        Slider("window", "Days that a model reads", "1", "20", "1", "5"),
        epsilon("0.5", low="0.1", high="1", step="0.1", label="ε of a model"),
        Slider("budget", "Budget of a block, ε", "1", "5", "0.5", "2"),
        Slider("rows", "Rows of a test", "1000", "20000", "1000", "10000"),
    ),
    body=_body,
    sketch=Sketch(
        "A line that goes on, one that stops.",
        lines=(((0.0, 0.05), (0.15, 0.2), (1.0, 0.2)), ((0.0, 0.05), (1.0, 0.95))),
    ),
    figure=Figure("per block", "is how Sage counts, not per stream"),
    question=ask(
        "Every day's data is one block with a budget of ε = 1. A model that read the last ten days cost ε = 0.2. What "
        "is left in those ten blocks?",
        (
            "0.8 in each",
            "The model read all ten, so each of them is charged 0.2: a person is in one of them and loses 0.2 at most.",
        ),
        ("0.98 in each", "The cost is not shared: somebody in one block is exposed to the whole model."),
        ("8 for all ten together", "Budgets of blocks are not pooled: each is a promise to the people in that block."),
    ),
)
