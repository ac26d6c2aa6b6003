"""The averaging attack: ask again and again. A ledger ends it; without one the truth comes out."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from discreet.lab.averaging import SMOKERS, experiment
from discreet.lab.blocks import Figure, Figures, Note, Picture, Words
from discreet.lab.charts import OPEN, OTHER, PRIVATE, WIDTH, altair, chart_of, finished, palette, truth_level
from discreet.lab.writing import count, digits
from discreet.mechanisms import Laplace
from discreet.printing import counted
from discreet.server.learn.fields import Slider, Values, epsilon
from discreet.server.learn.lesson import Body, Lesson, Sketch, ask, compared

OPENLY, FRESH, CACHED = "no ledger", "ledger, fresh draws", "ledger, cached"


def _body(values: Values) -> Body:
    cost, many, budget = values["epsilon"], values["times"], values["budget"]
    mechanism = Laplace(epsilon=cost, sensitivity=1)
    # a vector is not what this is charged as: each number of it has the noise of one answer, which is what counts here
    open_means = _means(mechanism.release(np.full(many, SMOKERS)))
    answers = experiment(cost, budget)
    fresh_means = _means(answers.fresh)
    glance = (
        Picture(
            lambda: _chart(open_means, fresh_means, answers.cached, many),
            f"The average of all answers so far against the number of questions. Without a ledger it closes in on the "
            f"true {SMOKERS} and ends at {digits(open_means[-1], 4)}. With one it stops after "
            f"{counted(len(answers.fresh), 'answer')} at {digits(fresh_means[-1], 4)}, and the cached answer stays at "
            f"{answers.cached} for ever.",
        ),
        Figures(
            (
                Figure(digits(open_means[-1], 4), f"average of {count(many)} answers, no ledger"),
                Figure(str(SMOKERS), "the truth"),
                Figure(digits(fresh_means[-1], 4), f"average of {len(answers.fresh)}, then the ledger refuses"),
                Figure(f"{answers.cached}, {answers.cached_again}", "the same question twice more: cached, free"),
            )
        ),
        Note(f"The curator's own words after {counted(len(answers.fresh), 'answer')}: {answers.refusal}"),
    )
    figures = compared(
        "003",
        ("asking K times costs", "Kε", f"{count(many)} · {digits(cost)} = {digits(many * cost, 4)}"),
        ("noise of one answer", "Laplace(1/ε)", f"scale {digits(float(mechanism.scale))}"),
        ("typical error of the average", "arbitrarily small", digits((mechanism.variance() / many) ** 0.5)),
        ("answers within the budget", "costs sum to ε at most", f"{len(answers.fresh)} (budget {digits(budget)})"),
    )
    more = (
        Words(
            "Independent noise averages out: four times the questions, half the error. Each answer alone is private, "
            "all together are not."
        ),
        Words(
            "The ledger adds the costs up and refuses when the budget is gone. The same question again gets the same "
            "answer from the cache, free: it tells nothing new."
        ),
        Words(
            "Both lines “with ledger” come from a real curator that was opened for this page, on 500 invented people."
        ),
    )
    return Body(glance, figures, more)


def _means(answers: Any) -> list[float]:
    totals = np.cumsum(np.asarray(answers, dtype=np.float64))
    return [float(mean) for mean in totals / np.arange(1, len(totals) + 1)]


def _chart(open_means: list[float], fresh_means: list[float], cached: int, many: int) -> Any:
    alt = altair()
    records = [{"question": n, "mean": mean, "kind": OPENLY} for n, mean in _thinned(open_means)]
    records += [{"question": n, "mean": mean, "kind": FRESH} for n, mean in _thinned(fresh_means)]
    records += [{"question": n, "mean": cached, "kind": CACHED} for n in (1, max(many, 2))]
    x = alt.X("question:Q", title="questions asked", scale=alt.Scale(type="log", nice=False))
    x = x.axis(values=[1, 10, 100, 1000], format="~s")
    y = alt.Y("mean:Q", title="average of the answers so far", scale=alt.Scale(zero=False, padding=14))
    colours = {OPENLY: OPEN, FRESH: PRIVATE, CACHED: OTHER}
    base = chart_of(records).encode(x=x, y=y, color=palette("kind", colours))
    stop = chart_of([{"question": len(fresh_means), "mean": fresh_means[-1]}])
    drawn = alt.layer(
        truth_level(SMOKERS, below=cached >= SMOKERS),
        base.mark_line(strokeWidth=2.5),
        stop.mark_point(shape="cross", angle=45, size=160, filled=True, opacity=1, color=PRIVATE).encode(x=x, y=y),
    )
    return finished(
        drawn.properties(width=WIDTH, height=240),
        "Asking the same question again",
        "cross: the ledger refuses; question axis logarithmic",
    )


def _thinned(means: list[float]) -> list[tuple[int, float]]:
    """Points that are evenly apart on a logarithmic axis, and the last."""
    places = {round(len(means) ** (step / 100)) for step in range(101)} | {len(means)}
    return [(n, means[n - 1]) for n in sorted(places)]


LESSON: Final = Lesson(
    slug="averaging",
    title="Asking again and again",
    lectures=("003",),
    teaser="A thousand noisy answers average to the truth, unless somebody keeps the books.",
    shows="Repeated fresh answers average to the truth; a ledger stops them, and a cached answer gives nothing away.",
    fields=(
        Slider("times", "Questions without a ledger", "10", "2000", "10", "1000"),
        epsilon("0.1", low="0.1", high="1", step="0.05", label="ε of each question"),
        Slider("budget", "Budget ε of the ledger", "1", "4", "0.5", "1"),
    ),
    body=_body,
    sketch=Sketch(
        "A line that closes in on the truth, and one that stops.",
        lines=(
            tuple((x / 40, 0.5 + 0.4 * (-0.85) ** x / (1 + x / 8)) for x in range(41)),
            ((0.0, 0.8), (0.12, 0.68), (0.25, 0.74)),
        ),
    ),
    figure=Figure("Kε", "is what K questions cost"),
    question=ask(
        "An analyst gets the same noisy answer from the cache a thousand times and averages. What do they learn?",
        ("Nothing new", "The average is that one answer: telling it again tells nothing, and costs nothing."),
        ("The exact count", "That takes fresh noise each time, and the ledger would have to let it happen."),
        ("The count to within a few people", "The noise is the same each time, so averaging does not reduce it."),
        at=2,
    ),
)
