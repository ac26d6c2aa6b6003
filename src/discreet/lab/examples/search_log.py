"""The lecture's search log: three users, five pairs of a query and a page, and how many may be drawn of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Final

from discreet.release import SearchLog

ROWS: Final = (
    ("081", "pregnancy test nyc", 2),
    ("081", "book", 3),
    ("081", "google", 15),
    ("082", "car", 2),
    ("082", "google", 7),
    ("083", "google", 17),
    ("083", "diabetes medicine", 1),
    ("083", "book", 1),
    ("083", "car", 5),
)
"""User, pair and count, as on the slide; pairs are named by the first words of their query."""
SLIDE: Final = {"book": 3, "google": 20, "car": 4}
"""The slide's optimal counts."""


@cache
def log() -> SearchLog:
    return SearchLog(ROWS)


def limit(epsilon: float, delta: float) -> float:
    """What each user may lose at most: ε, and −ln(1 − δ)."""
    return min(epsilon, -math.log1p(-delta))


@dataclass(frozen=True, slots=True)
class Drawn:
    """Counts within the constraints, what they mean for each user, and an output."""

    counts: Mapping[str, int]
    losses: Mapping[str, float]
    output: list[tuple[str, str, int]]

    @property
    def size(self) -> int:
        return sum(self.counts.values())


def best(most: float) -> dict[str, int]:
    """The counts with the longest output in which no user loses more than this, by trying all of them.

    What `SearchLog.optimal` finds by integer programming; here there are few enough to try. Of equally long ones it is
    the first.

    >>> best(0.5), best(1.0), best(5.0), best(20.0)
    ({}, {'google': 1}, {'google': 8}, {'book': 1, 'google': 34})
    """
    held = log()
    pairs = [pair for pair in held.pairs if pair not in held.suppressed]
    rates = {pair: _rates(pair) for pair in pairs}
    users = held.users
    longest: tuple[int, tuple[int, ...]] = (0, (0,) * len(pairs))
    for counts in product(*(range(held.totals[pair] + 1) for pair in pairs)):
        if sum(counts) > longest[0] and all(
            sum(n * rates[pair].get(user, 0.0) for n, pair in zip(counts, pairs, strict=True)) <= most for user in users
        ):
            longest = sum(counts), counts
    return {pair: n for pair, n in zip(pairs, longest[1], strict=True) if n}


def _rates(pair: str) -> dict[str, float]:
    """What drawing a pair once costs each of its users: ln(c/(c − own))."""
    total = log().totals[pair]
    return {user: math.log(total / (total - n)) for user, each, n in ROWS if each == pair}


def drawn(epsilon: float, delta: float) -> Drawn:
    """An output by the lecture's method for these limits."""
    return described(best(limit(epsilon, delta)))


def described(counts: Mapping[str, int]) -> Drawn:
    """What given counts mean, and an output of them."""
    held = log()
    return Drawn(counts, held.protection(counts).losses, held.sample(counts))
