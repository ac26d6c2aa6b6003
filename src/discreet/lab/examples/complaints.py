"""Complaints: whoever may count five times needs five times the noise."""

from __future__ import annotations

from typing import Final

from discreet.mechanisms import Laplace

SENT: Final = {1: 412, 2: 131, 3: 48, 4: 22, 5: 17, 6: 5, 8: 3, 12: 2, 20: 1}
"""How many people sent how many complaints on an invented day."""
TRUE: Final = sum(many * people for many, people in SENT.items())
MAX_SENT: Final = max(SENT)
LECTURE: Final = 5


def counted(limit: int) -> int:
    """The complaints that are counted if nobody's count for more than the limit.

    >>> counted(20) == TRUE, counted(1)
    (True, 641)
    """
    return sum(min(many, limit) * people for many, people in SENT.items())


def half_width(epsilon: float, limit: int) -> float:
    """How far 95 % of the noise lies at most, if nobody counts for more than the limit."""
    return Laplace(epsilon=epsilon, sensitivity=limit).error(0.95)


def best_limit(epsilon: float) -> int:
    """The limit with the least left out and noise together."""
    return min(range(1, MAX_SENT + 1), key=lambda limit: TRUE - counted(limit) + half_width(epsilon, limit))
