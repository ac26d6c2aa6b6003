"""Mistakes in arrays that can be seen without looking at a value: each is explained before anything is charged.

A shape, a type and the names of columns are looked at; of lists and of columns of objects, the type of the first value
stands for that of all. What is no array, frame or list is left alone here: scikit-learn reads it, after the charge.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, Final

import numpy as np
from scipy.sparse import issparse

from discreet.learn.labels import Labels

Listed = (list, tuple)
NO_NUMBERS: Final = {"U": "texts", "S": "texts", "M": "dates", "m": "durations", "V": "records"}
"""Kinds of NumPy's types that do not become numbers."""
TEXTS: Final = ("str", "string", "String")
"""How frames call a type of texts."""


def width_of(rows: object) -> int | None:
    """The number of features, if it can be told without looking at values."""
    shape = _shape(rows)
    return int(shape[1]) if shape is not None and len(shape) == 2 and shape[1] else None


def names_of(rows: object) -> list[str] | None:
    """The names of the columns of a frame, if all are texts."""
    columns = getattr(rows, "columns", None)
    if columns is None or not hasattr(rows, "shape"):
        return None
    names = list(columns)
    return names if all(isinstance(name, str) for name in names) else None


def check_rows(rows: Any) -> None:
    """Two dimensions, dense, with rows of one length."""
    _demand_dense(rows, "X")
    shape = _shape(rows)
    if shape is not None and len(shape) != 2:
        raise ValueError(f"X must have 2 dimensions, not {len(shape)}. Reshape your data: X.reshape(-1, 1)")
    if shape is not None and shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
    if isinstance(rows, Listed) and shape is not None and any(_length(row) != shape[1] for row in rows):
        raise ValueError("X has rows of different lengths: every row needs one value for each feature")


def check_numbers(rows: Any, but: Container[str] = ()) -> None:
    """Columns that hold numbers, but for some."""
    for name, column in _columns(rows):
        if getattr(getattr(column, "dtype", None), "kind", "") == "c":
            raise ValueError("Complex data not supported: X must hold real numbers")
        kind = kind_of(column)
        if kind not in (None, "numbers") and name not in but:
            where = "X" if name is None else f"column {name!r} of X"
            raise ValueError(f"{where} holds {kind}, and numbers are needed: leave it out, or use OneHot in a pipeline")


def check_labels(rows: Any, labels: Any) -> None:
    """One column, dense, and as many as there are rows."""
    _demand_dense(labels, "y")
    shape, own = _shape(rows), _shape(labels)
    if own is not None and (len(own) > 2 or (len(own) == 2 and own[1] > 1)):
        raise ValueError(f"y should be a 1d array, got an array of shape {own} instead")
    if shape is not None and own is not None and own and shape[0] != own[0]:
        raise ValueError(f"X has {shape[0]} rows and y has {own[0]}: they must be as many (inconsistent numbers)")


def check_classes(labels: Any, classes: Labels) -> None:
    """Labels of the kind that was declared: a type is public, and a mistake of it is common."""
    kind = kind_of(labels)
    if kind == "numbers" and not classes.numeric:
        raise ValueError("y holds numbers and classes does not: declare the classes as they are in y")
    if kind == "texts" and classes.numeric:
        raise ValueError("y holds texts and classes does not: declare the classes as they are in y")


def check_targets(labels: Any) -> None:
    """Numbers."""
    kind = kind_of(labels)
    if kind not in (None, "numbers"):
        raise ValueError(f"y holds {kind}, and a regressor predicts numbers")


def kind_of(values: Any) -> str | None:
    """What a column holds, by its type; None if that does not say."""
    dtype = getattr(values, "dtype", None)
    kind = getattr(dtype, "kind", None)
    if kind in ("b", "i", "u", "f"):
        return "numbers"
    if kind in NO_NUMBERS or str(dtype) in TEXTS:
        return NO_NUMBERS.get(str(kind), "texts")
    first = _first(values)
    if isinstance(first, str | bytes):
        return "texts"
    return "numbers" if isinstance(first, int | float | np.number | np.bool_) else None


def _columns(rows: Any) -> list[tuple[str | None, Any]]:
    """The columns of a frame, with their names; all others as one."""
    names = names_of(rows)
    if names is None or len(set(names)) < len(names):
        return [(None, _row(rows))] if isinstance(rows, Listed) else [(None, rows)]
    return [(name, rows[name]) for name in names]


def _row(rows: Sequence[Any]) -> Any:
    """The first of a list of rows, whose values stand for those of all."""
    return rows[0] if len(rows) else rows


def _first(values: Any) -> Any:
    """The first value of a list or a column, or None."""
    if isinstance(values, np.ndarray):
        return values.ravel()[0] if values.size else None
    if hasattr(values, "iloc"):
        return values.iloc[0] if len(values) and values.ndim == 1 else None
    if isinstance(values, Listed) or hasattr(values, "to_list"):
        return values[0] if len(values) else None
    return None


def _shape(values: Any) -> tuple[int, ...] | None:
    """Of what has one, and of lists; None if nothing says it."""
    shape = getattr(values, "shape", None)
    if isinstance(shape, tuple):
        return shape
    if not isinstance(values, Listed):
        return None
    inner = _length(values[0]) if len(values) else None
    return (len(values),) if inner is None else (len(values), inner)


def _length(row: Any) -> int | None:
    return len(row) if isinstance(row, Sequence | np.ndarray) and not isinstance(row, str | bytes) else None


def _demand_dense(values: Any, name: str) -> None:
    if issparse(values):
        raise TypeError(f"{name} is sparse, and dense data is required: pass {name}.toarray()")
