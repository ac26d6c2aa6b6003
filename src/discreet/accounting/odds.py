"""How far an answer moves the odds that somebody is in the data: the ratio P(o)/Q(o) of the laws with and without them.

Theorem  After any answer of an ε-DP release the odds are the prior odds times a factor from e^−ε to e^ε.
         After an (ε, δ)-DP release they are so for ε' in place of ε, except on each side with a probability of at most
         η = δ/(1 − e^(ε − ε')), whether you are in the data or not; that is ε' = ε − ln(1 − δ/η), for any η above δ.
         After a ρ-zCDP release likewise, with ε' = ρ + 2·√(ρ·ln(1/η)).
         After k answers the same with kε, (kε, kδ) or kρ; for groups of k people with the loss of `group`.
Proof    ε: the ratio lies between e^−ε and e^ε by definition.
         (ε, δ): let S be all answers with P(o) > e^ε'·Q(o). Then P(S) ≤ e^ε·Q(S) + δ ≤ e^(ε − ε')·P(S) + δ, which is
         P(S) ≤ η, and Q(S) < P(S). Answers with Q(o) > e^ε'·P(o) are as rare, as P and Q may be exchanged.
         ρ: the loss L = ln(P/Q) has E e^((α−1)L) ≤ e^((α−1)αρ) under P, for all α > 1. So by Markov P(L > t) ≤
         exp((α − 1)(αρ − t)), and with α = (t + ρ)/(2ρ) that is exp(−(t − ρ)²/(4ρ)) = η for t = ε'.
Tight    Randomised response attains the first, a release that shows itself with probability η the second: no function
         of ε (and δ) alone promises more. `tests/lab/test_posterior.py` has both, outcome by outcome.
Source   Wasserman & Zhou 2010 (hypothesis tests); Kasiviswanathan & Smith 2014 (posteriors and δ); Dong, Roth & Su 2022
         (trade-off functions: the second is theirs of (ε, δ), read as odds); Bun & Steinke 2016 (tails of zCDP).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.accounting.losses import Approximate, Concentrated, Loss, Pure, epsilon_of, group
from discreet.exact import Number, probability, whole

FAILURE: Final = 0.001
"""How often odds may move further, on each side, where there is a δ or a ρ and nobody said."""


@dataclass(frozen=True, slots=True)
class Odds:
    """Odds move by e^exponent at most, up or down, except with probability `failure` on each side."""

    exponent: float
    failure: float


def odds(loss: Loss, *, answers: int = 1, people: int = 1, failure: Number = FAILURE) -> Odds:
    """How far so many answers of this loss each move the odds about a group of so many people.

    >>> odds(Pure(1), answers=3)
    Odds(exponent=3.0, failure=0.0)
    """
    many = Fraction(whole(answers, "answers"))
    one = loss if whole(people, "people") == 1 else group(loss, people)
    exponents = [_exponent(each, failure) for each in _together(one, many)]
    return Odds(min(exponents), 0.0 if isinstance(loss, Pure) else float(failure))


def _together(loss: Loss, many: Fraction) -> list[Loss]:
    """So many answers, chosen adaptively: what adds up, ε or ρ; of (ε, δ) both ways are valid."""
    if isinstance(loss, Approximate):
        both = Approximate(many * loss.epsilon, many * loss.delta)
        return [both] if many == 1 else [both, loss.concentrated().times(many)]
    return [loss.times(many)]


def _exponent(loss: Loss, failure: Number) -> float:
    if isinstance(loss, Pure):
        return float(loss.epsilon)
    rare = probability(failure, "failure")
    if loss.delta >= rare:
        raise ValueError(
            f"failure must be above delta: answers of probability {float(loss.delta):g} may tell everything"
        )
    if isinstance(loss, Concentrated) and not loss.delta:
        rho = float(loss.rho)
        return rho + 2 * math.sqrt(-rho * math.log(rare))
    delta = loss.delta if isinstance(loss, Approximate) else (loss.delta + rare) / 2
    return epsilon_of(loss, delta) - math.log1p(-float(delta / rare))
