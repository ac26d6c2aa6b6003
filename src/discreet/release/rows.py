"""Exact rows on their way into a publication, column by column; they leave it through its exit alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.exit.sampler import Cell
from discreet.mechanisms.arrays import Integers

Column = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Columns of equal length, of which one unit has at most `most` rows."""

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    """Python's own values; NULL is None."""
    most: int = 1
    units: Integers | None = None
    """Whose each row is, by a number; None where each row is its own unit."""

    @classmethod
    def read(cls, rows: Sequence[tuple[Any, ...]], names: Sequence[str], most: int, *, with_unit: bool) -> Self:
        """Rows as an engine gives them, with their unit first if they have one here."""
        listed = list(zip(*rows, strict=True)) if rows else [()] * (len(names) + with_unit)
        units = _numbered(listed.pop(0)) if with_unit else None
        return cls(tuple(names), tuple(_objects(values) for values in listed), most, units)

    @classmethod
    def of(cls, data: Any, names: Sequence[str]) -> Self:
        """Rows that the caller owns, one for each unit: a frame, a mapping of columns, or rows of as many values."""
        labels = getattr(data, "columns", None)
        if isinstance(data, Mapping) or labels is not None:
            missing = [name for name in names if name not in (data if labels is None else list(labels))]
            if missing:
                raise ValueError(f"the data have no column {missing[0]!r}; needed are: {', '.join(names)}")
            columns = [_values(data[name]) for name in names]
        else:
            table = data.tolist() if isinstance(data, np.ndarray) else list(data)
            rows = [tuple(row) if isinstance(row, list | tuple) else (row,) for row in table]
            if any(len(row) != len(names) for row in rows):
                raise ValueError(f"rows need {len(names)} values each: {', '.join(names)}")
            columns = [_objects(values) for values in zip(*rows, strict=True)] if rows else [_objects(())] * len(names)
        if len({len(column) for column in columns}) > 1:
            raise ValueError("columns need the same length")
        return cls(tuple(names), tuple(columns))

    def owned(self, name: str, most: int) -> Self:
        """The same rows without the column that says whose they are; of a unit, so many count.

        Rows of nobody are dropped: as one unit they would be several people.
        """
        index = self.names.index(name)
        names, columns = list(self.names), list(self.columns)
        del names[index]
        owners = [repr(owner) if _is_somebody(owner) else None for owner in columns.pop(index).tolist()]
        inside = np.array([owner is not None for owner in owners], dtype=np.bool_)
        units = _numbered([owner for owner in owners if owner is not None])
        held = tuple(column[inside] for column in columns)
        return replace(self, names=tuple(names), columns=held, most=most, units=units)

    def mapped(self, change: Callable[[Any], Any]) -> Self:
        """The same rows with every value changed, by itself."""
        return replace(self, columns=tuple(_objects([change(value) for value in column]) for column in self.columns))

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def column(self, name: str) -> list[Any]:
        """The exact values of a column."""
        lowered = [label.lower() for label in self.names]
        values: list[Any] = self.columns[lowered.index(name.lower())].tolist()
        return values

    def units_by_value(self, name: str) -> dict[Cell, int]:
        """For each text of a column how many units have it; NULL is none."""
        values = self.column(name)
        owners = range(len(values)) if self.units is None else self.units.tolist()
        pairs = {(value, owner) for value, owner in zip(values, owners, strict=True) if isinstance(value, str)}
        counts: dict[Cell, int] = {}
        for value, _ in pairs:
            counts[(value,)] = counts.get((value,), 0) + 1
        return counts


def _is_somebody(owner: Any) -> bool:
    return isinstance(owner, str | int) or (isinstance(owner, float) and owner == owner)


def _numbered(units: Sequence[Any]) -> Integers:
    """Equal units have equal numbers."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(unit, len(numbers)) for unit in units], dtype=np.int64)


def _objects(values: Sequence[Any]) -> Column:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _values(column: Any) -> Column:
    """A column of a frame or of a mapping as Python's values; what a frame calls missing is None."""
    missing = column.isna().to_numpy() if hasattr(column, "isna") else None
    array = column.to_numpy() if hasattr(column, "to_numpy") else column
    if isinstance(array, np.ndarray):
        if array.ndim != 1:
            raise ValueError("columns have one dimension")
        values = (array.astype("datetime64[us]") if array.dtype.kind == "M" else array).tolist()
    else:
        values = list(array)
    objects = _objects(values)
    if missing is not None:
        objects[missing] = None
    return objects
