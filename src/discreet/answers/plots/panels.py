"""Panels: what is drawn of one column, as plain values.

Records have fixed field names, since columns may be called anything; titles carry the names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from discreet.answers.plots.theme import COLOURS

Record = dict[str, Any]
MOST_BARS: Final = 40
"""Numbers along an axis that have room for a bar each."""
_EXACT: Final = 2**53


@dataclass(frozen=True, slots=True)
class Axis:
    """A column of keys: `text`, `time`, `number`, `ordinal` (numbers or times, one of them NULL), `none`."""

    title: str
    kind: str
    places: tuple[Any, ...] = ()
    """Where each row stands on the axis."""
    labels: tuple[str, ...] = ()
    """The key of each row as text."""

    @property
    def domain(self) -> list[str]:
        """The labels in the answer's order."""
        return list(dict.fromkeys(self.labels))

    def cut(self, rows: Sequence[int]) -> Axis:
        return Axis(self.title, self.kind, tuple(self.places[r] for r in rows), tuple(self.labels[r] for r in rows))


@dataclass(frozen=True, slots=True)
class Panel:
    """What is drawn of one column."""

    name: str
    axis: Axis
    by: Axis | None
    records: list[Record]

    @property
    def has_bars(self) -> bool:
        return any(record["low"] is not None for record in self.records)

    @property
    def numbers(self) -> list[float]:
        """All that must be on the scale."""
        return [record[end] for record in self.records for end in ("value", "low", "high") if record[end] is not None]

    @property
    def is_logarithmic(self) -> bool:
        """Whether everything is positive and covers more than three orders of magnitude."""
        numbers = self.numbers
        return bool(numbers) and min(numbers) > 0 and max(numbers) / min(numbers) > 1_000

    @property
    def is_faceted(self) -> bool:
        return self.by is not None and len(self.by.domain) > len(COLOURS)


def drawable(value: Any) -> float | None:
    """A number as a chart holds it: integers beyond 2⁵³ become floats; None for what is no finite number.

    >>> drawable(7), drawable(2**60), drawable(math.nan), drawable(10**400), drawable("a")
    (7, 1.152921504606847e+18, None, None, None)
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int) and abs(value) <= _EXACT:
        return value
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def is_series(panel: Panel) -> bool:
    """Whether values are joined by a line: along time, and along numbers if bars would hide each other."""
    crowded = panel.by is not None or len(panel.axis.domain) > MOST_BARS
    return panel.axis.kind == "time" or (panel.axis.kind == "number" and crowded)


def cost_and_bars(cost: str, panels: Sequence[Panel], confidence: str) -> str:
    """The line under the title."""
    kinds = {True: "band", False: "bars"}
    drawn = dict.fromkeys(kinds[is_series(panel)] for panel in panels if panel.has_bars)
    return ", ".join([cost, *([f"{' and '.join(drawn)} {confidence}"] if drawn else [])])
