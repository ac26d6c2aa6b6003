from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import Concentrated, Pure, Relation
from discreet.accounting.combination import width_up_to
from discreet.accounting.distributions import Noise
from discreet.mechanisms import BoundedMean
from discreet.mechanisms.calibrated import noise_of
from tests.budget import crossed
from tests.mechanisms.helpers import (
    STEADY,
    cost,
    loss_between,
    noiseless,
    recorded,
    released_with,
    too_many,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
COSTS: list[dict[str, Any]] = [{"epsilon": 0.5}, {"rho": 0.1}]
BOUNDS = [(0, 1), (-2, 5), (-7, -3), (0.1, 0.3)]
DOMAIN = (-1e300, 0.26, 7.5)
TRIALS = 300


# What is promised


@pytest.mark.parametrize("pay", COSTS)
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_of_a_public_size_one_number_replaced_costs_at_most_the_cost(
    pay: dict[str, Any], bounds: tuple[float, float], size: int
) -> None:
    mechanism = BoundedMean(bounds=bounds, size=size, **pay)
    runs = {table: recorded(mechanism, table) for table in product(DOMAIN, repeat=size)}
    costs = [loss_between(runs[table], runs[(value, *table[1:])]) for table in runs for value in DOMAIN]
    assert max(costs) == cost(mechanism.loss)
    assert all(len(run) == 1 for run in runs.values())


def test_the_cost_is_the_whole_of_it() -> None:
    assert BoundedMean(bounds=(0, 1), epsilon=0.5).loss == Pure(0.5)
    assert BoundedMean(bounds=(0, 1), rho=0.5).loss == Concentrated(0.5)
    assert BoundedMean(bounds=(0, 1), epsilon=0.5, size=10).loss == Pure(0.5, relation=Relation.REPLACE_ONE)
    assert BoundedMean(bounds=(0, 1), rho=0.5, size=10).loss == Concentrated(0.5, relation=Relation.REPLACE_ONE)


# What the lectures say


@pytest.mark.parametrize("n", [1, 10, 10_000])
def test_a_binary_mean_has_sensitivity_one_over_n(n: int) -> None:
    mechanism = BoundedMean(bounds=(0, 1), epsilon=0.5, size=n, step=1)
    (draw,) = recorded(mechanism, [0] * n)
    assert draw.spread / n == Fraction(1, n) / Fraction(1, 2)


@pytest.mark.parametrize("n", [10, 1000])
@pytest.mark.parametrize("p", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
@pytest.mark.parametrize("step", [None, 1])
def test_bernoulli_means_are_as_near_as_the_lecture_says(n: int, p: float, epsilon: float, step: int | None) -> None:
    """E[(p − p̃)²] = p(1 − p)/n + Var(Z)/n² before p̃ is clamped to [0, 1], which only brings it nearer to p."""
    mechanism = BoundedMean(bounds=(0, 1), epsilon=epsilon, size=n, step=step)
    (draw,) = recorded(mechanism, [0] * n)
    noise = 0.5 / math.sinh(0.5 / float(draw.spread)) ** 2 * float(mechanism.column.grid.step) ** 2
    assert p * (1 - p) / n + noise / n**2 <= p * (1 - p) / n + 2 / (epsilon * n) ** 2


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_bernoulli_means_are_as_near_as_the_lecture_says_in_practice(epsilon: float) -> None:
    """The squared error is at most 1, so by Bernstein's inequality a mean of n of them exceeds its expectation m by
    √(2·m·x/n) + x/(3n) with probability at most e^−x: x = 21 makes the false alarm 10⁻⁹."""
    n, p, rounds = 100, 0.3, 3000
    mechanism = BoundedMean(bounds=(0, 1), epsilon=epsilon, size=n, step=1)
    generator = np.random.default_rng()
    seen = np.mean([(p - mechanism.release((generator.random(n) < p).astype(int))) ** 2 for _ in range(rounds)])
    bound = p * (1 - p) / n + 2 / (epsilon * n) ** 2
    assert seen <= bound + math.sqrt(2 * bound * 21 / rounds) + 21 / (3 * rounds)


@pytest.mark.parametrize("bounds", [(0, math.inf), (-math.inf, 0), (-math.inf, math.inf), (0, math.nan)])
def test_an_unbounded_mean_is_refused(bounds: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="bounds"):
        BoundedMean(bounds=bounds, epsilon=1)


def test_a_mean_without_bounds_is_refused() -> None:
    with pytest.raises(TypeError, match="bounds"):
        BoundedMean(epsilon=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="bounds must be a pair"):
        BoundedMean(bounds=None, epsilon=1)  # type: ignore[arg-type]


# What comes out


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("public", [False, True])
@STEADY
@given(table=st.lists(FLOATS, min_size=1, max_size=20))
def test_without_noise_it_is_the_mean_of_the_clamped_numbers(
    bounds: tuple[float, float], public: bool, table: list[float]
) -> None:
    mechanism = BoundedMean(bounds=bounds, epsilon=1, size=len(table) if public else None)
    clamped = math.fsum(min(max(value, bounds[0]), bounds[1]) for value in table) / len(table)
    room = float(mechanism.column.grid.step) + 1e-12
    assert noiseless(mechanism, table) == pytest.approx(clamped, abs=room)


@pytest.mark.parametrize("forced", [-(10**12), -3, 0, 3, 10**12])
@pytest.mark.parametrize("table", [[], [0.2], [-50.0, 0.2, 50.0]])
def test_whatever_the_noise_the_mean_lies_within_the_bounds(forced: int, table: list[float]) -> None:
    released, _ = released_with(forced, BoundedMean(bounds=(-1, 2), epsilon=1), table)
    assert type(released) is float
    assert -1 <= released <= 2


def test_of_nobody_it_is_the_middle_of_the_bounds() -> None:
    assert noiseless(BoundedMean(bounds=(-1, 2), epsilon=1), []) == pytest.approx(0.5)


@pytest.mark.parametrize("table", [[], [1], [1, 2, 3]])
def test_a_size_that_is_not_the_declared_one_is_refused(table: list[float]) -> None:
    with pytest.raises(ValueError, match="values must hold size = 2 numbers"):
        BoundedMean(bounds=(0, 5), epsilon=1, size=2).release(table)


@pytest.mark.parametrize("size", [0, -1])
def test_a_size_below_one_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="size must be at least 1"):
        BoundedMean(bounds=(0, 1), epsilon=1, size=size)


@pytest.mark.parametrize(
    "pay", [{"epsilon": e} for e in (1e-8, 0.063, 1, 1e9)] + [{"rho": r} for r in (1e-8, 0.01, 1e9)]
)
@pytest.mark.parametrize("bounds", [(-1, 1), (0, 1.9), (-1e-50, 1e-60), (0, 1e90)])
@pytest.mark.parametrize("size", [None, 2])
def test_its_own_step_suits_any_cost_and_bounds(
    pay: dict[str, Any], bounds: tuple[float, float], size: int | None
) -> None:
    released = BoundedMean(bounds=bounds, size=size, **pay).release(bounds)
    assert bounds[0] <= released <= bounds[1]


# What it promises about its error


@pytest.mark.parametrize("pay", COSTS)
@pytest.mark.parametrize("public", [False, True])
@pytest.mark.long
def test_intervals_hold_the_truth_as_often_as_they_say(pay: dict[str, Any], public: bool) -> None:
    """False alarm ≤ FALSE_ALARM for each of the two."""
    values = np.linspace(-3, 3, 150)
    truth = float(np.clip(values, -1, 2).mean())
    mechanism = BoundedMean(bounds=(-1, 2), size=values.size if public else None, **pay)
    width = mechanism.error(0.9, size=values.size)
    estimates = [mechanism.estimate(values, 0.9) for _ in range(TRIALS)]
    outside = sum(not low <= truth <= high for _, (low, high) in estimates)
    astray = sum(abs(value - truth) > width for value, _ in estimates)
    assert not too_many(outside, TRIALS, 0.1)
    assert not too_many(astray, TRIALS, 0.1)
    assert all(low <= value <= high for value, (low, high) in estimates)


def law(noise: Noise, cut: float = 1e-3) -> dict[int, float]:
    """The probabilities of noise values; what is cut off counts as missed."""
    found, z = {}, 0
    while (mass := float(noise.tail(z)[0] - noise.tail(z + 1)[0])) > cut:
        found[z] = found[-z] = mass
        z += 1
    return found


TABLES = [[9] * 30, [-9] * 10 + [9] * 20, [0, 1, 2], [0]]


@pytest.mark.parametrize(
    ("pay", "table", "bounds"),
    crossed([(pay, table) for pay in ({"epsilon": 3}, {"rho": 2}) for table in TABLES], [(0, 6), (-3, 4)]),
)
def test_the_interval_holds_the_truth_over_all_noises(
    pay: dict[str, Any], bounds: tuple[int, int], table: list[int]
) -> None:
    mechanism = BoundedMean(bounds=bounds, step=1, **pay)
    assert mechanism.count is not None
    clamped = [min(max(value, bounds[0]), bounds[1]) for value in table]
    total, truth = sum(clamped) - len(clamped) * mechanism.column.middle, sum(clamped) / len(clamped)
    parts = [law(noise_of(part)) for part in (mechanism.total, mechanism.count)]
    error = mechanism.error(0.8, size=len(table))
    covered = near = 0.0
    for (y, p), (z, q) in product(parts[0].items(), parts[1].items()):
        low, high = mechanism._interval(total + y, len(table) + z, 0.8)
        assert bounds[0] <= low <= high <= bounds[1]
        covered += p * q * (low - 1e-12 <= truth <= high + 1e-12)
        mean = mechanism._mean(total + y, len(table) + z)
        near += p * q * (abs(mean - truth) <= error)
    assert covered >= 0.8
    assert near >= 0.8


def test_the_interval_is_narrower_than_that_of_two_intervals() -> None:
    """Some 1.6 times for Laplace noise: count and sum need not be at their worst together."""
    mechanism = BoundedMean(bounds=(0, 100), epsilon=0.2, step=1)
    assert mechanism.count is not None
    slack, slip = (round(part.error(0.975)) for part in (mechanism.count, mechanism.total))
    low, high = mechanism._interval(40_000, 1000, 0.95)
    apart = (40_000 + slip) / (1000 - slack) - (40_000 - slip) / (1000 + slack)
    assert apart / (high - low) > 1.5


def test_the_error_falls_with_the_number_of_units() -> None:
    mechanism = BoundedMean(bounds=(0, 10), epsilon=0.5)
    errors = [mechanism.error(0.95, size=size) for size in (1, 10, 100, 1000, 10**6)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] == pytest.approx(10)
    assert errors[-1] < 1e-3


@pytest.mark.parametrize("pay", COSTS)
@pytest.mark.parametrize("bounds", [(0, 10), (-7, -3)])
@pytest.mark.parametrize("size", [60, 100, 1000, 10**7])
def test_the_error_is_the_least_for_which_its_proof_holds(
    pay: dict[str, Any], bounds: tuple[int, int], size: int
) -> None:
    mechanism = BoundedMean(bounds=bounds, step=1, **pay)
    found = Fraction(mechanism.error(0.95, size=size)) / mechanism.column.grid.step

    def proven(off: Fraction) -> bool:
        """Whether ±Y − (t ± mean)·Z ≤ t·n with the confidence, at the largest mean."""
        return width_up_to(mechanism._terms(mechanism.column.radius + off), Fraction(19, 20)) <= off * size

    assert proven(found * Fraction(1_000_001, 1_000_000))  # what is shown is a float
    assert not proven(found * Fraction(997, 1000))


def test_the_error_needs_a_size_that_is_public() -> None:
    with pytest.raises(TypeError, match=r"size is private here: pass error\(confidence, size=…\)"):
        BoundedMean(bounds=(0, 1), epsilon=1).error(0.95)
    assert BoundedMean(bounds=(0, 1), epsilon=1, size=100).error(0.95) == pytest.approx(math.log(20) / 100, rel=0.01)


@pytest.mark.parametrize("bounds", [(0, 10), (-5, 5), (-13, -3)])
def test_where_the_count_may_be_zero_nothing_is_known(bounds: tuple[int, int]) -> None:
    mechanism = BoundedMean(bounds=bounds, epsilon=1)
    assert mechanism.count is not None
    slack = round(mechanism.count.error(0.975))
    assert [mechanism.error(0.95, size=size) for size in (slack - 1, slack)] == [10, 10]
    assert mechanism.error(0.95, size=100 * slack) < 1
