"""Additive models by backfitting: feature after feature, its curve is what noisy sums say that the others leave.

Nothing overflows: scores, curves, residuals and their sums are integers in float64, which is exact below 2⁵³. The
residuals of 2³² rows add up to 2⁵¹ at most (each is 2¹⁹ at most), as do the halves of them that a contrast takes from
each other, and the curves of 2³² features to 2⁴⁵ (2¹³ each).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn.binning import PASS, Bins, Codes
from discreet.learn.box import Floats
from discreet.learn.counting import affordable
from discreet.learn.residuals import GRAIN, OneClass, Target
from discreet.learn.smoothing import Smoother, contrasts
from discreet.mechanisms.arrays import Integers

MOST_ROUNDS: Final = {True: 12, False: 16}
"""How often every feature is visited, at most: with Laplace noise (or of many classes, for time), and with Gaussian."""
FEWEST_ROUNDS: Final = {True: 1, False: 6}
LEAST_ROOM: Final = {True: 15, False: 6}
"""If rows are not so many times the noise of one round there is none: a constant is better than what it would learn."""
ROOM: Final = {True: 100.0, False: 1.2}
"""A round more wherever rows are so many times the noise of one round, as far as their root grows."""
WIDEST: Final = 32
BINS: Final = {True: ((3000, WIDEST), (400, 16), (0, 8)), False: ((0, WIDEST),)}
"""Bins of a feature, by how many times the noise of one round rows are. Contrasts do not need fewer."""
CELLS: Final = 2**17
"""So many numbers are worked on at once, where classes are many."""
FARTHEST: Final = 4.0
"""A curve goes so many of its largest standard deviations at most,"""
MOST_MOVE: Final = 2 * GRAIN
"""and a visit moves it so far at most."""
LATEST: Final = 0.5
"""How much the newest sums count, beside those of earlier rounds,"""
NOISE: Final = (1.0, 0.5, 0.375, 0.34)
"""and the variance that is left in them after a round, two, three, and more."""
DAMPED: Final = 0.7
"""The constant goes so much of its way in a visit."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How often features are visited, how many bins each has, and which noise there is."""

    rounds: int
    bins: int
    pure: bool

    @classmethod
    def choose(cls, target: Target, width: int, rows: float, cost: Cost) -> Plan:
        """By public facts and the noisy number of rows, or what they are worth of rows with a clear answer.

        Gaussian noise of all rounds together is about the same however many they are, Laplace noise grows as their
        root; but correlated features need rounds, as far as noise lets them see each other.
        """
        pure = cost.pure
        room = rows / cost.deviation(repeated(visit_sensitivity(target, WIDEST, pure=pure), width + 1))
        most = MOST_ROUNDS[pure or target.outputs > 1]
        rounds = min(max(math.sqrt(room / ROOM[pure]), FEWEST_ROUNDS[pure]), most)
        bins = next(bins for least, bins in BINS[pure] if room >= least)
        return cls(math.ceil(rounds) if room >= LEAST_ROOM[pure] else 0, bins, pure)

    @staticmethod
    def check(target: Target, width: int, cost: Cost, share: Fraction) -> None:
        """Refuse a cost of which the share is too low for the longest plan."""
        most = visit_sensitivity(target, WIDEST, pure=cost.pure)
        affordable(cost, most, share / (MOST_ROUNDS[cost.pure] * (width + 1)))

    @property
    def matrix(self) -> Integers:
        """What is released of the sums of a feature's bins: themselves under ε, their contrasts under ρ."""
        return np.eye(self.bins, dtype=np.int64) if self.pure else contrasts(self.bins)

    def visits(self, target: Target, width: int) -> int:
        """Of all features, and of the constant if curves with the mean 0 move it."""
        return self.rounds * (width + target.bends)

    def order(self, target: Target, width: int, exit_: Exit) -> Iterator[tuple[int, int]]:
        """The round and the feature of every visit, in a new order in every round; the constant comes after them."""
        for turn in range(self.rounds):
            for feature in np.argsort(exit_.below(2**62, width)):
                yield turn, int(feature)
            if target.bends:
                yield turn, width


def repeated(sensitivity: Sensitivity, times: int) -> Sensitivity:
    """Of so many such vectors side by side, or of one whose numbers are in so many places each."""
    return Sensitivity(sensitivity.l1 * times, sensitivity.l2_squared * times)


def visit_sensitivity(target: Target, bins: int, *, pure: bool) -> Sensitivity:
    """How far a row moves what is released of a feature's bins.

    Theorem  As far as its residuals go, under ε; under ρ, log₂(bins) times that in l1 and l2². Proof: the row is in one
             bin, and a bin is in one line of the identity, or in log₂(bins) contrasts, with the factor 1 or −1.
    """
    return repeated(target.sensitivity, 1 if pure else bins.bit_length() - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The private rows: the bin of each value (a line for each feature), and what is to be learned of them."""

    codes: Codes
    target: Target
    scores: Floats
    """What the model says of them so far, a line for each score."""

    @classmethod
    def of(cls, codes: Codes, target: Target, start: Integers) -> Rows:
        return cls(codes, target, np.tile(start[:, None].astype(np.float64), (1, codes.shape[1])))

    @property
    def count(self) -> int:
        return int(self.codes.shape[1])

    def visit(self, moved: tuple[int, Floats], feature: int, bins: int, fine: int) -> Floats:
        """Move the scores as a curve has moved; then the sums of residuals in each bin of a feature."""
        sums = np.zeros((bins, self.target.outputs))
        size = max(min(PASS, CELLS // (2 * self.target.outputs)), 1)
        before, steps = moved[0], moved[1].T
        for start in range(0, self.count, size):
            some = slice(start, min(start + size, self.count))
            self.scores[:, some] += steps.take(self.codes[before, some], axis=1)
            residuals = self.target.residuals(self.scores[:, some], some, fine)
            places = self.codes[feature, some]
            for output, line in enumerate(residuals):
                sums[:, output] += np.bincount(places, line, minlength=bins)
        return sums


def by_class(codes: Codes, places: Integers, classes: int, start: Integers) -> list[Rows]:
    """The rows of each class; those whose place is negative have none. Sums are exact, so their order is free."""
    order = np.argsort(places, kind="stable")
    ends = np.searchsorted(places[order], np.arange(classes + 1))
    each = [order[begin:end] for begin, end in pairwise(ends)]
    return [Rows.of(codes.take(rows, axis=1), OneClass(own, classes), start) for own, rows in enumerate(each)]


@dataclass(frozen=True, slots=True)
class Shape:
    """About what residuals are like, by released numbers: how they answer to scores, and how far curves go."""

    curvature: float
    """How fast a residual falls as its score rises."""
    spread: float
    """The variance of residuals within a bin."""
    most: float
    """The variance of a curve, at most."""


class Curves:
    """What was learned so far, of released numbers alone."""

    def __init__(self, bins: Bins, shape: Shape, plan: Plan, noise: float, outputs: int) -> None:
        self._bins, self._shape, self._noise = bins, shape, noise
        self._farthest = np.rint(FARTHEST * math.sqrt(shape.most) * GRAIN)
        self._matrix = plan.matrix
        self._rows = float(bins.counts[0].sum())
        width = len(bins.counts)
        self._smoothers: dict[tuple[int, int], Smoother] = {}
        self._sums = np.zeros((width, len(self._matrix), outputs))
        self._now = [np.zeros((plan.bins, outputs))] * width + [np.zeros((1, outputs))]
        self._weighted = [0.0 * curve for curve in self._now]
        self._weight = plan.rounds * (plan.rounds + 1) / 2

    def learn(self, turn: int, feature: int, noisy: Floats) -> Floats:
        """How a visit moves a curve, in steps."""
        before = self._now[feature]
        aim = self._curve(turn, feature, noisy) if feature < len(self._sums) else self._constant(noisy)
        steps = np.clip(np.rint(aim * GRAIN), before - MOST_MOVE, before + MOST_MOVE)
        now = np.clip(steps, -self._farthest, self._farthest)
        self._now[feature] = now
        self._weighted[feature] = self._weighted[feature] + (turn + 1) * now
        moved: Floats = now - before
        return moved

    def _curve(self, turn: int, feature: int, noisy: Floats) -> Floats:
        explained = self._shape.curvature * self._bins.counts[feature][:, None] * self._now[feature] / GRAIN
        sums = self._sums[feature]
        sums += (noisy + self._matrix @ explained - sums) * (LATEST if turn else 1.0)
        return self._smoother(feature, min(turn, len(NOISE) - 1)).curve(sums)

    def _smoother(self, feature: int, stage: int) -> Smoother:
        if (feature, stage) not in self._smoothers:
            shape, noise = self._shape, self._noise**2 * NOISE[stage]
            self._smoothers[feature, stage] = Smoother.of(
                self._matrix, self._bins.counts[feature], shape.curvature, shape.spread, noise, shape.most
            )
        return self._smoothers[feature, stage]

    def _constant(self, noisy: Floats) -> Floats:
        constant: Floats = self._now[-1] / GRAIN + DAMPED * noisy / (self._shape.curvature * self._rows)
        return constant

    def averaged(self) -> tuple[Floats, Floats]:
        """Over rounds, later ones more; in units. The curves of all features, and the constant."""
        *curves, constant = (weighted / (self._weight * GRAIN) for weighted in self._weighted)
        return np.array(curves), constant[0]


def backfitted(
    parts: Sequence[Rows], bins: Bins, shape: Shape, plan: Plan, exit_: Exit, share: Fraction
) -> tuple[Floats, Floats]:
    """What each bin of each feature adds to each score, and what the constant adds to where they start, in units.

    Theorem  The share. Proof: visits divide it equally, each is one release of `visit_sensitivity` (the constant's is
             the sum of residuals itself, and moves less), and residuals depend on what was released and on their row.
    Source   Buja, Hastie & Tibshirani 1989 (backfitting); Nori, Caruana, Bu, Shen & Kulkarni 2021 boost such models.

    Sums are those of what the other curves leave: residuals, plus what the curve itself explains. They are averaged
    over rounds before a curve is read off them, and curves over rounds again, later ones more: so noise averages out
    while curves find their place beside each other.
    """
    target, width = parts[0].target, len(bins.counts)
    if not plan.rounds:
        return np.zeros((width, plan.bins, target.outputs)), np.zeros(target.outputs)
    visits = plan.visits(target, width)
    units = visit_sensitivity(target, plan.bins, pure=plan.pure)
    fine, deviation = exit_.cost.fineness(units, share / visits), exit_.cost.deviation(units, share / visits)
    sensitivity = Sensitivity(units.l1 * fine, units.l2_squared * fine**2)
    curves = Curves(bins, shape, plan, deviation, target.outputs)
    moved = 0, np.zeros((plan.bins, target.outputs))
    with threadpool_limits(1, user_api="blas"):  # products are so small that threads only wait for each other
        for turn, feature in exit_.watched(plan.order(target, width, exit_), visits, "visits"):
            lines = plan.matrix if feature < width else np.ones((1, 1), dtype=np.int64)
            sums = np.sum([rows.visit(moved, feature, lines.shape[1], fine) for rows in parts], axis=0)
            noisy = exit_.release(lines @ sums.astype(np.int64), sensitivity, share / visits) / fine
            moved = feature, curves.learn(turn, feature, noisy)
    return curves.averaged()
