from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import Concentrated, Pure, Sensitivity
from discreet.mechanisms import BoundedSum, Gaussian, Laplace
from discreet.mechanisms.calibrated import additive, root, spread
from discreet.mechanisms.column import Column, exact_sum
from tests.mechanisms.helpers import STEADY, cost, enlarged, loss_between, noiseless, recorded, small_tables, too_many

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
COSTS: list[dict[str, Any]] = [{"epsilon": 0.5}, {"rho": 0.1}]
BOUNDS = [(0, 1), (-2, 5), (-7, -3), (0.1, 0.3), (-1e-9, 1e12)]
STEPS = [None, Fraction(1, 16), Fraction(1, 100)]
DOMAIN = (-1e300, 0.26, 7.5)
TRIALS = 1000


# What is promised


@pytest.mark.parametrize("pay", COSTS)
@pytest.mark.parametrize("bounds", [(0, 1), (-2, 5), (-7, -3), (0.1, 0.3)])
@pytest.mark.parametrize("step", STEPS)
def test_one_unit_more_costs_at_most_the_cost_in_every_small_table(
    pay: dict[str, Any], bounds: tuple[float, float], step: Fraction | None
) -> None:
    mechanism = BoundedSum(bounds=bounds, step=step, **pay)
    costs = [
        loss_between(recorded(mechanism, table), recorded(mechanism, larger))
        for table in small_tables(DOMAIN)
        for larger in enlarged(table, DOMAIN)
    ]
    assert max(costs) == cost(mechanism.loss)


@pytest.mark.parametrize("pay", COSTS)
@STEADY
@given(table=st.lists(FLOATS, max_size=20), value=FLOATS, bounds=st.sampled_from(BOUNDS))
def test_one_unit_more_costs_at_most_the_cost_whatever_the_numbers(
    pay: dict[str, Any], table: list[float], value: float, bounds: tuple[float, float]
) -> None:
    mechanism = BoundedSum(bounds=bounds, **pay)
    assert loss_between(recorded(mechanism, table), recorded(mechanism, [*table, value])) <= cost(mechanism.loss)


@STEADY
@given(table=st.lists(st.integers(), max_size=20), value=st.integers())
def test_one_unit_more_costs_at_most_the_cost_whatever_the_integers(table: list[int], value: int) -> None:
    mechanism = BoundedSum(bounds=(-3, 8), epsilon=0.5)
    assert loss_between(recorded(mechanism, table), recorded(mechanism, [*table, value])) <= cost(mechanism.loss)


@pytest.mark.parametrize(
    "value", [5e-324, -5e-324, -0.0, 1.7e308, -1.7e308, 2**63, 10**400, -(10**400), np.uint64(2**64 - 1)]
)
def test_one_poisoned_unit_moves_nothing_beyond_its_sensitivity(value: Any) -> None:
    mechanism = BoundedSum(bounds=(-1, 2), rho=0.1)
    assert loss_between(recorded(mechanism, []), recorded(mechanism, [value])) <= cost(mechanism.loss)


def test_the_cost_is_one_currency() -> None:
    assert BoundedSum(bounds=(0, 1), epsilon=0.5).loss == Pure(0.5)
    assert BoundedSum(bounds=(0, 1), rho=0.5).loss == Concentrated(0.5)
    for wrong in ({}, {"epsilon": 1, "rho": 1}):
        with pytest.raises(TypeError, match=r"either epsilon .* or rho"):
            BoundedSum(bounds=(0, 1), **wrong)


# Sums are exact


@STEADY
@given(st.lists(FLOATS, max_size=4))
def test_the_order_of_the_rows_changes_no_bit(table: list[float]) -> None:
    mechanism = BoundedSum(bounds=(-1, 1e6), epsilon=1)
    assert len({recorded(mechanism, order)[0].exact for order in permutations(table)}) == 1


def test_a_thousand_orders_of_a_thousand_rows_change_no_bit() -> None:
    values = np.concatenate([np.logspace(-300, 300, 500), -np.logspace(-20, 20, 500)])
    mechanism = BoundedSum(bounds=(-1e9, 1e9), epsilon=1)
    generator = np.random.default_rng()
    sums = {recorded(mechanism, generator.permutation(values))[0].exact for _ in range(1000)}
    assert len(sums) == 1


def test_sums_beyond_53_bits_stay_exact() -> None:
    values = [2**50] * 1000 + [1, 3]
    mechanism = BoundedSum(bounds=(0, 2**50), epsilon=1e9, step=1)
    (draw,) = recorded(mechanism, values)
    assert draw.exact == (sum(values),)
    assert sum(values) > 2**59


@STEADY
@given(st.lists(st.integers(-(2**52), 2**52), max_size=50))
def test_exact_sums_are_python_s_sums(values: list[int]) -> None:
    assert exact_sum(np.array(values, dtype=np.int64)) == sum(values)


@pytest.mark.parametrize("value", [2**61, -(2**61)])
def test_exact_sums_do_not_wrap(value: int) -> None:
    assert exact_sum(np.full(10_000, value)) == 10_000 * value


@pytest.mark.parametrize("bounds", BOUNDS)
@STEADY
@given(table=st.lists(FLOATS, max_size=20))
def test_without_noise_it_is_the_sum_of_the_clamped_numbers(bounds: tuple[float, float], table: list[float]) -> None:
    mechanism = BoundedSum(bounds=bounds, epsilon=1)
    clamped = math.fsum(min(max(value, bounds[0]), bounds[1]) for value in table)
    room = len(table) * float(mechanism.column.grid.step) + 1e-12 * max(map(abs, bounds))
    assert noiseless(mechanism, table) == pytest.approx(clamped, abs=room)


def test_integers_and_reals_are_clamped_alike() -> None:
    mechanism = BoundedSum(bounds=(-3, 8), epsilon=1)
    integers = [-(2**63), -1, 0, 5, 2**63 - 1]
    assert recorded(mechanism, integers) == recorded(mechanism, [float(value) for value in integers])
    assert recorded(mechanism, np.array(integers)) == recorded(mechanism, integers)


# The grid


@pytest.mark.parametrize("step", [Fraction(1, 16), Fraction(1, 100), Fraction(3, 10), Fraction(1)])
@pytest.mark.parametrize("pay", COSTS)
def test_what_is_released_is_a_whole_number_of_steps(step: Fraction, pay: dict[str, Any]) -> None:
    mechanism = BoundedSum(bounds=(-10, 10), step=step, **pay)
    for _ in range(20):
        released = mechanism.release([0.123, 4.56, -7.89])
        assert type(released) is float
        assert released == float(round(Fraction(released) / step) * step)


@pytest.mark.parametrize(
    "pay", [{"epsilon": e} for e in (1e-9, 1e-3, 0.063, 1, 1e9)] + [{"rho": r} for r in (1e-9, 1, 1e9)]
)
@pytest.mark.parametrize("bounds", [(-1, 1), (0, 1.9), (1e6, 2e6), (-1e-50, 1e-60), (0, 1e100)])
def test_its_own_step_suits_any_cost_and_bounds(pay: dict[str, Any], bounds: tuple[float, float]) -> None:
    mechanism = BoundedSum(bounds=bounds, **pay)
    grid = mechanism.column.grid
    assert grid.dyadic
    assert grid.step <= (Fraction(bounds[1]) - Fraction(bounds[0])) / 4
    assert math.isfinite(mechanism.release([bounds[0], bounds[1]]))


@pytest.mark.parametrize("values", [[], [1e6], [5, 1e9]])
def test_bounds_far_from_zero_and_close_together_need_more_than_a_tiny_cost(values: list[float]) -> None:
    with pytest.raises(ValueError, match="use a coarser step"):
        BoundedSum(bounds=(1e6, 1e6 + 1), epsilon=1e-9).release(values)


@pytest.mark.parametrize("epsilon", [0.01, 1, 100])
@pytest.mark.parametrize("bounds", [(0, 1), (-3, 0.1), (100, 101)])
def test_its_own_grid_adds_less_than_a_hundredth_to_the_error(epsilon: float, bounds: tuple[float, float]) -> None:
    continuous = max(map(abs, bounds)) / epsilon * math.log(20)
    assert BoundedSum(bounds=bounds, epsilon=epsilon).error(0.95) == pytest.approx(continuous, rel=0.01)


def test_a_step_wider_than_the_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match="step must be smaller than the bounds are apart, not 3"):
        BoundedSum(bounds=(0, 1), epsilon=1, step=3)


@pytest.mark.parametrize(
    ("bounds", "step"),
    [
        ((0, 1e18), 1),
        ((-1e18, 0), 1),
        ((0, 2**51), 1),
        ((-3e15, 0), 1),
        ((1, math.nextafter(1, 2)), None),
        ((1e15, 1e15 + 1), 0.1),
    ],
)
def test_bounds_too_far_from_zero_for_the_steps_are_refused_before_any_data(
    bounds: tuple[float, float], step: float | None
) -> None:
    with pytest.raises(ValueError, match=r"bounds must be less than .* steps from zero"):
        BoundedSum(bounds=bounds, epsilon=1e6, step=step)


@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 10)])
def test_just_within_the_range_no_data_are_refused(step: Fraction) -> None:
    far = (2**51 - 4) * step
    mechanism = BoundedSum(bounds=(-far, far), epsilon=1e9, step=step)
    for value in (0.0, float(far), -float(far), 1e300, -1e300):
        assert math.isfinite(mechanism.release([value]))


def test_a_column_knows_its_middle_and_how_far_values_can_be() -> None:
    column = Column.of((-3, 8), 1, epsilon=1, rho=None)
    assert (column.low, column.high, column.middle, column.radius, column.largest) == (-3, 8, 2, 6, 8)
    assert [column.clamp(value) for value in (-9, 0.5, 9)] == [-3, 0.5, 8]


@STEADY
@given(st.integers(-100, 100), st.integers(1, 100))
def test_no_value_is_farther_from_the_middle_than_the_radius(low: int, width: int) -> None:
    column = Column.of((low, low + width), 1, epsilon=1, rho=None)
    assert column.radius >= 1
    assert max(abs(column.low - column.middle), abs(column.high - column.middle)) == column.radius
    assert max(abs(column.low), abs(column.high)) == column.largest


# The cost


def test_epsilon_buys_laplace_noise_and_rho_gaussian_noise() -> None:
    sensitivity = Sensitivity.cells(4, 1)
    assert additive(sensitivity, epsilon=0.6, rho=None) == Laplace(0.6, sensitivity=4)
    assert additive(sensitivity, epsilon=0.6, rho=None, share=Fraction(1, 3)) == Laplace(0.2, sensitivity=4)
    assert additive(sensitivity, epsilon=None, rho=0.6) == Gaussian(rho=0.6, sensitivity=2)
    assert additive(sensitivity, epsilon=None, rho=0.6, share=Fraction(1, 2)) == Gaussian(rho=0.3, sensitivity=2)
    assert spread(sensitivity, epsilon=0.5, rho=None) == 8


@STEADY
@given(st.fractions(Fraction(1, 10**12), Fraction(10**30)))
def test_square_roots_are_rounded_up_a_little(square: Fraction) -> None:
    found = root(square)
    assert found**2 >= square
    assert (found - Fraction(1, 10**15)) ** 2 < square


@STEADY
@given(st.integers(1, 10**18))
def test_square_roots_of_squares_are_exact(number: int) -> None:
    assert root(Fraction(number**2)) == number


# What it promises about its error


@pytest.mark.parametrize("pay", COSTS)
def test_the_interval_holds_the_truth_as_often_as_it_says(pay: dict[str, Any]) -> None:
    """False alarm ≤ FALSE_ALARM."""
    values = np.linspace(-3, 3, 50)
    mechanism = BoundedSum(bounds=(-1, 2), **pay)
    truth, width = float(np.clip(values, -1, 2).sum()), mechanism.error(0.9)
    misses = sum(abs(mechanism.release(values) - truth) > width for _ in range(TRIALS))
    assert not too_many(misses, TRIALS, 0.1)
    assert not too_many(TRIALS - misses, TRIALS, 0.91)


def test_bounds_may_lie_as_far_from_zero_as_floats_are_exact_and_no_farther() -> None:
    far = 2**51 - 3
    assert Column.of((0, far), 1, epsilon=1, rho=None).high == far
    assert Column.of((-far, 0), 1, epsilon=1, rho=None).low == -far
    for bounds in ((0, far + 1), (-far - 1, 0)):
        with pytest.raises(ValueError, match="bounds must be less than 2"):
            Column.of(bounds, 1, epsilon=1, rho=None)
