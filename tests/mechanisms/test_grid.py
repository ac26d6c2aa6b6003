from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms.grid import FARTHEST, INTEGERS, Grid
from tests.mechanisms.helpers import STEADY

STEPS = [Fraction(1, 8), Fraction(1), Fraction(4), Fraction(1, 100), Fraction(3, 10), Fraction(1, 3), Fraction(7)]
DYADIC = [step for step in STEPS if Grid(step).dyadic]
HALVES = [sign * (k + part) for k in range(4) for part in (0.0, 0.25, 0.5, 0.75) for sign in (-1, 1)]
EDGES = [math.nextafter(x, way) for x in HALVES for way in (-math.inf, x, math.inf)]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Fraction, float, float]:
    """A step and two numbers within its range, near or far from zero and from each other."""
    step = draw(st.fractions(Fraction(1, 1000), Fraction(1000), max_denominator=1000))
    most = float(step) * (FARTHEST - 10)
    first = draw(st.floats(-most, most))
    return step, first, min(max(first + draw(st.floats(-5, 5)) * float(step), -most), most)


def in_steps(grid: Grid, *values: float) -> list[int]:
    return [int(step) for step in grid.steps(np.array(values), "values")]


def test_which_steps_are_powers_of_two() -> None:
    assert {step for step in STEPS if Grid(step).dyadic} == {Fraction(1, 8), Fraction(1), Fraction(4)}


@STEADY
@given(st.fractions(Fraction(1, 10**90), Fraction(10**90)).filter(bool))
def test_the_largest_power_of_two_not_above_a_step(step: Fraction) -> None:
    found = Grid.at_most(step)
    assert found.dyadic
    assert found.step <= step < 2 * found.step


@pytest.mark.parametrize("exponent", [-300, -53, -1, 0, 1, 52, 300])
def test_a_power_of_two_is_its_own_largest(exponent: int) -> None:
    power = Fraction(2) ** exponent
    assert Grid.at_most(power).step == power
    assert Grid.at_most(power * Fraction(10**20 - 1, 10**20)).step == power / 2
    assert Grid.at_most(power * Fraction(10**20 + 1, 10**20)).step == power


@pytest.mark.parametrize("step", DYADIC)
def test_rounding_to_powers_of_two_is_exact_and_half_up(step: Fraction) -> None:
    values = [x * float(step) for x in EDGES]
    assert in_steps(Grid(step), *values) == [math.floor(Fraction(x) / step + Fraction(1, 2)) for x in values]


@STEADY
@given(st.floats(-(2.0**49), 2.0**49))
def test_rounding_any_float_to_powers_of_two_is_exact(value: float) -> None:
    assert in_steps(Grid(Fraction(1, 2)), value) == [math.floor(Fraction(value) * 2 + Fraction(1, 2))]


def test_rounding_small_numbers() -> None:
    least = sys.float_info.min * sys.float_info.epsilon
    assert in_steps(Grid(Fraction(4)), 0.0, -0.0, least, -least) == [0, 0, 0, 0]
    assert in_steps(Grid(Fraction(1, 10)), 0.0, -0.0, least, -least) == [0, 0, 0, 0]


@pytest.mark.parametrize("side", [-1, 1])
def test_within_the_range_quotients_are_off_by_less_than_half(side: int) -> None:
    for divisor in range(3, 2000, 2):
        step = Fraction(1, divisor)
        value = side * float(step) * (FARTHEST - 2)
        assert abs(Fraction(value / float(step)) - Fraction(value) / step) < Fraction(1, 2)


@STEADY
@given(pairs())
def test_no_number_lands_a_step_too_far(case: tuple[Fraction, float, float]) -> None:
    step, value, _ = case
    assert abs(in_steps(Grid(step), value)[0] - Fraction(value) / step) < 1


@STEADY
@given(pairs())
def test_two_numbers_land_no_farther_apart_than_their_distance_allows(case: tuple[Fraction, float, float]) -> None:
    step, first, second = case
    grid = Grid(step)
    landed = in_steps(grid, first, second)
    assert abs(landed[0] - landed[1]) <= grid.distance(abs(Fraction(first) - Fraction(second)))


@STEADY
@given(pairs())
def test_rounding_keeps_the_order(case: tuple[Fraction, float, float]) -> None:
    step, *values = case
    first, second = in_steps(Grid(step), *sorted(values))
    assert first <= second


def test_the_distance_allowed_is_reached() -> None:
    quarter = Grid(Fraction(1, 4))
    first, second = in_steps(quarter, 0.1, 0.4)
    assert second - first == quarter.distance(Fraction(3, 10)) == 2


@pytest.mark.parametrize(
    ("step", "first", "second"),
    [(Fraction(1, 100), 10.235, 10.245), (Fraction(3, 10), 4.6499999999999995, 4.949999999999999)],
)
def test_decimal_steps_need_the_step_more_that_they_count(step: Fraction, first: float, second: float) -> None:
    grid, apart = Grid(step), Fraction(second) - Fraction(first)
    assert apart < step
    landed = in_steps(grid, first, second)
    assert landed[1] - landed[0] == grid.distance(apart) == math.ceil(apart / step) + 1


def test_integers_stay_as_far_apart_as_they_are() -> None:
    assert INTEGERS.distance(Fraction(3, 2)) == Fraction(3, 2)
    assert Grid(Fraction(1)).distance(Fraction(3, 2)) == 2


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("side", [-1, 1])
def test_what_lies_too_far_out_is_refused(step: Fraction, side: int) -> None:
    grid = Grid(step)
    assert abs(in_steps(grid, side * float(step) * (FARTHEST - 2))[0]) < FARTHEST
    with pytest.raises(OverflowError, match=r"^values is too large for steps of .*: pass a larger step"):
        in_steps(grid, 0.0, side * float(step) * (FARTHEST + 2))


@pytest.mark.parametrize("step", STEPS)
def test_clipped_numbers_stay_within_their_bounds_however_large_they_are(step: Fraction) -> None:
    grid = Grid(step)
    values = np.array([-1e308, -5.0, -0.0, 5e-324, 2.0, 1e308])
    clipped = grid.clipped(values, -3, 4)
    assert clipped.min() == -3
    assert clipped.max() == 4
    inside = np.clip(values, -3 * float(step), 4 * float(step))
    assert np.array_equal(clipped, grid.steps(inside, "values"))


def test_nothing_to_round_is_nothing() -> None:
    assert in_steps(Grid(Fraction(1, 8))) == []
    assert Grid(Fraction(1, 8)).clipped(np.empty(0), 0, 1).size == 0


@pytest.mark.parametrize("step", STEPS)
@STEADY
@given(steps=st.integers(-(2**40), 2**40))
def test_a_number_of_steps_is_the_nearest_float_to_it(step: Fraction, steps: int) -> None:
    grid = Grid(step)
    assert grid.value(steps) == float(steps * step)
    assert grid.values(np.array([steps])).tolist() == [float(steps * step)]


@pytest.mark.parametrize("step", STEPS)
def test_there_and_back(step: Fraction) -> None:
    grid = Grid(step)
    steps = np.arange(-1000, 1000)
    assert np.array_equal(grid.steps(grid.values(steps), "values"), steps)


def test_fractions_are_rounded_half_up_without_any_float() -> None:
    grid = Grid(Fraction(1, 3))
    assert [grid.nearest(Fraction(k, 6)) for k in range(-3, 4)] == [-1, -1, 0, 0, 1, 1, 2]
    assert grid.nearest(Fraction(10**40 + 1, 3)) == 10**40 + 1


@pytest.mark.parametrize("step", [0, -1, math.nan, math.inf, Fraction(1, 10**101), 10**101])
def test_a_step_that_cannot_be_is_refused(step: float) -> None:
    with pytest.raises(ValueError, match="step"):
        Grid.of(step)


def test_the_largest_power_of_two_is_found_where_logarithms_cannot_tell() -> None:
    """Just beside 8, float64 sees now 2.999…, now 3: both are put right."""
    for size in range(1, 200):
        assert Grid.at_most(Fraction(8 * 3**size + 1, 3**size)) == Grid(Fraction(8))
        assert Grid.at_most(Fraction(8 * 3**size - 1, 3**size)) == Grid(Fraction(4))
    assert Grid.at_most(Fraction(1, 8)) == Grid(Fraction(1, 8))
