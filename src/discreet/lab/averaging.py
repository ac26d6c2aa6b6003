"""The averaging attack: ask again and again. Without a ledger the truth comes out; with one the budget ends it.

Theorem  The mean of K answers with independent noise of variance v has a root mean squared error of √(v/K). If all K
         together cost ε at most, the error of their mean is at least that of one answer for all of ε: splitting a
         budget never helps.
Proof    Noise of ε/K each has variance V(ε/K) with V(x) = 2q/(1 − q)², q = e^−x, that is 1/(2·sinh²(x/2)); V(ε/K)/K ≥
         V(ε) as sinh(x)/x grows: K·2·sinh²(ε/(2K)) ≤ K·2·(sinh(ε/2)/K)² ≤ 2·sinh²(ε/2).
Source   Lecture 003. That nothing else which is ε-DP has a smaller error than one such answer either, whoever weighs
         it: Ghosh, Roughgarden & Sundararajan 2009 (averages), Gupte & Sundararajan 2010 (worst cases).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from discreet.curator.curator import Curator
from discreet.errors import BudgetExhausted
from discreet.lab.blocks import Figure, Figures, Picture, Table
from discreet.lab.charts import OPEN, PRIVATE, WIDTH, altair, chart_of, finished, palette
from discreet.lab.curators import SMOKERS_POLICY, curator_over
from discreet.lab.experiment import Outcome
from discreet.lab.invented import SEED, below
from discreet.lab.writing import count, digits, percent
from discreet.mechanisms import Laplace
from discreet.printing import counted

PEOPLE, SMOKERS = 500, 137
ROOMS: Final = 1000
"""The bound of a column that says nothing here, so that questions can be varied by it."""
QUESTION: Final = "SELECT COUNT(*) AS n FROM people WHERE smokes = 'yes'"
EXACT: Final = 42
"""What the table's answers are about, and many books'."""
TIMES: Final = (1, 10, 100, 1_000, 10_000)
DRAWS: Final = 1_000_000
"""Of noise for each row of the table."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What a real curator said to the same question, asked until its budget was gone and twice more for nothing."""

    fresh: tuple[int, ...]
    refusal: str
    cached: int
    cached_again: int


@dataclass(frozen=True, slots=True)
class Averaged:
    """The mean of K answers for ε each."""

    times: int
    epsilon: float
    expected: float
    """The root mean squared error, by the theorem."""
    rmse: float
    """As measured, over so many means."""
    trials: int
    right: float
    """How many of these are exact after rounding."""

    @property
    def deviation(self) -> float:
        """Of the measured one, about: that of √(mean of squares) of so many normal numbers."""
        return self.expected / math.sqrt(2 * self.trials)


def people(smokers: int = SMOKERS, seed: int = SEED) -> list[dict[str, Any]]:
    """Invented people: who smokes, and in which room they live."""
    rooms = below(f"discreet.lab.averaging {seed} room", ROOMS, PEOPLE).tolist()
    return [
        {"person": number, "smokes": "yes" if number < smokers else "no", "room": room}
        for number, room in enumerate(rooms)
    ]


def experiment(cost: float, budget: float) -> Answers:
    """Ask a curator over invented people for fresh answers, with a ledger that goes when it has answered."""
    with curator_over(SMOKERS_POLICY.format(rooms=ROOMS, budget=budget), {"people": people()}) as curator:
        answers, refusal = until_refused(curator, [QUESTION] * PEOPLE, cost, fresh=True)
        again = [curator.query(QUESTION, epsilon=cost).rows[0][0] for _ in range(2)]
        return Answers(answers, refusal, *again)


def until_refused(
    curator: Curator, questions: Iterable[str], cost: float, *, fresh: bool = False
) -> tuple[tuple[int, ...], str]:
    """The answers to questions until the budget is gone, and the refusal; that is empty if it never was."""
    answers: list[int] = []
    for question in questions:
        try:
            answers.append(curator.query(question, epsilon=cost, fresh=fresh).rows[0][0])
        except BudgetExhausted as refused:
            return tuple(answers), str(refused)
    return tuple(answers), ""


def variants(many: int) -> list[str]:
    """The same question in other words, each with the same exact answer: everybody's room is below these."""
    return [f"{QUESTION} AND room < {ROOMS + number}" for number in range(1, many + 1)]


def rmse(epsilon: float, times: int) -> float:
    """Of the mean of so many answers with Laplace noise for ε each, by the theorem."""
    return math.sqrt(Laplace(epsilon=epsilon, sensitivity=1).variance() / times)


def averaged(epsilon: float, times: int, *, exact: int = EXACT, draws: int = DRAWS) -> Averaged:
    """Means of answers that nobody counted."""
    trials = max(draws // times, 1)
    # a vector is not what this is charged as: each number of it has the noise of one answer, which is what counts here
    answers = Laplace(epsilon=epsilon, sensitivity=1).release(np.full(trials * times, exact))
    means = answers.reshape(trials, times).mean(axis=1)
    return Averaged(
        times,
        epsilon,
        expected=rmse(epsilon, times),
        rmse=float(np.sqrt(np.mean((means - exact) ** 2))),
        trials=trials,
        right=float(np.mean(np.round(means) == exact)),
    )


def run(seed: int = SEED) -> Outcome:
    """Averages without a ledger; then a real curator, asked the same in a hundred ways."""
    cost, budget = 0.1, 1.0
    table = [averaged(cost, times) for times in TIMES]
    with curator_over(SMOKERS_POLICY.format(rooms=ROOMS, budget=budget), {"people": people(EXACT, seed)}) as curator:
        repeated, _ = until_refused(curator, [QUESTION] * 100, cost)
        varied, _ = until_refused(curator, variants(100), cost)
    answered = 1 + len(varied)  # the repeated question was charged once
    mean = float(np.mean([repeated[0], *varied]))
    last, best = table[-1], rmse(budget, 1)
    return Outcome(
        figures=Figures(
            (
                Figure(digits(last.rmse), f"error of the average of {count(last.times)} answers, no ledger"),
                Figure(
                    str(len(set(repeated))), f"different answers among {len(repeated)} to the same question: cached"
                ),
                Figure(f"{answered} of 101", "variants answered before the ledger refuses"),
                Figure(digits(rmse(cost, answered)), f"error of their average (this time {digits(abs(mean - EXACT))})"),
                Figure(digits(best), f"error of the best attack with all of ε = {digits(budget)}: one answer"),
            )
        ),
        tables=(_table(table, budget),),
        pictures=(
            Picture(
                lambda: _chart(table, budget),
                "Error of the average against the number of questions, both logarithmic. Without a ledger it falls "
                "below ½, where rounding gives the truth. Where all questions share "
                f"ε = {digits(budget)} it rises instead.",
            ),
        ),
        sentences=(
            "Independent noise averages out: a hundred times the questions, a tenth of the error, and soon the truth.",
            f"A ledger adds up what questions cost and refuses the rest, here after {counted(answered, 'answer')}.",
            "The same question again is free and says nothing new, by the cache; asked in other words it is charged.",
        ),
        guarantee=(
            f"All answers for ε = {digits(budget)} together move nobody's odds by more than a factor of "
            f"{digits(math.exp(budget))}, and no way to spend it on one count has a smaller error than about "
            f"{digits(best)}."
        ),
    )


def _table(table: Sequence[Averaged], budget: float) -> Table:
    rows = tuple(
        (
            count(row.times),
            f"{digits(row.rmse)} ± {digits(row.deviation, 1)}",
            percent(row.right),
            digits(row.times * row.epsilon),
            digits(rmse(budget / row.times, row.times)),
        )
        for row in table
    )
    columns = (
        "questions",
        "error, no ledger",
        "exact after rounding",
        "ε of all",
        f"error, ε = {digits(budget)} shared",
    )
    return Table(f"The truth is {EXACT}, each answer costs ε = {digits(table[0].epsilon)}", columns, rows)


def _chart(table: Sequence[Averaged], budget: float) -> Any:
    alt = altair()
    openly, shared = "no ledger: ε = 0.1 each", f"ledger: ε = {digits(budget)} in all"
    records = [{"questions": row.times, "error": row.rmse, "kind": openly} for row in table]
    records += [{"questions": row.times, "error": rmse(budget / row.times, row.times), "kind": shared} for row in table]
    log, levels = alt.Scale(type="log"), alt.Scale(type="log", domain=[0.1, 200], nice=False)
    x = alt.X("questions:Q", title="questions asked", scale=log, axis=alt.Axis(values=list(TIMES), format="~s"))
    y = alt.Y(
        "error:Q", title="error of their average", scale=levels, axis=alt.Axis(values=[0.1, 1, 10, 100], format="~g")
    )
    base = chart_of(records).encode(x=x, y=y, color=palette("kind", {openly: OPEN, shared: PRIVATE}))
    level = chart_of([{"error": 0.5}])
    words = level.mark_text(align="left", dx=4, dy=9, fontSize=12, text="below ½: rounding gives the truth")
    drawn = alt.layer(
        base.mark_line(strokeWidth=2.5, point=alt.OverlayMarkDef(size=60, filled=True)),
        level.mark_rule(strokeDash=[4, 3]).encode(y=y),
        words.encode(x=alt.value(0), y=y),
    )
    return finished(drawn.properties(width=WIDTH, height=240), "More questions: closer, or further away")
