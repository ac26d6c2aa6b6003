"""The differencing attack: a count of everybody less a count of everybody but one is that one's secret.

Theorem  Let Alice's secret be a coin's toss, and two counts have Laplace noise for ε each: one over n people, one over
         all but her. The guess “yes” where the first is larger is right with probability (1 + P(Z = Z'))/2, where
         P(Z = Z') = (1 − q)(1 + q²)/(1 + q)³ and q = e^−ε. Whoever knows everybody else needs no second count and is
         right with probability 1/(1 + q) = e^ε/(1 + e^ε), the most that an ε-DP answer allows anybody. For both answers
         the ledger counts 2ε, hence e^2ε/(1 + e^2ε) at most.
Proof    The difference is D = s + Z − Z' with s ∈ {0, 1}, and Z − Z' is symmetric: P(D ≥ 1 | s = 1) = P(Z ≥ Z') =
         P(D ≤ 0 | s = 0). P(Z = Z') = ((1 − q)/(1 + q))²·Σ q^(2|z|). With the second count known, P(Z ≥ 0) = 1/(1 + q).
         The bound: odds of a yes move by the ratio of two probabilities, e^ε at most (`posterior`), and guesses follow
         the odds. (A “no” counts as if she were not there, so that her secret is one neighbour from the other.)
Source   Lecture 003. With continuous noise the first is 1 − (2 + ε/2)·e^(−ε/2)/4, which is 0.621 for ε = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from discreet.lab.averaging import PEOPLE, QUESTION, ROOMS, SMOKERS, people
from discreet.lab.blocks import Figure, Figures, Picture, Table
from discreet.lab.charts import OPEN, PRIVATE, WIDTH, altair, chart_of, finished, palette
from discreet.lab.curators import SMOKERS_POLICY, curator_over
from discreet.lab.experiment import Outcome
from discreet.lab.invented import SEED, below
from discreet.lab.posterior import told_right
from discreet.lab.writing import count, digits, percent
from discreet.mechanisms import Laplace

TRIALS: Final = 100_000
TIMES: Final = 20
"""Of real curators."""
RULE: Final = 10
"""Counts below this are not published, by agencies that suppress small cells."""
HERS: Final = ROOMS
"""Alice's room, which nobody else has."""
WITHOUT: Final = f"{QUESTION} AND room <> {HERS}"


@dataclass(frozen=True, slots=True)
class Attack:
    """How often the guess is right, and how often anybody's may be."""

    name: str
    right: float
    bound: float
    trials: int

    @property
    def deviation(self) -> float:
        return math.sqrt(max(self.right * (1 - self.right), 0.0) / self.trials)


def chance(epsilon: float) -> float:
    """Of a right guess from two noisy counts, by the theorem.

    >>> round(chance(1), 3)
    0.64
    """
    q = math.exp(-epsilon)
    return (1 + (1 - q) * (1 + q * q) / (1 + q) ** 3) / 2


def secrets(seed: int, trials: int) -> Any:
    """Tosses of a coin: Alice's secret in as many worlds."""
    return below(f"discreet.lab.differencing {seed} secret", 2, trials)


def attacks(epsilon: float, *, seed: int = SEED, trials: int) -> tuple[Attack, ...]:
    """The same attack on exact counts, on counts of which small ones are suppressed, and on noisy ones."""
    secret = secrets(seed, trials)
    everybody, others = SMOKERS + secret, np.full(trials, SMOKERS)
    noise = Laplace(epsilon=epsilon, sensitivity=1)
    # of each world one count is released; that many worlds are in one array changes nothing of its noise
    noisy, noisy_others = noise.release(everybody), noise.release(others)

    def right(first: Any, second: Any) -> float:
        return float(np.mean((first > second) == (secret == 1)))

    hidden, hidden_others = (np.where(counts < RULE, 0, counts) for counts in (everybody, others))
    return (
        Attack("exact counts", right(everybody, others), 1.0, trials),
        Attack(f"counts below {RULE} suppressed", right(hidden, hidden_others), 1.0, trials),
        Attack("noisy counts", right(noisy, noisy_others), told_right(2 * epsilon), trials),
        Attack("one noisy count, the others known", right(noisy, others), told_right(epsilon), trials),
    )


def through_curator(epsilon: float, secret: int, *, seed: int = SEED) -> tuple[int, int]:
    """Both counts of a real curator over people of whom one is Alice, within a budget of 2ε."""
    rows = people(seed=seed)
    rows.append({"person": PEOPLE, "smokes": "yes" if secret else "no", "room": HERS})
    with curator_over(SMOKERS_POLICY.format(rooms=ROOMS, budget=2 * epsilon), {"people": rows}) as curator:
        first, second = (curator.query(text, epsilon=epsilon).rows[0][0] for text in (QUESTION, WITHOUT))
    return first, second


def run(seed: int = SEED) -> Outcome:
    """Alice's secret from two counts: exact, with small counts suppressed, and with noise."""
    epsilon, times = 1.0, TIMES
    table = attacks(epsilon, seed=seed, trials=TRIALS)
    tossed = secrets(seed, times).tolist()
    pairs = [through_curator(epsilon, secret, seed=seed) for secret in tossed]
    right = sum((first > second) == bool(secret) for (first, second), secret in zip(pairs, tossed, strict=True))
    exact, _, noisy, known = table
    return Outcome(
        figures=Figures(
            (
                Figure(percent(exact.right), "right from exact counts"),
                Figure(percent(noisy.right), f"right from noisy counts, ε = {digits(epsilon)} each"),
                Figure("50 %", "right from a coin's toss"),
                Figure(percent(noisy.bound), f"at most, for anybody, with ε = {digits(2 * epsilon)}"),
                Figure(f"{right} of {times}", "right against a real curator"),
            )
        ),
        tables=(
            Table(
                f"Who is right about Alice, in {count(TRIALS)} worlds",
                ("", "guesses right", "at most"),
                tuple(
                    (row.name, f"{percent(row.right)} ± {digits(100 * row.deviation, 1)}", percent(row.bound))
                    for row in table
                ),
                frozenset({2}),
            ),
        ),
        pictures=(
            Picture(
                lambda: _chart(epsilon),
                "How likely each difference of the two noisy counts is, if Alice smokes and if she does not: two hills "
                "that overlap for the most part. Without noise they are two bars, at 1 and at 0.",
            ),
        ),
        sentences=(
            "Two harmless totals differ by one person: their difference is that person's secret.",
            f"Suppressing counts below {RULE} is no help: both are large. Noise does, {percent(chance(epsilon))}.",
            f"Whoever knows all others is right with {percent(known.right)}: the most that one such answer allows.",
        ),
        guarantee=(
            f"Both answers cost ε = {digits(2 * epsilon)}: nobody guesses a coin's toss right with more than "
            f"{percent(noisy.bound)}, whatever they know and ask."
        ),
    )


def _chart(epsilon: float) -> Any:
    alt = altair()
    q, size = math.exp(-epsilon), 8
    noise = {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-60, 61)}
    differences = {d: sum(noise[z] * noise.get(z - d, 0.0) for z in noise) for d in range(-size - 1, size + 2)}
    kinds = {"she smokes": OPEN, "she does not": PRIVATE}
    records = [
        {"difference": d, "chance": differences[d - secret], "kind": kind}
        for secret, kind in ((1, "she smokes"), (0, "she does not"))
        for d in range(-size, size + 1)
    ]
    x = alt.X("difference:Q", title="everybody's count less the count without her", axis=alt.Axis(tickCount=9))
    y = alt.Y("chance:Q", stack=None, title="probability", axis=alt.Axis(format="~%", tickCount=4))
    base = chart_of(records).encode(x=x, y=y, color=palette("kind", kinds))
    drawn = base.mark_area(opacity=0.3, line=True, interpolate="step").properties(width=WIDTH, height=220)
    return finished(
        drawn, "What the difference says of Alice", f"Laplace noise for ε = {digits(epsilon)} on both counts"
    )
