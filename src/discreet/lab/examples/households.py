"""Counts of households from a country down to its ZIP codes: noise at every level, and one table that adds up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import number
from discreet.lab.invented import below
from discreet.mechanisms import Laplace
from discreet.release.tree import Places

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
STATES, COUNTIES, ZIPS = 5, 10, 20
"""Of the country, of each state, of each county."""
LEVELS: Final = ("country", "state", "county", "ZIP code")
HOME: Final = ("state 1", "county 1", "82414")
HOUSEHOLDS: Final = 6_898
"""In 82414, as the lecture has it."""
SHARES: Final = {
    "leaves": (0, 0, 0, 1),
    "equal": (1, 1, 1, 1),
    "top": (4, 2, 1, 1),
}
"""Parts of ε that the levels have."""


@cache
def places() -> Places:
    paths = []
    for state in range(STATES):
        for county in range(COUNTIES):
            for zip_ in range(ZIPS):
                name = HOME[2] if state == county == zip_ == 0 else f"ZIP {zip_ + 1}"
                paths.append((f"state {state + 1}", f"county {county + 1}", name))
    return Places(tuple(paths))


@cache
def exact() -> tuple[Integers, ...]:
    """Invented households of every place, by level: many small ZIP codes, a few large ones, and 82414."""
    leaves = (10 + below("households", 60, len(places().paths)) ** 2).astype(np.int64)
    leaves[0] = HOUSEHOLDS
    return tuple(np.asarray(level, dtype=np.int64) for level in places().added(leaves))


@dataclass(frozen=True, slots=True)
class Census:
    """Counts by level: as measured, as made to add up, and as whole numbers that are not negative."""

    measured: tuple[Floats, ...]
    """Where a level was not measured, what is below it adds up to."""
    consistent: tuple[Floats, ...]
    whole: tuple[Integers, ...]
    scales: tuple[float, ...]
    """Of the noise at each level; 0 where nothing was measured."""

    def gap(self) -> float:
        """By how much the measured states miss the measured country."""
        return float(abs(self.measured[1].sum() - self.measured[0][0]))


UNMEASURED: Final = 1e18
"""The variance of a level that was not measured: what is below it decides."""


def _mechanisms(epsilon: float, way: str) -> list[Laplace | None]:
    """Of each level. Every household is in one place of each: levels share ε, and the places of one cost once."""
    shares = SHARES[way]
    parts = [number(epsilon, "epsilon") * Fraction(share, sum(shares)) for share in shares]
    return [Laplace(epsilon=part, sensitivity=1) if part else None for part in parts]


def _variances(mechanisms: Sequence[Laplace | None]) -> list[Floats]:
    return [
        np.full(len(level), UNMEASURED if mechanism is None else mechanism.variance())
        for level, mechanism in zip(exact(), mechanisms, strict=True)
    ]


def expected(epsilon: float, way: str) -> tuple[list[float], list[float]]:
    """The typical error of a count of each level, as measured and after all levels were made to add up.

    >>> before, after = expected(1, "equal")
    >>> all(late <= early for early, late in zip(before, after))
    True
    """
    mechanisms = _mechanisms(epsilon, way)
    after = [math.sqrt(float(level.mean())) for level in places().spreads(_variances(mechanisms))]
    measured = [
        late if each is None else math.sqrt(each.variance()) for each, late in zip(mechanisms, after, strict=True)
    ]
    return measured, after


def census(epsilon: float, way: str) -> Census:
    """Noise at each level that has a share, least squares, whole numbers: the last two are post-processing."""
    mechanisms = _mechanisms(epsilon, way)
    noisy = [
        np.zeros(len(level)) if mechanism is None else np.asarray(mechanism.release(level), dtype=np.float64)
        for level, mechanism in zip(exact(), mechanisms, strict=True)
    ]
    consistent = places().smoothed(noisy, _variances(mechanisms))
    measured = tuple(
        smoothed if mechanism is None else level
        for level, mechanism, smoothed in zip(noisy, mechanisms, consistent, strict=True)
    )
    whole = places().whole(consistent, [{} for _ in consistent])
    scales = tuple(0.0 if mechanism is None else float(mechanism.scale) for mechanism in mechanisms)
    return Census(measured, tuple(consistent), tuple(whole), scales)
