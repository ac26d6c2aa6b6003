"""What rows lack of what a model says of them: integers that depend on the row alone, bit by bit.

They are held in float64, for its speed: it adds, multiplies and (see `lacking`) divides integers exactly below 2⁵³.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, Protocol

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.learn.box import Floats
from discreet.mechanisms.arrays import Integers

GRAIN: Final = 2**10
"""Steps to a unit of the score: of logarithmic odds, or three standard deviations of a number."""
FAR: Final = 16
"""Odds beyond e^16 are taken for certain."""
POWERS: Final = np.floor(2.0**20 * np.exp(-np.arange(FAR * GRAIN + 1) / GRAIN))
"""2²⁰·e^(−k/GRAIN), down to 0: from a table of integers, what a row does cannot depend on how a library rounds."""


class Target(Protocol):
    """What is learned: how far each row is from what the model says of it."""

    @property
    def outputs(self) -> int:
        """How many scores a row has."""

    @property
    def bends(self) -> bool:
        """Whether scores with the mean 0 change the mean of residuals."""

    @property
    def sensitivity(self) -> Sensitivity:
        """How far the residuals of one row go, in units."""

    def residuals(self, scores: Floats, rows: slice, fine: int) -> Floats:
        """What each of these rows lacks, a line for each score, in `fine` steps to a unit."""


@dataclass(frozen=True, slots=True)
class OneClass:
    """Rows of one class: y − p for each class, or for the second of two; shortened to ½ for the rows' own.

    Theorem  l1 ≤ 1 and l2² ≤ ½; for two classes, ½ and ¼.
    Proof    In m steps p is ⌊m·wᵢ/Σw⌋ for integers w ≥ 0, so a row's own residual is r = m − p ≥ 0 and the others are
             −p, adding up to −r at least. Where r > m/2, each is multiplied by m/2r and rounded towards 0. So the own
             one is at most m/2, and the others add up to m/2 at most, their squares to m²/4.
    """

    own: int
    classes: int

    @property
    def outputs(self) -> int:
        return 1 if self.classes == 2 else self.classes

    @property
    def bends(self) -> bool:
        return True

    @property
    def sensitivity(self) -> Sensitivity:
        return (
            Sensitivity(Fraction(1, 2), Fraction(1, 4))
            if self.outputs == 1
            else Sensitivity(Fraction(1), Fraction(1, 2))
        )

    def residuals(self, scores: Floats, rows: slice, fine: int) -> Floats:  # noqa: ARG002
        if self.outputs > 1:
            return lacking(scores, self.own, fine)
        return _of_two(self.own, fine).take(scores.astype(np.intp) + FAR * GRAIN, mode="clip")


def lacking(scores: Floats, own: int, fine: int) -> Floats:
    """The residuals of rows of one class, a line for each class.

    Lemma  ⌊a/b⌋ is exact in float64 for integers a ≥ 0 and b > 0 with a + b < 2⁵³; also where b is divided by a power
           of two, as `fine` is, in place of a multiplied. Proof: the next integer n above a/b is at least 1/b away. As
           n ≤ (a + b)/b, float64s just below n lie within n/2⁵² < 2/b of each other, so a/b is not rounded up to n.
    """
    missing: Floats = scores.max(axis=0) - scores
    POWERS.take(missing.astype(np.intp), mode="clip", out=missing)
    missing /= missing.sum(axis=0) / fine
    np.floor(missing, out=missing)
    missing[own] -= fine
    missing /= np.maximum(-missing[own], fine // 2) / (-fine // 2)
    return np.trunc(missing, out=missing)


@lru_cache(maxsize=4)
def _of_two(own: int, fine: int) -> Floats:
    """Of two classes, the residual of the second for every score from −FAR to FAR, beyond which it stays the same."""
    every = np.arange(-FAR * GRAIN, FAR * GRAIN + 1.0)
    table: Floats = lacking(np.vstack([np.zeros_like(every), every]), own, fine)[1]
    return table


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """The number of each row: the residual is clipped to half a unit.

    Theorem  l1 ≤ ½ and l2² ≤ ¼. Proof: one integer, clipped to ±m/2 where m steps are a unit.
    """

    steps: Integers
    """GRAIN to a unit."""

    @property
    def outputs(self) -> int:
        return 1

    @property
    def bends(self) -> bool:
        return False

    @property
    def sensitivity(self) -> Sensitivity:
        return Sensitivity(Fraction(1, 2), Fraction(1, 4))

    def residuals(self, scores: Floats, rows: slice, fine: int) -> Floats:
        residuals: Floats = np.trunc(np.clip(self.steps[rows] - scores, -GRAIN // 2, GRAIN // 2) * (fine / GRAIN))
        return residuals
