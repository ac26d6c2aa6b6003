"""Additive models, boosted: each turn adds to features a step up or down somewhere, by noisy sums of residuals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.losses import Reach
from discreet.learn.box import Box, Floats
from discreet.learn.counting import affordable, counted
from discreet.learn.price import WHOLE, Allowance, Price
from discreet.learn.simplex import projected
from discreet.mechanisms.arrays import Integers

Bins = NDArray[np.uint8]
BINS: Final = 32
"""Equal parts of a feature's range."""
GRAIN: Final = 2**10
"""Steps to a unit of the score: logarithmic odds, or half of the target's range."""
FAR: Final = 16
"""Odds beyond e^16 are taken for certain."""
POWERS: Final = np.floor(2.0**20 * np.exp(-np.arange(FAR * GRAIN + 1) / GRAIN)).astype(np.int64)
"""2²⁰·e^(−k/GRAIN), down to 0: from a table of integers, what a row does cannot depend on how a library rounds."""
MOST_MOVE: Final = 4 * GRAIN
"""A visit moves a score by so much at most: no number of visits comes near 2⁶³."""
MOST_TURNS: Final = 200
"""How often all features together have their turn, at most."""
MOST_VISITS: Final = 500
"""How many features are visited one by one, at most."""
FINE: Final = 2**30
"""Places where a range can be cut."""
SIZE: Final = Fraction(1, 20)
"""The share of the price that tells how many rows there are."""
DENSITY: Final = Fraction(1, 10)
"""The share that tells where they are, if they are so many that it is worth its price."""
BLUR: Final = {True: 1.2, False: 1.0}
"""How much noise scores may gather, in units of the target's scale: more costs more than further visits gain."""


class Target(Protocol):
    """What is learned: how far each row is from what the model says of it."""

    @property
    def outputs(self) -> int:
        """How many scores a row has."""

    @property
    def curvature(self) -> float:
        """How fast a residual falls as its score rises, about."""

    @property
    def scale(self) -> float:
        """How much noise in a score is harmless."""

    @property
    def reach(self) -> Reach:
        """How far the residuals of one row go, in units."""

    def residuals(self, scores: Integers, fine: int) -> Integers:
        """What each row lacks, in `fine` steps to a unit."""


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The class of each row: y − p for each class, or for the second of two; shortened to ½ for the row's own.

    Theorem  l1 ≤ 1 and l2² ≤ ½; for two classes, ½ and ¼.
    Proof    In m steps p is ⌊m·wᵢ/Σw⌋ for integers w ≥ 0, so the row's own residual is r = m − p ≥ 0 and the others are
             −p, adding up to −r at least. Where r > m/2, each is multiplied by m/2r and rounded towards 0. So the own
             one is at most m/2, and the others add up to m/2 at most, their squares to m²/4.
    """

    places: Integers
    classes: int

    @property
    def outputs(self) -> int:
        return 1 if self.classes == 2 else self.classes

    @property
    def curvature(self) -> float:
        return max(self.classes - 1, 1) / self.classes**2

    @property
    def scale(self) -> float:
        return 1.0

    @property
    def reach(self) -> Reach:
        return Reach(Fraction(1, 2), Fraction(1, 4)) if self.outputs == 1 else Reach(Fraction(1), Fraction(1, 2))

    def residuals(self, scores: Integers, fine: int) -> Integers:
        chances = shares(scores, fine)
        own = np.arange(chances.shape[1]) == self.places[:, None]
        lacking = fine - chances[own]
        longest = np.maximum(lacking, fine // 2)[:, None]
        lengths = np.where(own, lacking[:, None], chances) * (fine // 2) // longest
        found: Integers = np.where(own, lengths, -lengths)[:, -self.outputs :]
        return found


def shares(scores: Integers, fine: int) -> Integers:
    """The probability of each class in steps, rounded down: a row's never add up to more than `fine`."""
    both = np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
    weights = POWERS[np.minimum(both.max(axis=1, keepdims=True) - both, FAR * GRAIN)]
    found: Integers = weights * fine // weights.sum(axis=1, keepdims=True)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """The bounded number of each row: the residual is clipped to half of half the width of its bounds.

    Theorem  l1 ≤ ½ and l2² ≤ ¼. Proof: one integer, clipped to ±m/2 where m steps are a unit.
    """

    steps: Integers
    """GRAIN to half the width."""

    @property
    def outputs(self) -> int:
        return 1

    @property
    def curvature(self) -> float:
        return 1.0

    @property
    def scale(self) -> float:
        return 0.12

    @property
    def reach(self) -> Reach:
        return Reach(Fraction(1, 2), Fraction(1, 4))

    def residuals(self, scores: Integers, fine: int) -> Integers:
        lacking = np.clip(self.steps[:, None] - scores, -GRAIN // 2, GRAIN // 2)
        found: Integers = np.sign(lacking) * (np.abs(lacking) * fine // GRAIN)
        return found


@dataclass(frozen=True, slots=True)
class Plan:
    """How many visits features get, how many of them at once, and how far each goes."""

    visits: int
    together: int
    rate: float

    @classmethod
    def choose(cls, target: Target, width: int, rows: float, price: Price) -> Plan:
        """By public facts and the noisy number of rows: as many visits as gather little noise.

        A visit moves scores by rate·noise/(curvature·rows). Of v visits with Laplace noise each has v times that of
        one alone, so v^1.5 of it gathers; with Gaussian noise √v times, so rate·v of it gathers.
        """
        room = BLUR[price.pure] * target.scale * target.curvature * rows / price.deviation(target.reach)
        if price.pure:
            return cls(math.ceil(min(max(room ** (2 / 3), 4), MOST_VISITS)), 1, 1.0)
        gain = min(room, MOST_TURNS * (width + 1) / 10)
        turns = math.ceil(min(max(gain / 2, 20), MOST_TURNS))
        return cls(turns * (width + 1), width + 1, gain / (turns * (width + 1)))

    @staticmethod
    def check(width: int, price: Price) -> None:
        """Refuse a price that is too low for the longest plan."""
        most = Reach(Fraction(1), Fraction(1)) if price.pure else Reach(Fraction(width + 1), Fraction(width + 1))
        affordable(price, most, (WHOLE - SIZE - DENSITY) / (MOST_VISITS if price.pure else MOST_TURNS))

    def blocks(self, width: int, allowance: Allowance) -> Iterator[Integers]:
        """Which features are visited, in a new order in every turn; the one after the last is the constant."""
        for start in range(0, self.visits, width + 1):
            order = np.argsort(allowance.below(2**62, width))
            turn = np.concatenate([[width], order])[: self.visits - start]
            yield from np.split(turn, range(self.together, len(turn), self.together))


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The private rows: the bin of each value (a line for each feature), and what is to be learned of them."""

    bins: Bins
    target: Target

    @property
    def width(self) -> int:
        return len(self.bins)

    @property
    def count(self) -> int:
        return int(self.bins.shape[1])

    def along(self, table: Integers | Floats, feature: int) -> Any:
        """What a table says of each row; that of the constant says the same of all."""
        if feature < self.width:
            return table[self.bins[feature]]
        return np.broadcast_to(table[0], (self.count, *table[0].shape))


def binned(exact: Floats, box: Box) -> Bins:
    """The bin of every value, of equal width within the bounds; each depends on its own value alone."""
    fine = 2**20
    found = np.minimum((box.steps(exact, fine) + fine) * BINS // (2 * fine), BINS - 1)
    return np.ascontiguousarray(found.T.astype(np.uint8))


def scored(bins: Bins, tables: Integers) -> Integers:
    """What the tables add up to for each row, the constant's among them."""
    found = np.tile(tables[-1, 0], (bins.shape[1], 1))
    for line, table in zip(bins, tables[:-1], strict=True):
        found += table[line]
    return found


def boosted(rows: Rows, allowance: Allowance) -> Integers:
    """What each bin of each feature adds to each score, in steps; the last table is that of the constant.

    Theorem  The price. Proof: the shares of all releases add up to 1 at most; cuts and plan come from what was
             released, and residuals from that and the row itself.
    Source   Nori, Caruana, Bu, Shen & Kulkarni 2021, but with one contrast for each cut in place of two leaves.
    """
    size = _size(rows, allowance)
    chances, left = _density(rows, size, allowance)
    plan = Plan.choose(rows.target, rows.width, size, allowance.price.part(left))
    tables = np.zeros((rows.width + 1, BINS, rows.target.outputs), dtype=np.int64)
    scores = np.zeros((rows.count, rows.target.outputs), dtype=np.int64)
    for block in plan.blocks(rows.width, allowance):
        signs = _signs(block, chances, allowance)
        share = left * len(block) / plan.visits
        slopes = _contrasts(rows, block, signs, scores, allowance, share) / (rows.target.curvature * size)
        moves = np.rint(np.clip(plan.rate * slopes * GRAIN, -MOST_MOVE, MOST_MOVE)).astype(np.int64)
        steps = signs[:, :, None] * moves[:, None, :]
        tables[block] += steps
        for step, feature in zip(steps, block, strict=True):
            scores += rows.along(step, feature)
    return tables


def _size(rows: Rows, allowance: Allowance) -> float:
    """The noisy number of rows, and not less than its noise."""
    reach = Reach(Fraction(1), Fraction(1))
    noisy = counted(np.array([rows.count]), reach, allowance, SIZE)
    return max(float(noisy[0]), 2 * allowance.price.deviation(reach, SIZE), 1.0)


def _density(rows: Rows, size: float, allowance: Allowance) -> tuple[Floats, Fraction]:
    """How likely each feature is cut up to each bin, and the share of the price that is left.

    Cuts are uniform where rows are few. Where they are many they are drawn as the rows lie, by a histogram of each
    feature: a row is in one bin of each, so l1 and l2² are at most their number.
    """
    reach = Reach(Fraction(rows.width), Fraction(rows.width))
    wide = allowance.price.deviation(reach, DENSITY)
    density, left = np.ones((rows.width, BINS)), WHOLE - SIZE
    if wide * BINS <= 2 * size:
        exact = np.array([np.bincount(line, minlength=BINS) for line in rows.bins], dtype=np.int64)
        noisy = counted(exact, reach, allowance, DENSITY)
        density, left = projected(noisy, np.full(rows.width, size)) + wide, left - DENSITY
    grown = np.cumsum(density[:, 1:] + density[:, :-1], axis=1)
    return grown / grown[:, -1:], left


def _signs(block: Integers, chances: Floats, allowance: Allowance) -> Integers:
    """For each feature of the block −1 in the bins below a random cut and 1 above it; 1 everywhere for the constant."""
    drawn = (allowance.below(FINE, len(block)) + 0.5) / FINE
    constant = block == len(chances)
    cuts = 1 + (chances[np.where(constant, 0, block)] < drawn[:, None]).sum(axis=1)
    return np.where((np.arange(BINS) >= cuts[:, None]) | constant[:, None], 1, -1).astype(np.int64)


def contrast_reach(target: Target, features: int) -> Reach:
    """How far one row moves the sums of its residuals, each taken with a sign for every feature.

    Theorem  `features` times that of its residuals. Proof: a sign does not change a norm; sums stand side by side.
    """
    return Reach(target.reach.l1 * features, target.reach.l2_squared * features)


def _contrasts(
    rows: Rows, block: Integers, signs: Integers, scores: Integers, allowance: Allowance, share: Fraction
) -> Floats:
    """For each feature of the block the noisy sum of residuals above its cut less that below it.

    Integers below 2²⁰ of fewer than 2³² rows stay below 2⁵³, where float64 adds exactly, in any order.
    """
    units = contrast_reach(rows.target, len(block))
    fine = allowance.price.fineness(units, share)
    residuals = rows.target.residuals(scores, fine).astype(np.float64)
    each = zip(signs.astype(np.float64), block, strict=True)
    lines = [rows.along(sign, feature) @ residuals for sign, feature in each]
    exact = np.array(lines, dtype=np.float64).reshape(len(block), rows.target.outputs).astype(np.int64)
    noisy = allowance.release(exact, Reach(units.l1 * fine, units.l2_squared * fine**2), share)
    return noisy.astype(np.float64) / fine
