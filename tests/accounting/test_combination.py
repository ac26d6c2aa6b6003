"""`width_of_sum` against exact convolutions: it holds, it is not wasteful, it never exceeds the widths added up.

The truth is a convolution of probabilities at 50 digits, on the lattice that the weights span, cut where less than
10⁻³⁰ is left; what is cut counts as a miss.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

from discreet.accounting import combination
from discreet.accounting.combination import Terms, width_of_sum, width_up_to
from discreet.accounting.distributions import DiscreteGaussian, DiscreteLaplace, Noise

CONFIDENCES = (Fraction(1, 2), Fraction(4, 5), Fraction(19, 20), Fraction(99, 100), Fraction(9999, 10000))
WIDE = 2**160
"""Probabilities are whole multiples of 1/WIDE, rounded down: their sums are exact integers."""


@cache
def masses(noise: Noise) -> dict[int, int]:
    """P(Z = z) for each z that matters, in multiples of 1/WIDE, at most the exact ones."""
    with localcontext() as context:
        context.prec = 60
        if isinstance(noise, DiscreteLaplace):
            rate, sensitivity = (
                Decimal(noise.scale.numerator) / noise.scale.denominator,
                math.ceil(75 * noise.scale) + 2,
            )
            weights = [(-Decimal(z) / rate).exp() for z in range(sensitivity)]
            q = (-1 / rate).exp()
            total = (1 + q) / (1 - q)
        else:
            spread, sensitivity = (
                Decimal(noise.spread.numerator) / noise.spread.denominator,
                math.ceil(12 * math.sqrt(noise.spread)) + 3,
            )
            weights = [(-Decimal(z * z) / (2 * spread)).exp() for z in range(sensitivity)]
            # what is beyond sensitivity is below 10⁻³⁰ of the whole; adding it can only make masses smaller
            total = 2 * sum(weights) - 1 + Decimal("1e-30")
        return {
            sign * z: int(weight / total * WIDE)
            for z, weight in enumerate(weights)
            for sign in ((1, -1) if z else (1,))
        }


@cache
def distribution(terms: Terms) -> tuple[Fraction, dict[int, int]]:
    """The step of the lattice, and the probability of each of its points, at most the exact one."""
    kept = [(noise, weight) for noise, weight in terms if weight]
    step = Fraction(math.gcd(*(int(w * _common(kept)) for _, w in kept)), _common(kept))
    total = {0: WIDE}
    for noise, weight in kept:
        stride = int(abs(weight) / step)
        total = convolved(total, {stride * z: mass for z, mass in masses(noise).items()})
    return step, total


SLOT = 48
"""Bytes that hold the sum of many products of two masses."""


def convolved(a: dict[int, int], b: dict[int, int]) -> dict[int, int]:
    """The distribution of a sum: numbers with one slot for each point, multiplied as integers."""
    low = min(a) + min(b)
    packed = []
    for part in (a, b):
        slots = bytearray(SLOT * (max(part) - min(part) + 1))
        for place, mass in part.items():
            start = SLOT * (place - min(part))
            slots[start : start + SLOT] = mass.to_bytes(SLOT, "little")
        packed.append(int.from_bytes(slots, "little"))
    count = max(a) + max(b) - low + 1
    written = (packed[0] * packed[1]).to_bytes(SLOT * count, "little")
    sums = (int.from_bytes(written[SLOT * place : SLOT * (place + 1)], "little") for place in range(count))
    return {low + place: mass // WIDE for place, mass in enumerate(sums) if mass}


def _common(kept: list[tuple[Noise, Fraction]]) -> int:
    return math.lcm(*(weight.denominator for _, weight in kept))


def inside(terms: Terms, width: Fraction) -> Fraction:
    """At most P(|Σ| ≤ width), within 10⁻²⁵."""
    step, total = distribution(terms)
    return Fraction(sum(mass for place, mass in total.items() if abs(place) * step <= width), WIDE)


def least(terms: Terms, confidence: Fraction) -> Fraction:
    """The least width that holds, up to what is cut."""
    step, total = distribution(terms)
    held = total.get(0, 0)
    place = 0
    while Fraction(held, WIDE) + Fraction(1, 10**20) < confidence:
        place += 1
        held += total.get(place, 0) + total.get(-place, 0)
    return place * step


def laplace(*scales: float) -> list[Noise]:
    return [DiscreteLaplace(Fraction(scale)) for scale in scales]


def gaussian(*sigmas: float) -> list[Noise]:
    return [DiscreteGaussian(Fraction(sigma) ** 2) for sigma in sigmas]


def weighted(noises: list[Noise], *weights: object) -> Terms:
    return tuple((noise, Fraction(str(weight))) for noise, weight in zip(noises, weights, strict=True))


SMALL: list[Terms] = [
    weighted(laplace(1, 1), 1, 1),
    weighted(laplace(0.3, 2), 1, 1),
    weighted(laplace(0.01, 0.5, 3), 5, 1, 1),
    weighted(laplace(1, 2, 3), 1, -2, 0),
    weighted(laplace(2, 2), "1/3", "1/2"),
    weighted(laplace(3, 1), "-7/4", 4),
    weighted(laplace(1, 1, 1, 1), 1, 1, 1, 1),
    weighted(gaussian(2, 2), 1, 1),
    weighted(gaussian(2.5, 3), 1, "3/2"),
    weighted(gaussian(0.5, 3), 1, 1),
    weighted(gaussian(1, 1, 1), 1, 1, 1),
    weighted([*laplace(2), *gaussian(4)], 1, 1),
    weighted([*laplace(4), *gaussian(2)], "1/2", 3),
    weighted([*laplace(0.2), *gaussian(2)], 9, 1),
]
LARGE: list[Terms] = [
    weighted(laplace(5, 5), 1, 1),
    weighted(laplace(6, 9), 1, 1),
    weighted(laplace(5, 8), 1, "1/2"),
    weighted(laplace(5, 5, 5), 1, 1, 1),
    weighted(laplace(8, 5), 1, -3),
    weighted(gaussian(5, 5), 1, 1),
    weighted(gaussian(6, 9), 1, -1),
    weighted(gaussian(7, 5, 5), 1, 0, "1/2"),
    weighted([*laplace(5), *gaussian(5)], 1, 1),
    weighted([*laplace(6), *gaussian(10)], 2, 1),
]
"""Scales of 5 and more: here the width must also be nearly the least."""
NARROW: list[Terms] = [
    weighted(gaussian(0.5, 0.5), 1, 1),
    weighted(gaussian(1, 1), 1, "2/3"),
    weighted(gaussian(1.5, 1, 0.7), 1, 1, "1/2"),
    weighted(gaussian(0.01, 1), 1, 1),
]
"""Gaussians that are far from continuous: likewise, as their tails are added up."""


@pytest.mark.parametrize("terms", SMALL + LARGE + NARROW)
def test_the_width_holds(terms: Terms) -> None:
    for confidence in CONFIDENCES:
        assert inside(terms, width_of_sum(terms, confidence)) >= confidence - Fraction(1, 10**20)


@pytest.mark.parametrize("terms", LARGE + NARROW)
def test_the_width_is_nearly_the_least(terms: Terms) -> None:
    """Up to a tenth and one step of the coarsest lattice; of narrow noises, up to one of the finest."""
    step = distribution(terms)[0] if terms in NARROW else max(abs(weight) for _, weight in terms)
    for confidence in CONFIDENCES:
        assert width_of_sum(terms, confidence) <= Fraction(11, 10) * least(terms, confidence) + step, confidence


@pytest.mark.parametrize("terms", SMALL + LARGE)
def test_the_width_is_at_most_the_widths_of_each_added_up(terms: Terms) -> None:
    kept = [(noise, abs(weight)) for noise, weight in terms if weight]
    for confidence in CONFIDENCES:
        each = 1 - (1 - confidence) / len(kept)
        assert width_of_sum(terms, confidence) <= sum(weight * noise.width(each) for noise, weight in kept)


def made_terms(random: Random, most: int) -> Terms:
    noises = [
        random.choice((laplace, gaussian))(random.choice((0.25, 0.7, 1.5, 2, 3.25, 6)))[0]
        for _ in range(random.randint(1, most))
    ]
    weights = [Fraction(random.randint(-6, 6), random.choice((1, 1, 2, 3))) for _ in noises]
    return tuple(zip(noises, weights, strict=True))


def check_made(seed: int, count: int, most: int) -> None:
    random = Random(seed)
    for _ in range(count):
        terms = made_terms(random, most)
        if not any(weight for _, weight in terms):
            assert width_of_sum(terms, Fraction(1, 2)) == 0
            continue
        confidence = Fraction(random.randint(500, 999), 1000)
        assert inside(terms, width_of_sum(terms, confidence)) >= confidence - Fraction(1, 10**20), (terms, confidence)


def test_made_up_sums() -> None:
    check_made(1, 12, 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 20))
def test_many_made_up_sums(seed: int) -> None:
    check_made(seed, 25, 3)


def test_a_single_noise_has_its_own_width() -> None:
    for noise in (*laplace(0.5, 3), *gaussian(0.5, 9)):
        for confidence in CONFIDENCES:
            for weight in (Fraction(1), Fraction(-5, 3)):
                assert width_of_sum(((noise, weight),), confidence) == abs(weight) * noise.width(confidence)
                assert width_of_sum(((noise, weight), (noise, Fraction(0))), confidence) == abs(weight) * noise.width(
                    confidence
                )


def test_nothing_strays_nowhere() -> None:
    assert width_of_sum((), Fraction(99, 100)) == 0
    assert width_of_sum(weighted(laplace(3, 4), 0, 0), Fraction(99, 100)) == 0


def test_signs_and_order_do_not_matter() -> None:
    a, b = laplace(5, 7)
    found = {
        width_of_sum(((a, sign * Fraction(2)), (b, other * Fraction(1))), Fraction(19, 20))
        for sign in (1, -1)
        for other in (1, -1)
    }
    assert len(found) == 1
    assert width_of_sum(((b, Fraction(1)), (a, Fraction(2))), Fraction(19, 20)) == pytest.approx(
        float(*found), rel=1e-6
    )


def test_more_confidence_is_never_narrower() -> None:
    for terms in (LARGE[0], LARGE[5], LARGE[8]):
        widths = [width_of_sum(terms, Fraction(place, 1000)) for place in range(500, 1000, 50)]
        assert widths == sorted(widths)


@pytest.mark.parametrize("noises", [laplace(1e6, 3e6), gaussian(1e6, 5), laplace(1e12, 1), laplace(0.001, 1e9)])
def test_very_different_scales(noises: list[Noise]) -> None:
    """Where nothing can be convolved exactly: between the width of the largest and the sum of all."""
    terms = weighted(noises, 1, 1)
    for confidence in CONFIDENCES:
        each = 1 - (1 - confidence) / 2
        largest = max(noise.width(confidence) for noise in noises)
        assert largest * Fraction(99, 100) <= width_of_sum(terms, confidence) <= sum(n.width(each) for n in noises)


def test_noise_so_narrow_that_nothing_continuous_dominates_it_is_counted_apart() -> None:
    """Below σ = 2 the discrete Gaussian is no longer the continuous one, and below 10⁻⁷ floats cannot tell a miss."""
    wide, narrow = DiscreteGaussian(Fraction(9)), DiscreteGaussian(Fraction(399, 100))
    assert combination._dominated(((DiscreteGaussian(Fraction(4)), Fraction(1)),) * 2, 0.01) is not None
    assert combination._dominated(((wide, Fraction(1)), (narrow, Fraction(1))), 0.01) is None
    for confidence, pair in ((Fraction(19, 20), (wide, narrow)), (1 - Fraction(1, 10**8), (wide, wide))):
        apart = sum(noise.width((1 + confidence) / 2) for noise in pair)
        assert width_up_to(tuple((noise, Fraction(1)) for noise in pair), confidence) == apart
    assert width_up_to(((wide, Fraction(1)),) * 2, 1 - Fraction(1, 10**6)) < 2 * wide.width(1 - Fraction(1, 2 * 10**6))


def test_nearly_certain_widths_are_added_up() -> None:
    terms = weighted(laplace(5, 5), 1, 1)
    confidence = 1 - Fraction(1, 10**9)
    assert width_of_sum(terms, confidence) == 2 * terms[0][0].width(1 - Fraction(1, 2 * 10**9))


def added_up(terms: Terms, confidence: Fraction) -> Fraction:
    each = 1 - (1 - confidence) / len(terms)
    return sum((abs(weight) * noise.width(each) for noise, weight in terms), Fraction(0))


TINY, HUGE = Fraction(1, 10**320), Fraction(10**320)
BEYOND_FLOATS: list[Terms] = [
    *(((noise, Fraction(1)), (noise, weight)) for noise in (*laplace(5), *gaussian(5)) for weight in (TINY, HUGE)),
    (*weighted(laplace(5), 1), (DiscreteLaplace(TINY), Fraction(1))),
    (*weighted(laplace(5, 7), 1, 1), (DiscreteLaplace(Fraction(3)), TINY)),
]


@pytest.mark.parametrize("terms", BEYOND_FLOATS)
def test_sizes_that_no_float_holds_are_added_up(terms: Terms) -> None:
    for confidence in CONFIDENCES:
        assert width_of_sum(terms, confidence) == added_up(terms, confidence)


def test_sums_at_the_end_of_what_floats_hold_are_counted_together() -> None:
    alone, size = weighted(laplace(5, 7, 6), 1, 1, 1), 10**60
    scaled = tuple((noise, weight * size) for noise, weight in alone)
    for confidence in CONFIDENCES:
        assert width_of_sum(scaled, confidence) < added_up(scaled, confidence)
        assert width_of_sum(scaled, confidence) / size == pytest.approx(width_of_sum(alone, confidence), abs=1e-4)


def test_where_the_roundings_could_hide_the_miss_widths_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    terms, confidence = weighted([*laplace(5), *gaussian(5)], 1, 1), Fraction(19, 20)
    assert width_of_sum(terms, confidence) < added_up(terms, confidence)
    monkeypatch.setattr(combination, "_SLIP", 0.025)
    assert width_of_sum.__wrapped__(terms, confidence) == added_up(terms, confidence)


def continuous(noise: Noise, weight: Fraction, points: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The density of a weighted wide noise, as if it were no lattice."""
    if isinstance(noise, DiscreteLaplace):
        return np.asarray(np.exp(-np.abs(points) / float(noise.scale * weight)))
    return np.asarray(np.exp(-(points**2) / float(2 * noise.spread * weight**2)))


@pytest.mark.parametrize(
    "terms",
    [
        weighted(laplace(1e6, 1e6), 1, 1),
        weighted(laplace(1e6, 1.0003e6), 1, 1),
        weighted(laplace(1e6, 2e6), 1, 1),
        weighted(laplace(1e6, 3e6), 3, "1/2"),
        weighted(laplace(1e6, 1e6, 2e6), 1, 1, 1),
        weighted(gaussian(1e6, 2e6), 1, 1),
        weighted(gaussian(1e6, 1e6, 1e6), 1, 2, 1),
        weighted([*laplace(1e6), *gaussian(1e6)], 1, 1),
        weighted([*laplace(1e6), *gaussian(4e6)], 1, 1),
    ],
    ids=str,
)
def test_wide_noises_have_the_width_of_continuous_ones(terms: Terms) -> None:
    """Densities on a grid of 10⁴, convolved: to about 10⁻³."""
    points = np.arange(-4000, 4001) * 10.0**4
    total = np.ones(1)
    for noise, weight in terms:
        mass = continuous(noise, weight, points)
        total = np.convolve(total, mass / mass.sum())
    # each point stands for what lies half a step around it
    beyond = np.cumsum(total[::-1])[::-1] - total / 2
    places = (np.arange(total.size) - total.size // 2) * 10.0**4
    for confidence in CONFIDENCES[:-1]:
        truth = float(np.interp(-float(1 - confidence) / 2, -beyond, places))
        assert 0.9995 * truth <= width_of_sum(terms, confidence) <= (1.002 + 0.003 * len(terms)) * truth


@pytest.mark.parametrize("noise", [*laplace(0.001, 0.3, 1, 5, 40), *gaussian(0.01, 0.3, 1, 5, 40, 150)], ids=repr)
def test_tails_on_the_grid_are_the_exact_ones_and_no_smaller(noise: Noise) -> None:
    """The tail of a wide Gaussian is the integral of one step more."""
    points = np.array([*range(-30, 31), -0.5, 0.25, 29.75])
    loose = 0 if isinstance(noise, DiscreteLaplace) or noise.spread < 128**2 else 1
    for point, above in zip(points, combination.above(noise, points), strict=True):
        # what lies on a point may count as lying above it
        most = float(noise.tail(math.ceil(point) - loose)[1])
        assert float(noise.tail(math.floor(point) + 1)[0]) <= above <= most * (1 + 1e-6) + 1e-6 * loose
    falling = combination.above(noise, np.sort(points))
    assert np.all(falling[1:] <= falling[:-1] * (1 + 1e-12))


@pytest.mark.parametrize("apart", [2**-52, 1e-14, 1e-11, 1e-7, 9e-5])
@pytest.mark.parametrize("miss", [0.25, 0.025, 1e-6])
def test_scales_that_are_nearly_the_same_lose_no_digits(apart: float, miss: float) -> None:
    """Both orders, between the widths of the smaller and of the larger scale twice."""
    for scales in ((1.0, 1 + apart), (1 + apart, 1.0)):
        found = combination._two_laplaces(*scales, miss)
        least = combination._two_laplaces(1.0, 1.0, miss)
        assert least <= found <= least * (1 + apart) * (1 + 1e-9)


@pytest.mark.parametrize("weight", [Fraction(1), Fraction(2, 3), Fraction(7)])
def test_the_most_of_a_rising_function_is_no_less_than_its_mean_and_hardly_more(weight: Fraction) -> None:
    """Of one Laplace noise Z with P(Z = k) = (1 − q)/(1 + q)·q^|k|; the logistic function rises from 0 to 1."""
    noise = DiscreteLaplace(Fraction(5))
    q = math.exp(-1 / 5)
    places = np.arange(-400, 401)

    def rising(values: Any) -> Any:
        return 1 / (1 + np.exp(-(values - 3) / 4))

    exact = float((1 - q) / (1 + q) * (q ** np.abs(places) * rising(float(weight) * places)).sum())
    found = combination.rounded_up(((noise, weight),)).most(rising)
    assert exact <= found <= exact + 0.01


@pytest.mark.parametrize("lengths", [(a, b) for a in range(1, 12) for b in (1, 2, 5, 8, 9)])
def test_no_mass_of_a_sum_comes_around_from_the_other_end(lengths: tuple[int, int]) -> None:
    a, b = (np.random.default_rng(length).random(length) for length in lengths)
    assert combination.sum_of(a, b) == pytest.approx(np.convolve(a, b), abs=1e-12)
