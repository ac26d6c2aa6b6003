"""ZIP code 82414: invented incomes with the lecture's mean, one very rich household, and means with and without it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import BoundedMean, Estimate

HOME: Final = "82414"
PLACES: Final = {
    HOME: (6_898, 79_083),
    "A": (4_210, 71_420),
    "B": (2_360, 66_905),
    "C": (980, 58_310),
    "D": (310, 63_770),
}
"""Households and their mean income: the lecture's for 82414, invented for its neighbours."""
SPREAD: Final = 0.7
"""Of the logarithm of incomes."""


@cache
def incomes(area: str) -> NDArray[np.int64]:
    """Invented incomes of a place in whole dollars: log-normal quantiles with exactly the stated mean."""
    many, mean = PLACES[area]
    normal = NormalDist()
    shape = np.exp([SPREAD * normal.inv_cdf((number + 0.5) / many) for number in range(many)])
    dollars: NDArray[np.int64] = np.floor(shape * (mean * many / shape.sum())).astype(np.int64)
    dollars[: mean * many - int(dollars.sum())] += 1
    return dollars


@dataclass(frozen=True, slots=True)
class Place:
    """A place as it is published."""

    area: str
    exact: float
    private: Estimate[float]


def published(house: int, where: str, mechanism: BoundedMean) -> list[Place]:
    """The mean of every place, exactly and privately, with the house where it stands."""
    places = []
    for area in PLACES:
        households = np.append(incomes(area), house) if area == where else incomes(area)
        places.append(Place(area, float(households.mean()), mechanism.estimate(households)))
    return places
