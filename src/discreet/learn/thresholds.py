"""Cuts of features: drawn from the bounds alone, and the best of them by private choices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.exit import Exit
from discreet.learn.box import Box, Floats
from discreet.mechanisms.arrays import Integers

FINE: Final = 2**30
"""Places along a range where it can be cut."""
OFFERS: Final = (16, 200)
"""The least and the greatest number of cuts that one is chosen from; between them it is four for each feature."""
SCALES: Final = 7
"""Half of the offered cuts lie as likely in each of so many halvings of the range: amounts crowd at the low end."""
HEAVIEST: Final = 64
"""What a row of the rarest class weighs when cuts are compared."""
RAREST: Final = 20
"""A class counts as at most so many times rarer than the largest: light rows would drown in the noise of a choice."""


def offered(box: Box, trees: int, depth: int, exit_: Exit) -> tuple[Integers, Floats]:
    """Features and where to cut them, several for each level of each tree.

    A cut lies anywhere within the bounds, or at any scale above the lower one.
    """
    size = trees, depth, min(max(4 * box.width, OFFERS[0]), OFFERS[1])
    features = exit_.below(box.width, size)
    places = (exit_.below(FINE, size) + 0.5) / FINE
    shares = np.where(np.arange(size[-1]) % 2 == 0, places, 2.0 ** (-SCALES * places))
    return features, box.middle[features] + (2 * shares - 1) * box.half[features]


def weights_of(sizes: Floats) -> Integers:
    """What a row of each class weighs, by noisy sizes of the classes: the more, the rarer its class is.

    Equal weights are blind to a class that is nowhere the larger one; weights that make all classes equal forget how
    many rows there are to get right. The roots of the latter are between.
    """
    sizes = np.maximum(sizes, max(float(sizes.max()) / RAREST, 1.0))
    weights: Integers = np.rint(HEAVIEST * np.sqrt(sizes.min() / sizes)).astype(np.int64)
    return weights


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The private rows that have a class: their features (a line for each), their classes, and what each class weighs.

    Parts of the rows score what the heaviest class of each part weighs, all parts together.

    Theorem  A new row raises a score by 0 to HEAVIEST. Proof: it is in one part, where it makes one class heavier by a
             weight from 1 to HEAVIEST. So the heaviest class there gains at most that, and loses nothing; other parts
             stay. Weights are of released counts.
    """

    columns: Floats
    held: Integers
    weights: Integers

    @classmethod
    def of(cls, exact: Floats, places: Integers, weights: Integers) -> Rows:
        known = places >= 0
        return cls(np.ascontiguousarray(exact[known].T), places[known], weights)

    def score(self, cells: Integers, parts: int, feature: int, cut: float) -> int:
        """Of so many parts, each in two: up to the cut and above it. Comparing is exact, so a row is by itself.

        A row's cell is that of its class in the lower half of its part; the upper half comes next.
        """
        classes = self.weights.size
        above = self.columns[feature] > cut
        counts = np.bincount(cells + classes * above, minlength=2 * parts * classes)
        return int((counts.reshape(-1, classes) * self.weights).max(axis=1).sum())

    def chosen(self, features: Integers, cuts: Floats, exit_: Exit, share: Fraction) -> Iterator[int]:
        """Level by level the place of about that cut which, with those chosen before, makes the best parts.

        Theorem  `share` of the cost for each. Proof: cuts are drawn from the bounds, parts come from the choices
                 before; given these, it is a choice by scores that a new row raises by 0 to HEAVIEST.
        """
        part = np.zeros_like(self.held)
        for level, offers in enumerate(zip(features, cuts, strict=True)):
            cells = 2 * self.weights.size * part + self.held
            scores = [self.score(cells, 2**level, *offer) for offer in zip(*offers, strict=True)]
            best = exit_.choose(np.array(scores, dtype=np.int64), HEAVIEST, share)
            part = 2 * part + (self.columns[features[level, best]] > cuts[level, best])
            yield best
