"""What can be believed after an answer: the theorem, outcome by outcome, on mechanisms small enough to list."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.accounting import Approximate, Concentrated, Loss, Pure, delta_of
from discreet.accounting.distributions import DiscreteGaussian, DiscreteLaplace
from discreet.accounting.odds import FAILURE, odds
from discreet.lab.posterior import Band, band, beliefs, one_in, run, told_right
from tests.cli.runs import run as command
from tests.statistics import gaussian_law, laplace_law

Floats = NDArray[np.float64]
Laws = tuple[Floats, Floats]
"""How likely each outcome is with the person, and without."""
PRIORS = (1e-6, 0.1, 0.5, 0.98)


def response(epsilon: float) -> Laws:
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    return np.array([truth, 1 - truth]), np.array([1 - truth, truth])


def shown(extent: float, failure: float) -> Laws:
    """It shows whether the person is there by outcomes of probability `failure` and loss `extent`; else nothing."""
    rare = failure * math.exp(-extent)
    dull = 1 - failure - rare
    return np.array([failure, rare, dull]), np.array([rare, failure, dull])


def delta_at(laws: Laws, epsilon: float) -> float:
    return max(float(np.maximum(one - math.exp(epsilon) * other, 0).sum()) for one, other in (laws, laws[::-1]))


def twice(laws: Laws) -> Laws:
    return np.outer(laws[0], laws[0]).ravel(), np.outer(laws[1], laws[1]).ravel()


def moved(law: Floats, by: int) -> Laws:
    padding = np.zeros(by)
    return np.concatenate([padding, law]), np.concatenate([law, padding])


def after(prior: float, laws: Laws) -> Floats:
    with_, without = prior * laws[0], (1 - prior) * laws[1]
    possible = with_ + without > 0
    return np.where(possible, with_ / np.where(possible, with_ + without, 1), prior)


def beyond(found: Band, laws: Laws) -> float:
    """The largest probability, on either side and of either hypothesis, of beliefs outside the band."""
    posterior = after(found.prior, laws)
    sides = (posterior > found.high * (1 + 1e-9), posterior < found.low * (1 - 1e-9))
    return max(float(law[side].sum()) for side in sides for law in laws)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_randomised_response_attains_the_band(prior: float, epsilon: float) -> None:
    found, posterior = band(prior, Pure(epsilon)), after(prior, response(epsilon))
    assert (found.low, found.high) == pytest.approx((posterior.min(), posterior.max()), rel=1e-12)
    assert found.failure == 0
    both = after(prior, twice(response(epsilon)))
    found = band(prior, Pure(epsilon), answers=2)
    assert (found.low, found.high) == pytest.approx((both.min(), both.max()), rel=1e-12)


def test_guesses_are_right_as_often_as_is_said() -> None:
    for epsilon in (0.1, 1.0, 3.0):
        first, second = response(epsilon)
        assert (
            band(0.5, Pure(epsilon)).guesses
            == pytest.approx(np.maximum(first, second).sum() / 2)
            == told_right(epsilon)
        )
    laws = shown(2.0, 0.01)
    found = band(0.5, Approximate(1.0, delta_at(laws, 1.0)), failure=0.01)
    assert np.maximum(*laws).sum() / 2 <= found.guesses


@pytest.mark.parametrize("people", [1, 3])
def test_laplace_noise_attains_the_band_of_groups(people: int) -> None:
    laws = moved(laplace_law(2).probabilities[50:-50], people)
    inside = (laws[0] > 0) & (laws[1] > 0)
    posterior = after(0.3, laws)[inside]
    found = band(0.3, Pure(0.5), people=people)
    assert (found.low, found.high) == pytest.approx((posterior.min(), posterior.max()), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "extent", "failure"), [(0.5, 0.6, 0.01), (1.0, 3.0, 0.001), (0.1, 5.0, 0.2)])
@pytest.mark.parametrize("prior", PRIORS)
def test_no_band_for_delta_is_narrower(prior: float, epsilon: float, extent: float, failure: float) -> None:
    """Its telling outcome has the probability of the theorem and the posterior at the edge of the band."""
    laws = shown(extent, failure)
    delta = failure * (1 - math.exp(epsilon - extent))
    assert delta_at(laws, epsilon) == pytest.approx(delta)
    found = band(prior, Approximate(epsilon, delta), failure=failure)
    assert found.high == pytest.approx(after(prior, laws)[0])
    assert found.low == pytest.approx(after(prior, laws)[1])
    narrower = band(prior, Approximate(epsilon, delta * 0.99), failure=failure)
    assert beyond(narrower, laws) == pytest.approx(failure)


def gaussian_losses(variance: int) -> list[Loss]:
    deltas = {epsilon: delta_of(DiscreteGaussian(Fraction(variance)), 1, epsilon) for epsilon in (0.3, 1.0)}
    return [Concentrated(Fraction(1, 2 * variance)), *(Approximate(*pair) for pair in deltas.items())]


LOSSES = [(Fraction(variance), loss) for variance in (2, 30) for loss in gaussian_losses(variance)]


@pytest.mark.parametrize(("variance", "loss"), LOSSES)
@pytest.mark.parametrize("failure", [0.2, 1e-3, 1e-6])
def test_gaussian_noise_stays_within_the_band(variance: Fraction, loss: Loss, failure: float) -> None:
    laws = moved(gaussian_law(variance).probabilities, 1)
    if not isinstance(loss, Pure) and loss.delta >= failure:
        with pytest.raises(ValueError, match="failure must be above delta"):
            band(0.1, loss, failure=failure)
        return
    assert beyond(band(0.1, loss, failure=failure), laws) <= failure * (1 + 1e-9)
    if len(laws[0]) < 200:
        both = band(0.1, loss, answers=2, failure=min(0.9, 3 * failure))
        assert beyond(both, twice(laws)) <= both.failure * (1 + 1e-9)


def test_a_loss_with_rho_and_delta_is_converted() -> None:
    little, less, none = (odds(Concentrated(0.02, delta)).exponent for delta in (1e-5, 1e-7, 0))
    assert little > none
    assert little == pytest.approx(less, rel=0.1)


def test_many_answers_take_the_better_of_two_compositions() -> None:
    """A few costly ones add up; of a thousand cheap ones the ρ adds up, which is less."""
    assert band(0.1, Approximate(3, 1e-9), answers=10).exponent == pytest.approx(30, abs=0.01)
    assert band(0.1, Approximate(0.01, 1e-9), answers=1000).exponent < 3
    assert band(0.1, Pure(0.1), answers=10**9).factor == "× e^" + "100,000,000"


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_beliefs_after_given_answers_are_those_of_bayes(law: str) -> None:
    noise: Any = DiscreteLaplace(Fraction(3)) if law == "laplace" else DiscreteGaussian(Fraction(9))
    chances = laplace_law(3) if law == "laplace" else gaussian_law(9)
    prior, answers = {10: 0.2, 11: 0.5, 14: 0.3, 99: 0.0}, [12, 9, 15]
    weights = {
        value: share * math.prod(chances.probabilities[answer - value - chances.first] for answer in answers)
        for value, share in prior.items()
        if share
    }
    expected = {value: weight / sum(weights.values()) for value, weight in weights.items()}
    assert beliefs(prior, answers, noise) == pytest.approx(expected, rel=1e-9)
    assert beliefs(prior, [], noise) == pytest.approx({10: 0.2, 11: 0.5, 14: 0.3})


def test_beliefs_far_apart_do_not_underflow() -> None:
    assert beliefs({0: 0.5, 10**9: 0.5}, [10**12], DiscreteLaplace(Fraction(1)))[10**9] == 1.0
    assert beliefs({0: 1, 1: 3}, [10**12], DiscreteGaussian(Fraction(10**30)))[1] == pytest.approx(0.75)


@pytest.mark.parametrize("prior", [{}, {1: 0}, {1: -0.1, 2: 1}, {1: math.nan}])
def test_beliefs_need_a_prior(prior: dict[int, float]) -> None:
    with pytest.raises(ValueError, match="prior"):
        beliefs(prior, [1], DiscreteLaplace(Fraction(1)))


@pytest.mark.parametrize(
    "wrong", [{"prior": 0}, {"prior": 1}, {"answers": 0}, {"people": 0}, {"failure": 0}, {"failure": 1e-9}]
)
def test_what_makes_no_sense_is_said(wrong: dict[str, Any]) -> None:
    given = {"prior": 0.1, "loss": Approximate(1, 1e-6), **wrong}
    with pytest.raises(ValueError, match=next(iter(wrong))):
        band(**given)


def test_the_experiment_says_what_the_theorem_says() -> None:
    outcome = run(prior=0.5, epsilon=math.log(3))
    assert [figure.value for figure in outcome.figures.items] == ["50 %", "75 %", "25 %", "× 3", "75 %"]
    assert outcome.tables[0].rows[3][0] == "ε = 1"
    assert outcome.tables[0].rows[3][3:] == tuple(
        f"{one_in(band(prior, Pure(1)).low)} to {one_in(band(prior, Pure(1)).high)}" for prior in (0.01, 0.1, 0.5)
    )
    for row in outcome.tables[1].rows:
        assert row[1] in ("25 %", "75 %")
    assert f"{FAILURE:g}" in run(epsilon=1, delta=1e-6).guarantee
    assert len(outcome.pictures[0].chart().to_dict()["layer"]) == 5


def test_the_command_takes_an_attackers_numbers() -> None:
    shown_ = command("lab", "posterior", "--prior", "0.1", "--epsilon", "1").stdout
    assert "23.2 %  believed after, at most" in shown_
    assert "failure must be above delta" in command("lab", "posterior", "--delta", "0.5", code=2).output
    for wrong in (("--prior", "2"), ("--epsilon", "0"), ("--epsilon", "nan"), ("--people", "0"), ("--answers", "1.5")):
        command("lab", "posterior", *wrong, code=2)
