"""A set of rows, and what is public about it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

FITS: Final = int(os.environ.get("DISCREET_FITS", "20"))
TOO_WIDE: Final = 30
"""How many times wider than it need be an owner declares what he may not look at."""


@dataclass(frozen=True, slots=True, eq=False)
class Set:
    """Rows with their labels or numbers to predict, and what is public about them."""

    name: str
    rows: Any
    labels: Any
    """Classes or numbers to predict; None where there is nothing to predict."""
    low: Any
    high: Any
    ends: tuple[float, float] | None = None
    """Between which numbers to predict lie; None for classes."""

    @property
    def classes(self) -> Any:
        return np.unique(self.labels)

    @property
    def splits(self) -> Any:
        """Which rows are learned from, three quarters of them each time."""
        dice = np.random.default_rng(2)
        return np.array([dice.permutation(len(self.rows)) < 0.75 * len(self.rows) for _ in range(FITS)])

    def each(self) -> Iterator[tuple[Any, Any, Any, Any]]:
        for train in self.splits:
            yield self.rows[train], self.labels[train], self.rows[~train], self.labels[~train]

    def save(self, path: Path, fits: int, **more: Any) -> None:
        """With the first so many splits."""
        arrays = {"rows": self.rows, "low": self.low, "high": self.high}
        if self.labels is not None:
            arrays["labels"] = self.labels
        np.savez(path, **arrays, splits=self.splits[:fits], **more)

    def widened(self, times: float = TOO_WIDE) -> Set:
        """The same rows with bounds so many times as wide and off centre, one feature up, the next one down."""
        low, high = wider(self.low, self.high, times, np.arange(len(self.low)) % 2 == 0)
        if self.ends is None:
            return replace(self, low=low, high=high)
        bottom, top = wider(*self.ends, times, True)
        return replace(self, low=low, high=high, ends=(float(bottom), float(top)))

    def at_most(self, rows: int) -> Set:
        """So many of the rows, always the same ones."""
        if len(self.rows) <= rows:
            return self
        some = np.sort(np.random.default_rng(4).permutation(len(self.rows))[:rows])
        return replace(self, rows=self.rows[some], labels=None if self.labels is None else self.labels[some])


def wider(low: Any, high: Any, times: float, upwards: Any) -> tuple[Any, Any]:
    """Five sixths of what is added lie on one side."""
    more = (times - 1) * (np.asarray(high) - low)
    below = np.where(upwards, more / 6, more * 5 / 6)
    return low - below, high + (more - below)
