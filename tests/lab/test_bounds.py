"""What ε leaves to an attacker: exactly for the best tests there are, and what guesses prove."""

from __future__ import annotations

from itertools import product
from math import comb, exp

import numpy as np
import pytest

from discreet.lab.bounds import Recovered, most_with, proves
from discreet.lab.charts import chance
from discreet.mechanisms import Laplace


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_bound_is_reached_and_never_passed(epsilon: float) -> None:
    """The best tests for a count of 0 or 1 with Laplace noise, all of them, exactly."""
    noise = Laplace(epsilon=epsilon, sensitivity=1)
    cuts = range(400, -41, -1)
    others = np.cumsum([chance(noise, z) for z in cuts])
    members = np.cumsum([chance(noise, z - 1) for z in cuts])
    slack = [most_with(f, epsilon) - t for f, t in zip(others, members, strict=True)]
    assert min(slack) > -1e-9
    assert abs(slack[cuts.index(1)]) < 1e-9
    assert most_with(0, epsilon) == 0
    assert most_with(1, epsilon) == 1


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_right_guesses_are_at_most_binomial(epsilon: float) -> None:
    """All outputs of a mechanism that adds noise to a sum of three coins, and all sets of guesses, by enumeration."""
    noise = Laplace(epsilon=epsilon, sensitivity=1)
    p = exp(epsilon) / (1 + exp(epsilon))
    worlds = list(product((False, True), repeat=3))
    for output in range(-3, 7):
        likely = np.array([chance(noise, output - sum(coins)) for coins in worlds])
        likely /= likely.sum()
        for guesses in product((False, True, None), repeat=3):
            many = sum(guess is not None for guess in guesses)
            right = np.array([sum(g == c for g, c in zip(guesses, coins, strict=True)) for coins in worlds])
            for least in range(1, many + 1):
                tail = sum(comb(many, k) * p**k * (1 - p) ** (many - k) for k in range(least, many + 1))
                assert likely[right >= least].sum() <= tail + 1e-9


def test_guesses_prove_what_clopper_and_pearson_say() -> None:
    assert proves(0, 0) == 0
    assert proves(5, 5) == 0
    assert proves(1000, 0) == pytest.approx(np.log((0.001 ** (1 / 1000)) / (1 - 0.001 ** (1 / 1000))))
    assert proves(900, 100, 1e-6) < proves(900, 100) < np.log(9)


def test_people_are_counted_on_their_side() -> None:
    right = np.array([[True, True, False, False], [True, False, True, False]])
    coins = np.array([[True, False, True, False], [True, True, False, False]])
    done = Recovered.counted(right, coins)
    assert done == Recovered(2, 4, 2, 4)
    assert (done.inside, done.outside, done.gap) == (0.5, 0.5, 0)
    assert done.most_gap(1.0) == pytest.approx(1 - exp(-1) / 2 - 0.5)
    assert done.epsilon() == 0
