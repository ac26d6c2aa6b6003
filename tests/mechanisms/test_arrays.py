from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms.arrays import column, integers, numbers, some_numbers
from tests.mechanisms.helpers import STEADY

MOST = 2**63 - 1
LEAST = -(2**63)


@pytest.mark.parametrize(
    "values",
    [5, -5, [1, 2], (1, 2), np.int8(3), np.array([1, 2], dtype=np.int16), np.array([1, 2], dtype=np.uint32), range(3)],
)
def test_integers_become_int64(values: Any) -> None:
    array = numbers(values, "values")
    assert array.dtype == np.int64
    assert array.shape == np.shape(values)
    assert np.array_equal(array, values)


@pytest.mark.parametrize(
    "values",
    [
        0.5,
        -0.0,
        [1, 2.5],
        [[0.5], [1.5]],
        np.float32(0.5),
        np.array([0.5], dtype=np.float16),
        Fraction(1, 2),
        Decimal("2.5"),
    ],
)
def test_reals_become_float64(values: Any) -> None:
    array = numbers(values, "values")
    assert array.dtype == np.float64
    assert array.shape == np.shape(values)
    assert np.array_equal(array, np.asarray(values, dtype=np.float64))


@pytest.mark.parametrize(
    "values",
    [
        2**63,
        LEAST - 1,
        [2**63, 5],
        [2**63, -5],
        [[2**63], [-5]],
        [2**64, 0],
        [10**400],
        np.array([2**64 - 1, 0], dtype=np.uint64),
        np.array([2**70, -1], dtype=object),
    ],
)
def test_integers_beyond_64_bits_stay_exact(values: Any) -> None:
    array = numbers(values, "values")
    assert array.dtype == object
    assert all(type(value) is int for value in array.flat)
    assert array.tolist() == (values if isinstance(values, (int, list)) else values.tolist())


@pytest.mark.parametrize("values", [[MOST, LEAST], np.array([MOST], dtype=np.uint64), np.array([LEAST], dtype=object)])
def test_integers_of_64_bits_need_no_more(values: Any) -> None:
    assert numbers(values, "values").dtype == np.int64


@STEADY
@given(st.lists(st.integers(-(2**65), 2**65), max_size=4))
def test_lists_of_integers_never_become_floats(values: list[int]) -> None:
    array = integers(np.array(values, dtype=object))
    assert array.tolist() == values
    assert (array.dtype == np.int64) == all(LEAST <= value <= MOST for value in values)
    if values:
        assert np.array_equal(numbers(values, "values"), array)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (None, "None"),
        (True, "booleans"),
        (np.array([True]), "booleans"),
        ([True, 2], "booleans"),
        ([np.True_, 2.5], "booleans"),
        ([[1, 2], [3, False]], "booleans"),
        ([(1.5, True)], "booleans"),
        ("5", "text"),
        ("", "text"),
        (["a", 1.5], "text"),
        (b"5", "bytes"),
        ([None, 1], "mixed or missing"),
        ([2**64, 1.5], "mixed or missing"),
        ([Fraction(1, 2)], "mixed or missing"),
        ({1, 2}, "mixed or missing"),
        (1j, "complex"),
        (np.datetime64("2026-01-01"), "dates"),
        (np.timedelta64(1, "D"), "durations"),
    ],
)
def test_what_is_no_number_is_refused_by_name(values: Any, shown: str) -> None:
    with pytest.raises(TypeError, match=f"^exact (must hold numbers, not )?.*{shown}"):
        numbers(values, "exact")


@pytest.mark.parametrize(
    "values",
    [
        np.nan,
        [1.0, np.nan],
        [[np.inf]],
        (-np.inf, 1),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("-Infinity"),
        np.array([np.nan], dtype=np.float16),
        np.longdouble("1e400"),
    ],
)
def test_nan_and_infinity_are_refused_by_name(values: Any) -> None:
    with pytest.raises(ValueError, match=r"^exact (holds NaN or infinity|must be finite)"):
        numbers(values, "exact")


@pytest.mark.parametrize("values", [[[1, 2], [3]], [1, [2]], [[1.5], 2.5]])
def test_ragged_lists_are_refused_by_name(values: Any) -> None:
    with pytest.raises(ValueError, match=r"^exact must be a number or an array of equally long rows"):
        numbers(values, "exact")


@pytest.mark.parametrize("values", [[], (), np.empty(0), np.empty((0, 2)), np.array([], dtype=object), [[]]])
def test_nothing_is_refused_where_a_number_is_needed(values: Any) -> None:
    with pytest.raises(ValueError, match=r"^scores is empty: pass at least one number"):
        some_numbers(values, "scores")


def test_something_passes_where_a_number_is_needed() -> None:
    assert some_numbers([3, 4], "scores").tolist() == [3, 4]


@pytest.mark.parametrize("values", [[], (), np.empty(0), np.array([], dtype=object), np.array([], dtype=np.uint8)])
def test_a_column_may_be_of_nobody(values: Any) -> None:
    assert column(values).shape == (0,)


@pytest.mark.parametrize("values", [5, 0.5, [[1]], np.zeros((2, 2)), [[]]])
def test_a_column_has_one_number_for_each_unit(values: Any) -> None:
    with pytest.raises(ValueError, match=r"^values must be one-dimensional, one number for each unit, not of shape"):
        column(values)


def test_a_column_holds_numbers_of_any_size() -> None:
    assert column([10**400, -(10**400), 7]).tolist() == [1e300, -1e300, 7]
    assert column([MOST]).tolist() == [MOST]
