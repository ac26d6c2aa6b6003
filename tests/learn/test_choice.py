"""(ε, δ) on arrays: the less noisy of Laplace and Gaussian noise, by public facts, and within (ε, δ) either way."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Refused
from discreet.accounting import Concentrated, DiscreteLaplace, Pure, compose, epsilon_of, rho_for
from discreet.accounting.losses import Sensitivity
from discreet.exit import Cost
from discreet.exit.cost import noise_of
from discreet.learn import CategoricalNB, GaussianNB, KMeans, LogisticRegression, StandardScaler, private_score
from discreet.mechanisms import Gaussian, Laplace
from tests.learn.cases import BOUNDS, FITS, data
from tests.learn.helpers import Same, recorder

EPSILON, DELTA = 1, 1e-5
RHO = Fraction(repr(rho_for(EPSILON, DELTA)))
MIXED = [(name, make, kind) for name, make, kind in FITS if name.endswith("-approximate")]


def categorical(width: int, **cost: Any) -> CategoricalNB:
    """One release for the whole cost, with l1 = l2² = the number of features: nothing is estimated here."""
    return CategoricalNB(categories=[2] * width, classes=[0, 1], **cost)


def variance(mechanism: Laplace | Gaussian) -> float:
    """Of the discrete noise, by its probabilities."""
    noise = noise_of(mechanism)
    scale, power = (noise.scale, 1) if isinstance(noise, DiscreteLaplace) else (2 * noise.spread, 2)
    values = np.arange(round(40 * float(scale) ** (1 / power)), dtype=np.float64)
    weights = np.exp(-(values**power) / float(scale)) * np.where(values, 2, 1)
    return float((values**2 * weights).sum() / weights.sum())


def test_laplace_is_the_less_noisy_up_to_the_crossover_and_gaussian_beyond_it() -> None:
    """2·(w/ε)² against w/2ρ: they meet at w = ε²/4ρ."""
    crossover = EPSILON**2 / (4 * RHO)
    last = math.floor(crossover)
    assert 4 < last < 20
    for width in range(1, 2 * last):
        found = categorical(width, epsilon=EPSILON, delta=DELTA).loss_for(width)
        assert found == (Pure(EPSILON) if width <= last else Concentrated(RHO)), width
        laplace, gaussian = Fraction(2 * width**2, EPSILON**2), width / (2 * RHO)
        assert (laplace <= gaussian) is found.is_pure
    assert categorical(2).set_params(rho=0.1).loss_for(2) == Concentrated(0.1), "what is said is not chosen"
    assert categorical(99).set_params(epsilon=1).loss_for(99) == Pure(1)


def test_so_are_the_variances_of_the_noise_that_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    last = math.floor(EPSILON**2 / (4 * RHO))
    rows, labels = np.zeros((3, last + 1)), np.zeros(3)
    for width, kind in ((last, Laplace), (last + 1, Gaussian)):
        drawn = recorder(monkeypatch)
        model = categorical(width, epsilon=EPSILON, delta=DELTA).fit(rows[:, :width], labels)
        (release,) = drawn.releases
        assert isinstance(release.mechanism, kind)
        other = Concentrated(RHO) if kind is Laplace else Pure(EPSILON)
        assert variance(release.mechanism) < variance(Cost(other).noise(release.sensitivity))
        assert model.loss_ == model.loss_for(width)


@settings(deadline=None, max_examples=30)
@given(
    st.floats(0.01, 20),
    st.sampled_from([1e-2, 1e-5, 1e-9]),
    st.fractions(1, 1000, max_denominator=100),
    st.integers(1, 100),
    st.integers(1, 50),
)
def test_whatever_is_released_the_choice_has_the_smaller_deviation(
    epsilon: float, delta: float, l1: Fraction, spread: int, turns: int
) -> None:
    sensitivity, share = Sensitivity(l1, l1**2 / spread), Fraction(1, turns)
    noise: Callable[[Cost], float] = lambda cost: cost.deviation(sensitivity, share)  # noqa: E731
    chosen = Cost.less_noisy(noise, epsilon=epsilon, delta=delta)
    both = Cost.alone(epsilon=epsilon), Cost.alone(epsilon=epsilon, delta=delta)
    assert chosen in both
    assert noise(chosen) == min(map(noise, both))
    assert chosen.loss.epsilon_at(Fraction(repr(delta))) <= Fraction(repr(epsilon))


@pytest.mark.parametrize(("make", "kind"), [fit[1:] for fit in MIXED], ids=[fit[0] for fit in MIXED])
def test_every_fit_stays_within_its_epsilon_and_delta(
    make: Callable[..., Any], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = recorder(monkeypatch)
    model = make()
    rows, labels = data(kind, 12, 0)
    assert model.fit(rows, labels).loss_ == model.loss_for(3)
    losses = [release.mechanism.loss_for(release.sensitivity) for release in drawn.releases]
    whole = compose(model.loss_.times(Fraction(0)), *losses)
    assert model.loss_.bounds(whole)
    assert epsilon_of(whole, model.delta) <= model.epsilon


@pytest.mark.parametrize("make", [fit[1] for fit in MIXED], ids=[fit[0] for fit in MIXED])
def test_every_estimator_takes_the_less_noisy(make: Callable[..., Any]) -> None:
    model = make()
    both = Cost.alone(epsilon=model.epsilon), Cost.alone(epsilon=model.epsilon, delta=model.delta)
    if getattr(model, "method", "") == "gaussian-lloyd":  # its name says which
        assert model.loss_for(3) == both[1].loss
        return
    noises = [model._deviation(3, cost) for cost in both]
    assert all(map(math.isfinite, noises))
    assert model.loss_for(3) == min(zip(noises, both, strict=True), key=lambda pair: pair[0])[1].loss


def test_wide_rows_and_many_turns_take_gaussian_noise_and_few_numbers_laplace() -> None:
    cost: dict[str, Any] = {"epsilon": 1, "delta": 1e-5}
    assert StandardScaler(bounds=(0, 1), **cost).loss_for(1).is_pure
    assert not StandardScaler(bounds=(0, 1), **cost).loss_for(50).is_pure
    few = LogisticRegression(bounds=(0, 1), classes=[0, 1], max_iter=1, **cost)
    assert few.loss_for(1).is_pure
    assert not few.set_params(max_iter=25).loss_for(1).is_pure


def test_a_ledger_is_charged_in_rho() -> None:
    """There ε would cost ε·tanh(ε/2), which is more."""
    model = categorical(1, epsilon=1, delta=1e-5, ledger=Same())
    assert model.loss_for(1) == Concentrated(RHO)
    assert Pure(1).concentrated().rho > RHO


def test_a_cost_that_is_too_low_for_either_is_refused_in_words() -> None:
    with pytest.raises(Refused, match="too large to draw"):
        KMeans(3, bounds=BOUNDS, epsilon=1e-9, delta=1e-9).fit(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="must lie between"):
        KMeans(3, bounds=BOUNDS, epsilon=1e-12, delta=1e-9).fit(np.zeros((4, 3)))


def test_scores_are_two_numbers_of_which_a_row_moves_one_step() -> None:
    rows, labels = data("numbers", 30, 0)
    model = GaussianNB(bounds=BOUNDS, classes=["a", "b", "c"], epsilon=1).fit(rows, labels)
    score = private_score(model, rows, labels, epsilon=1, delta=1e-6)
    assert score.loss == Pure(1)
    assert private_score(model, rows, labels, epsilon=1, delta=1e-6, ledger=Same()).loss == Concentrated(
        Fraction(repr(rho_for(1, 1e-6)))
    )
