"""What noisy leaves say, and how much of it is believed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Final

import numpy as np

from discreet.exit import Exit
from discreet.learn.box import Floats
from discreet.learn.residuals import FAR, GRAIN, POWERS
from discreet.learn.thresholds import STEPS, Target
from discreet.mechanisms.arrays import Integers

CAUTION: Final = 1.0
"""Leaves differ as far as they do by so many standard deviations more than noise alone would make them."""
FARTHEST: Final = 0.02
"""The share of an output is at least so much of its share one level above."""
FINE: Final = 2**12
"""Steps to the most that a row adds to the score of what trees say."""
WORST: Final = 4.0
"""Rows that are likelier missed than e⁻⁴ count as if they were that."""
ALONE: Final = (0, 32, 64)
"""How much the tree with chosen cuts may say, in 64ths;"""
TOGETHER: Final = (0, 10, 19, 38, 64)
"""and the random ones together, over the root of their number."""
SAYS: Final = 64
WITHIN: Final = 2.5
"""Numbers are clipped so many standard deviations from their mean: a narrower range shows more of where they differ."""
BLOCK: Final = 2**14
"""So many rows are worked on at once."""
PROBABILITIES: Final = 2**12
LOGARITHMS: Final = np.rint(
    FINE * np.clip(1 + np.log(np.maximum(np.arange(PROBABILITIES + 1), 1) / PROBABILITIES) / WORST, 0, 1)
).astype(np.int64)
"""What a row is worth whose class has a probability of k/4096: from a table, as `residuals.POWERS` is."""


# masses of rows


@dataclass(frozen=True, slots=True, eq=False)
class First:
    """What was released of all rows together, before anything else."""

    masses: Floats
    deviation: float
    variance: Floats
    """How far the mass of a row varies, for each output."""
    clear: float = 1.0
    """How clearly a row shows what it is: numbers that vary little within their range show little."""

    @property
    def rows(self) -> float:
        """About how many there are."""
        return float(self.masses.sum())

    @property
    def seen(self) -> float:
        """So many that show clearly what they are would show as much."""
        return self.rows * self.clear

    @classmethod
    def of_classes(cls, noisy: Floats, deviation: float) -> First:
        prior = prior_of(noisy, deviation)
        return cls(noisy, deviation, prior * (1 - prior))


@dataclass(frozen=True, slots=True)
class Range:
    """Where nearly all numbers lie, as shares of a wider range; and what was released of all of them."""

    low: float
    high: float
    first: First

    @classmethod
    def of(cls, noisy: Floats, deviation: float) -> Range:
        """By the noisy sums of `Shares.whole`: some standard deviations to both sides of the mean, or of noise."""
        rows = max(float(noisy.sum()), deviation, 1.0)
        mean = min(max(float(noisy[1] / 2 + noisy[2]) / rows, 0.0), 1.0)
        square = max(float(noisy[2]) / rows - mean**2, 0.0) + 2 * deviation / rows
        spread = min(math.sqrt(square), 0.5)
        low, high = max(mean - WITHIN * spread, 0.0), min(mean + WITHIN * spread, 1.0)
        share, wide = (mean - low) / (high - low), spread / (high - low)
        masses = rows * np.array([1 - share, share])
        return cls(low, high, First(masses, deviation, np.full(2, wide**2), min(2 * wide, 1.0)))


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Rows with a class each: the mass of a row is all of that class."""

    places: Integers
    outputs: int

    @property
    def steps(self) -> int:
        return 1

    def whole(self, steps: int) -> Integers:
        """How many rows of each class there are, in steps: l1 ≤ s, l2² ≤ s²."""
        return self.sums(np.zeros_like(self.places), 1, steps).ravel()

    def sums(self, cells: Integers, size: int, steps: int) -> Integers:
        counts = np.bincount(cells * self.outputs + self.places, minlength=size * self.outputs)
        return (counts * steps).reshape(size, self.outputs)

    def base(self, prior: Floats) -> Floats:
        """What is said of all rows: logarithms of probabilities,"""
        return np.log(prior)

    def said(self, shares: Floats, prior: Floats) -> Floats:
        """and what leaves add to that."""
        return np.log(shares / prior)

    def gain(self, scores: Integers, rows: slice) -> int:
        """What scores (in logarithms, GRAIN to a unit, a line for each class) are worth, of these rows together.

        Theorem  A row is worth 0 to FINE. Proof: it is an entry of `LOGARITHMS`, by integers of that row alone.
        """
        weights = POWERS.take(scores.max(axis=0) - scores, mode="clip")
        own = np.take_along_axis(weights, self.places[rows][None], axis=0)[0]
        chances = np.floor(own * PROBABILITIES / weights.sum(axis=0)).astype(np.int64)
        return int(LOGARITHMS[chances].sum())


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Rows with a number each, as a share of its range from 0 to 1: of the mass, so much is high and the rest low."""

    shares: Floats

    @property
    def outputs(self) -> int:
        return 2

    @property
    def steps(self) -> int:
        return STEPS

    def sums(self, cells: Integers, size: int, steps: int) -> Integers:
        """Exact: sums of integers below 2⁵³ are, in float64."""
        high = np.rint(np.clip(self.shares, 0, 1) * steps)
        highs = np.bincount(cells, high, minlength=size).astype(np.int64)
        return np.stack([np.bincount(cells, minlength=size) * steps - highs, highs], axis=1)

    def within(self, near: Range) -> Shares:
        """As shares of a narrower range."""
        return Shares((np.clip(self.shares, near.low, near.high) - near.low) / (near.high - near.low))

    def whole(self, steps: int) -> Integers:
        """The sums of (1 − a)², 2a(1 − a) and a² over all rows: a row's three add up to its mass.

        Theorem  l1 ≤ s and l2² ≤ s² in s steps. Proof: the outer two are rounded down, so that they add up to at most
                 ⌊s·(1 − 2a + 2a²)⌋ ≤ s; the middle one is what is left; all three are at least 0.
        """
        share = np.clip(self.shares, 0, 1)
        low, high = (int(np.floor(steps * part**2).sum()) for part in (1 - share, share))
        return np.array([low, len(share) * steps - low - high, high], dtype=np.int64)

    def base(self, prior: Floats) -> Floats:
        """What is said of all rows: the mean share,"""
        return prior[1:]

    def said(self, shares: Floats, prior: Floats) -> Floats:
        """and what leaves add to that."""
        return shares[..., 1:] - prior[1:]

    def gain(self, scores: Integers, rows: slice) -> int:
        """What numbers (in shares, GRAIN to the range) are worth: 0 to FINE for each row, by its squared error."""
        error = np.abs(np.rint(self.shares[rows] * GRAIN).astype(np.int64) - scores[0])
        return int((FINE - np.minimum(4 * error**2 * FINE // GRAIN**2, FINE)).sum())


# what leaves say


def combined(noisy: Sequence[tuple[Floats, float]]) -> tuple[Floats, float]:
    """Several noisy vectors of the same thing, with the deviation of each, as one."""
    weights = np.array([1 / deviation**2 for _, deviation in noisy])
    total = np.sum([weight * vector for weight, (vector, _) in zip(weights, noisy, strict=True)], axis=0)
    return total / weights.sum(), float(weights.sum() ** -0.5)


def prior_of(masses: Floats, deviation: float) -> Floats:
    """The share of each output among all rows: nearer to equal shares the more of it may be noise."""
    total, outputs = max(float(masses.sum()), 0.0), len(masses)
    trust = total**2 / (total**2 + outputs * deviation**2)
    held = np.maximum(masses, 1e-3 * max(total, 1.0))
    shares: Floats = trust * held / held.sum() + (1 - trust) / outputs
    return shares


def shrunk(noisy: Floats, deviation: float, prior: Floats, variance: Floats) -> Floats:
    """The shares of outputs in each leaf of each tree (trees × leaves × outputs), from noisy masses.

    From the root down, each half of a part is as far from the whole as noise allows to believe: with τ² the variance of
    halves on a level beyond that of noise and of so many rows, a difference counts τ²/(τ² + noise) of itself. Where a
    level shows no more than noise, it adds nothing, and the leaves are those of a shallower tree.
    """
    count, leaves, outputs = noisy.shape
    shares = np.broadcast_to(prior, (count, 1, outputs))
    parts = 1
    while parts < leaves:
        parts *= 2
        held = noisy.reshape(count, parts, leaves // parts, outputs).sum(axis=2)
        noise = deviation**2 * (leaves // parts)
        whole = np.repeat(shares, 2, axis=1)
        total = held.sum(axis=2, keepdims=True)
        size = np.maximum(total, np.sqrt(noise * outputs))
        apart = held - total * whole
        usual = noise * (1 - 2 * whole + outputs * whole**2) + size * variance
        beyond = (apart**2 - usual).sum() - CAUTION * np.sqrt(2 * (usual**2).sum())
        tau = max(float(beyond), 0.0) / float(outputs * (size**2).sum())
        moved = whole + apart / size * (tau * size**2 / (tau * size**2 + usual))
        least = np.maximum(moved, FARTHEST * whole)
        shares = least / least.sum(axis=2, keepdims=True)
    return np.array(shares)


def heard(
    target: Target, base: Integers, said: Sequence[Integers], count: int, exit_: Exit, share: Fraction
) -> list[float]:
    """How much a tree with chosen cuts says, and how much `count` random ones do: about what suits the rows best.

    `base` is what is said of all rows, `said` what the one adds and what the others add together, a line for each
    number that is said.

    Theorem  `share` of the cost. Proof: a choice by scores that a new row raises by 0 to FINE (`gain`).
    """
    random = [round(say / np.sqrt(count)) for say in TOGETHER]
    pairs = list(product(ALONE, random))
    scores = np.zeros(len(pairs), dtype=np.int64)
    for start in range(0, said[0].shape[1], BLOCK):
        rows = slice(start, start + BLOCK)
        alone, together = (each[:, rows] for each in said)
        for index, (one, other) in enumerate(pairs):
            scores[index] += target.gain(base[:, None] + (one * alone + other * together) // SAYS, rows)
    return [much / SAYS for much in pairs[exit_.choose(scores, FINE, share)]]


def grains(values: Floats) -> Integers:
    """In steps of GRAIN, so that what a row scores is made of integers."""
    return np.rint(np.clip(values, -FAR, FAR) * GRAIN).astype(np.int64)
