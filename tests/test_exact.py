from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.exact import epsilon, extent, interval, largest, not_below, number, positive, probability, whole

NOT_NUMBERS = [None, "0.1", b"1", True, False, np.True_, 1j, [1], (1,), {}, object()]
NOT_FINITE = [
    *(float(word) for word in ("nan", "inf", "-inf")),
    *(Decimal(word) for word in ("NaN", "sNaN", "Infinity", "-Infinity")),
    *(np.float32(word) for word in ("nan", "inf")),
    np.longdouble("-inf"),
]


@pytest.mark.parametrize(
    "written",
    [
        0.1,
        np.float64(0.1),
        np.float32(0.1),
        np.float16(0.1),
        np.longdouble("0.1"),
        Decimal("0.1"),
        Decimal("0.10"),
        Fraction(1, 10),
    ],
)
def test_a_tenth_is_a_tenth_however_it_is_written(written: object) -> None:
    assert number(written, "cost") == Fraction(1, 10)


@pytest.mark.parametrize(
    "written", [3, 3.0, np.int64(3), np.uint8(3), np.float32(3), Decimal(3), Decimal("3E0"), Fraction(3)]
)
def test_three_is_three_however_it_is_written(written: object) -> None:
    assert number(written, "cost") == 3
    assert type(number(written, "cost")) is Fraction


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_means_its_shortest_decimal(value: float) -> None:
    assert number(value, "cost") == Fraction(repr(value))
    assert float(number(value, "cost")) == value


@given(st.fractions())
def test_fractions_and_integers_mean_themselves(value: Fraction) -> None:
    assert number(value, "cost") == value
    assert number(value.numerator, "cost") == value.numerator


@pytest.mark.parametrize("check", [number, positive, extent, epsilon, probability])
@pytest.mark.parametrize("bad", NOT_NUMBERS)
def test_what_is_not_a_number_is_refused_by_name(check: Any, bad: object) -> None:
    with pytest.raises(
        TypeError, match=r"^cost must be a number, not (a \w+|None): pass an int, float, Fraction or Decimal"
    ):
        check(bad, "cost")


@pytest.mark.parametrize("check", [number, positive, extent, epsilon, probability])
@pytest.mark.parametrize("bad", NOT_FINITE)
def test_what_is_not_finite_is_refused_by_name(check: Any, bad: object) -> None:
    with pytest.raises(ValueError, match=r"^cost must be finite, not "):
        check(bad, "cost")


@pytest.mark.parametrize("bad", ["1e-999999999", "1e999999999", "-1e-100000"])
def test_an_exponent_that_would_fill_the_memory_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match=r"^cost must not have an exponent beyond 1000"):
        number(Decimal(bad), "cost")


@pytest.mark.parametrize("bad", [0, 0.0, -0.0, -1, -1e-300, Decimal("-0.1"), Fraction(-1, 10**50)])
def test_what_is_not_positive_is_refused_by_name(bad: object) -> None:
    for check in (positive, extent, epsilon, not_below):
        with pytest.raises(ValueError, match=r"^cost must be above 0"):
            check(bad, "cost")


@pytest.mark.parametrize("good", [1e-9, 1e9, 1, Decimal("1E-9"), Fraction(10**9)])
def test_costs_within_the_range_are_accepted(good: object) -> None:
    assert epsilon(good) == number(good, "epsilon")


@pytest.mark.parametrize("bad", [9.999e-10, 1.0001e9, Fraction(10**9) + Fraction(1, 10**30), 5e-324, 1e300])
def test_costs_out_of_the_range_are_refused(bad: object) -> None:
    with pytest.raises(
        ValueError, match=r"^epsilon must lie between 1e-9 and 1e9, not .*: usual values are 0\.01 to 10"
    ):
        epsilon(bad)


def test_an_extent_fits_a_float() -> None:
    assert extent(1e-100, "sensitivity") == Fraction(1, 10**100)
    for bad in (1e101, 9e-101, 10**400, Fraction(1, 10**400)):
        with pytest.raises(ValueError, match=r"^sensitivity must lie between 1e-100 and 1e100"):
            extent(bad, "sensitivity")


@pytest.mark.parametrize("bad", [0, 1, 1.0, -0.5, 2, Fraction(3, 2), Decimal(0)])
def test_a_probability_lies_strictly_between_0_and_1(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^delta must lie strictly between 0 and 1"):
        probability(bad, "delta")


@pytest.mark.parametrize("good", [5e-324, 0.5, 1 - 2**-53, Fraction(1, 10**400)])
def test_any_probability_in_between_is_accepted(good: object) -> None:
    assert 0 < probability(good, "delta") < 1


@pytest.mark.parametrize("good", [1, 7, np.int64(7), np.uint8(255), 10**30])
def test_integers_of_all_types_are_whole(good: Any) -> None:
    assert whole(good, "count") == good
    assert type(whole(good, "count")) is int


@pytest.mark.parametrize("bad", [None, "1", True, np.True_, 1.0, np.float64(1), Decimal(1), Fraction(1), 1j])
def test_what_is_not_an_integer_is_refused_by_name(bad: object) -> None:
    with pytest.raises(TypeError, match=r"^count must be an integer, not "):
        whole(bad, "count")


def test_too_small_an_integer_is_refused_by_name() -> None:
    assert whole(0, "count", least=0) == 0
    with pytest.raises(ValueError, match=r"^count must be at least 1, not 0"):
        whole(0, "count")
    with pytest.raises(ValueError, match=r"^count must be at least 0, not -1"):
        whole(-1, "count", least=0)


def test_bounds_are_a_pair_of_numbers() -> None:
    assert interval((0, 0.1)) == (Fraction(0), Fraction(1, 10))
    assert interval([np.int8(-5), Decimal("2.5")]) == (Fraction(-5), Fraction(5, 2))


@pytest.mark.parametrize("bad", [None, 5, (), (1,), (1, 2, 3), "01", b"01", object()])
def test_what_is_not_a_pair_is_refused_by_name(bad: object) -> None:
    with pytest.raises(
        TypeError, match=r"^bounds must be a pair \(low, high\) that you know without looking at the data"
    ):
        interval(bad)


@pytest.mark.parametrize("bad", [(1, 1), (2, 1), (0.1, Decimal("0.1"))])
def test_bounds_go_up(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^bounds must have low < high"):
        interval(bad)


@pytest.mark.parametrize(
    "bad", [(0, 1e101), (-1e101, 0), (10**400, 0), (0, -(10**400)), (Fraction(10**400), Fraction(10**401))]
)
def test_bounds_fit_a_float(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^bounds must lie between -1e100 and 1e100"):
        interval(bad)


def test_each_end_of_the_bounds_is_named() -> None:
    with pytest.raises(TypeError, match=r"^bounds\[0\] must be a number, not None"):
        interval((None, 1))
    with pytest.raises(ValueError, match=r"^age\[1\] must be finite"):
        interval((0, float("inf")), "age")


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False))
def test_not_below_covers_both_readings_of_a_float(value: float) -> None:
    assert not_below(value, "scale") == max(Fraction(repr(value)), Fraction(value))


def test_not_below_covers_numpy_s_floats_too() -> None:
    for value in (np.float32(0.1), np.float16(0.3), np.float32(0.7)):
        assert not_below(value, "scale") == max(Fraction(str(value)), Fraction(float(value)))


def test_not_below_takes_exact_numbers_as_they_are() -> None:
    for value in (3, Fraction(1, 3), Decimal("0.1")):
        assert not_below(value, "scale") == Fraction(value)


@pytest.mark.parametrize("most", [1, 2, 7, 8, 9, 1000])
def test_the_largest_count_is_the_last_that_fits(most: int) -> None:
    for last in range(min(most, 20)):
        assert largest(lambda count, last=last: count <= last, most) == last  # type: ignore[misc]
    assert largest(lambda count: count < most, most) == most - 1
    assert largest(lambda count: count <= most, most) is None
