"""What the mechanisms that choose one of several candidates share: scores become integers, costs become exponents.

Monotone scores: for any two neighbours D and D + unit, either no score is smaller on D + unit, or none is larger; each
differs by Δ at most. Which of the two may depend on D and on the unit, but not on the candidate. Counts are monotone,
and so are sums of values that have one sign; a score such as −|count − target| is not, nor is any under REPLACE_ONE,
where one unit goes and another comes. Rounding to a grid keeps what is monotone so, because it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.accounting.losses import Pure
from discreet.exact import Number, extent, flag, probability, whole
from discreet.exact import epsilon as positive
from discreet.late import np
from discreet.mechanisms.arrays import Integers, some_numbers
from discreet.mechanisms.grid import INTEGERS, Grid
from discreet.noise import Exponents

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, init=False, slots=True)
class Selection:
    """A choice by scores for ε: `sensitivity` Δ bounds how far one unit can move any of them."""

    epsilon: Fraction
    sensitivity: Fraction
    monotone: bool

    def __init__(self, epsilon: Number, *, sensitivity: Number, monotone: bool = False) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon))
        object.__setattr__(self, "sensitivity", extent(sensitivity, "sensitivity"))
        object.__setattr__(self, "monotone", flag(monotone, "monotone"))

    @property
    def loss(self) -> Pure:
        return Pure(self.epsilon)


def units(scores: ArrayLike, sensitivity: Fraction) -> tuple[Integers, int]:
    """The scores as integers, and how far one unit can move each of them.

    Integer scores stay as they are. Real ones are rounded half up to a power of two below a thousandth of the
    sensitivity, which lengthens the way of each by one step at most.
    """
    array = some_numbers(scores, "scores")
    if array.ndim != 1:
        raise ValueError(f"scores must be one-dimensional, one for each candidate, not of shape {array.shape}")
    if array.dtype == object:
        raise OverflowError("scores must fit 64-bit integers: use a larger unit")
    grid = score_grid(sensitivity)
    if grid is INTEGERS and array.dtype.kind != "f":
        return array, math.floor(sensitivity)
    grid = fine_grid(sensitivity)
    return grid.steps(array, "scores"), int(grid.distance(sensitivity))


def score_grid(sensitivity: Fraction) -> Grid:
    """Where integer scores live: on the integers, unless a unit moves them by less."""
    return INTEGERS if sensitivity >= 1 else fine_grid(sensitivity)


def fine_grid(sensitivity: Fraction) -> Grid:
    """Where real scores live."""
    return Grid.at_most(sensitivity / 1000)


def factor(*, monotone: bool) -> int:
    """2, or 1 where adding a unit can only raise scores, or only lower them: then all exponents move the same way."""
    return 1 if monotone else 2


def log_odds(exponents: Exponents) -> NDArray[np.float64]:
    """Every candidate's exponent less the best one's. Scores may be farther apart than int64 reaches."""
    gaps: NDArray[np.uint64] = (exponents.scores.max() - exponents.scores).view(np.uint64)
    return -gaps.astype(np.float64) * float(exponents.unit)


def tilt(epsilon: Number | None, rho: Number | None, choices: int = 1) -> Fraction:
    """The ε of each of so many choices by the exponential mechanism.

    Theorem  A choice with exponents of range ε is ε-DP and ε²/8-zCDP (Cesar & Rogers 2021, bounded range); so ρ allows
             choices of ε = √(8ρ/choices) each, rounded down.
    """
    if (epsilon is None) == (rho is None):
        raise TypeError("give either epsilon or rho")
    if epsilon is not None:
        return positive(epsilon) / choices
    return Fraction(math.isqrt(math.floor(8 * positive(rho, "rho") * 10**40 / choices)), 10**20)


def shortfall(epsilon: Fraction, sensitivity: Fraction, halves: int, confidence: Number, candidates: int) -> float:
    """By how much the choice may fall short of the best: P(shortfall ≥ R) ≤ candidates·exp(−εR/(halves·Δ))."""
    spare = float(1 - probability(confidence, "confidence"))
    return float(halves * sensitivity / epsilon) * math.log(whole(candidates, "candidates") / spare)
