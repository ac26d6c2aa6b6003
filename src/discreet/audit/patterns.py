"""Pairs of neighbouring inputs on which mechanisms tend to break: for `estimate(…, patterns=…)`.

Each moves a mechanism of sensitivity 1 as far as its claim allows, and no further.
"""

from __future__ import annotations

import math
from typing import Any, Final

Pairs = tuple[tuple[Any, Any], ...]

NUMBERS: Final[Pairs] = (
    (0, 1),
    (0, -1),
    (41, 42),
    (10**6, 10**6 + 1),
    (2**31 - 1, 2**31),
    (2**53, 2**53 + 1),
    (0.0, 1.0),
    (0.1, 1.1),
    (1 / 3, 4 / 3),
)
"""A number moves by 1: near zero, far from it, over the edges of machine integers, and with other last bits."""

ONE_CELL: Final[Pairs] = (
    ([0] * 5, [1, 0, 0, 0, 0]),
    ([3, 1, 4, 1, 5], [3, 1, 4, 2, 5]),
    ([0] * 16, [0] * 15 + [1]),
)
"""One count of several moves by 1."""

ALL_CELLS: Final[Pairs] = (
    ([0] * 5, [1] * 5),
    ([0] * 5, [1, -1, -1, -1, -1]),
    ([0] * 10, [1] * 5 + [-1] * 5),
    ([-1] * 12 + [1], [0] * 13),
    ([5, 5, 5], [4, 6, 6]),
)
"""All scores move by up to 1, together or against each other: for choices and thresholds."""

ROWS: Final[Pairs] = (
    ([], [1.0]),
    ([], [0.0]),
    ([0.5], [0.5, 1.0]),
    ([0.2, 0.4], [0.2, 0.4, 0.9]),
    ([1.0] * 20, [1.0] * 20 + [0.0]),
    ([0.5], [0.5, 1e300]),
    ([0.5], [0.5, math.inf]),
    ([0.5], [0.5, math.nan]),
    ([0.5], [0.5, -7.0]),
)
"""One row is added: to nothing, to few, to many alike; an extreme, a number out of bounds, and what is no number."""
