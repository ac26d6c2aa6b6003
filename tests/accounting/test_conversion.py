from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.accounting import Concentrated, Loss, Pure, compose, epsilon_of, rho_for
from discreet.accounting.conversion import (
    epsilon_nearby,
    epsilon_of_laplace,
    epsilon_of_rho,
    rho_of_epsilon,
    rho_of_laplace,
    rho_of_pure,
)
from tests.accounting.truth import Real, mp, real
from tests.accounting.truth import epsilon_of_rho as true_epsilon

CLOSE = mp.mpf("1e-9")
EXTREMES = [
    ("1e-12", "1e-300"),
    ("1e-12", "0.5"),
    ("1e6", "1e-300"),
    ("1e6", "0.5"),
    ("1", "0.999999"),
    ("1e-30", "1e-9"),
]


def log_uniform(low: float, high: float, count: int) -> list[Fraction]:
    """Random numbers of all magnitudes between two powers of ten."""
    return [Fraction(f"{10**digits * (1 + 1e-3):.12e}") for digits in np.random.default_rng().uniform(low, high, count)]


def assert_just_above(ours: Fraction, truth: Real, case: object) -> None:
    assert real(ours) >= truth * (1 - mp.mpf("1e-38")), case
    assert real(ours) <= truth * (1 + CLOSE) + mp.mpf("1e-90"), case


def test_epsilon_of_rho_is_the_best_bound_over_all_orders() -> None:
    for rho, delta in zip(log_uniform(-12, 6, 60), log_uniform(-300, -0.31, 60), strict=True):
        assert_just_above(epsilon_of_rho(rho, delta), true_epsilon(real(rho), real(delta)), (rho, delta))


def test_epsilon_of_rho_is_the_best_bound_for_everyday_deltas() -> None:
    for rho, delta in zip(log_uniform(-6, 3, 40), log_uniform(-15, -2, 40), strict=True):
        assert_just_above(epsilon_of_rho(rho, delta), true_epsilon(real(rho), real(delta)), (rho, delta))


@pytest.mark.parametrize(("rho", "delta"), EXTREMES)
def test_epsilon_of_rho_is_the_best_bound_at_the_ends(rho: str, delta: str) -> None:
    truth = true_epsilon(real(Fraction(rho)), real(Fraction(delta)))
    assert_just_above(epsilon_of_rho(Fraction(rho), Fraction(delta)), truth, (rho, delta))


def test_rho_of_epsilon_is_the_largest_that_the_bound_allows() -> None:
    for epsilon, delta in zip(log_uniform(-9, 9, 30), log_uniform(-300, -0.31, 30), strict=True):
        rho = real(rho_of_epsilon(epsilon, delta))
        assert true_epsilon(rho, real(delta)) <= real(epsilon), (epsilon, delta)
        assert true_epsilon(rho * (1 + CLOSE), real(delta)) > real(epsilon), (epsilon, delta)


def test_no_loss_needs_no_epsilon() -> None:
    assert epsilon_of_rho(Fraction(0), Fraction(1, 10**6)) == 0
    assert rho_of_pure(Fraction(0)) == 0


def test_a_generous_delta_needs_no_epsilon() -> None:
    assert epsilon_of_rho(Fraction(1, 10**6), Fraction(1, 2)) == 0


def test_losses_beyond_the_range_of_floats_are_converted_too() -> None:
    assert epsilon_of(Concentrated(10**400), 1e-6) == math.inf
    assert epsilon_of(Concentrated(Fraction(1, 10**400)), 1e-6) == 0


def test_the_bound_is_never_worse_than_the_simple_one() -> None:
    """Source: Bun & Steinke 2016, Proposition 1.3: ρ + 2·√(ρ·ln(1/δ))."""
    for rho, delta in zip(log_uniform(-6, 3, 100), log_uniform(-15, -2, 100), strict=True):
        simple = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / delta))
        assert epsilon_of(Concentrated(rho), delta) <= simple


def test_rho_of_pure_is_the_divergence_of_randomised_response_rounded_up() -> None:
    for epsilon in [*log_uniform(-9, 9, 500), Fraction(1, 10**9), Fraction(10**9)]:
        ours, truth = rho_of_pure(epsilon), real(epsilon) * mp.tanh(real(epsilon) / 2)
        assert truth <= real(ours) <= truth * (1 + mp.mpf("1e-25")), epsilon
        assert ours <= epsilon**2 / 2


def test_rho_of_pure_holds_for_costs_far_below_the_accepted_ones() -> None:
    for epsilon in log_uniform(-60, -9, 200):
        truth = real(epsilon) * mp.tanh(real(epsilon) / 2)
        assert real(rho_of_pure(epsilon)) >= truth * (1 - mp.mpf("1e-90")), epsilon
        assert rho_of_pure(epsilon) <= epsilon**2 / 2


@pytest.mark.parametrize("digits", range(18, 60))
def test_rho_of_pure_holds_for_costs_with_endless_digits(digits: int) -> None:
    """Where 1 − e^−ε loses digits, the result would fall below the truth, ε²/2·(1 − ε²/12) or more."""
    for epsilon in (Fraction(7, 3 * 10**digits), Fraction(97, 11 * 10**digits)):
        assert epsilon**2 / 2 * (1 - epsilon**2 / 12) <= rho_of_pure(epsilon) <= epsilon**2 / 2


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**50), Fraction(1, 10**400)])
def test_a_budget_too_small_for_any_rho_grants_none(epsilon: Fraction) -> None:
    """Rounded down, its ρ would be below 0."""
    assert rho_of_epsilon(epsilon, Fraction(1, 10**300)) == 0


@pytest.mark.parametrize("epsilon", ["1e-6", "0.01", "0.1", "0.5", "1", "2", "5", "20", "100"])
def test_randomised_response_stays_below_its_line(epsilon: str) -> None:
    """The theorem itself: D_α ≤ α·ε·tanh(ε/2) for every order, with equality as α → 1."""
    cost = real(Fraction(epsilon))
    rho = cost * mp.tanh(cost / 2)
    for steps in range(-60, 61):
        alpha = 1 + mp.mpf(10) ** (mp.mpf(steps) / 10)
        divergence = _response_divergence(cost, alpha)
        assert divergence <= alpha * rho
    assert _response_divergence(cost, 1 + mp.mpf("1e-30")) > rho * (1 - mp.mpf("1e-20"))


def _response_divergence(epsilon: Real, alpha: Real) -> Real:
    truth, lie = 1 / (1 + mp.exp(-epsilon)), 1 / (1 + mp.exp(epsilon))
    return mp.ln(truth**alpha * lie ** (1 - alpha) + lie**alpha * truth ** (1 - alpha)) / (alpha - 1)


def test_no_pure_release_leaves_the_line_of_randomised_response() -> None:
    """Random pairs of distributions on six outcomes whose ratios lie between e^−ε and e^ε."""
    random = np.random.default_rng()
    for _ in range(500):
        left = random.dirichlet(np.ones(6))
        right = left * np.exp(random.uniform(-1, 1, 6) * random.choice([0.1, 1, 3]))
        right /= right.sum()
        epsilon = float(np.abs(np.log(left / right)).max())
        for alpha in (1.01, 1.5, 2, 5, 30):
            divergence = math.log((left**alpha * right ** (1 - alpha)).sum()) / (alpha - 1)
            assert divergence <= alpha * float(rho_of_pure(Fraction(epsilon))) * (1 + 1e-9) + 1e-12


def test_rho_for_undoes_epsilon_of() -> None:
    for epsilon, delta in zip(log_uniform(-8.99, 8.99, 100), log_uniform(-300, -0.31, 100), strict=True):
        again = epsilon_of(Concentrated(rho_for(epsilon, delta)), delta)
        assert again <= float(epsilon) * (1 + 1e-15), (epsilon, delta)
        assert again > float(epsilon) * (1 - 1e-9) - 1e-12, (epsilon, delta)


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_epsilon_of_rho_is_the_best_bound_on_random_points(count: int) -> None:
    for rho, delta in zip(log_uniform(-12, 6, count), log_uniform(-300, -0.31, count), strict=True):
        assert_just_above(epsilon_of_rho(rho, delta), true_epsilon(real(rho), real(delta)), (rho, delta))


@pytest.mark.parametrize("count", [1000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_histories_cost_never_less_than_the_truth(count: int) -> None:
    """Sums and conversion at 50 digits: up to 20 losses of either currency each."""
    random = np.random.default_rng()
    with mp.workdps(50):
        for _ in range(count):
            kinds = random.random(random.integers(1, 20, endpoint=True)) < random.random()
            amounts = 10 ** random.uniform(-4, 1, kinds.size)
            losses: list[Loss] = [Pure(a) if pure else Concentrated(a) for pure, a in zip(kinds, amounts, strict=True)]
            delta = 10 ** random.uniform(-12, -2)
            truth = _true_epsilon_of_history(kinds.tolist(), [real(float(a)) for a in amounts], real(float(delta)))
            ours = real(epsilon_of(compose(*losses), delta))
            assert truth * (1 - mp.mpf("1e-40")) <= ours <= truth * (1 + CLOSE), (losses, delta)


def _true_epsilon_of_history(kinds: list[bool], amounts: list[Real], delta: Real) -> Real:
    if all(kinds):
        return mp.fsum(amounts)
    rho = mp.fsum(a * mp.tanh(a / 2) if pure else a for pure, a in zip(kinds, amounts, strict=True))
    log = -mp.ln(delta)
    # Newton on ρx² + ln(1 + x) = ln(1/δ): the function is convex enough that a start above the root cannot fail
    x = mp.sqrt(log / rho)
    for _ in range(7):
        x -= (rho * x**2 + mp.log1p(x) - log) / (2 * rho * x + 1 / (1 + x))
    return max((1 + x) * rho + (log + x * mp.ln(x) - (1 + x) * mp.log1p(x)) / x, mp.mpf(0))


# Laplace noise, exactly


def divergence(scale: float, shift: int, alpha: float) -> float:
    """D_α/α between discrete Laplace noise and itself moved, from its probabilities."""
    z = np.arange(-400 * math.ceil(scale), 400 * math.ceil(scale) + 1, dtype=np.float64)
    logs = (-alpha * np.abs(z) - (1 - alpha) * np.abs(z - shift)) / scale + math.log(math.tanh(1 / (2 * scale)))
    most = float(logs.max())
    return (most + math.log(float(np.exp(logs - most).sum()))) / (alpha - 1) / alpha


@pytest.mark.parametrize("scale", [0.25, 0.5, 1, 4])
@pytest.mark.parametrize("shift", [1, 2, 3, 8])
def test_the_rho_of_laplace_noise_is_the_largest_over_all_orders(scale: float, shift: int) -> None:
    rho = float(rho_of_laplace(Fraction(shift) / Fraction(scale), Fraction(shift)))
    orders = [divergence(scale, shift, alpha) for alpha in (1.0001, 1.1, 1.5, 2, 4, 16, 256)]
    assert orders[0] == pytest.approx(rho, rel=2e-3)
    assert max(orders) <= rho * (1 + 1e-9)
    assert orders == sorted(orders, reverse=True)


@pytest.mark.parametrize("scale", [0.5, 2])
def test_no_vector_costs_more_than_one_number_that_moves_alone(scale: float) -> None:
    """Every vector of up to three integers whose moves add up to six at most, at several orders."""
    rho = float(rho_of_laplace(Fraction(6) / Fraction(scale), Fraction(6)))
    for alpha in (1.001, 2, 8):
        alone = [0.0, *(divergence(scale, shift, alpha) for shift in range(1, 7))]
        vectors = (v for v in itertools.product(range(7), repeat=3) if sum(v) <= 6)
        assert max(sum(alone[x] for x in vector) for vector in vectors) <= rho * (1 + 1e-9)


@pytest.mark.parametrize("scale", [0.3, 1, 5, 50])
@pytest.mark.parametrize("shift", [1, 2, 5, 12])
def test_the_polynomial_of_the_proof_has_all_zeros_on_the_circle(scale: float, shift: int) -> None:
    ends = 1 / (1 - math.exp(-1 / scale))
    assert np.abs(np.roots([ends, *[1] * (shift - 1), ends])) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("epsilon", ["1e-25", "1e-9", "0.1", "1", "5", "40", "1000"])
def test_the_rho_of_laplace_noise_is_that_of_pure_at_one_step_and_less_beyond(epsilon: str) -> None:
    exact = Fraction(epsilon)
    costs = [rho_of_laplace(exact, Fraction(shift)) for shift in (1, 2, 10, 10**6, 10**12)]
    assert float(costs[0]) == pytest.approx(float(rho_of_pure(exact)), rel=1e-12)
    assert costs == sorted(costs, reverse=True)
    with mpmath.workdps(80):
        limit = mpmath.mpf(epsilon) + mpmath.exp(-mpmath.mpf(epsilon)) - 1
        assert mpmath.mpf(costs[-1].numerator) / costs[-1].denominator >= limit  # the continuous value is never charged


@pytest.mark.parametrize("rho", ["1e-6", "0.02", "0.5", "3", "100", "1e6"])
@pytest.mark.parametrize("shift", ["1", "1.5", "7", "1e9"])
def test_the_epsilon_of_laplace_noise_is_nearly_the_largest(rho: str, shift: str) -> None:
    epsilon = epsilon_of_laplace(Fraction(rho), Fraction(shift))
    assert rho_of_laplace(epsilon, Fraction(shift)) <= Fraction(rho)
    assert rho_of_laplace(epsilon * Fraction("1.00001"), Fraction(shift)) > Fraction(rho)


def test_a_rho_that_is_too_small_for_laplace_noise_is_refused() -> None:
    with pytest.raises(ValueError, match="too small for Laplace noise"):
        epsilon_of_laplace(Fraction(1, 10**40), Fraction(1))


def test_what_is_nearby_is_nearby_or_nothing() -> None:
    """A guess is good to 13 digits: whoever rounds it to 12 gets what the exact bound gives, but for ties."""
    cases = [*zip(log_uniform(-12, 5, 300), log_uniform(-30, -0.3, 300), strict=True)]
    cases += [(Fraction(rho), Fraction(delta)) for rho, delta in EXTREMES]
    guessed = [(case, epsilon_nearby(*case)) for case in cases]
    for case, nearby in guessed:
        assert not nearby or abs(nearby / float(epsilon_of_rho(*case)) - 1) < 1e-13, case
    assert sum(1 for _, nearby in guessed if nearby) > 200
    assert not epsilon_nearby(Fraction("1e-12"), Fraction("0.5")), "a small difference of large terms is not guessed"


def test_what_is_nearby_is_nothing_where_newtons_steps_do_not_arrive() -> None:
    nearly_one = 1 - Fraction(1, 10**400)  # ln(1/δ) is 0 in float64
    assert not epsilon_nearby(Fraction("1e-24"), nearly_one)
    for rho in (Fraction(1, 10**400), Fraction(-1), Fraction(10**400)):  # as 0, less than nothing, and infinite
        assert not epsilon_nearby(rho, Fraction(1, 2))
