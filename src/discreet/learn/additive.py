"""Additive models: a table of steps for each feature, boosted on noisy sums of residuals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.losses import Reach
from discreet.learn.box import Box, Floats
from discreet.learn.moments import sums
from discreet.learn.price import Allowance, Price
from discreet.learn.simplex import projected
from discreet.mechanisms.arrays import Integers

Bins = NDArray[np.uint8]
GRAIN: Final = 2**10
"""Steps to a unit of logarithmic odds."""
FAR: Final = 16
"""Odds beyond e^16 are taken for certain."""
WEIGHTS: Final = Fraction(1, 8)
"""The share of the price that tells how many rows are in each bin."""
POWERS: Final = np.floor(2.0**20 * np.exp(-np.arange(FAR * GRAIN + 1) / GRAIN)).astype(np.int64)
"""2²⁰·e^(−k/GRAIN), down to 0: with a table of integers, what a row does cannot depend on how a library rounds."""


class Target(Protocol):
    """What is learned: how far each row is from what the model says of it."""

    outputs: int
    curvature: float
    """How much a residual changes with the score, at most."""

    @property
    def reach(self) -> Reach:
        """How far one row's residuals go, in units."""

    def residuals(self, scores: Integers, fine: int) -> Integers:
        """What each row lacks, in `fine` steps to a unit."""


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The class of each row, by its place: y − p for each class, or for the second of two.

    Theorem  l1 ≤ 2 and l2² ≤ 2; for two classes, 1 and 1.
    Proof    In m steps p is ⌊m·wᵢ/Σw⌋ for integers w ≥ 0, so 0 ≤ p ≤ m, and all p but one add up to m at most. The
             residual is m − p ≤ m for the row's own class, and −p for the others, whose squares add up to m² at most.
    """

    places: Integers
    classes: int

    @property
    def outputs(self) -> int:
        return 1 if self.classes == 2 else self.classes

    @property
    def curvature(self) -> float:
        return (self.classes - 1) / self.classes**2

    @property
    def reach(self) -> Reach:
        most = Fraction(min(self.outputs, 2))
        return Reach(most, most)

    def residuals(self, scores: Integers, fine: int) -> Integers:
        both = np.hstack([np.zeros_like(scores), scores]) if self.outputs == 1 else scores
        weights = POWERS[np.minimum(both.max(axis=1, keepdims=True) - both, FAR * GRAIN)]
        chances = weights * fine // weights.sum(axis=1, keepdims=True)
        own = np.arange(self.classes) == self.places[:, None]
        found: Integers = own * fine - chances
        return found[:, -self.outputs :]


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """The bounded number of each row: the residual is clipped to the half-width of its bounds.

    Theorem  l1 ≤ 1 and l2² ≤ 1. Proof: one integer, clipped to ±m where m steps are a unit.
    """

    steps: Integers
    """GRAIN to a half-width."""
    outputs: int = 1
    curvature: float = 1.0

    @property
    def reach(self) -> Reach:
        return Reach(Fraction(1), Fraction(1))

    def residuals(self, scores: Integers, fine: int) -> Integers:
        lacking = np.clip(self.steps - scores, -GRAIN, GRAIN)
        return lacking * fine // GRAIN


@dataclass(frozen=True, slots=True)
class Plan:
    """How often each feature has its turn, how many at once, and how far each goes."""

    turns: int
    block: int
    rate: float
    bins: int = 32
    leaves: int = 3

    @classmethod
    def choose(cls, price: Price, width: int) -> Plan:
        """By public facts. Laplace noise grows with the number of turns, so there are few; Gaussian noise does not."""
        if price.pure:
            return cls(turns=1, block=1, rate=0.7)
        return cls(turns=60, block=width, rate=0.05)


@dataclass(frozen=True, slots=True)
class Additive:
    """Released: what each bin of each feature adds to each output, in steps of 1/GRAIN, and about its rows."""

    tables: Integers
    weights: Floats


def binned(exact: Floats, box: Box, bins: int) -> Bins:
    """The bin of every value, of equal width within the bounds; each depends on its own value alone."""
    fine = 2**20
    return np.minimum((box.steps(exact, fine) + fine) * bins // (2 * fine), bins - 1).astype(np.uint8)


def learned(bins: Bins, target: Target, plan: Plan, allowance: Allowance) -> Additive:
    weights = _weights(bins, plan, allowance)
    width = bins.shape[1]
    blocks = -(-width // plan.block)
    share = (1 - WEIGHTS) / (plan.turns * blocks)
    scores = np.zeros((len(bins), target.outputs), dtype=np.int64)
    tables = np.zeros((width, plan.bins, target.outputs), dtype=np.int64)
    for turn in range(plan.turns):
        order = np.argsort(allowance.below(2**62, width))
        for block in np.array_split(order, blocks):
            step = _step(bins, block, target, scores, weights, plan, allowance, share)
            tables[block] += step
            for place, feature in enumerate(block):
                scores += step[place][bins[:, feature]]
    return Additive(tables, weights)

PULL=1.0
def _step(bins, block, target, scores, weights, plan, allowance, share):
    units = Reach(target.reach.l1 * len(block), target.reach.l2_squared * len(block))
    fine = allowance.price.fineness(units, share)
    cuts = np.sort(allowance.below(plan.bins - 1, (len(block), plan.leaves - 1)) + 1, axis=1)
    leaf = (np.arange(plan.bins)[None, :, None] >= cuts[:, None, :]).sum(axis=2)
    residuals = target.residuals(scores, fine)
    exact = np.stack([sums(leaf[place][bins[:, feature]], residuals, plan.leaves) for place, feature in enumerate(block)])
    noisy = allowance.release(exact, Reach(units.l1 * fine, units.l2_squared * fine**2), share) / fine
    inside = np.stack([np.bincount(leaf[place], weights=weights[feature], minlength=plan.leaves) for place, feature in enumerate(block)])
    pull = PULL*allowance.price.deviation(units, share)/ (plan.turns if not allowance.price.pure else 1)**.5
    moves = plan.rate * noisy / (target.curvature * inside[:, :, None] + pull + 1)
    steps = np.rint(np.clip(moves, -4, 4) * GRAIN).astype(np.int64)
    return np.take_along_axis(steps, leaf[:, :, None], axis=1)


def _weights(bins: Bins, plan: Plan, allowance: Allowance) -> Floats:
    width = bins.shape[1]
    exact = np.stack([np.bincount(column, minlength=plan.bins) for column in bins.T]).astype(np.int64)
    noisy = allowance.release(exact, Reach(Fraction(width), Fraction(width)), WEIGHTS).astype(np.float64)
    total = np.maximum(noisy.sum(axis=1).mean(), 1)
    return projected(noisy, np.full(width, total))
