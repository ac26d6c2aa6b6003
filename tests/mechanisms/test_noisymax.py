from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet import noise
from discreet.accounting import Pure
from discreet.mechanisms import NoisyMax
from discreet.mechanisms.selection import fine_grid
from tests.mechanisms.test_selection import neighbours
from tests.statistics import ALARM, fair, law, misfit

DRAWS = 2500
MANY_DRAWS = 4000

Floats = NDArray[np.float64]


@cache
def winner_law(scores: tuple[int, ...], scale: float) -> Floats:
    """Who has the largest of score + discrete Laplace noise, ties at random: summed over all values of the maximum.

    The values left out beyond 40 scales have probability below 10⁻¹⁶.
    """
    sensitivity = math.ceil(40 * scale)
    values = np.arange(min(scores) - sensitivity, max(scores) + sensitivity + 1)
    masses = [math.tanh(1 / (2 * scale)) * np.exp(-np.abs(values - score) / scale) for score in scores]
    below = [np.concatenate([[0.0], np.cumsum(mass)[:-1]]) for mass in masses]
    chances = []
    for candidate, mass in enumerate(masses):
        others = [index for index in range(len(scores)) if index != candidate]
        total = np.zeros(values.size)
        for tied in itertools.product((False, True), repeat=len(others)):
            parts = [masses[index] if tie else below[index] for index, tie in zip(others, tied, strict=True)]
            total += np.prod([mass, *parts], axis=0) / (1 + sum(tied))
        chances.append(float(total.sum()))
    return np.array(chances)


def worst_loss(scale: float, *, monotone: bool) -> float:
    return max(
        float(np.log(winner_law(here, scale) / winner_law(there, scale)).max())
        for here, there in neighbours(monotone=monotone)
    )


# Privacy


def test_the_exact_law_is_complete() -> None:
    assert winner_law((3, 0, 2), 2.0).sum() == pytest.approx(1, abs=1e-12)
    assert winner_law((1, 1, 1), 0.5) == pytest.approx([1 / 3] * 3, abs=1e-12)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", [0.2, 1, 4])
def test_on_all_neighbours_no_winner_is_likelier_by_more_than_epsilon(epsilon: float, monotone: bool) -> None:
    worst = worst_loss((1 if monotone else 2) / epsilon, monotone=monotone)
    assert 0.5 * epsilon < worst <= epsilon + 1e-10
    assert NoisyMax(epsilon, sensitivity=1, monotone=monotone).loss == Pure(epsilon)


def test_half_the_noise_is_not_enough_unless_scores_are_monotone() -> None:
    assert worst_loss(1.0, monotone=False) > 1.1
    assert worst_loss(1.0, monotone=True) <= 1 + 1e-10


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0, 1), (math.inf, 1), (1, 0), (1, -1), (1, math.nan)])
def test_costs_and_sensitivities_that_promise_nothing_are_refused(epsilon: float, sensitivity: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        NoisyMax(epsilon, sensitivity=sensitivity)


# The distribution


def test_the_winner_follows_the_exact_law() -> None:
    mechanism = NoisyMax(2, sensitivity=1)
    drawn = [mechanism.choose([2, 0, 1]) for _ in range(DRAWS)]
    assert misfit(drawn, law(list(winner_law((2, 0, 1), 1.0)))) > ALARM


@pytest.mark.long
@pytest.mark.parametrize(
    ("mechanism", "scores", "scale"),
    [
        (NoisyMax(2, sensitivity=1, monotone=True), (2, 0, 1, 1), 0.5),
        (NoisyMax(1, sensitivity=3), (9, 0, 9, 1), 6.0),
        (NoisyMax(0.5, sensitivity=1), (1, 5, 0, 0), 4.0),
    ],
)
def test_winners_of_all_kinds_follow_the_exact_law(mechanism: NoisyMax, scores: tuple[int, ...], scale: float) -> None:
    drawn = [mechanism.choose(scores) for _ in range(MANY_DRAWS)]
    assert misfit(drawn, law(list(winner_law(scores, scale)))) > ALARM


@pytest.mark.long
def test_real_scores_get_their_noise_on_a_grid_of_a_thousandth() -> None:
    """Scores of 0 and 0.5 with Δ = 0.5: 2Δ/ε = 1, and 2⁻¹¹ is the step."""
    mechanism = NoisyMax(1, sensitivity=0.5)
    drawn = [mechanism.choose([0.0, 0.5, 0.0]) for _ in range(MANY_DRAWS)]
    assert misfit(drawn, law(list(winner_law((0, 1024, 0), 2048.0)))) > ALARM


@pytest.mark.parametrize("position", [0, 1])
def test_ties_are_broken_by_a_fair_coin(position: int) -> None:
    """At ε = 50 noise is all but absent, so nearly every race of equals is a tie."""
    mechanism = NoisyMax(50, sensitivity=1)
    wins = sum(mechanism.choose([7, 7]) == position for _ in range(DRAWS))
    assert fair(wins, DRAWS) > ALARM


# Usefulness


def shortfalls(scores: Sequence[float], law_of_winner: Floats, bound: float) -> float:
    """How likely the winner lies farther below the best than the bound."""
    return float(law_of_winner[max(scores) - np.array(scores) > bound].sum())


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("epsilon", [0.5, 2, 20])
@pytest.mark.parametrize("monotone", [False, True])
def test_the_winner_falls_short_as_seldom_as_promised(epsilon: float, confidence: float, monotone: bool) -> None:
    bound = NoisyMax(epsilon, sensitivity=1, monotone=monotone).error(confidence, candidates=3)
    for scores in ((0, 0, 1), (0, 5, 10), (0, 0, int(bound) + 1)):
        found = winner_law(scores, (1 if monotone else 2) / epsilon)
        assert shortfalls(scores, found, bound) <= 1 - confidence


@pytest.mark.parametrize("sensitivity", [1, 5, 0.5])
def test_real_scores_keep_the_promise_too(sensitivity: float) -> None:
    """At ε = 20 integers come out right nearly always, but real scores can lie between them."""
    mechanism = NoisyMax(20, sensitivity=sensitivity)
    bound = mechanism.error(0.95, candidates=2)
    assert bound > 0
    scores = [0.0, bound * 1.001]
    misses = sum(mechanism.choose(scores) == 0 for _ in range(DRAWS))
    assert stats.binom.sf(misses - 1, DRAWS, 0.05) > ALARM


@pytest.mark.parametrize("sensitivity", [1, Fraction(1, 2), 7])
def test_where_there_is_hardly_any_noise_the_error_is_what_rounding_adds(sensitivity: Fraction) -> None:
    error = NoisyMax(10**9, sensitivity=sensitivity).error(0.95, candidates=2)
    assert error == float(fine_grid(Fraction(sensitivity)).step)


def test_scores_too_large_for_their_noise_are_refused() -> None:
    assert NoisyMax(1, sensitivity=1).choose([2**61, 0]) == 0
    for scores in ([2**61 + 1, 0], [0, -(2**61) - 1], [-(2**63), 0]):
        with pytest.raises(OverflowError, match="larger unit"):
            NoisyMax(1, sensitivity=1).choose(scores)


def test_release_is_choose() -> None:
    assert NoisyMax(50, sensitivity=1).release([0, 1000]) == 1


@pytest.mark.parametrize(("monotone", "scale"), [(False, 3), (True, Fraction(3, 2))])
def test_the_noise_grows_with_the_sensitivity(monkeypatch: pytest.MonkeyPatch, monotone: bool, scale: Fraction) -> None:
    scales: list[Fraction] = []
    drawn = noise.laplace

    def noted(given: Fraction, size: int, *, bits: noise.Bits | None = None) -> object:
        scales.append(given)
        return drawn(given, size, bits=bits)

    monkeypatch.setattr(noise, "laplace", noted)
    NoisyMax(2, sensitivity=3, monotone=monotone).choose([1, 2, 3])
    assert scales == [scale]
