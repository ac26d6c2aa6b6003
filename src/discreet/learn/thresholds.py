"""Cuts of features: where they are offered, and about the best of them by private choices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn.box import Box, Floats
from discreet.learn.counting import counted
from discreet.mechanisms.arrays import Integers
from discreet.mechanisms.simplex import projected

Codes = NDArray[np.uint8]
PLACES: Final = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 7 / 8)
"""Where cuts are offered if nobody knows how rows lie, as shares of the range: amounts crowd at the low end."""
BINS: Final = 32
"""Equal parts of a range that rows are counted in, to offer cuts where they lie."""
CUTS: Final = 15
"""So many cuts are then offered, with about as many rows between any two."""
MOST_FEATURES: Final = 64
"""So many features are looked at for a cut, at most: drawn anew for each."""
HEAVIEST: Final = 64
"""What a row of the rarest class weighs when cuts are compared."""
RAREST: Final = 20
"""A class counts as at most so many times rarer than the largest: light rows would drown in the noise of a choice."""
TILTS: Final = (0.4, 2.5)
"""Cuts are compared at the odds of all rows, and at these multiples of them: see `weights_of`."""
MOST_TILTED: Final = 8
"""Of more classes than these, cuts are compared in one way."""
STEPS: Final = 2**10
"""Steps to the mass of a row, where masses are not whole: when cuts are compared."""


class Target(Protocol):
    """What rows are: the mass of a row, in whole steps, is shared among few outputs."""

    @property
    def outputs(self) -> int:
        """How many there are."""

    @property
    def steps(self) -> int:
        """The steps of a row's mass that cuts are compared with."""

    def base(self, prior: Floats) -> Floats:
        """What is said of all rows,"""

    def said(self, shares: Floats, prior: Floats) -> Floats:
        """and what leaves with such shares add to that."""

    def gain(self, scores: Integers, rows: slice) -> int:
        """What it is worth to say this of these rows: of each 0 to `leaves.FINE`."""

    def sums(self, cells: Integers, size: int, steps: int) -> Integers:
        """The masses of the rows of each of so many cells; of every row so many steps."""


# where cuts are offered


def density_sensitivity(width: int) -> Sensitivity:
    """How far a row moves the histograms of all features: it is in one bin of each."""
    return Sensitivity(Fraction(width), Fraction(width))


def is_dense(size: float, width: int, cost: Cost, share: Fraction) -> bool:
    """Whether so many rows, spread over the bins, are more than the noise."""
    return cost.deviation(density_sensitivity(width), share) * BINS <= size


def evenly(box: Box) -> Floats:
    """Cuts of every feature, a line for each, that know the bounds alone."""
    return _points(box, np.array(PLACES))


def crowded(exact: Floats, box: Box, size: float, exit_: Exit, share: Fraction) -> Floats:
    """Cuts of every feature at about the quantiles of its values.

    Theorem  `share` of the cost. Proof: one release of histograms with `density_sensitivity`; the rest follows.
    """
    moved = density_sensitivity(box.width)
    codes = codes_of(exact, _points(box, np.arange(1, BINS) / BINS))
    counts = np.array([np.bincount(line, minlength=BINS) for line in codes], dtype=np.int64)
    noisy = counted(counts, moved, exit_, share)
    wide = exit_.cost.deviation(moved, share)
    density = projected(noisy, np.full(box.width, max(size, 1.0))) + wide / 2
    below = np.concatenate([np.zeros((box.width, 1)), np.cumsum(density, axis=1)], axis=1)
    wanted = np.arange(1, CUTS + 1) / (CUTS + 1)
    places = np.arange(BINS + 1) / BINS
    shares = np.array([np.interp(wanted * line[-1], line, places) for line in below])
    return _points(box, shares)


def _points(box: Box, shares: Floats) -> Floats:
    """Shares of the range of each feature, as values."""
    points: Floats = box.low[:, None] + (2 * box.half)[:, None] * shares
    return points


def codes_of(exact: Floats, cuts: Floats) -> Codes:
    """How many cuts of its feature each value is above, a line for each feature; comparing is exact."""
    codes = np.empty((len(cuts), len(exact)), dtype=np.uint8)
    for line, own, column in zip(codes, cuts, exact.T, strict=True):
        line[:] = np.searchsorted(own, column)
    return codes


# which cuts are taken


def weights_of(sizes: Floats) -> Integers:
    """What the mass of each output weighs, a line for each way of comparing, by noisy masses of all rows.

    The first way makes all outputs equal; the others make the odds of one a multiple of that. Equal weights are blind
    to a class that is nowhere the larger one; one way alone is blind to cuts between parts where the same is heaviest.
    """
    even = 1 / np.maximum(sizes, max(float(sizes.max()) / RAREST, 1.0))
    tilted = len(sizes) if 2 < len(sizes) <= MOST_TILTED else 1 if len(sizes) == 2 else 0
    every = [np.where(np.arange(len(sizes)) == output, tilt, 1.0) for tilt in TILTS for output in range(tilted)]
    ways = np.array([np.ones(len(sizes)), *every]) * even
    heavy = HEAVIEST * ways / ways.max(axis=1, keepdims=True)
    weights: Integers = np.maximum(np.rint(heavy), 1).astype(np.int64)
    return weights


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The private rows: which cuts their values are above, what they are, and what that weighs.

    Parts of the rows score what the heaviest output of each part weighs, all parts and all ways of comparing together.

    Theorem  A new row raises a score by 0 to `most`. Proof: it is in one part, where it adds masses m ≥ 0 with Σm = s.
             In one way of comparing, the heaviest output gains at least 0, and at most the largest w·m, for the largest
             of sums is at most the sum of the largest. Over all ways that is Σ max w·m, which is convex in m: it is at
             most its value where one output has all of s, and that is s·Σw for this output.
    """

    codes: Codes
    target: Target
    weights: Integers

    @property
    def most(self) -> int:
        return int(self.weights.sum(axis=0).max()) * self.target.steps

    def scores(self, part: Integers, parts: int, feature: int, cuts: int) -> Integers:
        """Of each of so many cuts of a feature: of all parts, each in two."""
        cells = part * (cuts + 1) + self.codes[feature]
        sums = self.target.sums(cells, parts * (cuts + 1), self.target.steps).reshape(parts, cuts + 1, -1)
        below = np.cumsum(sums, axis=1)
        above = below[:, -1:] - below
        scores = np.zeros(cuts, dtype=np.int64)
        for way in self.weights:
            both = (below * way).max(axis=2) + (above * way).max(axis=2)
            scores += both[:, :-1].sum(axis=0)
        return scores

    def part(self, cuts: Integers) -> Integers:
        """The part of each row by cuts of levels: the feature of each, and which cut."""
        part = np.zeros(self.codes.shape[1], dtype=np.int64)
        for feature, cut in cuts:
            part += part
            part += self.codes[feature] > cut
        return part

    def chosen(self, depth: int, offers: int, exit_: Exit, share: Fraction) -> Integers:
        """For each level the feature and the cut of it which, with those before, make about the best parts.

        Theorem  `share` of the cost. Proof: a part of it for each level. Parts come from the choices before; given
                 these, it is a choice by scores that a new row raises by 0 to `most`.
        """
        return np.array(list(self._levels(depth, offers, exit_, share)), dtype=np.int64).reshape(depth, 2)

    def _levels(self, depth: int, offers: int, exit_: Exit, share: Fraction) -> Iterator[tuple[int, int]]:
        part = np.zeros(self.codes.shape[1], dtype=np.int64)
        for level in exit_.watched(range(depth), depth, "cuts"):
            features = some(len(self.codes), exit_)
            scores = np.array([self.scores(part, 2**level, int(feature), offers) for feature in features])
            best = exit_.choose(scores.ravel(), self.most, share / depth)
            feature, cut = int(features[best // offers]), best % offers
            part += part
            part += self.codes[feature] > cut
            yield feature, cut


def some(width: int, exit_: Exit) -> Any:
    """The features that are looked at: all, or as many as may be at random."""
    if width <= MOST_FEATURES:
        return np.arange(width)
    return np.sort(np.argsort(exit_.below(2**62, width))[:MOST_FEATURES])
