"""Additive models, boosted: each turn adds to features a step up or down somewhere, by noisy sums of residuals.

Nothing overflows: scores, moves, residuals and their sums are integers in float64, which is exact below 2⁵³. Twice the
residuals of 2³² rows are at most 2⁵² (each is 2¹⁹ at most), and 200 visits of each of 2³² features, or 500 in all,
move a score by less than 2⁵² (2¹² each).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn.box import Box, Floats
from discreet.learn.counting import affordable, counted
from discreet.learn.residuals import GRAIN, OneClass, Target
from discreet.mechanisms.arrays import Integers
from discreet.mechanisms.simplex import projected

Bins = NDArray[np.uint8]
BINS: Final = 32
"""Equal parts of a feature's range."""
MOST_MOVE: Final = 4 * GRAIN
"""A visit moves a score by so much at most."""
FEWEST_TURNS: Final = 20
MOST_TURNS: Final = 200
"""How often all features together have their turn, at most."""
MOST_VISITS: Final = 500
"""How many features are visited one by one, at most."""
FINE: Final = 2**30
"""Places where a range can be cut."""
PASS: Final = 2**14
"""So many rows are worked on at once: what is computed of them stays in the cache."""
CELLS: Final = 2**17
"""And so many numbers of them, where features or classes are many."""
SIZE: Final = Fraction(1, 20)
"""The share of the cost that tells how many rows there are."""
DENSITY: Final = Fraction(1, 10)
"""The share that tells where they are, if they are so many that it is worth its cost."""
BLUR: Final = {True: 1.2, False: 1.0}
"""How much noise scores may gather, in units of the target's scale: more costs more than further visits gain."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How many visits features get, how many of them at once, and how far each goes."""

    visits: int
    together: int
    rate: float

    @classmethod
    def choose(cls, target: Target, width: int, rows: float, cost: Cost) -> Plan:
        """By public facts and the noisy number of rows: as many visits as gather little noise.

        A visit moves scores by rate·noise/(curvature·rows). Of v visits with Laplace noise each has v times that of
        one alone, so v^1.5 of it gathers; with Gaussian noise √v times, so rate·v of it gathers.
        """
        room = BLUR[cost.pure] * target.scale * target.curvature * rows / cost.deviation(target.sensitivity)
        if cost.pure:
            return cls(math.ceil(min(max(room ** (2 / 3), 4), MOST_VISITS)), 1, 1.0)
        gain = min(room, MOST_TURNS * (width + 1) / 10)
        turns = math.ceil(min(max(gain / 2, FEWEST_TURNS), MOST_TURNS))
        return cls(turns * (width + 1), width + 1, gain / (turns * (width + 1)))

    @staticmethod
    def check(width: int, cost: Cost) -> None:
        """Refuse a cost that is too low for the longest plan."""
        most = (
            Sensitivity(Fraction(1), Fraction(1))
            if cost.pure
            else Sensitivity(Fraction(width + 1), Fraction(width + 1))
        )
        affordable(cost, most, (WHOLE - SIZE - DENSITY) / (MOST_VISITS if cost.pure else MOST_TURNS))

    @staticmethod
    def typical(target: Target, width: int) -> tuple[Sensitivity, Fraction]:
        """A turn of all features together, of as few as there are with Gaussian noise."""
        return contrast_sensitivity(target, width + 1), (WHOLE - SIZE - DENSITY) / FEWEST_TURNS

    def blocks(self, width: int, exit_: Exit) -> Iterator[Integers]:
        """Which features are visited, in a new order in every turn; the one after the last is the constant."""
        for start in range(0, self.visits, width + 1):
            order = np.argsort(exit_.below(2**62, width))
            turn = np.concatenate([[width], order])[: self.visits - start]
            yield from np.split(turn, range(self.together, len(turn), self.together))


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Where the features of a block are cut: a bin has the sign −1 below, and 1 from there on.

    A sign is 2·above − 1. So the constant, which all rows are above, stands after the block for the −1 of all.
    """

    lines: Integers
    places: Bins

    @classmethod
    def draw(cls, block: Integers, chances: Floats, exit_: Exit) -> Cuts:
        """At random; the constant below its only bin."""
        drawn = (exit_.below(FINE, len(block)) + 0.5) / FINE
        constant = block == len(chances)
        places = 1 + (chances[np.where(constant, 0, block)] < drawn[:, None]).sum(axis=1)
        return cls(np.append(block, len(chances)), np.append(np.where(constant, 0, places), 0).astype(np.uint8))

    @property
    def signs(self) -> Integers:
        """Of every bin of every feature of the block."""
        return np.where(np.arange(BINS) >= self.places[:-1, None], 1, -1)


def passed(wide: int) -> int:
    """How many rows are worked on at once if each has so many numbers."""
    return max(min(PASS, CELLS // wide), 1)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The private rows: the bin of each value (a line for each feature), and what is to be learned of them."""

    bins: Bins
    target: Target
    scores: Floats
    """What the model says of them so far, a line for each score."""

    @classmethod
    def of(cls, bins: Bins, target: Target) -> Rows:
        return cls(bins, target, np.zeros((target.outputs, bins.shape[1])))

    @property
    def width(self) -> int:
        """The number of features, without the constant."""
        return len(self.bins) - 1

    @property
    def count(self) -> int:
        return int(self.bins.shape[1])

    def histograms(self) -> Integers:
        """How many rows are in each bin of each feature."""
        return np.array([np.bincount(line, minlength=BINS) for line in self.bins[:-1]], dtype=np.int64)

    def above(self, cuts: Cuts, kind: type[np.floating[Any]]) -> Iterator[tuple[slice, Any]]:
        """Some rows after others, and whether each is above each cut: 1 or 0, all in the same place."""
        lines, places = cuts.lines, cuts.places[:, None]
        size = passed(max(len(lines), 2 * self.target.outputs))
        mask = np.empty((len(lines), min(size, self.count)), dtype=kind)
        for start in range(0, self.count, size):
            some = slice(start, min(start + size, self.count))
            yield some, np.greater_equal(self.bins[lines, some], places, out=mask[:, : some.stop - start])

    def sums(self, cuts: Cuts, fine: int) -> Floats:
        """For each feature of the block the sum of residuals above its cut less that below it."""
        totals = np.zeros((len(cuts.lines), self.target.outputs))
        for some, above in self.above(cuts, np.float64):
            totals += above @ self.target.residuals(self.scores[:, some], some, fine).T
        sums: Floats = 2 * totals[:-1] - totals[-1]
        return sums

    def move(self, cuts: Cuts, moves: Floats) -> None:
        """Add the moves to the scores of rows above the cuts, and take them from those below."""
        steps = np.vstack([2 * moves, -moves.sum(axis=0)]).T
        kind = np.float32 if np.abs(steps).sum() < 2**24 else np.float64  # the faster one is exact up to there
        steps = steps.astype(kind)
        for some, above in self.above(cuts, kind):
            self.scores[:, some] += steps @ above


def by_class(bins: Bins, places: Integers, classes: int) -> list[Rows]:
    """The rows of each class; those whose place is negative have none. Sums are exact, so their order is free."""
    order = np.argsort(places, kind="stable")
    ends = np.searchsorted(places[order], np.arange(classes + 1))
    each = [order[start:end] for start, end in pairwise(ends)]
    return [Rows.of(bins.take(rows, axis=1), OneClass(own, classes)) for own, rows in enumerate(each)]


def binned(exact: Floats, box: Box) -> Bins:
    """The bin of every value, of equal width within the bounds; each depends on its own value alone.

    A line for each feature; the last one is that of the constant, the same for all rows.
    """
    fine, size = 2**20, passed(box.width)
    bins = np.zeros((box.width + 1, len(exact)), dtype=np.uint8)
    for start in range(0, len(exact), size):
        some = slice(start, start + size)
        bins[:-1, some] = np.minimum((box.steps(exact[some], fine) + fine) * BINS // (2 * fine), BINS - 1).T
    return bins


def scored(bins: Bins, tables: Integers) -> Integers:
    """What the tables add up to for each row."""
    scores = np.zeros((bins.shape[1], tables.shape[2]), dtype=np.int64)
    for line, table in zip(bins, tables, strict=True):
        scores += table[line]
    return scores


def boosted(parts: Sequence[Rows], exit_: Exit) -> Integers:
    """What each bin of each feature adds to each score, in steps; the last table is that of the constant.

    Theorem  The cost. Proof: the shares of all releases add up to 1 at most; cuts and plan come from what was
             released, and residuals from that and the row itself.
    Source   Nori, Caruana, Bu, Shen & Kulkarni 2021, but with one contrast for each cut in place of two leaves.
    """
    target, width = parts[0].target, parts[0].width
    size = _size(parts, exit_)
    chances, left = _density(parts, size, exit_)
    plan = Plan.choose(target, width, size, exit_.cost.part(left))
    tables = np.zeros((width + 1, BINS, target.outputs), dtype=np.int64)
    share = left * plan.together / plan.visits
    units = contrast_sensitivity(target, plan.together)
    fine = exit_.cost.fineness(units, share)
    sensitivity = Sensitivity(units.l1 * fine, units.l2_squared * fine**2)
    with threadpool_limits(1, user_api="blas"):  # products are so small that threads only wait for each other
        for block in exit_.watched(plan.blocks(width, exit_), plan.visits // plan.together, "visits"):
            cuts = Cuts.draw(block, chances, exit_)
            exact = np.sum([rows.sums(cuts, fine) for rows in parts], axis=0).astype(np.int64)
            slopes = exit_.release(exact, sensitivity, share) / fine / (target.curvature * size)
            moves = np.rint(np.clip(plan.rate * slopes * GRAIN, -MOST_MOVE, MOST_MOVE))
            tables[block] += cuts.signs[:, :, None] * moves[:, None, :].astype(np.int64)
            for rows in parts:
                rows.move(cuts, moves)
    return tables


def _size(parts: Sequence[Rows], exit_: Exit) -> float:
    """The noisy number of rows, and not less than its noise."""
    sensitivity = Sensitivity(Fraction(1), Fraction(1))
    noisy = counted(np.array([sum(rows.count for rows in parts)]), sensitivity, exit_, SIZE)
    return max(float(noisy[0]), 2 * exit_.cost.deviation(sensitivity, SIZE), 1.0)


def _density(parts: Sequence[Rows], size: float, exit_: Exit) -> tuple[Floats, Fraction]:
    """How likely each feature is cut up to each bin, and the share of the cost that is left.

    Cuts are uniform where rows are few. Where they are many they are drawn as the rows lie, by a histogram of each
    feature: a row is in one bin of each, so l1 and l2² are at most their number.
    """
    width = parts[0].width
    sensitivity = Sensitivity(Fraction(width), Fraction(width))
    wide = exit_.cost.deviation(sensitivity, DENSITY)
    density, left = np.ones((width, BINS)), WHOLE - SIZE
    if wide * BINS <= 2 * size:
        exact = np.sum([rows.histograms() for rows in parts], axis=0)
        noisy = counted(exact, sensitivity, exit_, DENSITY)
        density, left = projected(noisy, np.full(width, size)) + wide, left - DENSITY
    grown = np.cumsum(density[:, 1:] + density[:, :-1], axis=1)
    return grown / grown[:, -1:], left


def contrast_sensitivity(target: Target, features: int) -> Sensitivity:
    """How far one row moves the sums of its residuals, each taken with a sign for every feature.

    Theorem  `features` times that of its residuals. Proof: a sign does not change a norm; sums stand side by side.
    """
    return Sensitivity(target.sensitivity.l1 * features, target.sensitivity.l2_squared * features)
