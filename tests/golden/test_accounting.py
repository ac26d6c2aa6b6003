"""Figures of the lectures (seeds/000 to 004) that belong to accounting."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.accounting import (
    Approximate,
    DiscreteGaussian,
    DiscreteLaplace,
    Pure,
    Sensitivity,
    compose,
    delta_of,
    gaussian_spread,
    group,
    noise_losses,
    parallel,
    posterior,
    posterior_range,
    response_losses,
)


def test_a_count_moves_by_one() -> None:
    assert Sensitivity.cells(1, 1).l1 == 1


def test_k_disjoint_buckets_together_move_by_one() -> None:
    """A person is in one of them."""
    for buckets in (2, 10, 1000):
        assert Sensitivity.cells(buckets, 1, total=1) == Sensitivity(Fraction(1), Fraction(1))


def test_five_complaints_per_person_move_a_count_by_five() -> None:
    """Hence Lap(5/ε)."""
    assert Sensitivity.cells(1, 5).l1 == 5
    assert Sensitivity.cells(7, 1, total=5) == Sensitivity(Fraction(5), Fraction(5))


def test_k_releases_cost_k_epsilon() -> None:
    assert compose(*[Pure(0.1)] * 7) == Pure(0.7)


def test_disjoint_data_cost_the_largest() -> None:
    assert parallel(Pure(0.1), Pure(0.5), Pure(0.2)) == Pure(0.5)


def test_a_group_of_k_is_protected_with_k_epsilon() -> None:
    assert group(Pure(0.1), 5) == Pure(0.5)


def test_a_group_of_k_has_k_times_e_to_the_k_epsilon_times_delta() -> None:
    grown = group(Approximate(0.1, 1e-9), 5)
    assert isinstance(grown, Approximate)
    assert grown.epsilon == Fraction(1, 2)
    assert float(grown.delta) == pytest.approx(5 * math.exp(0.5) * 1e-9)


def test_two_coins_are_the_logarithm_of_three() -> None:
    picture = response_losses(math.log(3))
    assert picture.masses.tolist() == pytest.approx([1 / 4, 3 / 4])
    assert picture.worst == pytest.approx(math.log(3))


def test_the_tax_investigator_believes_a_little_more_after_a_yes() -> None:
    """Prior 0.02; a Yes to two coins is three times as likely if it is true."""
    assert round(posterior(0.02, 3), 3) == 0.058


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, math.log(3)])
def test_a_belief_of_two_fifths_stays_between_its_bounds(epsilon: float) -> None:
    low, high = posterior_range(0.4, epsilon)
    assert 0.4 * math.exp(-epsilon) <= low < 0.4 < high <= 0.4 * math.exp(epsilon)


def test_the_loss_of_laplace_noise_is_never_above_epsilon() -> None:
    """Blue eyes, ε = 0.1: scale 10, whatever the population."""
    picture = noise_losses(DiscreteLaplace(Fraction(10)), 1)
    assert picture.worst == 0.1
    assert picture.beyond(0.1) == 0
    assert delta_of(DiscreteLaplace(Fraction(10)), 1, 0.1) == 0


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (0.5, 1e-9), (1, 1e-6), (1, 1e-3)])
def test_the_loss_of_the_lecture_s_gaussian_is_above_epsilon_with_probability_below_delta(
    epsilon: float, delta: float
) -> None:
    """σ = √(2·ln(1.25/δ))/ε, for ε ≤ 1."""
    noise = DiscreteGaussian(Fraction(2 * math.log(1.25 / delta) / epsilon**2))
    picture = noise_losses(noise, 1)
    assert delta_of(noise, 1, epsilon) < picture.beyond(epsilon) <= delta


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1, 1e-6), (1, 1e-3), (8, 1e-6)])
def test_the_area_beyond_epsilon_is_delta(epsilon: float, delta: float) -> None:
    """The picture's area, each bad event weighted by how far it lies beyond; the least noise uses δ up."""
    noise = DiscreteGaussian(gaussian_spread(epsilon, delta, 1))
    picture = noise_losses(noise, 1)
    assert picture.delta(epsilon) == pytest.approx(delta_of(noise, 1, epsilon), rel=1e-6)
    assert 0.99 * delta < picture.delta(epsilon) <= delta * (1 + 1e-9)
    assert picture.beyond(epsilon) > delta
