"""What callers hand in, checked: numbers, lists and arrays become exact integers or finite floats, or a clear error."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.exact import number
from discreet.late import np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = "NDArray[Any]"
Integers: TypeAlias = "NDArray[np.int64]"


def numbers(values: ArrayLike | Fraction | Decimal, name: str) -> Array:
    """An array of integers (int64, or Python's where they are larger) or of finite floats. Scalars have no axis."""
    array = _array(values, name)
    if array.dtype.kind in "iu" or (array.dtype.kind == "O" and _all_integers(array)):
        return integers(array)
    if array.dtype.kind != "f":
        raise TypeError(f"{name} must hold numbers, not {_described(values, array)}: pass ints or floats")
    with np.errstate(over="ignore"):
        array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity: remove or replace such values first")
    return array


def integers(array: Array) -> Array:
    """int64, or Python's integers if that is too narrow for one of them."""
    limits = np.iinfo(np.int64)
    narrow = array.size and (array.max() > limits.max or array.min() < limits.min)
    return array.astype(object if narrow else np.int64)


def some_numbers(values: ArrayLike | Fraction | Decimal, name: str) -> Array:
    """As `numbers`, but at least one."""
    array = numbers(values, name)
    if not array.size:
        raise ValueError(f"{name} is empty: pass at least one number")
    return array


def column(values: ArrayLike, name: str = "values") -> Array:
    """One number for each unit, possibly none: how many there are is private."""
    array = numbers(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, one number for each unit, not of shape {array.shape}")
    # beyond any bounds, but not beyond float64
    return np.clip(array, -(10**300), 10**300).astype(np.float64) if array.dtype == object else array


def _array(values: ArrayLike | Fraction | Decimal, name: str) -> Array:
    if isinstance(values, (Fraction, Decimal)):
        return np.asarray(float(number(values, name)))
    if not isinstance(values, (list, tuple)):
        return np.asarray(values)
    if _holds_boolean(values):
        raise TypeError(f"{name} holds booleans: turn them into 0 and 1 first, for example with int()")
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be a number or an array of equally long rows of numbers") from None
    if array.dtype.kind == "f" and array.size:
        # NumPy makes floats of lists with an integer that only unsigned ones can hold
        objects = np.asarray(values, dtype=object)
        return objects if _all_integers(objects) else array
    return array


def _all_integers(array: Array) -> bool:
    return all(type(value) is int for value in array.flat)


def _holds_boolean(values: Sequence[object]) -> bool:
    kinds = set(map(type, values))  # a look at each of many thousand values would take longer than noise for them
    if any(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return True
    nested = any(issubclass(kind, (list, tuple)) for kind in kinds)
    return nested and any(isinstance(value, (list, tuple)) and _holds_boolean(value) for value in values)


def _described(values: object, array: Array) -> str:
    if values is None:
        return "None"
    kinds = {"b": "booleans", "U": "text", "S": "bytes", "M": "dates", "m": "durations", "c": "complex numbers"}
    return kinds.get(array.dtype.kind, "mixed or missing values")
