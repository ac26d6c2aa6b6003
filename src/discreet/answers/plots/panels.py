"""Panels: what is drawn of one column, as plain values.

Records have fixed field names, since columns may be called anything; titles carry the names.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

Record = dict[str, Any]
MOST_BARS: Final = 40
"""Numbers along an axis that have room for a bar each."""
MOST_BANDS: Final = 2
"""Bands that can lie upon each other; more get a small chart each, and so do more than so many dots of one key."""
MOST_BESIDE: Final = 4
NEAR: Final = 0.4
"""Zero is on the scale if the least value is below this part of the largest."""
DOT: Final = 13.0
LINE: Final = 3.0
"""Pixels that a dot (of 10, with its edge) and a line hide: an interval has to be longer to be seen."""
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
    order: tuple[str, ...] = ()
    """The labels in an order of their own."""

    @property
    def domain(self) -> list[str]:
        """The labels in the answer's order, or in their own."""
        present = dict.fromkeys(self.labels)
        return [label for label in self.order if label in present] if self.order else list(present)

    def cut(self, rows: Sequence[int]) -> Axis:
        places, labels = (tuple(each[row] for row in rows) for each in (self.places, self.labels))
        return replace(self, places=places, labels=labels)


@dataclass(frozen=True, slots=True)
class Panel:
    """What is drawn of one column."""

    name: str
    axis: Axis
    by: Axis | None
    records: list[Record]
    words: str = ""
    """What the column is, for titles; its name where that says enough."""

    @property
    def title(self) -> str:
        return self.words or self.name

    @property
    def axis_title(self) -> str:
        """The words, and the name that the table has."""
        named = f"{self.title} ({self.name})" if self.title != self.name and is_short(self.name) else self.title
        return f"{named}, logarithmic" if self.is_logarithmic else named

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
        """Whether each part gets a chart of its own: bands that overlap cannot be read, nor can crowds of dots."""
        if self.by is None:
            return False
        parts = len(self.by.domain)
        if self.axis.kind in ("bars", "bins"):
            return True
        if is_series(self):
            return parts > MOST_BANDS
        crowded = self.axis.kind == "ordinal" and parts * len(self.axis.domain) > MOST_BARS
        return parts > MOST_BESIDE or crowded

    @property
    def ends(self) -> tuple[float, float]:
        """Of the scale: from zero where zero is near; else the differences would be too small to see."""
        numbers = self.numbers or [0.0]
        low, high = min(numbers), max(numbers)
        if self.is_logarithmic:
            return low, high
        if 0 <= low <= NEAR * high:
            low = 0
        room = (high / 25 - low / 25) or abs(high) / 10 or 1.0
        most = sys.float_info.max
        return low and max(low - room, -most), min(high + room, most)

    def seen(self, pixels: float) -> tuple[bool, bool]:
        """Whether some intervals can be seen beside their dots or lines, and whether all can, on so many pixels."""
        low, high = self.ends
        position: Callable[[float], float] = math.log10 if self.is_logarithmic else (lambda value: value / 2)
        whole = position(high) - position(low) or 1.0
        covered = LINE if is_series(self) else DOT
        drawn = [(r["low"], r["high"]) for r in self.records if r["low"] is not None and r["value"] is not None]
        shown = [(position(most) - position(least)) / whole * pixels > covered for least, most in drawn]
        return any(shown), all(shown)


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


def bars_told(panels: Sequence[Panel], confidence: str, pixels: float) -> str:
    """What is said of the intervals: that there are bars or bands only where they can be seen."""
    said = dict.fromkeys(_told(panel, confidence, pixels) for panel in panels if panel.has_bars)
    return " · ".join(said)


def _told(panel: Panel, confidence: str, pixels: float) -> str:
    if panel.axis.kind in ("bars", "bins"):
        return f"whiskers {confidence}"
    name, mark = ("band", "line") if is_series(panel) else ("bars", "dots")
    some, every = panel.seen(pixels)
    if every:
        return f"{name} {confidence}"
    hidden = f"intervals ({confidence}) narrower than the {mark}"
    return f"{name} {confidence}, or {hidden}" if some else hidden


def is_short(name: str) -> bool:
    """Whether a name is too short to say anything."""
    return len(name) < 3
