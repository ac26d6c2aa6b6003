"""Randomised response: the lecture's two coins, and what an observer believes after an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.mechanisms import Estimate, Laplace, RandomizedResponse

COINS: Final = RandomizedResponse(epsilon=math.log(3))
"""The lecture's two coins: the truth with probability 3/4."""


def sent(truth: str, first: str, second: str) -> str:
    """The lecture's protocol: heads, tell the truth; tails, let the second coin answer."""
    return truth if first == "heads" else {"heads": "yes", "tails": "no"}[second]


def posterior(prior: float, said: str, mechanism: RandomizedResponse) -> float:
    """What an observer believes by Bayes' rule after the answer.

    >>> round(posterior(0.02, "yes", COINS), 3)
    0.058
    """
    if_yes, if_no = (mechanism.truth, mechanism.lie) if said == "yes" else (mechanism.lie, mechanism.truth)
    return prior * if_yes / (prior * if_yes + (1 - prior) * if_no)


@dataclass(frozen=True, slots=True)
class Crowd:
    """The share of Yes among many, in truth and as three ways estimate it."""

    true: float
    coins: Estimate[float]
    own: Estimate[float]
    curator: float
    half: float
    """95 % of the curator's answers are at most this far off."""
    trusted: Laplace
    times: float
    """The variance of answers by two coins over that of truthful ones."""


def crowd(people: int, share: float, own: RandomizedResponse) -> Crowd:
    """So many people flip the lecture's coins, then coins of another ε; a curator counts them with Laplace noise."""
    true = round(people * share)
    answers = np.arange(people) < true
    trusted = Laplace(epsilon=math.log(3), sensitivity=1)
    return Crowd(
        true / people,
        COINS.estimate(COINS.respond(answers)),
        own.estimate(own.respond(answers)),
        trusted.release(true) / people,
        trusted.error(0.95) / people,
        trusted,
        COINS.variance(share, people) / (share * (1 - share) / people),
    )
