"""PINQ's program of the lecture, the same in SQL and in Python, and what a real ledger says to it."""

from __future__ import annotations

from typing import Any, Final

from discreet.lab.blocks import Block, Figure, Figures, Heading, Note, Picture, Table, Words
from discreet.lab.charts import OPEN, PRIVATE, WIDTH, altair, chart_of, finished, truth_line
from discreet.lab.examples.pinq import COSTS, NUMBERS, SQL, Count, noisy_counts
from discreet.lab.writing import count, digits
from discreet.printing import counted
from discreet.server.learn.fields import Slider, Values
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

BESIDE: Final = (
    ("new PINQAgentBudget(1.0)", "[budget] epsilon = 1.0, in the policy", 'discreet.open("numbers.toml")'),
    ("data.NoisyCount(0.1)", SQL, 'curator.table("numbers").count(epsilon=0.1)'),
    (
        "data.Where(x => x % 2 == 0).NoisyCount(0.1)",
        "SELECT COUNT(*) FROM numbers WHERE parity = 'even'",
        "….where(\"parity = 'even'\").count(epsilon=0.1)",
    ),
    (
        "data.Partition(keys, x => x % 2)",
        "SELECT parity, COUNT(*) FROM numbers GROUP BY parity",
        '….group_by("parity").count(epsilon=0.1)',
    ),
    ("data.NoisyAverage(0.1, x => x)", "SELECT AVG(x) FROM numbers", '….mean("x", epsilon=0.1)'),
)
"""The same question three times: PINQ, SQL, Python."""


def _body(values: Values) -> Body:
    costs, budget = [values[name] for name in ("first", "second", "third")], values["budget"]
    counts = noisy_counts(costs, budget)
    answered = [each for each in counts if each.answer is not None]
    refused = [each for each in counts if each.answer is None]
    spent = counts[-1].spent
    glance: tuple[Block, ...] = (
        Picture(
            lambda: _chart(counts),
            f"The noisy counts with bars for 95 % about the true {count(NUMBERS)}: the larger ε, the shorter the bar. "
            + (
                f"{counted(len(refused), 'count')} of {len(counts)} got no answer." if refused else "All were answered."
            ),
        ),
        Figures(
            (
                *(Figure(count(each.answer or 0), f"NoisyCount({digits(each.epsilon)})") for each in answered),
                Figure(digits(spent), f"spent of a budget of {digits(budget)}"),
            )
        ),
        *(Note(f"NoisyCount({digits(each.epsilon)}) was refused: {each.refusal}", "bad") for each in refused[:1]),
    )
    figures = compared(
        "001",
        ("the data", "1 to 1,000", f"1 to {count(NUMBERS)}"),
        ("budget of the agent", "1.0", digits(budget)),
        ("counts asked for", ", ".join(f"{cost:.2f}" for cost in COSTS), ", ".join(f"{cost:.2f}" for cost in costs)),
        ("together", digits(sum(COSTS)), digits(sum(costs))),
        ("answered", "2 of 3: 0.01 + 0.1 + 1 is more than 1", f"{len(answered)} of {len(counts)}"),
    )
    more = (
        Heading("The same language three times"),
        Table("PINQ beside SQL and Python", ("PINQ, in C#", "SQL", "Python"), BESIDE),
        Words(
            "PINQ put the budget behind the data: an analyst writes ordinary queries, an agent adds up what they cost, "
            "and nobody needs to know a theorem. discreet does the same with SQL, and asks for the cost with every "
            "query."
        ),
        Words(
            "Partition is parallel composition: groups that share nobody cost once. In SQL that is GROUP BY, and a "
            "query with a thousand groups costs as much as one with two."
        ),
        Words(
            "The answers above come from a real curator with a ledger on disk, opened for this page. A refusal spends "
            "nothing."
        ),
    )
    return Body(glance, figures, more)


def _chart(counts: list[Count]) -> Any:
    alt = altair()
    names = [f"ε = {digits(each.epsilon)} ({number})" for number, each in enumerate(counts, start=1)]
    records = [
        {"row": name, "value": each.answer, "low": each.answer - each.half, "high": each.answer + each.half}
        for name, each in zip(names, counts, strict=True)
        if each.answer is not None
    ]
    gone = [{"row": name} for name, each in zip(names, counts, strict=True) if each.answer is None]
    y = alt.Y("row:N", sort=names, title=None, scale=alt.Scale(domain=names))
    x = alt.X("low:Q", title="noisy count", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
    base = chart_of(records).encode(y=y)
    words = chart_of(gone).mark_text(text="refused: over budget", color=OPEN, fontSize=12)
    drawn = alt.layer(
        base.mark_rule(strokeWidth=3, opacity=0.7, color=PRIVATE).encode(x=x, x2="high:Q"),
        base.mark_point(filled=True, size=70, opacity=1, color=PRIVATE).encode(x="value:Q"),
        words.encode(y=y, x=alt.value((WIDTH - 90) / 2)),
        truth_line(NUMBERS),
    )
    return finished(drawn.properties(width=WIDTH - 90, height=alt.Step(38)), "Three noisy counts of 1,000 numbers")


def _cost(name: str, label: str, default: str) -> Slider:
    return Slider(name, label, "0.01", "1", "0.01", default)


LESSON: Final = Lesson(
    slug="pinq",
    title="PINQ, SQL and a budget",
    lectures=("001",),
    teaser="Three noisy counts, a budget of 1.0: which one gets no answer?",
    shows="A language with a budget behind it lets people ask who know no theorem, until the budget is gone.",
    fields=(
        Slider("budget", "Budget of the agent", "0.5", "3", "0.1", "1"),
        _cost("first", "First count, ε", "0.01"),
        _cost("second", "Second count, ε", "0.1"),
        _cost("third", "Third count, ε", "1"),
    ),
    body=_body,
    sketch=Sketch("Bars that add up to more than the line.", bars=((0.05, 0.0), (0.15, 0.0), (0.95, 0.0))),
    figure=Figure("0.01 + 0.1 + 1 > 1", "the third count is refused"),
    question=ask(
        "In the lecture's program, why can an analyst not simply ask NoisyCount(0.01) a million times and average?",
        (
            "Each costs 0.01, so a budget of 1.0 ends after a hundred",
            "The agent adds up what was asked and refuses the rest: a hundred answers are no better than one at ε = 1.",
        ),
        ("Averaging does not reduce the noise", "It does: that is exactly why repeated questions must cost."),
        ("The answers are all the same number", "A cached answer would be; PINQ draws fresh noise each time."),
        at=1,
    ),
)
