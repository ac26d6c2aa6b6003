"""Sums of clipped gradients of the logistic loss, exactly, and the descent along noisy ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.exit.exit import Watch
from discreet.learn.box import Floats
from discreet.learn.gram import BLOCK, lengths
from discreet.mechanisms.arrays import Integers

TABLE: Final = 10
"""Scores are read to so many bits after the point."""
EXPONENTIALS: Final[Floats] = np.exp(-np.arange(2**15 + 1) / 2**TABLE)
"""e⁻ˢ for scores from 0 to 32. A table has one answer for a score; `np.exp` may have another in another place."""
CHANCES: Final[Floats] = np.concatenate([EXPONENTIALS[:0:-1], np.ones(len(EXPONENTIALS))]) / (
    1 + np.concatenate([EXPONENTIALS[:0:-1], EXPONENTIALS])
)
"""The probability of the second of two classes, for scores from −32 to 32."""
LARGEST: Final = 2.0**10
"""Weights are held within ±this, on a grid so that scores are sums of whole numbers below 2⁵³."""
MARGIN: Final = 1 - 2.0**-30
"""More than all rounding errors of a row's factor together."""


@dataclass(frozen=True, slots=True)
class Clip:
    """How long the gradient of a row may be: a share of a long one, in an L1 or L2 norm.

    The gradient is r ⊗ a: the row a = (1, x), once for each column, times its residuals r: the probabilities less the
    truth. One column (for two classes) has |r| ≤ 1, several have Σ|r| ≤ 2 and Σr² ≤ 2.
    """

    share: Fraction
    norm: int
    side: int
    columns: int
    length: Fraction
    """Of a long gradient the L1 norm, or the square of the L2 norm."""

    @classmethod
    def longest(cls, share: Fraction, norm: int, side: int, columns: int) -> Self:
        """A share of the longest gradient that there is if |aᵢ| ≤ 1."""
        return cls(share, norm, side, columns, Fraction(side * (1 if columns == 1 else 2)))

    def limit(self, steps: int) -> int:
        """In squares of steps."""
        if self.norm == 1:
            return max(math.floor(self.share * self.length * steps**2), 1)
        return max(math.isqrt(math.floor(self.share**2 * self.length * steps**4)), 1)

    def sensitivity(self, steps: int) -> Sensitivity:
        """How far a row moves the sum of clipped gradients, in squares of steps.

        Theorem  l1 ≤ limit, or l2 ≤ limit; then l2 ≤ l1, and l1² ≤ numbers·l2² by Cauchy and Schwarz.
        Proof    `Examples.gradient` multiplies residuals by at most limit/(‖r‖·‖a‖) and cuts them towards zero, and
                 ‖r ⊗ a‖ = ‖r‖·‖a‖ in both norms. `MARGIN` outweighs what float64 rounds.
        """
        limit = self.limit(steps)
        total = limit if self.norm == 1 else math.isqrt(limit**2 * self.side * self.columns)
        return Sensitivity(Fraction(total), Fraction(limit**2))


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Rows in steps, whole numbers all of them, with the places of their classes."""

    rows: Floats
    sizes: Floats
    """The norms of the rows."""
    places: Integers
    steps: int
    clip: Clip

    @classmethod
    def of(cls, blocks: Iterable[Integers], places: Integers, side: int, steps: int, clip: Clip) -> Self:
        rows, sizes, start = np.empty((len(places), side)), np.empty(len(places)), 0
        for block in blocks:
            part = slice(start, start := start + len(block))
            rows[part], sizes[part] = block, lengths(block, clip.norm)
        return cls(rows, sizes, places, steps, clip)

    def gradient(self, weights: Floats) -> Integers:
        """The exact sum of all rows' clipped gradients in squares of steps; each of them depends on its row alone.

        Sums are of whole numbers below 2⁵³, which float64 adds exactly; the rest is elementwise in operations that
        IEEE 754 rounds correctly, so that no row can tell where it stands or who is beside it.
        """
        grid = _grid(self.clip.side)
        whole = np.rint(np.clip(weights, -LARGEST, LARGEST) * 2**grid)
        shift = grid + self.steps.bit_length() - 1 - TABLE
        gradient = np.zeros(weights.shape, dtype=np.int64)
        for start in range(0, len(self.rows), BLOCK):
            part = slice(start, start + BLOCK)
            rows = self.rows[part]
            scores = (rows @ whole.T).astype(np.int64).T
            residuals = _residuals((scores + (1 << shift >> 1)) >> shift, self.places[part])
            gradient += (self._clipped(residuals, self.sizes[part]) @ rows).astype(np.int64)
        return gradient

    def _clipped(self, residuals: Floats, sizes: Floats) -> Floats:
        """Residuals in steps, a row of them for each column, so short that the gradient keeps to the limit."""
        whole = np.maximum(_sizes(residuals, self.clip.norm) * sizes, 1e-300)
        factors = np.minimum(float(self.steps), self.clip.limit(self.steps) / whole) * MARGIN
        return np.trunc(residuals * factors)


def _grid(side: int) -> int:
    """Bits of a weight after the point: with 10 before it, 15 of a row, and so many terms, scores have 52 at most."""
    return min(20, 27 - math.ceil(math.log2(side)))


def _residuals(scores: Integers, places: Integers) -> Floats:
    """Probabilities less the truth, of the second of two classes or of all; scores are in 2⁻¹⁰."""
    farthest = len(EXPONENTIALS) - 1
    if len(scores) == 1:
        return np.asarray(CHANCES[np.clip(scores, -farthest, farthest) + farthest] - places)
    highest = scores.max(axis=0)
    weights = [EXPONENTIALS[np.minimum(highest - score, farthest)] for score in scores]
    total = _added(weights)
    return np.array([weight / total - (places == index) for index, weight in enumerate(weights)])


def _sizes(residuals: Floats, norm: int) -> Floats:
    if norm == 1 or len(residuals) == 1:
        return _added(list(np.abs(residuals)))
    return np.sqrt(_added(list(residuals * residuals)))


def _added(columns: list[Floats]) -> Floats:
    """From the first to the last, for every row alike."""
    total = columns[0].copy()
    for column in columns[1:]:
        total += column
    return total


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """How weights follow gradients: all of it public or released, and nothing looks at the rows."""

    turns: int
    pace: Floats
    """What a gradient is multiplied by: a number for each feature, or an approximate inverse of the curvature."""
    momentum: float
    penalties: Floats

    def run(self, gradient: Callable[[Floats], Floats], start: Floats, watched: Watch) -> Floats:
        """Nesterov's accelerated descent; the mean of the later half, where noise averages out."""
        weights, speed, total = start, np.zeros_like(start), np.zeros_like(start)
        for turn in watched(range(self.turns), self.turns, "steps"):
            ahead = weights + self.momentum * speed
            slope = gradient(ahead) + self.penalties * ahead
            speed = self.momentum * speed - (slope * self.pace if self.pace.ndim == 1 else slope @ self.pace)
            weights = np.clip(weights + speed, -LARGEST, LARGEST)
            total = total + weights * (turn >= self.turns // 2)
        average: Floats = total / (self.turns - self.turns // 2)
        return average

    def carried(self, ratio: float) -> float:
        """How wide noise of width 1 in every gradient makes what `run` gives, in units of the pace.

        `ratio` is that of the true curvature to the one that the pace assumes. What becomes of the noise of a turn does
        not depend on the others, because all of it is linear: it is what became of the first turn's, later.
        """
        where, speed, reached = 0.0, 0.0, np.zeros(self.turns + 1)
        for turn in range(self.turns):
            speed = self.momentum * speed - ratio * (where + self.momentum * speed) - (turn == 0)
            where += speed
            reached[turn + 1] = reached[turn] + where
        half, turns = self.turns // 2, np.arange(self.turns)
        ends = reached[self.turns - turns] - reached[np.maximum(half - turns, 0)]
        return float(np.sqrt((ends**2).sum())) / (self.turns - half)
