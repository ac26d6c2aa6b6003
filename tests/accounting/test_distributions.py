from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import DiscreteGaussian, DiscreteLaplace
from discreet.accounting.distributions import Noise
from tests.accounting.truth import gaussian_sum, mp, real, tail
from tests.budget import later

LAPLACES = [
    Fraction(1, 50),
    Fraction(1, 3),
    Fraction(1),
    Fraction(7, 2),
    Fraction(1000, 3),
    Fraction(10**6),
    Fraction(10**15),
]
SUMMED = [Fraction(1, 500), Fraction(1, 4), Fraction(1), Fraction(17, 3), Fraction(400), Fraction(128**2)]
SMOOTH = [Fraction(128**2) + Fraction(1, 7), Fraction(200**2), Fraction(301**2)]
PLACES = [0, 1, -1, 2, 5, -7, 30, 100, 400]


def assert_contained(noise: Noise, least: int, tightness: str) -> None:
    low, high = noise.tail(least)
    truth = tail(noise, least)
    assert real(low) <= truth <= real(high), (noise, least)
    assert real(high) - real(low) <= mp.mpf(tightness) * truth, (noise, least)


@pytest.mark.parametrize("scale", LAPLACES)
def test_laplace_tails_hold_the_truth(scale: Fraction) -> None:
    for place in [*PLACES, math.ceil(10 * scale), math.ceil(-10 * scale)]:
        assert_contained(DiscreteLaplace(scale), place, "1e-40")


@pytest.mark.parametrize("scale", LAPLACES[:4])
def test_laplace_tails_are_the_sums_of_its_probabilities(scale: Fraction) -> None:
    """Independent of any closed form: exp(−|z|/scale), added up and divided by the sum over all."""
    weights = [mp.exp(-z / real(scale)) for z in range(math.ceil(200 * scale) + 40)]
    total = 2 * mp.fsum(weights) - 1
    for place in (1, 2, 5, 30):
        low, high = DiscreteLaplace(scale).tail(place)
        assert real(low) <= mp.fsum(weights[place:]) / total + mp.mpf("1e-80")
        assert real(high) >= mp.fsum(weights[place:]) / total


@pytest.mark.parametrize("spread", SUMMED)
def test_gaussian_tails_hold_the_truth_where_they_are_sums(spread: Fraction) -> None:
    for place in [*PLACES, math.ceil(10 * math.sqrt(spread))]:
        assert_contained(DiscreteGaussian(spread), place, "1e-40")


@pytest.mark.parametrize("spread", SMOOTH)
def test_gaussian_tails_hold_the_truth_where_they_are_integrals(spread: Fraction) -> None:
    """Euler and Maclaurin's remainder is absolute near the centre and relative from 8σ on."""
    sigma = math.sqrt(spread)
    for deviations in (0.0, 0.001, 0.5, 1, 3, 7.9, 8.1, 12, 25):
        assert_contained(DiscreteGaussian(spread), math.ceil(deviations * sigma), "1e-28")
        assert_contained(DiscreteGaussian(spread), -math.ceil(deviations * sigma), "1e-28")


def test_gaussian_tails_hold_the_truth_at_every_place_around_the_change_of_remainder() -> None:
    """The last term of the series vanishes at 7.38σ, so that only the absolute bound is proven there."""
    noise = DiscreteGaussian(Fraction(129**2))
    for place in range(930, 1060):
        low, high = noise.tail(place)
        assert real(low) <= tail(noise, place) <= real(high), place


@pytest.mark.parametrize("deviations", [40, 59, 61, 100, 1000])
def test_gaussian_tails_hold_the_truth_far_out(deviations: int) -> None:
    assert_contained(DiscreteGaussian(Fraction(500**2)), 500 * deviations, "1e-5" if deviations > 100 else "1e-18")


@pytest.mark.long
@pytest.mark.parametrize("sigma", later([1000, 3000]))
def test_gaussian_tails_hold_the_truth_for_large_spreads(sigma: int) -> None:
    for deviations in (0, 1, 5, 8, 9, 30):
        assert_contained(DiscreteGaussian(Fraction(sigma**2)), deviations * sigma + 1, "1e-40")


@pytest.mark.parametrize("spread", [Fraction(1, 4), Fraction(3), Fraction(100)])
def test_the_sum_over_all_integers_is_jacobi_s_theta(spread: Fraction) -> None:
    """The truth of these tests, checked once more by a function that knows nothing of it."""
    theta = mp.jtheta(3, 0, mp.exp(-1 / (2 * real(spread))))
    assert abs(2 * gaussian_sum(spread, 0) - 1 - theta) < mp.mpf("1e-90") * theta


def test_tails_that_are_nearly_everything_are_not_rounded_below_the_truth() -> None:
    """1 − P(Z ≥ m) with a tiny P(Z ≥ m) does not fit into sixty digits."""
    for place in range(20, 140):
        low, high = DiscreteLaplace(Fraction(1)).tail(-place)
        assert real(low) <= tail(DiscreteLaplace(Fraction(1)), -place) <= real(high) <= 1


@pytest.mark.parametrize(
    "noise", [DiscreteLaplace(Fraction(3)), DiscreteGaussian(Fraction(9)), DiscreteGaussian(Fraction(200**2))]
)
def test_tails_fall_from_one_to_nothing(noise: Noise) -> None:
    highs = [noise.tail(place)[1] for place in range(-2000, 2001, 50)]
    assert highs == sorted(highs, reverse=True)
    assert highs[0] <= 1
    assert 0 <= highs[-1] < Decimal("1e-20")


NOISES: list[Noise] = [
    *(DiscreteLaplace(scale) for scale in LAPLACES[:5]),
    *(DiscreteGaussian(spread) for spread in (*SUMMED[:-1], Fraction(131**2))),
]
CONFIDENCES = ["0.001", "0.5", "0.68", "0.95", "0.999", "0.999999999"]


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_width_is_the_smallest_that_holds(noise: Noise, confidence: str) -> None:
    wanted, width = real(Fraction(confidence)), noise.width(float(confidence))
    assert 1 - 2 * tail(noise, width + 1) >= wanted
    assert width == 0 or 1 - 2 * tail(noise, width) < wanted


@pytest.mark.parametrize("noise", [DiscreteLaplace(Fraction(5, 2)), DiscreteGaussian(Fraction(29, 4))], ids=repr)
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_width_is_what_counting_outcomes_finds(noise: Noise, confidence: str) -> None:
    width = 0
    while 1 - 2 * tail(noise, width + 1) < real(Fraction(confidence)):
        width += 1
    assert noise.width(Fraction(confidence)) == width


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("limit", ["0.6", "0.4", "0.01", "1e-9", "1e-30", "1e-100"])
def test_least_is_the_first_place_beyond_which_little_is_left(noise: Noise, limit: str) -> None:
    least = noise.least(Decimal(limit))
    assert tail(noise, least) <= real(Decimal(limit))
    assert least == 1 or tail(noise, least - 1) > real(Decimal(limit))


@pytest.mark.parametrize("limit", ["1e-50", "1e-300", "1e-2000", "1e-100000"])
def test_least_ends_however_small_the_limit(limit: str) -> None:
    noise = DiscreteGaussian(Fraction(1000**2))
    least = noise.least(Decimal(limit))
    nats = -float(mp.ln(real(Decimal(limit))))
    assert 0.97 * math.sqrt(2 * nats) < least / 1000 <= math.sqrt(2 * nats)
    assert noise.tail(least)[1] <= Decimal(limit) < noise.tail(least - 1)[1]


@pytest.mark.parametrize("bad", [0, 1, -0.5, 95])
def test_a_confidence_lies_between_0_and_1(bad: float) -> None:
    with pytest.raises(ValueError, match=r"^confidence must lie strictly between 0 and 1"):
        DiscreteLaplace(Fraction(1)).width(bad)


@pytest.mark.parametrize("scale", LAPLACES)
def test_the_variance_of_laplace_is_that_of_its_probabilities(scale: Fraction) -> None:
    ratio = mp.exp(-1 / real(scale))
    truth = float(2 * ratio / (1 - ratio) ** 2)
    assert DiscreteLaplace(scale).variance == pytest.approx(truth, rel=1e-12)
    assert DiscreteLaplace(scale).variance <= 2 * float(scale) ** 2 * (1 + 1e-15)


def test_the_variance_of_tiny_noise_is_tiny() -> None:
    assert 0 <= DiscreteLaplace(Fraction(1, 10**6)).variance < 1e-250


def test_tails_agree_with_float_sums_everywhere() -> None:
    """A second opinion on many random places: float64 sums, to eleven digits."""
    random = np.random.default_rng()
    for _ in range(150):
        sigma = 10 ** random.uniform(-0.5, 3.3)
        noise = DiscreteGaussian(Fraction(float(sigma)) ** 2)
        z = np.arange(0, math.ceil(38 * sigma) + 2, dtype=np.float64)
        weights = np.exp(-(z**2) / (2 * sigma**2))
        place = int(random.integers(1, math.ceil(15 * sigma) + 1))
        expected = weights[place:][::-1].sum() / (2 * weights[::-1].sum() - 1)
        assert float(noise.tail(place)[1]) == pytest.approx(expected, rel=1e-11), (sigma, place)
