"""How losses add up: sequential and parallel composition, post-processing and groups, each checked on real noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from discreet.accounting import Approximate, Concentrated, Pure, compose, epsilon_of, group, rho_for
from discreet.accounting.distributions import DiscreteLaplace
from discreet.exact import number
from discreet.lab.charts import chance
from discreet.mechanisms import Laplace

WINDOW: Final = 400
"""Noises on either side that are added up."""


def in_sequence(questions: int, epsilon: float) -> float:
    """What so many questions about the same people cost together.

    >>> in_sequence(10, 0.1)
    1.0
    """
    return float(compose(*[Pure(number(epsilon, "epsilon"))] * questions).amount)


def in_parallel(questions: int, epsilon: float) -> float:
    """What they cost if nobody is in the data of two of them: a person moves one answer, so the largest counts."""
    return max([epsilon] * questions)


def with_delta(questions: int, epsilon: float, delta: float) -> float:
    """What Gaussian noise makes of it: each question is (ε, δ)-DP alone, together they are (this, δ)-DP."""
    rho = rho_for(number(epsilon, "epsilon"), number(delta, "delta"))
    return float(epsilon_of(Concentrated(rho * questions), number(delta, "delta")))


def of_group(size: int, epsilon: float, delta: float) -> tuple[float, float]:
    """ε and δ for groups of so many people, by the lecture's claim: kε and k·e^(kε)·δ.

    >>> of_group(3, 0.1, 0.0)
    (0.3, 0.0)
    """
    loss = (
        Approximate(number(epsilon, "epsilon"), number(delta, "delta")) if delta else Pure(number(epsilon, "epsilon"))
    )
    epsilons, deltas = group(loss, size).at(number(delta, "delta"))
    return float(epsilons), float(deltas)


def repeated_loss(questions: int, epsilon: float) -> float:
    """The largest ln of a ratio of probabilities of so many answers to one count, with one person and without: exact.

    Answers are independent, so the ratios multiply, and each is largest below both counts.
    """
    noise = Laplace(epsilon=epsilon, sensitivity=1)
    return questions * math.log(chance(noise, -2) / chance(noise, -3))


@dataclass(frozen=True, slots=True)
class Processed:
    """What is left of a loss after a noisy count was processed further."""

    name: str
    loss: float


def processed(count: int, epsilon: float, after: Mapping[str, Callable[[int], int]]) -> list[Processed]:
    """The exact loss of functions of a noisy count, with one person and without.

    >>> [round(each.loss, 6) for each in processed(10, 0.5, {"itself": lambda answer: answer, "nothing": lambda _: 0})]
    [0.5, 0.0]
    """
    noise = Laplace(epsilon=epsilon, sensitivity=1)
    left = []
    for name, function in after.items():
        laws: list[dict[int, float]] = []
        for exact in (count, count - 1):
            law: dict[int, float] = {}
            for answer in range(count - WINDOW, count + WINDOW):  # the same answers in both worlds
                value = function(answer)
                law[value] = law.get(value, 0.0) + chance(noise, answer - exact)
            laws.append(law)
        left.append(Processed(name, max(abs(math.log(laws[0][value] / laws[1][value])) for value in laws[0])))
    return left


def laplace_of(features: int, epsilon: float) -> tuple[DiscreteLaplace, DiscreteLaplace]:
    """The noise of D counts of one person at once, and of D questions with a D-th of ε each: the same."""
    together = Laplace(epsilon=epsilon, sensitivity=features)
    each = Laplace(epsilon=number(epsilon, "epsilon") / features, sensitivity=1)
    return DiscreteLaplace(together.scale), DiscreteLaplace(each.scale)
