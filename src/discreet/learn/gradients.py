"""Sums of clipped gradients of the logistic loss, exactly, and the descent along noisy ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.losses import Sensitivity
from discreet.exit.exit import Watch
from discreet.learn.box import Floats
from discreet.learn.rulers import Ruler, blocks, lengths
from discreet.mechanisms.arrays import Integers

TABLE: Final = 10
"""Scores are read to so many bits after the point."""
FARTHEST: Final = 2**15
EXPONENTIALS: Final[Floats] = np.exp(-np.arange(FARTHEST + 1) / 2**TABLE)
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
        Proof    `Examples.gradient` has residuals of at most limit/‖a‖ steps, cut towards zero, and
                 ‖r ⊗ a‖ = ‖r‖·‖a‖ in both norms. `MARGIN` outweighs what float64 rounds. Of two classes, a row of
                 the second has the residual p − 1, and −(1 − p)·a is what a row −a of the first would have.
        """
        limit = self.limit(steps)
        total = limit if self.norm == 1 else math.isqrt(limit**2 * self.side * self.columns)
        return Sensitivity(Fraction(total), Fraction(limit**2))


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Rows in steps, one in each column; of two classes, those of the second are negated."""

    columns: NDArray[np.float32]
    """Whole numbers of at most 15 bits, which float32 holds in half of the memory."""
    caps: Floats
    """How many steps the residuals of each row may be long, so that its gradient keeps to the limit."""
    places: Integers
    steps: int
    clip: Clip

    @classmethod
    def of(cls, exact: Floats, places: Integers, ruler: Ruler, clip: Clip) -> Self:
        rows, caps = np.empty((clip.side, len(exact)), dtype=np.float32), np.empty(len(exact))
        limit = clip.limit(ruler.unit) * MARGIN
        for part in blocks(len(exact), clip.side):
            columns = ruler.columns(exact[part])
            caps[part] = limit / np.maximum(lengths(columns, clip.norm), 1)
            rows[:, part] = columns if clip.columns > 1 else columns * (1 - 2 * places[part])
        return cls(rows, caps, places, ruler.unit, clip)

    def gradient(self, weights: Floats) -> Integers:
        """The exact sum of all rows' clipped gradients in squares of steps; each of them depends on its row alone.

        Sums are of whole numbers below 2⁵³, which float64 adds exactly; the rest is elementwise in operations that
        IEEE 754 rounds correctly, so that no row can tell where it stands or who is beside it.
        """
        grid = _grid(self.clip.side)
        whole = np.rint(np.clip(weights, -LARGEST, LARGEST) * 2**grid)
        fine = 2.0 ** (TABLE - grid) / self.steps
        chances = CHANCES * (self.steps * MARGIN)
        gradient = np.zeros(weights.shape, dtype=np.int64)
        for part in blocks(len(self.caps), self.clip.side):
            columns, caps = self.columns[:, part].astype(np.float64), self.caps[part]
            scores = whole @ columns
            scores *= fine
            if len(scores) == 1:
                residuals = np.trunc(np.minimum(chances.take(_rounded(scores + FARTHEST), mode="clip"), caps))
            else:
                residuals = self._clipped(_residuals(scores, self.places[part]), caps)
            gradient += (residuals @ columns.T).astype(np.int64)
        return gradient

    def _clipped(self, residuals: Floats, caps: Floats) -> Floats:
        """Residuals in steps, a row of them for each column of weights, so short that they keep to the caps."""
        whole = np.maximum(_sizes(residuals, self.clip.norm), np.finfo(np.float64).tiny)
        return np.trunc(residuals * (np.minimum(float(self.steps), caps / whole) * MARGIN))


def _grid(side: int) -> int:
    """Bits of a weight after the point: with 10 before it, 15 of a row, and so many terms, scores have 52 at most."""
    return min(20, 27 - math.ceil(math.log2(side)))


def _rounded(scores: Floats) -> Integers:
    """To the nearest whole number, of those that are not negative; others have no place in a table."""
    return (scores + 0.5).astype(np.int64)


def _residuals(scores: Floats, places: Integers) -> Floats:
    """Probabilities less the truth, of all classes; scores are in 2⁻¹⁰."""
    near = np.rint(scores)
    weights = [EXPONENTIALS.take(_rounded(near.max(axis=0) - score), mode="clip") for score in near]
    total = _added(weights)
    return np.array([weight / total - (places == index) for index, weight in enumerate(weights)])


def _sizes(residuals: Floats, norm: int) -> Floats:
    if norm == 1:
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
