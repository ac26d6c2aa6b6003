"""Missing values: NULL, None, NaN and infinity, handled as the caller declared, row by row.

Theorem  What is declared leaves the loss as it is. Proof: a row becomes no row or one row, by its own values and public
         bounds alone; so neighbours (one row more) become neighbours or the same rows.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.learn.box import Floats
from discreet.learn.labels import Array

DROP: Final = "drop"
IMPUTE: Final = "impute to midpoint"
WAYS: Final = (DROP, IMPUTE)
Mask = NDArray[np.bool_]


def check(missing: object, middle: Floats | None) -> None:
    """Explain what is no way to handle missing values; where features have no bounds there is no midpoint."""
    if missing is not None and missing not in WAYS:
        raise ValueError(f"missing must be {DROP!r}, {IMPUTE!r} or None, not {missing!r}")
    if missing == IMPUTE and middle is None:
        raise ValueError(f"categories have no midpoint: use missing={DROP!r}")


def is_there(values: Array) -> Mask:
    """Whether each value is one: of numbers, a finite one."""
    if values.dtype.kind == "f":
        return np.isfinite(values)
    if values.dtype.kind != "O":
        return np.ones(values.shape, dtype=np.bool_)
    each = [_is_value(value) for value in values.ravel().tolist()]
    return np.array(each, dtype=np.bool_).reshape(values.shape)


def complete(
    exact: Array, labels: Array | None, missing: str | None, middle: Floats | None
) -> tuple[Array, Array | None]:
    """Rows without missing values: they are dropped, or features are imputed. A row without a label is dropped."""
    if missing is None:
        return exact, labels
    there = known(exact, labels, missing, middle)
    if missing == IMPUTE and middle is not None:
        exact = imputed(exact, middle)
    return exact[there], None if labels is None else labels[there]


def known(exact: Array, labels: Array | None, missing: str | None, middle: Floats | None) -> Mask:
    """Which rows `complete` does not drop."""
    there = np.ones(len(exact), dtype=np.bool_)
    if missing is not None and labels is not None:
        there &= is_there(labels)
    imputes = missing is None or (missing == IMPUTE and middle is not None)
    return there if imputes else there & is_there(exact).all(axis=1)


def imputed(rows: Array, middle: Floats) -> Array:
    """The midpoint of the bounds in place of what is missing."""
    return np.where(is_there(rows), rows, middle)


def _is_value(value: Any) -> bool:
    try:
        return value is not None and bool(value == value) and value not in (np.inf, -np.inf)
    except TypeError:  # pandas.NA is neither equal nor unequal to anything
        return False
