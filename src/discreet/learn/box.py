"""Public bounds: where values may lie, and how they become integers."""

from __future__ import annotations

from collections.abc import Sequence
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
        """(low, high), each a number or one for every feature; `width` is the number of features, if it is known."""
        if bounds is None:
            raise Refused(
                "undeclared-bounds",
                f"{name} is missing, and the data must not say it",
                f"pass {name}=(low, high), with numbers or one for each feature, that you know without the data",
            )
        if isinstance(bounds, (str, bytes)) or not isinstance(bounds, (Sequence, np.ndarray)) or len(bounds) != 2:
            raise TypeError(f"{name} must be a pair (low, high) of numbers, or of arrays with one for each feature")
        low, high = (_listed(side, name) for side in bounds)
        length = max(len(low), len(high)) if width is None else width
        if not {len(low), len(high)} <= {1, length}:
            raise ValueError(f"{name} must hold one number or one for each of the {length} features")
        sides = low * (length // len(low)), high * (length // len(high))
        pairs = [interval(pair, f"{name}[{index}]") for index, pair in enumerate(zip(*sides, strict=True))]
        ends = np.array([[float(end) for end in pair] for pair in pairs], dtype=np.float64).reshape(length, 2)
        box = cls(ends[:, 0], ends[:, 1])
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


def _listed(side: Any, name: str) -> list[Any]:
    sides = np.asarray(side, dtype=object)
    if sides.ndim > 1 or not sides.size:
        raise ValueError(f"{name} must hold numbers, or one-dimensional arrays of them")
    return list(sides.ravel())
