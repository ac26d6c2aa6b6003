"""Columns of exact rows, as arrays: numbers, dates and texts without an object for each of them where that can be."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from discreet.policy import Kind

Values = NDArray[Any]
Floats = NDArray[np.float64]
DAY: Final = 86_400_000_000
"""Microseconds."""
FIRST_DAY: Final = 719_163
"""The ordinal of 1970-01-01."""
FEW: Final = 2**16
"""Keys that are whole numbers, and within so few, are looked up by a table."""


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Values of rows, one after the other. What any of them becomes depends on that value alone."""

    values: Values
    """Numbers, booleans, datetime64 (µs), texts or Python's values; or with `texts`, numbers of those."""
    missing: NDArray[np.bool_] | None = None
    """Where there is none; of Python's values None is."""
    texts: tuple[str, ...] | None = None
    """What the numbers stand for, where values are numbers of texts."""
    is_day: bool = False
    """Whether datetime64 are dates, and no moments."""

    @classmethod
    def of(cls, given: Any) -> Self:
        """A column of a frame or of a mapping; what a frame calls missing is NULL."""
        missing = np.asarray(given.isna().to_numpy(), dtype=np.bool_) if hasattr(given, "isna") else None
        array = given.to_numpy() if hasattr(given, "to_numpy") else given
        if not isinstance(array, np.ndarray):
            return cls(objects(list(array)), missing)
        if array.ndim != 1:
            raise ValueError("columns have one dimension")
        if array.dtype.kind == "M":
            return cls._moments(array.astype("datetime64[us]"), missing)
        if isinstance(array, np.ma.MaskedArray):
            return cls.of(objects(array.tolist()))
        return cls(array if _is_plain(array) else objects(array.tolist()), missing)

    @classmethod
    def read(cls, array: Values, *, texts: tuple[str, ...] | None = None, kind: Kind | None = None) -> Self:
        """As an engine gives it: NULL is masked."""
        missing = np.asarray(np.ma.getmaskarray(array), dtype=np.bool_)
        values = np.asarray(np.ma.getdata(array))
        if values.dtype.kind == "M":
            return cls._moments(values, missing, is_day=kind is Kind.DATE)
        return cls(values, missing if missing.any() else None, texts)

    @classmethod
    def _moments(cls, values: Values, missing: NDArray[np.bool_] | None, *, is_day: bool = False) -> Self:
        nowhere = np.isnat(values)
        return cls(values, nowhere if missing is None else missing | nowhere, None, is_day)

    def __len__(self) -> int:
        return len(self.values)

    def where(self, inside: NDArray[np.bool_]) -> Self:
        """Some of its rows."""
        missing = None if self.missing is None else self.missing[inside]
        return type(self)(self.values[inside], missing, self.texts, self.is_day)

    def listed(self) -> list[Any]:
        """Python's own values; NULL is None."""
        if self.texts is not None:
            held: Values = objects((*self.texts,))[self.values.astype(np.int64)]
        else:
            held = objects(self._days().tolist())
        if self.missing is not None:
            held[self.missing] = None
        values: list[Any] = held.tolist()
        return values

    def _days(self) -> Values:
        return self.values.astype("datetime64[D]") if self.is_day else self.values

    # what attributes ask

    def looked_up(self, codes: Mapping[Any, int], null: int) -> NDArray[np.int64]:
        """For each value its code, and `null` for what has none."""
        if self.texts is not None:
            return self._taken([codes.get(text, null) for text in self.texts], self.values, null)
        if self.values.dtype.kind in "iu":
            return self._null(_of_whole(self.values, codes, null), null)
        if self.values.dtype.kind != "O":
            distinct, places = np.unique(self._days(), return_inverse=True)
            return self._taken([codes.get(value, null) for value in distinct.tolist()], places, null)
        return self._null(_each(self.values, codes, null), null)

    def _taken(self, known: Sequence[int], places: Values, null: int) -> NDArray[np.int64]:
        """The codes of distinct values, for each row; where a value is missing its place means nothing."""
        table = np.array([*known, null], dtype=np.int64)
        index = places.astype(np.int64)
        if self.missing is not None:
            index = np.where(self.missing, len(known), index)
        taken: NDArray[np.int64] = table[index]
        return taken

    def _null(self, codes: NDArray[np.int64], null: int) -> NDArray[np.int64]:
        if self.missing is not None:
            codes[self.missing] = null
        return codes

    def numbers(self, kind: Kind) -> Floats:
        """On the scale of edges: numbers as they are, dates as days, timestamps as microseconds. NaN for NULL, and for
        what is none of the attribute's type.
        """
        numbers = self._numbers(kind)
        if self.missing is not None:
            numbers[self.missing] = np.nan
        return numbers

    def _numbers(self, kind: Kind) -> Floats:
        dated = kind in (Kind.DATE, Kind.TIMESTAMP)
        if self.texts is None and self.values.dtype.kind == "O":
            if dated:
                return np.array([moment(value, kind) for value in self.values], dtype=np.float64)
            return _floats(self.values)
        if self.texts is not None or self.values.dtype.kind == "U" or dated != (self.values.dtype.kind == "M"):
            return np.full(len(self.values), np.nan)
        if not dated:
            return self.values.astype(np.float64)
        if kind is Kind.DATE:
            return (self.values.astype("datetime64[D]").astype(np.int64) + FIRST_DAY).astype(np.float64)
        return self._days().astype("datetime64[us]").astype(np.int64).astype(np.float64)


def _is_plain(array: Values) -> bool:
    """Whether an array says all that its values say: numbers up to 64 bits, and texts."""
    return array.dtype.kind == "U" or (array.dtype.kind in "biuf" and array.dtype.itemsize <= 8)


def _of_whole(values: Values, codes: Mapping[Any, int], null: int) -> NDArray[np.int64]:
    """The codes of whole numbers of any type.

    Theorem  What a value becomes depends on it and on public codes alone, and so does how it is done. Proof: table and
             keys are made of codes, and all else is elementwise. Numbers of narrow types are subtracted as wide ones:
             differences of their own type would wrap around.
    """
    limits = np.iinfo(values.dtype)
    known = {int(key): code for key, code in codes.items() if _is_whole(key) and limits.min <= key <= limits.max}
    if not known:
        return np.full(len(values), null, dtype=np.int64)
    keys = sorted(known)
    low, high = keys[0], keys[-1]
    if high - low < FEW:
        table = np.array([known.get(value, null) for value in range(low, high + 1)], dtype=np.int64)
        wide = values if values.dtype.kind == "u" else values.astype(np.int64)
        inside = (wide >= low) & (wide <= high)
        places = np.where(inside, wide, wide.dtype.type(low)) - wide.dtype.type(low)
        return np.where(inside, table[places.astype(np.int64)], null)
    listed = np.array(keys, dtype=values.dtype)
    places = np.minimum(np.searchsorted(listed, values), len(keys) - 1)
    return np.where(listed[places] == values, np.array([known[key] for key in keys], dtype=np.int64)[places], null)


def _is_whole(key: Any) -> bool:
    return isinstance(key, int | float | Decimal | Fraction | np.number) and math.isfinite(key) and key == int(key)


def objects(values: Sequence[Any]) -> Values:
    """An array of Python's own values."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _each(values: Values, codes: Mapping[Any, int], null: int) -> NDArray[np.int64]:
    get = codes.get
    try:
        return np.fromiter((get(value, null) for value in values), dtype=np.int64, count=len(values))
    except TypeError:  # one of them has no hash: value by value, with the same codes
        return np.array([_one(codes, value, null) for value in values], dtype=np.int64)


def _one(codes: Mapping[Any, int], value: Any, null: int) -> int:
    try:
        return codes.get(value, null) if isinstance(value, Hashable) else null
    except TypeError:  # a tuple that holds a list
        return null


def _floats(values: Values) -> Floats:
    if set(map(type, values)) <= {int, float, type(None)}:  # what a value becomes must not depend on other rows
        try:
            return values.astype(np.float64)
        except OverflowError:
            pass
    return np.array([as_float(value) for value in values], dtype=np.float64)


def as_float(value: Any) -> float:
    """NaN for what is no number."""
    if not isinstance(value, int | float | Decimal | Fraction | np.number):
        return math.nan
    try:
        return float(value)
    except (OverflowError, ValueError, TypeError):
        return math.nan


def moment(value: Any, kind: Kind) -> float:
    """A date as days, or a timestamp as microseconds; NaN for what is none."""
    if not isinstance(value, date) or value != value:
        return math.nan
    if kind is Kind.DATE:
        return float(value.toordinal())
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    since = value.replace(tzinfo=None) - datetime(1970, 1, 1)
    return float(since.days * DAY + since.seconds * 1_000_000 + since.microseconds)
