"""What an attacker can believe after an answer, given what they believed before: what ε means in odds.

Somebody suspects with probability p (the prior) that you are in the data, with all your rows. A release has the law P
if you are and Q if you are not. By Bayes the odds after an answer o are those before times the ratio P(o)/Q(o), which
`accounting/odds.py` bounds. What is said of the ratio is said of every attacker.

Whatever the answers say of everybody is not bounded: that smoking causes cancer is bad news for smokers, whether they
are in the data or not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from discreet.accounting import Approximate, Loss, Pure
from discreet.accounting.distributions import DiscreteLaplace, Noise
from discreet.accounting.odds import FAILURE, odds
from discreet.exact import Number, number, probability
from discreet.exact import epsilon as positive
from discreet.lab.blocks import Figure, Figures, Picture, Table
from discreet.lab.charts import INK, NEUTRAL, OPEN, OTHER, PRIVATE, WIDTH, altair, chart_of, finished, palette
from discreet.lab.experiment import Outcome
from discreet.lab.invented import SEED
from discreet.lab.writing import count, digits, percent
from discreet.mechanisms import Gaussian


@dataclass(frozen=True, slots=True)
class Band:
    """The least and the most that can be believed, except with probability `failure` on each side."""

    prior: float
    low: float
    high: float
    exponent: float
    """Odds move by e to this at most, up or down."""
    failure: float

    @property
    def guesses(self) -> float:
        """How often a guess is right at most whether you are in the data, where both were as likely before.

        Proof   Whoever follows the odds is right with the larger posterior: 1/(1 + s) at most, where s = e^−exponent,
                but for answers of which either side has (η + sη)/2, where it is 1 at most: s/(1 + s) more.
        """
        shrunk = math.exp(-self.exponent)
        return min(1 / (1 + shrunk) + self.failure * shrunk, 1.0)

    @property
    def factor(self) -> str:
        return f"× {digits(math.exp(self.exponent))}" if self.exponent < 700 else f"× e^{digits(self.exponent)}"


def band(prior: Number, loss: Loss, *, answers: int = 1, people: int = 1, failure: Number = FAILURE) -> Band:
    """What can be believed after so many answers of this loss each, about a group of so many people.

    >>> after = band(0.1, Pure(1))
    >>> round(after.low, 3), round(after.high, 3), after.factor, after.failure
    (0.039, 0.232, '× 2.72', 0.0)
    """
    share = float(probability(prior, "prior"))
    moved = odds(loss, answers=answers, people=people, failure=failure)
    shrunk = math.exp(-moved.exponent)
    return Band(
        prior=share,
        low=share * shrunk / (share * shrunk + 1 - share),
        high=share / (share + (1 - share) * shrunk),
        exponent=moved.exponent,
        failure=moved.failure,
    )


def beliefs(prior: Mapping[int, Number], answers: Sequence[int], noise: Noise) -> dict[int, float]:
    """What is believed of an exact number after noisy answers to it, by Bayes, given what was believed before.

    Every value's prior is multiplied by the probability of the noise that makes each answer of it. These are
    proportional to exp(−|z|/scale) or exp(−z²/2σ²), for which exact integers and fractions stand until the end.

    >>> smokers = {136: 0.5, 137: 0.5}  # everybody else is known, and there are 136 smokers among them
    >>> {value: round(share, 3) for value, share in beliefs(smokers, [138], DiscreteLaplace(Fraction(1))).items()}
    {136: 0.269, 137: 0.731}
    """
    before = {value: float(number(share, "prior")) for value, share in prior.items()}
    if min(before.values(), default=0.0) < 0 or not any(before.values()):
        raise ValueError("prior must have shares of 0 or more, and not only zeros")
    weights = {value: Fraction(0) for value, share in before.items() if share}
    for answer in answers:
        for value in weights:
            weights[value] -= _size(noise, answer - value)
    most = max(weights.values())
    shares = {value: before[value] * math.exp(max(float(weight - most), -745.0)) for value, weight in weights.items()}
    total = math.fsum(shares.values())
    return {value: share / total for value, share in shares.items()}


def _size(noise: Noise, z: int) -> Fraction:
    """Minus the logarithm of what P(Z = z) is proportional to."""
    return abs(z) / noise.scale if isinstance(noise, DiscreteLaplace) else z**2 / (2 * noise.spread)


# what the experiment shows

EPSILONS: Final = (0.1, 0.5, 1.0, 3.0)
"""Of the bands in the picture."""
ODDS: Final = (0.01, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
"""Of the table."""
SUSPICIONS: Final = (0.01, 0.1, 0.5)
POINTS: Final = 50
DELTA: Final = 1e-6
"""Of Gaussian noise, where there is none to compare with."""


def told_right(epsilon: float) -> float:
    """How often the best attacker guesses right whether you are in the data, if both were as likely: e^ε/(1 + e^ε)."""
    return 1 / (1 + math.exp(-epsilon))


def one_in(share: float) -> str:
    """A probability as people say it.

    >>> one_in(0.1), one_in(0.232), one_in(0.9), one_in(0.9999), one_in(1.0)
    ('1 in 10', '1 in 4.31', 'all but 1 in 10', 'all but 1 in 10,000', 'as good as certain')
    """
    if share in (0, 1):
        return "as good as certain" if share else "as good as impossible"
    return f"1 in {digits(1 / share)}" if share <= 0.5 else f"all but 1 in {digits(1 / (1 - share))}"


def _shown(share: float) -> str:
    return percent(share) if 0.001 <= share <= 0.999 else one_in(share)


def run(
    seed: int = SEED,  # noqa: ARG001  (nothing is invented: these are theorems)
    *,
    prior: float = 0.1,
    epsilon: float = 1.0,
    delta: float = 0.0,
    answers: int = 1,
    people: int = 1,
) -> Outcome:
    """What ε means in odds, for one suspicion and for several."""
    loss: Loss = Approximate(epsilon, delta) if delta else Pure(positive(epsilon))
    own = band(prior, loss, answers=answers, people=people)
    return Outcome(
        figures=Figures(
            (
                Figure(_shown(own.prior), "believed before"),
                Figure(_shown(own.high), "believed after, at most"),
                Figure(_shown(own.low), "believed after, at least"),
                Figure(own.factor, "by which odds move, at most"),
                Figure(_shown(own.guesses), "of guesses right at most, where a coin has 50 %"),
            )
        ),
        tables=(_table(prior), _heard(own.prior, epsilon, delta)),
        pictures=(
            Picture(
                lambda: _chart(own),
                "What can be believed after an answer against what was believed before: bands about the diagonal, "
                f"wider for larger ε. At a prior of {_shown(own.prior)} yours goes from {_shown(own.low)} to "
                f"{_shown(own.high)}.",
            ),
        ),
        sentences=(
            (
                f"A suspicion of {_shown(own.prior)}{_about(people)} ends between {_shown(own.low)} and "
                f"{_shown(own.high)}, after {_answers(answers)} for ε = {digits(epsilon)}."
            ),
            "This holds for every attacker, whatever else they know and compute; most answers say far less.",
            "It is about you alone: what is true of everybody can be learned, and should be.",
        ),
        guarantee=_promise(own, delta),
    )


def _answers(many: int) -> str:
    return "an answer" if many == 1 else f"{count(many)} answers, each"


def _about(people: int) -> str:
    return "" if people == 1 else f" about a group of {count(people)}"


def _promise(own: Band, delta: float) -> str:
    theorem = f"Odds move by {own.factor} at most, after any answer"
    if not delta:
        return f"{theorem} (ε-DP and Bayes)."
    return f"{theorem} but some of probability {digits(own.failure)} at most on each side (ε, δ and Bayes)."


def _table(prior: float) -> Table:
    suspicions = sorted({*SUSPICIONS, float(probability(prior, "prior"))})
    rows = []
    for epsilon in ODDS:
        bands = [band(suspicion, Pure(epsilon)) for suspicion in suspicions]
        ends = (f"{one_in(each.low)} to {one_in(each.high)}" for each in bands)
        right = _shown(told_right(epsilon))
        rows.append((f"ε = {digits(epsilon)}", f"× {digits(math.exp(epsilon))}", right, *ends))
    headings = (f"from {one_in(suspicion)}" for suspicion in suspicions)
    return Table("What ε means in odds", ("", "odds move by", "a coin's toss guessed right", *headings), tuple(rows))


def _heard(prior: float, epsilon: float, delta: float) -> Table:
    """Everybody else is known to the attacker: what each noisy count makes them believe."""
    laplace = DiscreteLaplace(1 / positive(epsilon))
    gaussian = Gaussian(epsilon=epsilon, delta=delta or DELTA, sensitivity=1).noise(Fraction(1), 1)
    size = max(1, round(math.sqrt(gaussian.spread)))
    suspicion = {0: 1 - prior, 1: prior}
    cases = ((1, laplace), (2, laplace), (1, gaussian))
    rows = tuple(
        (
            f"{'+' if z > 0 else '−' if z < 0 else '±'}{count(abs(z))}",
            *(_shown(beliefs(suspicion, [z] * times, noise)[1]) for times, noise in cases),
        )
        for z in sorted({0, 1, *(step * size for step in (-3, -2, -1, 1, 2, 3))})
    )
    columns = (
        "answer less the others' count",
        "Laplace noise",
        "twice that answer",
        f"Gaussian, δ = {delta or DELTA:g}",
    )
    return Table(f"Believed after an answer for ε = {digits(epsilon)}, if all others are known", columns, rows)


def _chart(own: Band) -> Any:
    alt = altair()
    priors = [step / POINTS for step in range(1, POINTS)]
    records = [
        {"prior": each, "low": after.low, "high": after.high, "kind": f"ε = {digits(epsilon)}"}
        for epsilon in EPSILONS
        for each in priors
        for after in [band(each, Pure(epsilon))]
    ]
    colours = dict(
        zip((f"ε = {digits(epsilon)}" for epsilon in EPSILONS), (OTHER, PRIVATE, NEUTRAL, OPEN), strict=True)
    )
    axis, unit = alt.Axis(format="%", tickCount=5), alt.Scale(domain=[0, 1])
    x = alt.X("prior:Q", title="believed before", axis=axis, scale=unit)
    y = alt.Y("low:Q", title="believed after, at least and at most", axis=axis, scale=unit)
    base = chart_of(records).encode(x=x, color=palette("kind", colours, columns=4))
    diagonal = chart_of([{"prior": end, "low": end} for end in (0, 1)])
    mark = chart_of([{"prior": own.prior, "low": own.low, "high": own.high}])
    drawn = alt.layer(
        base.mark_area(opacity=0.13).encode(y=y, y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_line(strokeWidth=2).encode(y=alt.Y("high:Q")),
        diagonal.mark_line(color=INK, strokeDash=[4, 3], strokeWidth=1).encode(x=x, y=y),
        mark.mark_rule(color=INK, strokeWidth=4).encode(x=x, y=y, y2="high:Q"),
    )
    return finished(
        drawn.properties(width=WIDTH, height=WIDTH - 50), "Prior and posterior", "bar: yours; dashed: nothing learned"
    )
