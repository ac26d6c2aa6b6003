"""Exact rows on their way into a publication, column by column; they leave it through its exit alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from discreet.exit.sampler import Cell
from discreet.mechanisms.arrays import Integers
from discreet.release.columns import Column, objects


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Columns of equal length, of which one unit has at most `most` rows."""

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    most: int = 1
    units: Integers | None = None
    """Whose each row is, by a number; None where each row is its own unit."""

    @classmethod
    def read(cls, columns: Sequence[Column], names: Sequence[str], most: int, *, with_unit: bool) -> Self:
        """Columns as an engine gives them, with their unit first if they have one here."""
        units = _numbered(columns[0].listed()) if with_unit else None
        return cls(tuple(names), tuple(columns[with_unit:]), most, units)

    @classmethod
    def of(cls, data: Any, names: Sequence[str]) -> Self:
        """Rows that the caller owns, one for each unit: a frame, a mapping of columns, or rows of as many values."""
        labels = getattr(data, "columns", None)
        if isinstance(data, Mapping) or labels is not None:
            missing = [name for name in names if name not in (data if labels is None else list(labels))]
            if missing:
                raise ValueError(f"the data have no column {missing[0]!r}; needed are: {', '.join(names)}")
            columns = [Column.of(data[name]) for name in names]
        else:
            table = data.tolist() if isinstance(data, np.ndarray) else list(data)
            rows = [tuple(row) if isinstance(row, list | tuple) else (row,) for row in table]
            if any(len(row) != len(names) for row in rows):
                raise ValueError(f"rows need {len(names)} values each: {', '.join(names)}")
            listed = zip(*rows, strict=True) if rows else ((),) * len(names)
            columns = [Column(objects(values)) for values in listed]
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
        owners = [repr(owner) if _is_somebody(owner) else None for owner in columns.pop(index).listed()]
        inside = np.array([owner is not None for owner in owners], dtype=np.bool_)
        units = _numbered([owner for owner in owners if owner is not None])
        held = tuple(column.where(inside) for column in columns)
        return replace(self, names=tuple(names), columns=held, most=most, units=units)

    def mapped(self, change: Callable[[Any], Any]) -> Self:
        """The same rows with every value changed, by itself."""
        return replace(
            self,
            columns=tuple(Column(objects([change(value) for value in column.listed()])) for column in self.columns),
        )

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def array(self, name: str) -> Column:
        """A column of exact values."""
        lowered = [label.lower() for label in self.names]
        return self.columns[lowered.index(name.lower())]

    def column(self, name: str) -> list[Any]:
        """The exact values of a column, as Python has them."""
        return self.array(name).listed()

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
