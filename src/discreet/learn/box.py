"""Public bounds: where values may lie, and how they become integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refused
from discreet.exact import interval
from discreet.mechanisms.arrays import Integers

Floats = NDArray[np.float64]
NARROWEST: Final = float(np.finfo(np.float64).tiny)
"""Half-widths below may be rounded to zero, and what is divided by that is no number."""
FORMS: Final = (
    "a pair (low, high) of numbers or of arrays with one for each feature, a list with a pair for each feature, "
    "or pairs by the names of columns"
)


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """Lower and upper bounds of every feature, known without looking at the data.

    A value becomes the integer nearest to radius·(value − middle)/half-width, clipped to ±radius. Clipping comes last,
    so the integers lie within ±radius whatever float64 does, and each depends on its own value alone.
    """

    low: Floats
    high: Floats

    @classmethod
    def read(cls, bounds: object, width: int | None, name: str = "bounds") -> Box:
        """Bounds in any of their forms; `width` is the number of features, if it is known.

        (low, high), each a number or one for every feature; or a list with a pair (low, high) for each feature. By name
        they come in the order of columns that `placed` gives them, but for a single one, which needs none.
        """
        if bounds is None:
            raise Refused(
                "undeclared-bounds",
                f"{name} is missing, and the data must not say it",
                f"pass {name}=(low, high), with numbers or one for each feature, that you know without the data",
            )
        low, high = (_listed(side, name) for side in _sides(bounds, width, name))
        length = max(len(low), len(high)) if width is None else width
        if not {len(low), len(high)} <= {1, length}:
            raise ValueError(f"{name} must hold one number or one for each of the {length} features")
        apart = max(len(low), len(high))
        sides = low * (apart // len(low)), high * (apart // len(high))
        pairs = [interval(pair, f"{name}[{index}]") for index, pair in enumerate(zip(*sides, strict=True))]
        ends = np.array([[float(end) for end in pair] for pair in pairs], dtype=np.float64).reshape(apart, 2)
        box = cls(*np.broadcast_to(ends.T, (2, length)).copy())
        if (box.half < NARROWEST).any():
            raise ValueError(f"{name} must lie farther apart for float64: use another unit")
        return box

    @property
    def width(self) -> int:
        """The number of features."""
        return self.low.size

    @property
    def middle(self) -> Floats:
        return self.low / 2 + self.high / 2

    @property
    def half(self) -> Floats:
        return self.high / 2 - self.low / 2

    def feature(self, index: int) -> Box:
        """The bounds of one feature alone."""
        return Box(self.low[index : index + 1], self.high[index : index + 1])

    def steps(self, exact: Floats, radius: int | Integers) -> Integers:
        """Rows as integers within ±radius; a radius for all features, or one for each."""
        shares = (np.clip(exact, self.low, self.high) - self.middle) / self.half
        return np.clip(np.rint(shares * radius).astype(np.int64), -radius, radius)

    def points(self, shares: Floats) -> Floats:
        """Shares of the half-width, from −1 to 1, as values within the box."""
        return np.clip(self.middle + np.clip(shares, -1, 1) * self.half, self.low, self.high)


def is_named(given: object) -> bool:
    """Whether facts are given by the names of columns: by a mapping, or by the columns of a frame."""
    return isinstance(given, Mapping) or (hasattr(given, "columns") and hasattr(given, "shape"))


def named(given: Any) -> dict[str, Any]:
    """Facts by the names of columns; a frame has the low and the high end of each in two rows."""
    if isinstance(given, Mapping):
        return dict(given)
    return {name: tuple(given[name]) for name in given.columns}


def placed(given: Any, names: Sequence[str] | None, name: str) -> list[tuple[Any, Any]]:
    """Bounds that are given by name, as pairs in the order of the columns; what they say of others is left out."""
    table = named(given)
    if names is None:
        if len(table) == 1:
            return [_pair(next(iter(table.values())), name)]
        raise ValueError(f"{name} is by name, and the columns have none: pass a frame, or a list of pairs (low, high)")
    absent = [column for column in names if column not in table]
    if absent:
        raise ValueError(f"{name} says nothing of the column {absent[0]!r}: add {absent[0]!r}: (low, high)")
    return [_pair(table[column], f"{name}[{column!r}]") for column in names]


def _pair(given: Any, name: str) -> tuple[Any, Any]:
    pair = given.tolist() if isinstance(given, np.ndarray) else given
    interval(pair, name)
    return pair[0], pair[1]


def _sides(bounds: Any, width: int | None, name: str) -> tuple[Any, Any]:
    """The low and the high ends. For two features, pairs and ends look alike: see `_either`."""
    if is_named(bounds):
        bounds = placed(bounds, None, name)
    if isinstance(bounds, (str, bytes)) or not isinstance(bounds, (Sequence, np.ndarray)):
        raise TypeError(f"{name} must be {FORMS}")
    pairs = len(bounds) > 0 and all(np.ndim(side) == 1 and len(side) == 2 for side in bounds)
    if len(bounds) == 2 and not (pairs and width in (None, 2)):
        return bounds[0], bounds[1]
    if not pairs:
        raise TypeError(f"{name} must be {FORMS}")
    lows, highs = ([pair[end] for pair in bounds] for end in (0, 1))
    return (lows, highs) if len(bounds) != 2 else _either(bounds, (lows, highs), name)


def _either(bounds: Any, turned: tuple[list[Any], list[Any]], name: str) -> tuple[Any, Any]:
    """Of two features: a list of tuples has a pair for each, a tuple of lists or arrays has the low and the high ends.

    Other forms mean what makes low < high hold for both features, and are refused where both readings do.
    """
    inner = {tuple if isinstance(side, tuple) else list for side in bounds}
    ends = bounds[0], bounds[1]
    if isinstance(bounds, list) and inner == {tuple}:
        return turned
    if isinstance(bounds, tuple) and inner == {list}:
        return ends
    readings = [reading for reading in (ends, turned) if _ascending(*reading)]
    if len(readings) == 2:
        (one, two), (three, four) = (tuple(side) for side in bounds)
        raise ValueError(
            f"{name} can be read in two ways: write [({one}, {two}), ({three}, {four})], a list of tuples, for a pair "
            f"of each feature, or ([{one}, {two}], [{three}, {four}]), a tuple of lists, for low and high ends"
        )
    return readings[0] if readings else ends


def _ascending(lows: Any, highs: Any) -> bool:
    try:
        return all(interval(pair) for pair in zip(lows, highs, strict=True))
    except (TypeError, ValueError):
        return False


def _listed(side: Any, name: str) -> list[Any]:
    sides = np.asarray(side, dtype=object)
    if sides.ndim > 1 or not sides.size:
        raise ValueError(f"{name} must hold numbers, or one-dimensional arrays of them")
    return list(sides.ravel())
