"""Sensitivity: how far one person can move an answer, found by trying all small databases."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any, Final

from discreet.errors import Refused
from discreet.lab.blocks import Block, Figure, Figures, Heading, Note, Picture, Table, Words
from discreet.lab.charts import OPEN, PRIVATE, WIDTH, altair, finished, lines
from discreet.lab.curators import curator_over
from discreet.lab.examples.sensitivity import QUERIES, REPEATS, Moved, removed, replaced, scale
from discreet.lab.writing import digits
from discreet.server.learn.fields import Choice, Slider, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

NAMES: Final = {
    "count": "a count",
    "histogram": "counts in three disjoint buckets",
    "binary-mean": "the mean of bits",
    "complaints": "complaints, up to five per person",
    "sum": "a sum, values up to the bound",
    "mean": "a mean, values up to the bound",
    "maximum": "the largest value",
}
KINDS: Final = {"one added or removed": PRIVATE, "one replaced": OPEN}
MOST_PEOPLE, MOST_BOUND = 6, 20
POLICY: Final = """\
name = "invented incomes"
[budget]
epsilon = 1
[unit]
name = "person"
[tables.people]
source = "people.csv"
unit = "person"
[tables.people.columns]
income = { type = "float" }
"""


@cache
def refusal() -> str:
    """What discreet says to a mean of numbers without bounds, before any row is read."""
    with curator_over(POLICY, {"people": [{"person": 1, "income": 1.0}]}) as curator:
        try:
            curator.preview("SELECT AVG(income) FROM people", epsilon=1)
        except Refused as refused:
            return str(refused)
    raise AssertionError("a mean without bounds was not refused")


def _body(values: Values) -> Body:
    name, people, bound, epsilon_ = values["query"], values["people"], values["bound"], values["epsilon"]
    query = QUERIES[name]
    add, swap = removed(name, people, bound), replaced(name, people, bound)
    glance = (
        Picture(
            lambda: _chart(name, bound),
            f"The largest change of {NAMES[name]} by one person, for 2 to {MOST_PEOPLE} people: "
            f"{_exact(add.change)} if one is added or removed, {_exact(swap.change)} if one of {people} is replaced.",
        ),
        Figures(
            (
                Figure(_exact(add.change), "Δ, one person added or removed"),
                Figure(_exact(swap.change), f"Δ, one of {people} replaced"),
                Figure(digits(scale(add.change, epsilon_)), "scale of the noise, Δ/ε"),
            )
        ),
        Note(f"Where it moves most: {_shown(add)}."),
    )
    swaps = {each: replaced(each, people, bound).change for each in QUERIES}
    adds = {each: removed(each, people, bound).change for each in QUERIES}
    figures = compared(
        "003",
        ("a count (000: 1)", "1", _exact(adds["count"])),
        ("k disjoint buckets", "1", _exact(adds["histogram"])),
        (f"a mean of n = {people} bits (000, 001)", "1/n", _exact(swaps["binary-mean"])),
        ("a mean of any numbers (000)", "unbounded", f"{_exact(swaps['mean'])} at a bound of {bound}"),
        ("five complaints of one person (004)", str(REPEATS), _exact(adds["complaints"])),
    )
    more: tuple[Block, ...] = (
        Table(
            f"Every query, over all databases of up to {people} people",
            ("", "added or removed", "replaced", f"noise at ε = {digits(epsilon_)}"),
            tuple(
                (NAMES[each], _exact(adds[each]), _exact(swaps[each]), f"Lap({digits(scale(adds[each], epsilon_))})")
                for each in QUERIES
            ),
            frozenset({list(QUERIES).index(name)}),
        ),
        Heading("Without bounds there is no noise that is enough"),
        *([Note("This one grows with the bound: without one its sensitivity is infinite.", "bad")] * query.unbounded),
        Note(f"discreet, when asked for AVG(income) of a column without bounds: {refusal()}"),
        Words(
            "The sensitivity is a property of the query, never of the data at hand: it is the worst over all pairs of "
            "neighbours. So it must be known from the text and from declared bounds alone, before anything is read."
        ),
        Words(
            "Some lectures add or remove a person, others replace one. Then somebody leaves one bucket and enters "
            "another: a histogram moves by 2. And the number of people is public, so that a mean of n bits moves by "
            "1/n; where people come and go, a mean of few moves much further."
        ),
    )
    return Body(glance, figures, more)


def _exact(change: Fraction) -> str:
    return str(change)


def _shown(moved: Moved) -> str:
    both = ("{" + ", ".join(map(str, people)) + "}" for people in (moved.before, moved.after))
    return " against ".join(both)


def _chart(name: str, bound: int) -> Any:
    alt = altair()
    records = [
        {"people": people, "kind": kind, "change": float(moved(name, people, bound).change)}
        for kind, moved in zip(KINDS, (removed, replaced), strict=True)
        for people in range(2, MOST_PEOPLE + 1)
    ]
    x = alt.X("people:O", title="people, n", axis=alt.Axis(labelAngle=0))
    y = alt.Y("change:Q", title="largest change by one person", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5))
    drawn = lines(records, x=x, y=y, colours=KINDS).properties(width=WIDTH - 40)
    return finished(drawn, f"How far one person moves {NAMES[name].split(',')[0]}", "found by trying all databases")


LESSON: Final = Lesson(
    slug="sensitivity",
    title="How far can one person move it?",
    lectures=("000", "001", "003", "004"),
    teaser="Try every small database and every neighbour: the worst change is what noise must hide.",
    shows="The noise must hide the most that one person can change, over all data that could be.",
    fields=(
        Choice("query", "The query", NAMES, "binary-mean"),
        Slider("people", "People, n", "2", str(MOST_PEOPLE), "1", "4"),
        Slider("bound", "Values are at most", "1", str(MOST_BOUND), "1", "10"),
        epsilon("0.1", low="0.05"),
    ),
    body=_body,
    sketch=Sketch(
        "One line stays level, one falls as people are added.",
        lines=(tuple((x / 10, 0.9 / (1 + 0.6 * x)) for x in range(11)), ((0.0, 0.9), (1.0, 0.9))),
    ),
    figure=Figure("1, 1, 1/n, ∞", "a count, a histogram, a mean of bits, a mean of anything"),
    question=ask(
        "A table has one row per person. You release one histogram by age and one by town. How far does one person, "
        "added, move all counts together?",
        ("By 2", "One bar of each histogram grows by one. Two histograms share the cost, or need twice the noise."),
        ("By 1", "That is each histogram alone: its bars are disjoint, but the two histograms count the same people."),
        ("By the number of bars", "A person is in one bar of each histogram, not in all of them."),
        at=1,
    ),
)
