"""A black-box auditor: it sees outputs only, and what it says comes with a certificate.

A fifth of the samples trains scores that tell the outputs on two neighbours apart; an eighth picks one score and two
cuts, which make a guess: high scores are the data's, low ones the neighbour's. The rest, which no choice has seen, are
put to the test, and how often the guess is right bounds ε from below: the theorem stands in `guesses`.

The theorem wants a fair coin to decide for each of N outputs on which side it is drawn. The outputs of one side are
alike, so it is enough to toss N coins and to take as many outputs of the first side as there are heads, and of the
other as there are tails. N is a little smaller than what was drawn on both, so that they hardly ever run out; what is
missing then counts as wrong.

Source   Ding, Wang, Wang, Zhang & Kifer 2018; Jagielski, Ullman & Oprea 2020; Steinke, Nasr & Jagielski 2023.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from discreet import noise
from discreet.accounting.losses import is_loss
from discreet.accounting.rounding import float_up
from discreet.audit.guesses import Guess, at_least, at_most, best_guess, proven
from discreet.audit.outputs import Batch, Floats, Progress, beside, sampler
from discreet.exact import number, probability, whole

FEWEST: Final = 40
TRAINING: Final = 5
"""One in so many samples trains."""
CHOOSING: Final = 8
"""One in so many samples chooses."""
SLACK: Final = 4
"""Standard deviations by which heads may outnumber tails, or tails heads, before the outputs of a side run out."""
DELTA: Final = Fraction(1, 10**5)
"""At which a concentrated loss is read as an (ε, δ) claim."""


@dataclass(frozen=True, slots=True)
class Claim:
    """(ε, δ)-DP."""

    epsilon: float
    delta: float = 0.0

    @classmethod
    def of(cls, claim: Any, mechanism: Any = None) -> Claim:
        """A claim as a number, a pair, a loss, or what the mechanism itself says."""
        if claim is None:
            claim = getattr(mechanism, "loss", None)
        if isinstance(claim, Claim):
            return claim
        if is_loss(claim):
            epsilon, delta = claim.at(DELTA)
            return cls(float_up(epsilon), float_up(delta))
        if isinstance(claim, tuple) and len(claim) == 2:
            return cls(float(number(claim[0], "epsilon")), float(probability(claim[1], "delta")))
        if claim is None:
            raise TypeError("what is claimed? pass claim=1 for ε-DP, claim=(1, 1e-6) for (ε, δ)-DP, or a loss")
        return cls(float(number(claim, "epsilon")))

    @property
    def advantage(self) -> float:
        """How much more often than chance anybody can guess on which side an output was drawn, at most.

        Proof  With P ≤ e^ε·Q + δ both ways, P − Q is largest where both bounds meet: (e^ε − 1 + 2δ)/(e^ε + 1).
        Source Kairouz, Oh & Viswanath 2015.
        """
        return math.tanh(self.epsilon / 2) + 2 * self.delta / (math.exp(min(self.epsilon, 700)) + 1)

    def __str__(self) -> str:
        return f"ε {self.epsilon:g}" + (f", δ {self.delta:g}" if self.delta else "")


@dataclass(frozen=True, slots=True)
class Witness:
    """An event in words, on which side it is the likelier ("data" or "neighbour"), and how often it came on each."""

    event: str
    likelier: str
    hits: int
    misses: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """The certified lower bound on ε at the claim's δ, and the event that shows it."""

    claim: Claim
    epsilon: float
    witnesses: tuple[Witness, ...]
    """The one or two events by which the guess goes, the most telling first."""
    right: int
    """Guesses that were right; the bound follows from them and from those that were wrong."""
    wrong: int
    trials: int
    """Outputs of each side in which the witnesses were counted."""
    confidence: float
    data: Any
    neighbour: Any

    @property
    def witness(self) -> str:
        """The most telling event in words."""
        return self.witnesses[0].event

    @property
    def likelier(self) -> str:
        return self.witnesses[0].likelier

    @property
    def hits(self) -> int:
        return self.witnesses[0].hits

    @property
    def misses(self) -> int:
        return self.witnesses[0].misses

    @property
    def violated(self) -> bool:
        """Whether the claim is wrong, with this confidence."""
        return self.epsilon > self.claim.epsilon

    @property
    def advantage(self) -> tuple[float, float, float]:
        """How much likelier the event is on one side: the difference of the rates, and its confidence interval."""
        hits, misses, alpha = self.hits, self.misses, (1 - self.confidence) / 4
        low = at_least(hits, self.trials, alpha) - at_most(misses, self.trials, alpha)
        high = at_most(hits, self.trials, alpha) - at_least(misses, self.trials, alpha)
        return (hits - misses) / self.trials, low, high

    def __str__(self) -> str:
        verdict = "violated" if self.violated else "not disproved"
        events = "; or ".join(
            f"{seen.event}: {seen.hits:,} of {self.trials:,} times on the {seen.likelier}, {seen.misses:,} on the other"
            " side"
            for seen in self.witnesses
        )
        bound = f"ε ≥ {self.epsilon:.3f} ({self.confidence:.4g})"
        guesses = f"guesses by that are right {self.right:,} times and wrong {self.wrong:,} times"
        return f"{self.claim} is {verdict}: {bound}, because {events}; {guesses}"


def estimate(
    mechanism: Any,
    data: Any = None,
    neighbour: Any = None,
    *,
    claim: Any = None,
    patterns: Sequence[tuple[Any, Any]] = (),
    samples: int = 200_000,
    confidence: float = 0.999,
    progress: Progress | None = None,
) -> Estimate:
    """What so many outputs on each of two neighbours prove about a mechanism's ε.

    `mechanism`: a function f(data), a batch f(data, n) marked with `batch`, a mechanism of discreet, or a `question`.
    Instead of two neighbours, `patterns` may name many pairs: a tenth of the samples looks for the most telling one.
    """
    draws, stated = sampler(mechanism), Claim.of(claim, mechanism)
    total, sure = whole(samples, "samples", least=FEWEST), float(probability(confidence, "confidence"))
    tell = progress or (lambda *_: None)
    if patterns:
        data, neighbour = _most_telling(draws, patterns, stated, total // 10, sure, tell)
        total -= total // 10
    tell("drawing", 0.0)
    of_data = draws(data, total)
    tell("drawing", 0.5)
    here, there = beside([of_data, draws(neighbour, total)], total)
    tell("looking for a witness", 0.0)
    result = _estimated(here, there, stated, sure, data, neighbour)
    tell("looking for a witness", 1.0)
    return result


def _most_telling(
    draws: Batch, patterns: Sequence[tuple[Any, Any]], claim: Claim, samples: int, confidence: float, tell: Progress
) -> tuple[Any, Any]:
    """The pair that proves most with a few samples; what is certified later comes from others."""
    each = max(samples // len(patterns), FEWEST)
    best, most = patterns[0], -math.inf
    for index, pair in enumerate(patterns):
        tell("looking for telling data", index / len(patterns))
        here, there = beside([draws(side, each) for side in pair], each)
        result = _estimated(here, there, claim, min(confidence, 0.9), *pair)
        if result.epsilon > most:
            best, most = pair, result.epsilon
    return best


def _estimated(here: Floats, there: Floats, claim: Claim, confidence: float, data: Any, neighbour: Any) -> Estimate:
    alpha, n = 1 - confidence, len(here)
    trained, chosen = n // TRAINING, n // TRAINING + n // CHOOSING
    trials = n - chosen
    outputs = max(2 * trials - round(SLACK * math.sqrt(2 * trials)), 1)
    training, choosing = (here[:trained], there[:trained]), (here[trained:chosen], there[trained:chosen])
    guess = best_guess(training, choosing, delta=claim.delta, alpha=alpha, outputs=outputs)
    sides = guess.score(here[chosen:]), guess.score(there[chosen:])
    heads = int(noise.below(2, size=outputs).sum())
    first, second = (guess.calls(side[:count]) for side, count in zip(sides, (heads, outputs - heads), strict=True))
    right, wrong = first[0] + second[1], first[1] + second[0]
    missing = max(heads - trials, 0) + max(outputs - heads - trials, 0)
    bound = proven(right, wrong, outputs, delta=claim.delta * guess.events / 2, alpha=alpha, missing=missing)
    return Estimate(
        claim=claim,
        epsilon=max(bound, 0.0),
        witnesses=_witnesses(guess, *sides),
        right=right,
        wrong=wrong + missing,
        trials=trials,
        confidence=confidence,
        data=data,
        neighbour=neighbour,
    )


def _witnesses(guess: Guess, here: Floats, there: Floats) -> tuple[Witness, ...]:
    """The events of a guess, the most telling first, as they are seen in these scores."""
    data, neighbour = guess.words()
    counts = guess.calls(here), guess.calls(there)
    witnesses = [
        Witness(words, likelier, counts[side][side], counts[1 - side][side])
        for side, (words, likelier) in enumerate(((data, "data"), (neighbour, "neighbour")))
        if words is not None
    ]
    return tuple(sorted(witnesses, key=lambda seen: (seen.misses + 1) / (seen.hits + 1)))
