"""The small database: release a few rows once, and answer every query from them."""

from __future__ import annotations

from typing import Any, Final

from discreet.lab.blocks import Figure, Figures, Picture, Table, Words
from discreet.lab.charts import INK, NEUTRAL, OPEN, PRIVATE, WIDTH, altair, chart_of, finished, palette
from discreet.lab.examples.small_database import (
    CELLS,
    MOST_ROWS,
    Answered,
    alpha_of,
    answered,
    bound,
    databases,
    queries,
)
from discreet.lab.writing import count, digits, percent
from discreet.server.learn.fields import Choice, Slider, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

PEOPLE: Final = (100, 1_000, 10_000, 50_000)
TRUE, SMALL, SYNTHETIC = "truth", "small database", "synthetic table (MWEM)"
FAILURE: Final = 0.05
LECTURE_ALPHA: Final = 0.5


def _body(values: Values) -> Body:
    people, size, epsilon_ = int(values["people"]), values["size"], values["epsilon"]
    made = answered(people, size, epsilon_)
    names, _ = queries()
    worst = made.worst
    alpha, limit = alpha_of(len(names), size), bound(people, len(names), size, epsilon_, FAILURE)
    sequences, sets = databases(size)
    glance = (
        Picture(
            lambda: _chart(names, made),
            f"Shares of the rows that {len(names)} queries count: in truth, in a small database of {size} rows, and in "
            f"a synthetic table. The worst errors are {percent(worst[0])} and {percent(worst[1])}.",
        ),
        Figures(
            (
                Figure(percent(worst[0]), f"worst error of {len(names)} queries, {size} rows"),
                Figure(percent(worst[1]), "worst error, synthetic table"),
                Figure(count(sets), "small databases to choose from"),
                Figure(digits(epsilon_), "ε, whatever is asked of it afterwards"),
            )
        ),
    )
    figures = compared(
        "003",
        ("queries, K", "K", count(len(names))),
        ("rows of the small database", "log₂K/α²", f"{size}, so α = {digits(alpha)}"),
        ("loss", "worst error of all K", percent(worst[0])),
        ("its sensitivity", "1/N", f"1/{count(people)}"),
        ("possible databases, |X|^m", f"|X|^(log₂K/α²), |X| = {CELLS}", f"{CELLS}^{size} = {digits(sequences)}"),
        (
            "worst error with 95 %",
            "α + 2/(εN)·(m·ln|X| − ln δ)",
            f"≤ {percent(limit)}" if limit < 1 else "no bound below 100 %",
        ),
    )
    more = (
        Table(
            f"The whole small database: {size} rows, which may be published",
            ("row", "smoking", "cough", "age"),
            tuple((str(number), *row) for number, row in enumerate(made.rows, start=1)),
        ),
        Words(
            "All possible databases of so many rows are scored by their worst error, and one is chosen by the "
            "exponential mechanism. After that every query is answered from it for nothing: it tells the same lies "
            "every time."
        ),
        Words(
            "A few rows answer exponentially many queries, as long as there are many people: the error grows with "
            "log K only. But all databases have to be looked at, which is hopeless beyond a few columns. MWEM keeps a "
            "weight for each combination of values instead, asks a few queries that it answers worst, and draws as "
            "many rows as there are people."
        ),
        Words(
            "The lecture takes N as public, with a sensitivity of 1/N. Where people may be added or removed N is "
            "private too: discreet.release.SmallDatabase scores in counts and spends a tenth of ε on N."
        ),
    )
    return Body(glance, figures, more)


def _chart(names: tuple[str, ...], made: Answered) -> Any:
    alt = altair()
    # queries in which a single value is asked for stand first: they are what a reader looks for
    kinds = {TRUE: INK, SMALL: OPEN, SYNTHETIC: PRIVATE}
    some = [query for query, name in enumerate(names) if name.count(",") < 2]
    records = [
        {"query": names[query], "kind": kind, "share": float(shares[query])}
        for kind, shares in zip(kinds, (made.exact, made.small, made.synthetic), strict=True)
        for query in some
    ]
    y = alt.Y("query:N", sort=[names[query] for query in some], title=None, axis=alt.Axis(labelLimit=130))
    x = alt.X("share:Q", title="share of the people", axis=alt.Axis(format="%", tickCount=5))
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=list(kinds), range=["square", "diamond", "circle"]), legend=None)
    base = chart_of(records)
    spans = [
        {"query": names[query], "low": float(made.exact[query]), "high": float(made.small[query])} for query in some
    ]
    drawn = alt.layer(
        chart_of(spans).mark_rule(color=NEUTRAL, opacity=0.6).encode(y=y, x=alt.X("low:Q"), x2="high:Q"),
        base.mark_point(filled=True, size=60, opacity=0.95).encode(y=y, x=x, shape=shape, color=palette("kind", kinds)),
    )
    return finished(drawn.properties(width=WIDTH - 120, height=alt.Step(19)), "One release, all queries")


LESSON: Final = Lesson(
    slug="small-database",
    title="Tell the same lies every time",
    lectures=("003",),
    teaser="Nine invented rows stand for fifty thousand people, whatever is asked of them.",
    shows="A few rows, chosen privately once, answer any number of queries at no further cost.",
    fields=(
        Choice("people", "People, N", {str(size): count(size) for size in PEOPLE}, "1000"),
        Slider("size", "Rows of the small database", "1", str(MOST_ROWS), "1", "6"),
        epsilon("1", low="0.1"),
    ),
    body=_body,
    sketch=Sketch(
        "Pairs of bars, true and from a few rows.",
        bars=((0.7, 0.66), (0.3, 0.33), (0.62, 0.66), (0.38, 0.33), (0.2, 0.17)),
    ),
    figure=Figure("log₂K/α²", "rows answer K queries to within α"),
    question=ask(
        "After the small database was published you ask it ten thousand more queries. What do they cost?",
        (
            "Nothing",
            "They are computed from what was released: post-processing. Only their accuracy is not promised.",
        ),
        ("ε each", "The private data is not looked at again; only looking at it costs."),
        ("ε for all of them together", "ε was spent once, when the small database was chosen."),
        at=2,
    ),
)
