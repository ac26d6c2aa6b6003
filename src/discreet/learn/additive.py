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
    weights, total = _weights(bins, plan, allowance)
    width = bins.shape[1]
    blocks = -(-(width + 1) // plan.block)
    share = (1 - WEIGHTS) / (plan.turns * blocks)
    scores = np.zeros((len(bins), target.outputs), dtype=np.int64)
    tables = np.zeros((width + 1, plan.bins, target.outputs), dtype=np.int64)
    for turn in range(plan.turns):
        order = np.concatenate([[width],np.argsort(allowance.below(2**62, width))])
        for block in np.array_split(order, blocks):
            step = _step(bins, block, target, scores, weights, total, plan, allowance, share)
            tables[block] += step
            for place, feature in enumerate(block):
                if feature == width:
                    scores += step[place][0]
                else:
                    scores += step[place][bins[:, feature]]
    return Additive(tables, weights)

PULL=1.0
CLIP=.5
def clipped(r, outputs, c):
    if outputs == 1: return np.clip(r, -c, c)
    own = r.max(axis=1, keepdims=True)
    return np.where(own > c, np.sign(r)*(np.abs(r) * c // np.maximum(own, 1)), r)
def _step(bins, block, target, scores, weights, total, plan, allowance, share):
    width = bins.shape[1]
    units = Reach(target.reach.l1 * len(block)*Fraction(CLIP), target.reach.l2_squared * len(block)*Fraction(CLIP)**2)
    fine = allowance.price.fineness(units, share)
    residuals = clipped(target.residuals(scores, fine), target.outputs, int(fine*CLIP))
    whole = residuals.sum(axis=0)
    signs=np.ones((len(block), plan.bins)); exact=np.zeros((len(block), target.outputs),np.int64)
    u = allowance.below(2**30, len(block))/2**30
    for place, feature in enumerate(block):
        if feature==width: exact[place]=whole; continue
        cum = np.cumsum(weights[feature][:-1] if MODE=='l' else (weights[feature][:-1]+weights[feature][1:])); cut = 1+min(np.searchsorted(cum/cum[-1], u[place]), plan.bins-2)
        signs[place] = np.where(np.arange(plan.bins)>=cut, 1, -1)
        exact[place] = 2*residuals[bins[:,feature]>=cut].sum(axis=0)-whole
    noisy = allowance.release(exact, Reach(units.l1 * fine, units.l2_squared * fine**2), share) / fine
    moves = plan.rate * noisy / (target.curvature * total + PULL*allowance.price.deviation(units, share)/plan.turns**(1 if allowance.price.pure else .5))
    steps = np.rint(np.clip(moves, -4, 4) * GRAIN).astype(np.int64)
    return steps[:, None, :] * signs[:, :, None].astype(np.int64)

MODE=''
SPREAD=1.0
def _weights(bins: Bins, plan: Plan, allowance: Allowance):
    width = bins.shape[1]
    exact = np.stack([np.bincount(column, minlength=plan.bins) for column in bins.T]).astype(np.int64)
    R=Reach(Fraction(width), Fraction(width))
    noisy = allowance.release(exact, R, WEIGHTS).astype(np.float64)
    total = np.maximum(noisy.sum(axis=1).mean(), 1)
    sd = allowance.price.deviation(R, WEIGHTS)
    return projected(noisy, np.full(width, total))+SPREAD*min(sd,total), total
