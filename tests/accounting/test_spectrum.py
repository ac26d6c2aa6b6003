from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import (
    DiscreteGaussian,
    DiscreteLaplace,
    LossDistribution,
    delta_of,
    noise_losses,
    posterior,
    posterior_range,
    response_losses,
)
from discreet.accounting.distributions import Noise

NOISES: list[tuple[Noise, int]] = [
    (DiscreteLaplace(Fraction(10)), 1),
    (DiscreteLaplace(Fraction(15)), 1),
    (DiscreteLaplace(Fraction(7, 3)), 4),
    (DiscreteGaussian(Fraction(9)), 1),
    (DiscreteGaussian(Fraction(300)), 12),
    (DiscreteGaussian(Fraction(1, 4)), 2),
]


@pytest.mark.parametrize(("noise", "shift"), NOISES)
def test_losses_have_the_exact_delta_and_more_than_that_lies_beyond(noise: Noise, shift: int) -> None:
    picture = noise_losses(noise, shift)
    for epsilon in (0, 0.01, 0.1, 0.5, 1, 2):
        assert picture.delta(epsilon) == pytest.approx(delta_of(noise, shift, epsilon), abs=1e-9)
        assert picture.beyond(epsilon) >= picture.delta(epsilon) - 1e-12


@pytest.mark.parametrize(("noise", "shift"), NOISES)
def test_losses_are_a_distribution_in_order(noise: Noise, shift: int) -> None:
    picture = noise_losses(noise, shift)
    assert picture.masses.sum() == pytest.approx(1)
    assert (np.diff(picture.losses) > 0).all()
    assert picture.worst == picture.losses[-1]


@pytest.mark.parametrize(("noise", "shift"), NOISES)
def test_the_ratios_average_to_one_under_the_neighbour(noise: Noise, shift: int) -> None:
    """Σ P·e^−loss = Σ P′ = 1, as long as both see the same outcomes."""
    picture = noise_losses(noise, shift)
    assert (picture.masses * np.exp(-picture.losses)).sum() == pytest.approx(1)


@pytest.mark.parametrize("scale", [1, 3, 10, 15, 30, 70, Fraction(7, 3), 999])
def test_laplace_never_loses_more_than_its_cost(scale: int | Fraction) -> None:
    picture = noise_losses(DiscreteLaplace(Fraction(scale)), 1)
    assert picture.worst == pytest.approx(1 / float(scale))
    assert picture.beyond(1 / float(scale)) == 0
    assert picture.delta(1 / float(scale)) == pytest.approx(0, abs=1e-15)


def test_laplace_loses_exactly_its_cost_in_a_little_more_than_half_of_the_outcomes() -> None:
    picture = noise_losses(DiscreteLaplace(Fraction(10)), 1)
    assert picture.losses.tolist() == [-0.1, 0.1]
    assert picture.masses[1] == pytest.approx(1 / (1 + math.exp(-0.1)))


def test_the_loss_of_gaussian_noise_is_unbounded_and_gaussian() -> None:
    """Mean Δ²/2σ² and standard deviation Δ/σ: a linear function of the noise."""
    picture = noise_losses(DiscreteGaussian(Fraction(100)), 3)
    deviation = math.sqrt((picture.masses * (picture.losses - picture.mean) ** 2).sum())
    assert picture.mean == pytest.approx(9 / 200)
    assert deviation == pytest.approx(3 / 10)
    assert picture.worst > 10
    assert picture.beyond(1) > 0


def test_the_mean_loss_of_laplace_noise_is_its_divergence() -> None:
    picture = noise_losses(DiscreteLaplace(Fraction(1)), 1)
    assert picture.mean == pytest.approx(math.tanh(0.5))


def test_the_axes_of_the_picture_run_from_nothing_to_everything() -> None:
    events, ratios = noise_losses(DiscreteGaussian(Fraction(4)), 1).ratios()
    assert events[-1] == pytest.approx(1)
    assert (np.diff(events) >= 0).all()
    assert (np.diff(ratios) > 0).all()


def test_a_picture_too_fine_to_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="too fine: use a coarser step"):
        noise_losses(DiscreteGaussian(Fraction(10**12)), 1)


def test_a_sensitivity_is_at_least_one() -> None:
    with pytest.raises(ValueError, match=r"^sensitivity must be at least 1"):
        noise_losses(DiscreteLaplace(Fraction(1)), 0)


def test_two_coins_lose_the_logarithm_of_three() -> None:
    picture = response_losses(math.log(3))
    assert picture.losses == pytest.approx([-math.log(3), math.log(3)])
    assert picture.masses == pytest.approx([1 / 4, 3 / 4])
    assert picture.worst == pytest.approx(math.log(3))
    assert picture.beyond(math.log(3)) == 0


def test_response_among_many_answers_mostly_loses_nothing() -> None:
    picture = response_losses(1, answers=5)
    whole = math.e + 4
    assert picture.losses == pytest.approx([-1, 0, 1])
    assert picture.masses == pytest.approx([1 / whole, 3 / whole, math.e / whole])
    assert picture.delta(0) == pytest.approx((math.e - 1) / whole)


@pytest.mark.parametrize("epsilon", [1e-9, 30, 700, 1e4, 1e9])
def test_response_is_drawn_at_any_accepted_cost(epsilon: float) -> None:
    picture = response_losses(epsilon, answers=3)
    assert picture.masses.sum() == pytest.approx(1)
    assert picture.worst == epsilon


def test_response_needs_two_answers() -> None:
    with pytest.raises(ValueError, match=r"^answers must be at least 2"):
        response_losses(1, answers=1)


def test_what_the_attacker_believes_follows_bayes() -> None:
    assert posterior(0.02, 3) == pytest.approx(0.02 * 3 / (0.02 * 3 + 0.98))
    assert posterior(0.5, 1) == 0.5
    assert posterior(0.5, Fraction(1, 3)) == 0.25


@pytest.mark.parametrize("bad", [0, 1, -0.1, float("nan")])
def test_a_prior_is_a_probability(bad: float) -> None:
    with pytest.raises(ValueError, match=r"^prior must "):
        posterior(bad, 2)
    with pytest.raises(ValueError, match=r"^prior must "):
        posterior_range(bad, 1)


@pytest.mark.parametrize("bad", [0, -1, float("inf")])
def test_a_ratio_is_positive(bad: float) -> None:
    with pytest.raises(ValueError, match=r"^ratio must "):
        posterior(0.5, bad)


@pytest.mark.parametrize("prior", [0.001, 0.4, 0.5, 0.99])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 5, 1000])
def test_no_answer_moves_the_attacker_out_of_the_range(prior: float, epsilon: float) -> None:
    low, high = posterior_range(prior, epsilon)
    assert prior * math.exp(-epsilon) <= low * (1 + 1e-12)
    assert high <= min(1, prior * math.exp(min(epsilon, 700))) * (1 + 1e-12)
    assert low < prior < high
    for loss in np.linspace(-epsilon, epsilon, 21):
        if abs(loss) < 700:
            assert low * (1 - 1e-12) <= posterior(prior, math.exp(loss)) <= high * (1 + 1e-12)


def test_a_distribution_can_be_built_by_hand() -> None:
    picture = LossDistribution(np.array([-1.0, 1.0]), np.array([0.25, 0.75]))
    assert picture.mean == 0.5
    assert picture.beyond(0.5) == 0.75
