from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import Concentrated, Pure
from discreet.accounting.combination import width_up_to
from discreet.mechanisms import Estimate, Variance
from discreet.mechanisms.calibrated import noise_of
from tests.mechanisms.helpers import (
    STEADY,
    noiseless,
    recorded,
    released_with,
    too_many,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
COSTS: list[dict[str, Any]] = [{"epsilon": 0.5}, {"rho": 0.1}]
BOUNDS = [(0, 1), (-2, 5), (-7, -3), (0.1, 0.3)]
DOMAIN = (-1e300, 0.26, 7.5)


class Estimating:
    """Releases the estimate, at 95 %."""

    def __init__(self, mechanism: Variance, confidence: float = 0.95) -> None:
        self.mechanism = mechanism
        self.confidence = confidence

    def release(self, exact: Any, /, bits: Any = None) -> Estimate[float]:
        return self.mechanism.estimate(exact, self.confidence, bits)


def clamped(values: Sequence[float], bounds: tuple[float, float]) -> list[float]:
    return [min(max(value, bounds[0]), bounds[1]) for value in values]


# What is promised


def test_the_three_moments_are_exact_integers() -> None:
    mechanism = Variance(bounds=(0, 10), epsilon=1, step=1)
    values = [0, 3, 10, 10]
    assert [draw.exact for draw in recorded(mechanism, values)] == [
        (4,),
        (sum(value - 5 for value in values),),
        (sum(2 * (value - 5) ** 2 - 25 for value in values),),
    ]


def test_squares_beyond_64_bits_stay_exact() -> None:
    mechanism = Variance(bounds=(-(2**30), 2**30), epsilon=1e9, step=1)
    values = [2**30] * 101 + [1] * 99
    assert recorded(mechanism, values)[2].exact == (101 * 2**60 + 99 * (2 - 2**60),)
    assert 101 * 2**60 > 2**63
    truth = float(np.var(np.array(values, dtype=object) / 2**30))
    low, high = released_with(0, Estimating(mechanism), values)[0].interval
    assert low / 2**60 <= truth <= high / 2**60
    assert noiseless(mechanism, values) / 2**60 == pytest.approx(truth)


def test_the_cost_is_the_whole_of_it() -> None:
    assert Variance(bounds=(0, 1), epsilon=0.6).loss == Pure(0.6)
    assert Variance(bounds=(0, 1), rho=0.6).loss == Concentrated(0.6)


# The grid


@pytest.mark.parametrize("pay", [{"epsilon": e} for e in (1e-8, 0.1, 1, 1e9)] + [{"rho": r} for r in (1e-8, 0.01, 1e9)])
@pytest.mark.parametrize("bounds", [(-1, 1), (0, 1.99), (1e12, 1e12 + 1), (-1e-50, 1e-60), (0, 1e80)])
def test_its_own_step_suits_any_cost_and_bounds(pay: dict[str, Any], bounds: tuple[float, float]) -> None:
    mechanism = Variance(bounds=bounds, **pay)
    radius = (bounds[1] - bounds[0]) / 2 + float(mechanism.column.grid.step)  # bounds are rounded to the grid
    for values in ([], [bounds[0]], bounds):
        assert 0 <= mechanism.release(values) <= 1.01 * radius**2


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 10])
def test_its_own_step_is_far_below_the_error(epsilon: float) -> None:
    """Rounding by half a step moves each square by less than a step times the width of the bounds."""
    mechanism = Variance(bounds=(0, 1.99), epsilon=epsilon)
    units = 10 * 3 / epsilon * math.log(60)
    assert float(mechanism.column.grid.step) * 1.99 < 0.01 * mechanism.error(0.95, size=math.ceil(units))


def test_a_step_too_fine_for_64_bit_squares_is_refused() -> None:
    with pytest.raises(ValueError, match="step must be at least a billionth of the bounds' width"):
        Variance(bounds=(0, 10), epsilon=1, step=1e-9)


# What comes out


@pytest.mark.parametrize("bounds", BOUNDS)
@STEADY
@given(table=st.lists(FLOATS, min_size=1, max_size=20))
def test_without_noise_it_is_the_variance_of_the_clamped_numbers(
    bounds: tuple[float, float], table: list[float]
) -> None:
    mechanism = Variance(bounds=bounds, epsilon=1)
    width = bounds[1] - bounds[0]
    released = noiseless(mechanism, table)
    assert released == pytest.approx(np.var(clamped(table, bounds)), abs=width * float(mechanism.column.grid.step))


@pytest.mark.parametrize("forced", [-(10**12), -3, 0, 3, 10**12])
@pytest.mark.parametrize("table", [[], [0.2], [-50.0, 0.2, 50.0]])
def test_whatever_the_noise_the_variance_is_possible(forced: int, table: list[float]) -> None:
    mechanism = Variance(bounds=(-1, 2), epsilon=1)
    released, _ = released_with(forced, mechanism, table)
    estimate, _ = released_with(forced, Estimating(mechanism), table)
    assert type(released) is float
    assert estimate.value == released
    assert 0 <= estimate.interval[0] <= estimate.interval[1] <= 1.5**2 + 1e-4
    assert 0 <= released <= 1.5**2 + 1e-4


# What it promises about its error


@pytest.mark.parametrize("pay", [{"epsilon": 30}, {"rho": 60}])
@pytest.mark.parametrize("table", [[-9] * 60 + [9] * 60, [-9, *range(-3, 4)] * 5, [0, 1], [3]])
def test_the_interval_holds_the_truth_over_noises_of_all_kinds(pay: dict[str, Any], table: list[int]) -> None:
    """Every noise on count, sum and squares that is not too rare."""
    mechanism = Variance(bounds=(-3, 4), step=1, **pay)
    held = [min(max(value, -3), 4) for value in table]
    truth = float(np.var(held))
    parts = [
        [(z, float(noise.tail(abs(z))[0] - noise.tail(abs(z) + 1)[0])) for z in range(-width, width + 1)]
        for noise, width in zip(map(noise_of, mechanism._parts), (1, 3, 6), strict=True)
    ]
    whole = math.prod(math.fsum(mass for _, mass in part) for part in parts)
    error, covered, near = mechanism.error(0.8, size=len(table)), 0.0, 0.0
    for (a, p), (b, q), (c, r) in product(*parts):
        estimate, _ = released_with([a, b, c], Estimating(mechanism, 0.8), table)
        low, high = estimate.interval
        assert 0 <= low <= estimate.value <= high
        covered += p * q * r * (low - 1e-9 <= truth <= high + 1e-9)
        near += p * q * r * (abs(estimate.value - truth) <= error + 1e-9)
    assert covered >= 0.8 * whole
    assert near >= 0.8 * whole


@pytest.mark.long
@pytest.mark.parametrize(("pay", "trials"), [({"epsilon": 1}, 400), ({"rho": 0.5}, 150)])
def test_intervals_hold_the_truth_as_often_as_they_say(pay: dict[str, Any], trials: int) -> None:
    """False alarm ≤ FALSE_ALARM for each of the two."""
    values = np.linspace(-3, 3, 500)
    truth = float(np.var(np.clip(values, -1, 2)))
    mechanism = Variance(bounds=(-1, 2), **pay)
    width = mechanism.error(0.9, size=values.size)
    estimates = [mechanism.estimate(values, 0.9) for _ in range(trials)]
    assert not too_many(sum(not low <= truth <= high for _, (low, high) in estimates), trials, 0.1)
    assert not too_many(sum(abs(value - truth) > width for value, _ in estimates), trials, 0.1)
    assert all(low <= value <= high for value, (low, high) in estimates)


@pytest.mark.parametrize("pay", [{"epsilon": 0.5}, {"rho": 0.1}])
@pytest.mark.parametrize("size", [400, 10**5])
def test_the_error_is_what_its_proof_adds_up(pay: dict[str, Any], size: int) -> None:
    """Three events that are missed with 3, 1 and 1 hundredths: L, how far the mean is off, and the count."""
    mechanism, hundredth = Variance(bounds=(0, 10), step=1, **pay), Fraction(1, 100)
    count, total, square = map(noise_of, mechanism._parts)
    r = Fraction(mechanism.column.radius)
    least = size - count.width(1 - hundredth)
    off = width_up_to(((square, Fraction(1, 2)), (total, 2 * r), (count, 3 * r**2 / 2)), 1 - 3 * hundredth)
    mean = width_up_to(((total, Fraction(1)), (count, r)), 1 - hundredth)
    assert mechanism.error(0.95, size=size) == pytest.approx(float(off / least + (mean / least) ** 2), rel=1e-12)


def test_the_error_falls_with_the_number_of_units() -> None:
    mechanism = Variance(bounds=(0, 10), epsilon=0.5)
    errors = [mechanism.error(0.95, size=size) for size in (1, 10, 100, 1000, 10**6)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] == pytest.approx(25, rel=1e-3)
    assert errors[-1] < 0.1


@pytest.mark.parametrize("size", [0, -5])
def test_the_error_needs_at_least_one_unit(size: int) -> None:
    with pytest.raises(ValueError, match="size must be at least 1"):
        Variance(bounds=(0, 1), epsilon=1).error(0.95, size=size)


# The bounds themselves


@pytest.mark.parametrize("pay", COSTS)
def test_the_interval_is_narrower_than_that_of_three_intervals(pay: dict[str, Any]) -> None:
    """Each at its worst: |Δ(S/n)| ≤ (c + r²a)/(n − a), halved; |Δ(T/n)²| ≤ f(2r + f) with f = (b + ra)/(n − a)."""
    mechanism = Variance(bounds=(-8, 8), step=1, **pay)
    r = mechanism.column.radius
    a, b, c = (round(part.error(1 - Fraction(5, 300))) for part in mechanism._parts)
    low, high = noiseless(Estimating(mechanism), [-8, 0, 8, 8] * 500).interval
    seconds = [
        (1500 * 64 - 500 * 64 - 1000 * 64 + side * c) / (2000 + back * a) / 2 for side in (-1, 1) for back in (-1, 1)
    ]
    firsts = [(8 * 500 + side * b) / (2000 + back * a) for side in (-1, 1) for back in (-1, 1)]
    apart = max(seconds) - min(seconds) + max(firsts) ** 2 - min(firsts) ** 2
    assert 0 < low < 44 < high < 64
    assert apart / (high - low) > 1.5
    f = (b + r * a) / (100_000 - a)
    added = (c + r**2 * a) / (2 * (100_000 - a)) + f * (2 * r + f)
    assert mechanism.error(0.95, size=100_000) < mechanism._clamped(added) / 1.5
