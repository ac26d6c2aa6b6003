from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special

from discreet.accounting import DiscreteGaussian, DiscreteLaplace, delta_of, gaussian_spread
from discreet.accounting.curves import _delta
from discreet.accounting.distributions import Noise
from tests.accounting.truth import hockey_stick, masses, meant, mp, real

EPSILONS = ["0", "0.001", "0.1", "0.5", "1", "3", "8"]
NOISES: list[Noise] = [
    DiscreteGaussian(Fraction(1, 16)),
    DiscreteGaussian(Fraction(1)),
    DiscreteGaussian(Fraction(37, 10)),
    DiscreteGaussian(Fraction(10**2)),
    DiscreteLaplace(Fraction(1, 3)),
    DiscreteLaplace(Fraction(1)),
    DiscreteLaplace(Fraction(29, 10)),
    DiscreteLaplace(Fraction(5)),
]


def assert_just_above(noise: Noise, shift: int, epsilon: Fraction, ours: float) -> None:
    truth = hockey_stick(noise, shift, epsilon)
    assert truth - mp.mpf("1e-60") <= real(ours) <= truth * (1 + mp.mpf("1e-13")) + mp.mpf("1e-40"), (
        noise,
        shift,
        epsilon,
    )


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("shift", [1, 2, 7])
def test_delta_is_the_sum_over_all_outcomes(noise: Noise, shift: int, epsilon: str) -> None:
    assert_just_above(noise, shift, Fraction(epsilon), delta_of(noise, shift, float(epsilon)))


def test_delta_is_the_sum_over_all_outcomes_of_random_noise() -> None:
    random = np.random.default_rng()
    for _ in range(20):
        size, epsilon = Fraction(f"{10 ** random.uniform(-1, 0.8):.6f}"), Fraction(f"{10 ** random.uniform(-3, 1):.6f}")
        shift = int(random.integers(1, 30))
        for noise in (DiscreteGaussian(size**2), DiscreteLaplace(size)):
            assert_just_above(noise, shift, epsilon, delta_of(noise, shift, epsilon))


@pytest.mark.parametrize("noise", [DiscreteGaussian(Fraction(7)), DiscreteLaplace(Fraction(2))], ids=repr)
@pytest.mark.parametrize("epsilon", ["0", "0.3", "2"])
def test_no_smaller_shift_in_either_direction_has_a_larger_delta(noise: Noise, epsilon: str) -> None:
    """The theorem of `curves`: the worst unit moves the answer as far as it can."""
    cost = Fraction(epsilon)
    for most in (1, 4, 9):
        worst = max(hockey_stick(noise, shift, cost) for shift in (*range(-most, 0), *range(1, most + 1)))
        assert worst - mp.mpf("1e-60") <= real(delta_of(noise, most, cost)) <= worst * (1 + mp.mpf("1e-13"))


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_the_exact_delta_is_never_below_the_truth(noise: Noise) -> None:
    """Before it is rounded to a float: without any tolerance."""
    for epsilon in (Fraction(0), Fraction(1, 3), Fraction(2)):
        for shift in (1, 3):
            assert real(_delta(noise, shift, epsilon)) >= hockey_stick(noise, shift, epsilon), (shift, epsilon)


def test_no_event_is_worse_than_the_half_line() -> None:
    """All 2¹⁰ unions of ten outcomes around the centre, for noise that lies almost wholly on them."""
    noise, shift, cost = DiscreteGaussian(Fraction(1, 2)), 1, Fraction(1, 2)
    mass = masses(noise, 20)
    gaps = [float(mass[abs(y)] - mp.exp(real(cost)) * mass[abs(y - shift)]) for y in range(-5, 5)]
    worst = max(sum(gap for bit, gap in enumerate(gaps) if event >> bit & 1) for event in range(2**10))
    assert worst <= delta_of(noise, shift, cost)


def test_laplace_noise_has_no_delta_from_its_cost_on() -> None:
    assert delta_of(DiscreteLaplace(Fraction(10)), 1, 0.1) == 0
    assert delta_of(DiscreteLaplace(Fraction(10)), 5, 0.5) == 0
    assert delta_of(DiscreteLaplace(Fraction(10)), 5, 0.499) > 0


def test_delta_falls_with_epsilon_and_grows_with_the_shift() -> None:
    curve = [delta_of(DiscreteGaussian(Fraction(9)), 2, epsilon / 10) for epsilon in range(60)]
    assert curve == sorted(curve, reverse=True)
    farther = [delta_of(DiscreteGaussian(Fraction(90)), shift, 1) for shift in range(1, 60)]
    assert farther == sorted(farther)


def test_more_noise_is_not_always_more_private() -> None:
    """Why a calibrated σ is never rounded, not even up: the outcomes beyond ε become likelier before one is safe."""
    assert delta_of(DiscreteGaussian(Fraction("0.71") ** 2), 1, 1) > delta_of(DiscreteGaussian(Fraction(1, 2)), 1, 1)
    assert delta_of(DiscreteGaussian(Fraction("0.11") ** 2), 1, 42) < 1e-17
    assert delta_of(DiscreteGaussian(Fraction("0.18") ** 2), 1, 42) > 1e-7
    assert hockey_stick(DiscreteGaussian(Fraction("0.18") ** 2), 1, Fraction(42)) > 1e-7


def test_sums_and_integrals_meet() -> None:
    """On either side of the variance where sums become integrals."""
    below, above = (delta_of(DiscreteGaussian(Fraction(128**2) + gap), 100, 1) for gap in (0, Fraction(1, 10**9)))
    assert below == pytest.approx(above, rel=1e-11)


def test_delta_is_certain_for_any_accepted_epsilon() -> None:
    for noise in (DiscreteGaussian(Fraction(1)), DiscreteGaussian(Fraction(300**2)), DiscreteLaplace(Fraction(3))):
        assert 0 <= delta_of(noise, 1, 10**9) < 1e-300
        assert delta_of(noise, 10**9, 0) == pytest.approx(1)


@pytest.mark.parametrize("epsilon", [-1, -1e-9, 1.1e9, float("nan")])
def test_epsilons_out_of_range_are_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match=r"^epsilon must "):
        delta_of(DiscreteLaplace(Fraction(1)), 1, epsilon)


@pytest.mark.parametrize("bad", [0, -1])
def test_a_unit_moves_an_answer_by_at_least_one(bad: int) -> None:
    with pytest.raises(ValueError, match=r"^sensitivity must be at least 1"):
        delta_of(DiscreteLaplace(Fraction(1)), bad, 1)
    with pytest.raises(ValueError, match=r"^sensitivity must be at least 1"):
        gaussian_spread(1, 1e-6, bad)


@pytest.mark.parametrize("bad", [1.0, None, True, "1", Fraction(1)])
def test_a_sensitivity_is_an_integer(bad: Any) -> None:
    with pytest.raises(TypeError, match=r"^sensitivity must be an integer"):
        gaussian_spread(1, 1e-6, bad)


@pytest.mark.parametrize("bad", [0, 1, -1, 2, float("nan")])
def test_deltas_out_of_range_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"^delta must "):
        gaussian_spread(1, bad, 1)


@pytest.mark.parametrize("bad", [0, -1, 9e-10, 2e9, float("inf")])
def test_costs_out_of_range_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"^epsilon must "):
        gaussian_spread(bad, 1e-6, 1)


# The least noise


def requests(count: int) -> Iterator[tuple[float, float, int]]:
    """ε from 10⁻³ to 50, δ from 10⁻¹² to 10⁻², Δ from 1 to 1,000, all log-uniform.

    The points are the same in each run: δ is a sawtooth in σ where ε is large and Δ small, and for about one request in
    a million, just below the tip of a tooth, 0.999·σ lies on the other side of the tip.
    """
    random = np.random.default_rng(0)
    for _ in range(count):
        epsilon, delta = math.exp(random.uniform(math.log(1e-3), math.log(50))), 10 ** random.uniform(-12, -2)
        yield float(f"{epsilon:.12g}"), float(f"{delta:.12g}"), round(10 ** random.uniform(0, 3))


def float_delta(sigma: float, shift: int, epsilon: float) -> float:
    """δ by float64, independently: the sum over all outcomes, or above σ = 2,000 the integral (Balle & Wang 2018)."""
    if sigma > 2000:
        near, far = shift / (2 * sigma) - epsilon * sigma / shift, -shift / (2 * sigma) - epsilon * sigma / shift
        return float(special.ndtr(near) - math.exp(epsilon + special.log_ndtr(far)))
    y = np.arange(-math.ceil(12 * sigma) - 2, math.ceil(12 * sigma) + 3, dtype=np.float64)
    weights = np.exp(-(y**2) / (2 * sigma**2))
    losses = (2 * y * shift + shift**2) / (2 * sigma**2)
    return float((weights * -np.expm1(np.minimum(epsilon - losses, 0))).sum() / weights.sum())


def assert_least(epsilon: float, delta: float, shift: int) -> None:
    spread = gaussian_spread(epsilon, delta, shift)
    smaller = spread * Fraction(999, 1000) ** 2
    assert delta_of(DiscreteGaussian(spread), shift, epsilon) <= delta, (epsilon, delta, shift)
    assert delta_of(DiscreteGaussian(smaller), shift, epsilon) > delta, (epsilon, delta, shift)
    slack = 1e-6 if spread > 2000**2 else 1e-10
    assert float_delta(math.sqrt(spread), shift, epsilon) <= delta * (1 + slack), (epsilon, delta, shift)
    assert float_delta(math.sqrt(smaller), shift, epsilon) > delta * (1 - slack), (epsilon, delta, shift)


def test_the_least_noise_keeps_its_delta_and_a_thousandth_less_does_not() -> None:
    for request in requests(100):
        assert_least(*request)


@pytest.mark.slow
def test_the_least_noise_keeps_its_delta_on_a_thousand_points() -> None:
    for request in requests(1000):
        assert_least(*request)


@pytest.mark.parametrize("count", [80, pytest.param(300, marks=pytest.mark.slow)])
def test_the_least_noise_keeps_its_delta_by_high_precision_sums(count: int) -> None:
    for epsilon, delta, shift in requests(count):
        spread = gaussian_spread(epsilon, delta, shift)
        if spread < 40**2:
            assert hockey_stick(DiscreteGaussian(spread), shift, meant(epsilon)) <= real(delta), (epsilon, delta, shift)
            smaller = DiscreteGaussian(spread * Fraction(999, 1000) ** 2)
            assert hockey_stick(smaller, shift, meant(epsilon)) > real(delta), (epsilon, delta, shift)


@pytest.mark.parametrize(
    ("epsilon", "delta", "shift"),
    [
        (1e-9, 0.5, 1),
        (1e-9, 1e-300, 1),
        (1e-3, 1e-12, 10**6),
        (200, 1e-6, 10_000),
        (1000, 1e-6, 10**5),
        (1e4, 1e-9, 10**5),
        (1e9, 1e-6, 1),
        (1e9, 1e-6, 10**9),
        (1, 0.999, 1),
        (50, 1e-300, 1000),
    ],
)
def test_the_least_noise_is_found_at_the_ends_of_the_range(epsilon: float, delta: float, shift: int) -> None:
    spread = gaussian_spread(epsilon, delta, shift)
    assert delta_of(DiscreteGaussian(spread), shift, epsilon) <= delta
    assert delta_of(DiscreteGaussian(spread * Fraction(999, 1000) ** 2), shift, epsilon) > delta


def test_the_least_noise_is_within_a_hundredth_of_a_percent() -> None:
    for epsilon, delta, shift in requests(100):
        smaller = gaussian_spread(epsilon, delta, shift) * Fraction(9999, 10_000)
        assert delta_of(DiscreteGaussian(smaller), shift, epsilon) > delta, (epsilon, delta, shift)


def continuous_sigma(epsilon: float, delta: float) -> float:
    """The analytic Gaussian mechanism (Balle & Wang 2018), for Δ = 1."""

    def excess(log_sigma: float) -> float:
        sigma = math.exp(log_sigma)
        near, far = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
        return float(special.ndtr(near) - math.exp(epsilon + special.log_ndtr(far)) - delta)

    return math.exp(optimize.brentq(excess, -10, 10, xtol=1e-14))


def test_the_continuous_formula_would_break_its_promise_at_epsilon_8() -> None:
    """Balle and Wang's σ is right for continuous noise; discrete noise of that σ exceeds δ threefold, ours does not."""
    sigma = continuous_sigma(8, 1e-6)
    noise = DiscreteGaussian(Fraction(sigma) ** 2)
    assert delta_of(noise, 1, 8) > 3e-6
    assert hockey_stick(noise, 1, Fraction(8)) > 3e-6
    assert gaussian_spread(8, 1e-6, 1) > 1.019 * sigma**2


def test_discrete_and_continuous_noise_agree_where_the_noise_is_wide() -> None:
    assert gaussian_spread(0.1, 1e-6, 1) == pytest.approx(continuous_sigma(0.1, 1e-6) ** 2, rel=1e-4)


def test_the_verdict_is_taken_on_the_exact_delta() -> None:
    """δ = 1/3 has no float: what is allowed is rounded down before it is compared."""
    spread = gaussian_spread(1, Fraction(1, 3), 1)
    assert hockey_stick(DiscreteGaussian(spread), 1, Fraction(1)) <= real(Fraction(1, 3))
    assert (
        gaussian_spread(1, Decimal("0.25"), 1) == gaussian_spread(1, 0.25, 1) == gaussian_spread(1, Fraction(1, 4), 1)
    )
