"""Private rows as estimators take them: columns of an engine, as arrays, without an object for each value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refused
from discreet.learn.box import Floats
from discreet.learn.labels import Array
from discreet.learn.missing import IMPUTE
from discreet.policy import Kind
from discreet.policy.problems import meant
from discreet.sql.nodes import Field

NUMERIC: Final = (Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of the rows: features, and the one to be predicted."""

    features: tuple[Field, ...]
    target: Field | None

    @classmethod
    def of(cls, fields: Sequence[Field], target: object) -> Columns:
        if target is None:
            return cls(tuple(fields), None)
        named = [field for field in fields if isinstance(target, str) and field.name.lower() == target.lower()]
        if len(named) != 1:
            known = [field.name for field in fields]
            near = meant(target, known) if isinstance(target, str) else None
            fix = near or f"columns: {', '.join(known)}"
            raise Refused("unknown-column", "the target is not one of the columns", fix)
        return cls(tuple(field for field in fields if field is not named[0]), named[0])

    @property
    def read(self) -> tuple[Field, ...]:
        return self.features if self.target is None else (*self.features, self.target)


def arrays_of(
    read: Sequence[NDArray[Any]], columns: Columns, *, as_they_are: tuple[bool, bool], missing: str | None = None
) -> tuple[Array, Array | None]:
    """Features and labels of the columns that an engine read; rows with NULL, NaN or infinity are left out, unless the
    estimator imputes them: then NULL is NaN or None, and rows without a label are left out.

    Theorem  What becomes of a row depends on that row alone. Proof: each value is converted by itself, and a row is
             left out for its own values; the type of an array is that of its column, which the query says.

    `as_they_are` says of features and of labels whether they are categories, which float64 might confuse: whole numbers
    beyond 2⁵³ may be some.
    """
    numeric = [field.expr.domain.kind in NUMERIC for field in columns.read]
    held = [_numbers(values) if number else _objects(values) for values, number in zip(read, numeric, strict=True)]
    there = [_there(values) for values in read]
    width, (whole_features, whole_labels) = len(columns.features), as_they_are
    features = [_objects(values) for values in read[:width]] if whole_features else held[:width]
    wanted = list(zip(held, there, strict=True))
    if missing == IMPUTE:
        wanted = wanted[width:]
        features = [_with_gaps(values, known) for values, known in zip(features, there, strict=False)]
    complete = _complete(wanted, len(read[0]))
    chosen: Any = slice(None) if complete.all() else complete
    # values of a column one after another, as they were read
    exact = np.empty((width, int(complete.sum())), dtype=object if whole_features else np.float64).T
    for column, values in zip(exact.T, features, strict=True):
        column[:] = values[chosen]
    if columns.target is None:
        return exact, None
    return exact, (_categories(read[-1]) if whole_labels and numeric[-1] else held[-1])[chosen]


def complete_rows(read: Sequence[NDArray[Any]], columns: Columns, missing: str | None) -> NDArray[np.bool_]:
    """Which rows `arrays_of` does not leave out."""
    wanted = list(zip(read, columns.read, strict=True))[len(columns.features) if missing == IMPUTE else 0 :]
    held = [
        (_numbers(raw) if field.expr.domain.kind in NUMERIC else _objects(raw), _there(raw)) for raw, field in wanted
    ]
    return _complete(held, len(read[0]))


def _numbers(values: NDArray[Any]) -> Floats:
    """Each to the nearest float64; what stands in the place of a NULL is of no interest."""
    if values.dtype == object:
        return np.array(_objects(values).tolist(), dtype=np.float64)
    return np.ma.getdata(values).astype(np.float64, copy=False)


def _objects(values: NDArray[Any]) -> Array:
    """Python's values; NULL is None."""
    array = np.empty(len(values), dtype=object)
    array[:] = values.tolist()
    return array


def _categories(values: NDArray[Any]) -> Array:
    """Numbers that stay what they are."""
    return _objects(values) if values.dtype == object else np.asarray(np.ma.getdata(values))


def _there(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are no NULL."""
    if values.dtype == object:
        return np.array([value is not None for value in values.tolist()], dtype=np.bool_)
    return ~np.ma.getmaskarray(values)


def _with_gaps(values: Array, there: NDArray[np.bool_]) -> Array:
    """Numbers with NaN in the place of NULL; objects have None there."""
    return values if values.dtype == object else np.where(there, values, np.nan)


def _complete(columns: Sequence[tuple[Array, NDArray[np.bool_]]], rows: int) -> NDArray[np.bool_]:
    """Which rows have all of their values: no NULL, NaN or infinity."""
    complete = np.ones(rows, dtype=np.bool_)
    for values, there in columns:
        complete &= there if values.dtype == object else there & np.isfinite(values)
    return complete
