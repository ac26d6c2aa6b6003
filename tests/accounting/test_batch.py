"""Batches that are fixed in advance: against enumeration and closed forms, never below them and hardly above."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import Approximate, Concentrated, DiscreteGaussian, DiscreteLaplace, delta_of, epsilon_of
from discreet.accounting.batch import (
    AnyPure,
    Batch,
    DiscreteNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    Sampled,
    epsilon_for_training,
    sigma_for_training,
    steps_for_training,
)
from discreet.accounting.loss_grid import Composed, LossGrid
from discreet.accounting.pairs import Atoms, GaussianPair, LaplacePair, Pair, SampledPair, Swapped
from discreet.accounting.renyi import epsilon_of_renyi
from discreet.errors import Refused
from discreet.ledger import Grant, Ledger, Memory
from tests.accounting.truth import mp


def gaussian_delta(shift: float, cost: float, rate: float = 1.0) -> float:
    """The δ of N(μ, 1) over N(0, 1), on a sample: r·H(1 + (e^ε − 1)/r)."""
    level = 1 + mp.expm1(cost) / rate
    edge = mp.log(level) / shift
    return float(rate * (mp.ncdf(shift / 2 - edge) - level * mp.ncdf(-shift / 2 - edge)))


def enumerated(p: tuple[float, float], q: tuple[float, float], times: int, cost: float) -> float:
    """The δ of so many releases with two outcomes each, by their number of first outcomes."""
    total = mp.mpf(0)
    for k in range(times + 1):
        ways = math.comb(times, k)
        with_unit = mp.mpf(p[0]) ** k * mp.mpf(p[1]) ** (times - k)
        without = mp.mpf(q[0]) ** k * mp.mpf(q[1]) ** (times - k)
        total += ways * max(with_unit - mp.exp(cost) * without, 0)
    return float(total)


@pytest.mark.parametrize(("sigma", "times"), [(0.4, 1), (1, 1), (10, 100), (50, 10_000), (3000, 7)])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_gaussian_steps_are_one_gaussian_step(sigma: float, times: int, delta: float) -> None:
    batch = Batch([(GaussianNoise(sigma), times)])
    cost = batch.epsilon(delta)
    shift = math.sqrt(times) / sigma
    assert gaussian_delta(shift, cost) <= delta
    assert cost == 0 or gaussian_delta(shift, cost * 0.999) > delta * 0.999


@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.01), (0.5, 0.5), (5.0, 1e-4), (1.0, 0.999)])
@pytest.mark.parametrize("cost", [0.0, 0.1, 2.0])
def test_one_sampled_step(sigma: float, rate: float, cost: float) -> None:
    exact = gaussian_delta(1 / sigma, cost, rate)
    shown = Batch([(Sampled(GaussianNoise(sigma), rate), 1)]).delta(cost)
    assert exact <= shown <= exact * 1.01 + 1e-13


@pytest.mark.parametrize("cost", [0.0, 0.3, 0.99, 1.0001, 1.5])
def test_one_laplace_step(cost: float) -> None:
    exact = max(-math.expm1((cost - 1) / 2), 0.0)
    assert exact <= Batch([(LaplaceNoise(1), 1)]).delta(cost) <= exact * 1.01 + 1e-9


@pytest.mark.parametrize("times", [1, 2, 9, 60])
@pytest.mark.parametrize("rate", [1.0, 0.2])
@pytest.mark.parametrize("cost", [0.05, 0.4, 1.7])
def test_pure_steps_by_enumeration(times: int, rate: float, cost: float) -> None:
    """Of the sampled ones, the worse of both directions."""
    true = 1 / (1 + math.exp(-0.3))
    with_unit, without = (true, 1 - true), (1 - true, true)
    mixed = tuple(rate * a + (1 - rate) * b for a, b in zip(with_unit, without, strict=True))
    exact = max(enumerated(mixed, without, times, cost), enumerated(without, mixed, times, cost))  # type: ignore[arg-type]
    shown = Batch([(Sampled(AnyPure(0.3), rate), times)]).delta(cost)
    assert exact <= shown <= exact * 1.02 + 1e-10


@pytest.mark.parametrize("noise", [DiscreteLaplace(Fraction(3)), DiscreteGaussian(Fraction(9, 4))])
def test_discrete_noise_is_what_the_exact_tails_say(noise: DiscreteLaplace | DiscreteGaussian) -> None:
    for cost in (0.1, 0.5, 2.0):
        exact = delta_of(noise, 2, cost)
        assert exact * (1 - 1e-9) <= Batch([(DiscreteNoise(noise, 2), 1)]).delta(cost) <= exact * 1.01 + 1e-10


def test_three_thousand_steps_of_three_kinds() -> None:
    """12.794 by dp-accounting 0.6, 12.793 at a hundred times as many points; 13.583 by Rényi divergences."""
    kinds: list[tuple[Event, int]] = [
        (GaussianNoise(20), 1000),
        (LaplaceNoise(20), 1000),
        (Sampled(GaussianNoise(1), 0.01), 1000),
    ]
    batch = Batch(kinds)
    assert 12.79 <= batch.epsilon(1e-6) <= 12.80
    assert 13.5 <= epsilon_of_renyi(batch.renyi, 1e-6) <= 13.6
    assert batch.delta(batch.epsilon(1e-6)) == pytest.approx(1e-6, rel=1e-3)


pairs = st.one_of(
    st.floats(0.01, 5).map(GaussianPair),
    st.floats(0.01, 5).map(LaplacePair),
    st.lists(st.floats(0.01, 1), min_size=2, max_size=6).map(lambda weights: atoms(weights)),
)


def atoms(weights: list[float]) -> Atoms:
    """Some P and Q over the same outcomes."""
    p = np.array(weights) / sum(weights)
    q = p[::-1] * np.linspace(1, 2, len(p))
    q /= q.sum()
    order = np.argsort(np.log(p / q))
    losses, places = np.unique(np.log(p / q)[order], return_inverse=True)
    return Atoms(losses, np.bincount(places, weights=p[order]).astype(np.float64))


def hockey(pair: Pair, cost: float) -> float:
    """P − e^ε·Q of all losses above ε."""
    p, q = pair.cells(np.array([cost]))
    return float(p[1] - math.exp(cost) * q[1])


@settings(max_examples=60)
@given(pairs, st.sampled_from([1.0, 0.3, 0.01]), st.booleans(), st.floats(1e-3, 0.5), st.floats(-1, 4))
def test_cutting_dominates(base: Pair, rate: float, swapped: bool, step: float, cost: float) -> None:
    """At every ε the pair on the grid has at least the δ of the pair; at points of the grid nearly the same."""
    pair = base if rate == 1 else SampledPair(base, rate)
    pair = Swapped(pair) if swapped else pair
    grid = LossGrid.of(pair, step, 1e-12)

    def cut(level: float) -> float:
        return float((grid.masses * -np.expm1(np.minimum(level - grid.losses, 0))).sum()) + grid.lost

    assert cut(cost) >= hockey(pair, cost) - 1e-13
    point = max(round(cost / step) * step, grid.losses[0])
    assert cut(point) <= hockey(pair, point) + 1e-9
    assert grid.masses.sum() + grid.lost == pytest.approx(1, abs=1e-12)


def test_every_tilt_gives_a_true_bound() -> None:
    grid = LossGrid.of(GaussianPair(0.1), 1e-3, 1e-12)
    exact = gaussian_delta(1.0, 3.0)
    found = [Composed([(grid, 100)], tilt).delta(3.0) for tilt in (0.01, 0.5, 1, 2, 3, 5, 10)]
    assert min(found) >= exact
    assert found[4] == pytest.approx(exact, rel=2e-3)


def test_a_window_that_is_too_small_errs_to_the_safe_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.accounting.loss_grid.RARE", 0.3)
    grid = LossGrid.of(GaussianPair(0.1), 1e-2, 1e-12)
    for cost in (1.0, 2.0, 3.0):
        assert Composed.near_epsilon([(grid, 100)], cost).delta(cost) >= gaussian_delta(1.0, cost)


def test_more_costs_more() -> None:
    usual = epsilon_for_training(1, 0.01, 500, 1e-6)
    assert usual < epsilon_for_training(1, 0.01, 600, 1e-6)
    assert usual < epsilon_for_training(1, 0.011, 500, 1e-6)
    assert usual < epsilon_for_training(0.95, 0.01, 500, 1e-6)
    assert usual < epsilon_for_training(1, 0.01, 500, 1e-7)


def test_inverses() -> None:
    sigma = sigma_for_training(2, 0.02, 50, 1e-6)
    assert epsilon_for_training(sigma, 0.02, 50, 1e-6) <= 2 < epsilon_for_training(sigma * 0.999, 0.02, 50, 1e-6)
    steps = steps_for_training(2, 1, 0.02, 1e-6)
    assert epsilon_for_training(1, 0.02, steps, 1e-6) <= 2 < epsilon_for_training(1, 0.02, steps + 1, 1e-6)
    assert steps_for_training(0.01, 0.3, 0.5, 1e-6) == 0


@pytest.mark.parametrize("order", [1.5, 2, 2.5, 17, 64])
def test_renyi_divergences_by_quadrature(order: float) -> None:
    """Of Laplace noise and of sampled Gaussian noise: at least the integral, and at whole orders no more."""
    shift, rate = 1.0, 0.1

    def sampled(x: Any) -> Any:
        ratio = 1 - rate + rate * mp.exp(shift * x - shift**2 / 2)
        return ratio**order * mp.npdf(x)

    with mp.workdps(20):
        exact = float(mp.log(mp.quad(sampled, [-10, 0, order, 10 + 2 * order]))) / (order - 1)
        moment = mp.quad(lambda x: mp.exp(-order * abs(x) + (order - 1) * abs(x - 1)) / 2, [-40, 0, 1, 40])
    shown = Sampled(GaussianNoise(1), rate).divergence(order)
    assert exact * (1 - 1e-9) <= shown
    assert order != int(order) or shown == pytest.approx(exact, rel=1e-6)
    assert LaplaceNoise(1).divergence(order) == pytest.approx(float(mp.log(moment)) / (order - 1), rel=1e-9)


@pytest.mark.parametrize("event", [LaplaceNoise(0.7), AnyPure(1.2), DiscreteNoise(DiscreteLaplace(Fraction(2)))])
def test_sampled_bounded_losses_in_both_directions(event: LaplaceNoise | AnyPure | DiscreteNoise) -> None:
    """Between the divergences of a fine cut and a hundredth more."""
    for order in (2.0, 3.5, 30.0):
        shown = Sampled(event, 0.2).divergence(order)
        for pair in (SampledPair(event.pair, 0.2), Swapped(SampledPair(event.pair, 0.2))):
            low, high = pair.support(1e-300)
            fine = LossGrid.of(pair, (high - low) / 50_000, 1e-300).log_moment(order - 1) / (order - 1)
            assert fine <= shown * (1 + 1e-6)


@pytest.mark.parametrize(("sigma", "epochs", "published"), [(1.3, 15, 1.19), (1.1, 60, 3.01), (0.7, 45, 7.10)])
def test_published_trainings(sigma: float, epochs: int, published: float) -> None:
    """The table of TensorFlow Privacy's MNIST example: by Rényi divergences with the older conversion; ours is less."""
    batch = Batch([(Sampled(GaussianNoise(sigma), 256 / 60_000), epochs * 60_000 // 256)])
    orders = [1 + x / 10 for x in range(1, 100)] + list(range(12, 64))
    older = min(batch.renyi(order) + math.log(1e5) / (order - 1) for order in orders)
    assert older == pytest.approx(published, abs=0.03)  # between whole orders a chord stands for the curve
    assert batch.epsilon(1e-5) < epsilon_of_renyi(batch.renyi, 1e-5) < older


def test_a_batch_is_one_entry_of_a_ledger() -> None:
    batch = Batch([(Sampled(GaussianNoise(4), 0.01), 1000)])
    loss = batch.loss(1e-7)
    assert Batch([(GaussianNoise(1), 100)]).loss(1e-300).epsilon < 1000
    assert isinstance(loss, Approximate)
    assert loss.epsilon >= Fraction(batch.epsilon(1e-7))
    with Ledger(Memory(), Grant.of(Fraction(3), Fraction(1, 10**6)), shares={}) as ledger:
        with ledger.charge(loss, why="training"):
            pass
        assert ledger.balance(None).spent.delta == pytest.approx(1e-7)
    with Ledger(Memory(), Grant.of(Fraction(3), None), shares={}) as pure, pytest.raises(Refused):
        pure.charge(loss, why="training").__enter__()


def test_adding_up_rho_costs_more() -> None:
    """And no batch of Gaussian steps costs more than their ρ."""
    batch = Batch([(GaussianNoise(20), 200)])
    assert batch.epsilon(1e-6) <= epsilon_of(Concentrated(Fraction(200, 800)), 1e-6)


WRONG: list[Callable[[], object]] = [
    lambda: GaussianNoise(0),
    lambda: GaussianNoise(-1),
    lambda: GaussianNoise(math.nan),
    lambda: LaplaceNoise(math.inf),
    lambda: Sampled(GaussianNoise(1), 0),
    lambda: Sampled(GaussianNoise(1), 1.5),
    lambda: Batch([(GaussianNoise(1), 0)]),
    lambda: Batch([(GaussianNoise(1), 1.5)]),  # type: ignore[list-item]
    lambda: Batch([(GaussianNoise(1), 10**12)]),
    lambda: Batch([(GaussianNoise(1), 1)]).epsilon(0),
    lambda: Batch([(GaussianNoise(1), 1)]).epsilon(1),
    lambda: Batch([(GaussianNoise(1), 1)]).delta(-1),
    lambda: Batch([(GaussianNoise(1), 1)]).renyi(1),
    lambda: epsilon_for_training(1, 0.01, True, 1e-6),
    lambda: sigma_for_training(0, 0.01, 10, 1e-6),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_arguments(wrong: Callable[[], object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        wrong()


def test_extremes_are_answered() -> None:
    assert Batch([]).epsilon(1e-6) == 0
    assert Batch([(GaussianNoise(1e6), 1)]).epsilon(1e-6) == 0
    assert Batch([(GaussianNoise(1e-3), 1)]).epsilon(1e-6) > 5e5
    assert Batch([(AnyPure(100), 1)]).epsilon(1e-6) == pytest.approx(100, rel=0.01)
    assert 0 < Batch([(Sampled(GaussianNoise(0.5), 1e-6), 10**7)]).epsilon(1e-6) < 10


def test_what_cannot_be_had_is_said() -> None:
    lossy = LossGrid(0.1, 0, np.array([0.5]), 0.5)
    assert Composed([(lossy, 1)], 1.0).epsilon(0.1) == math.inf
    with pytest.raises(ValueError, match="take larger steps"):
        LossGrid.of(GaussianPair(1), 1e-9, 1e-6)
    with pytest.raises(ValueError, match="no noise is enough"):
        sigma_for_training(1e-9, 1, 10**6, 1e-300)
    assert steps_for_training(1e6, 1e6, 1e-6, 1e-3) > 10**8


def test_events_on_everybody_are_the_events() -> None:
    assert Sampled(LaplaceNoise(2), 1).divergence(3.0) == LaplaceNoise(2).divergence(3.0)
    assert Swapped(SampledPair(GaussianPair(1), 0.1)).size == SampledPair(GaussianPair(1), 0.1).size
