"""How trees grow: of few cuts, chosen privately or at random, with noisy leaves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn import zooming
from discreet.learn.box import Box, Floats
from discreet.learn.counting import affordable
from discreet.learn.labels import Labels
from discreet.learn.leaves import First, combined, grains, heard, prior_of, shrunk
from discreet.learn.thresholds import Rows, Target, codes_of, crowded, density_sensitivity, evenly, is_dense, weights_of
from discreet.mechanisms.arrays import Integers

DEEPEST: Final = 8
"""The greatest depth that is chosen without being told."""
RANDOM_TREES: Final = (8, 40)
"""Random trees beside one with chosen cuts, without being told: none, or so many at least and at most."""
MOST_CELLS: Final = 2**20
"""Leaves times classes that all trees may have together."""
SIZE: Final = Fraction(1, 20)
"""The share of the cost that tells about how many rows there are."""
NEAR: Final = Fraction(1, 20)
"""The share that tells where they lie if bounds are far too wide, of features and of a number to predict alike,"""
DENSITY: Final = Fraction(1, 10)
"""the share that tells where cuts are worth offering: both only where rows are enough to tell,"""
SAY: Final = Fraction(1, 20)
"""and the share that tells how much random trees should say."""
FIRST: Final = Fraction(2, 3)
"""Of what is left, so much is for the tree with chosen cuts if there are others beside it,"""
CHOICE: Final = Fraction(1, 2)
"""and so much of that chooses its cuts."""
FEWEST: Final = 200
"""Fewer rows, in units of noise, are not cut at all."""
LEAF: Final = 4
"""Leaves should hold so many rows of each class, in units of noise,"""
MANY: Final = 12_000
"""Fewer rows, in units of noise, have no random trees beside the tree with chosen cuts: what it loses is more,"""
ENOUGH: Final = 500
"""and of these there may be so many that there are as many rows, in units of their noise."""


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """One question for all nodes of a level: the leaf of a row is the number with its answers as digits."""

    features: Sequence[Integers]
    thresholds: Sequence[Floats]

    def leaf(self, rows: Floats, tree: int) -> Integers:
        """Where each row ends in a tree; comparing is exact, so it depends on that row alone."""
        leaf = np.zeros(len(rows), dtype=np.int64)
        for feature, threshold in zip(self.features[tree], self.thresholds[tree], strict=True):
            leaf += leaf
            leaf += rows[:, feature] > threshold
        return leaf


def sensitivity(count: int) -> Sensitivity:
    """How far one row moves the masses in all leaves of `count` trees.

    Theorem  l1 ≤ T and l2² ≤ T. Proof: a row ends in one leaf of each tree. There its mass of 1 is shared among the
             outputs: Σm = 1 and Σm² ≤ 1.
    """
    return Sensitivity(Fraction(count), Fraction(count))


@dataclass(frozen=True, slots=True)
class Facts:
    """What is public."""

    box: Box
    trees: int | None
    """How many: one, or None where rows tell."""
    depth: int | None
    classes: Labels | None = None
    target: Box | None = None

    @property
    def outputs(self) -> int:
        return 2 if self.classes is None else self.classes.count

    @property
    def most_trees(self) -> int:
        return 1 + RANDOM_TREES[1] if self.trees is None else self.trees

    def check(self, cost: Cost) -> None:
        """Refuse before the charge what could not be drawn after it."""
        depth = DEEPEST if self.depth is None else self.depth
        if self.most_trees * 2 ** min(depth, 30) * self.outputs > MOST_CELLS:
            raise ValueError("the trees would have more than 2**20 leaves times classes: use fewer trees or less depth")
        left = WHOLE - 2 * NEAR - SIZE - DENSITY - SAY
        affordable(cost, sensitivity(1), SIZE)
        affordable(cost, sensitivity(1), left * FIRST * CHOICE / max(depth, 1))
        affordable(cost, sensitivity(self.most_trees), left * (1 - FIRST))
        affordable(cost, density_sensitivity(self.box.width), DENSITY)
        zooming.check(self.box.width, cost, NEAR)

    def shape(self, size: float, cost: Cost) -> Shape:
        """What was given, and for the rest what about so many rows allow."""
        trees = self._random_trees(size, cost) + 1 if self.trees is None else self.trees
        half = WHOLE if trees == 1 else FIRST
        first = cost.deviation(sensitivity(1), (WHOLE - SIZE) * half * CHOICE)
        others = cost.deviation(sensitivity(max(trees - 1, 1)), (WHOLE - SIZE) * (1 - FIRST))
        enough = size >= FEWEST * cost.deviation(sensitivity(1))
        deep = _levels(size / self.outputs / first / LEAF) if enough else 0
        shallow = max(_levels(size / self.outputs / others / LEAF), 1)
        return Shape(trees, *((deep, shallow) if self.depth is None else (self.depth, self.depth)))

    def _random_trees(self, size: float, cost: Cost) -> int:
        """As many as there are rows enough for."""
        fewest, most = RANDOM_TREES
        if size < MANY * cost.deviation(sensitivity(1)):
            return 0
        fitting = [count for count in range(fewest, most + 1) if cost.deviation(sensitivity(count)) <= size / ENOUGH]
        return fitting[-1] if fitting else fewest


@dataclass(frozen=True, slots=True)
class Shape:
    """How many trees, how deep the one with chosen cuts is, and how deep the others are."""

    trees: int
    depth: int
    random_depth: int

    @property
    def is_root(self) -> bool:
        """Whether there is one leaf, and no cut."""
        return self.trees == 1 and self.depth == 0


def _levels(leaves: float) -> int:
    return min(max(math.floor(math.log2(max(leaves, 1))), 0), DEEPEST)


@dataclass(frozen=True, slots=True, eq=False)
class Grown:
    """What was released: trees, the noisy masses in their leaves, what these say, and the masses of all rows."""

    trees: Trees
    depth: int
    counts: list[Floats]
    values: list[Floats]
    masses: Floats
    prior: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Trees of one depth whose leaves are released together: of each tree the feature and the cut of every level."""

    cuts: list[Integers]
    noisy: Floats
    """Trees × leaves × outputs."""
    deviation: float

    @property
    def total(self) -> tuple[Floats, float]:
        """The masses of all rows, with their noise."""
        count, leaves, _ = self.noisy.shape
        return self.noisy.sum(axis=1).mean(axis=0), self.deviation * math.sqrt(leaves / count)

    def said(self, rows: Rows, values: Floats) -> Integers:
        """What its trees say of each row together, a line for each number that is said."""
        steps = grains(values)
        total = np.zeros((values.shape[2], rows.codes.shape[1]), dtype=np.int64)
        for cuts, leaves in zip(self.cuts, steps, strict=True):
            total += leaves.T[:, rows.part(cuts)]
        return total


def grown(exact: Floats, target: Target, first: First, facts: Facts, exit_: Exit, left: Fraction) -> Grown:
    """One tree with chosen cuts, and random ones beside it if rows are many.

    Theorem  `left` of the cost. Proof: what the shape asks for comes first: `NEAR` for `zooming.zoomed`, `DENSITY` for
             `thresholds.crowded`, `SAY` for `leaves.heard`. Of the rest, all or `FIRST` is for the tree with chosen
             cuts: a part chooses them (`Rows.chosen`), a part is for the release of its leaves. What is left then is
             for the leaves of random trees, which are drawn from released cuts. Shape and shares follow from public
             and released numbers; so does what leaves say.
    """
    shape = facts.shape(first.seen, exit_.cost)
    cuts, left = _offered(exact, facts.box, shape, first.rows, exit_, left)
    rows = Rows(codes_of(exact, cuts), target, weights_of(first.masses))
    say = SAY if shape.trees > 1 else Fraction(0)
    groups = _groups(rows, shape, cuts, exit_, left - say)
    masses, wide = combined([(first.masses, first.deviation), *(group.total for group in groups)])
    prior = prior_of(masses, wide)
    values = [target.said(shrunk(group.noisy, group.deviation, prior, first.variance), prior) for group in groups]
    says = [1.0]
    if say:
        said = [group.said(rows, value) for group, value in zip(groups, values, strict=True)]
        says = heard(target, grains(target.base(prior)), said, shape.trees - 1, exit_, say)
    chosen = [tree for group in groups for tree in group.cuts]
    return Grown(
        Trees([tree[:, 0] for tree in chosen], [cuts[tree[:, 0], tree[:, 1]] for tree in chosen]),
        shape.depth,
        [leaves for group in groups for leaves in group.noisy],
        [much * leaves for much, value in zip(says, values, strict=True) for leaves in value],
        masses,
        prior,
    )


def counted_first(whole: Callable[[int], Integers], exit_: Exit) -> tuple[Floats, float]:
    """What all rows are together, with noise, and its deviation.

    Theorem  `SIZE` of the cost. Proof: of the mass of a row, in steps, its numbers have no more: l1 ≤ s and l2² ≤ s².
    """
    fine = exit_.cost.fineness(sensitivity(1), SIZE)
    return _released(whole(fine), fine, 1, exit_, SIZE)


def _offered(
    exact: Floats, box: Box, shape: Shape, size: float, exit_: Exit, left: Fraction
) -> tuple[Floats, Fraction]:
    """The cuts of each feature that may be taken, and the share of the cost that is left."""
    if shape.is_root:
        return evenly(box), left
    if zooming.promising(size, box.width, exit_.cost, NEAR):
        box, left = zooming.zoomed(exact, box, exit_, NEAR), left - NEAR
    if is_dense(size, box.width, exit_.cost, DENSITY):
        return crowded(exact, box, size, exit_, DENSITY), left - DENSITY
    return evenly(box), left


def _groups(rows: Rows, shape: Shape, cuts: Floats, exit_: Exit, left: Fraction) -> list[_Group]:
    """The tree with chosen cuts, and the random ones."""
    others = shape.trees - 1
    own = left * FIRST if others else left
    choice = own * CHOICE if shape.depth else Fraction(0)
    best = rows.chosen(shape.depth, cuts.shape[1], exit_, choice)
    groups = [_group([best], rows, exit_, own - choice)]
    if others:
        drawn = [exit_.below(size, (others, shape.random_depth)) for size in cuts.shape]
        groups.append(_group(list(np.stack(drawn, axis=2)), rows, exit_, left - own))
    return groups


def _group(cuts: list[Integers], rows: Rows, exit_: Exit, share: Fraction) -> _Group:
    leaves, fine = 2 ** len(cuts[0]), exit_.cost.fineness(sensitivity(len(cuts)), share)
    each = exit_.watched(cuts, len(cuts), "trees")
    exact = np.array([rows.target.sums(rows.part(tree), leaves, fine) for tree in each])
    return _Group(cuts, *_released(exact, fine, len(cuts), exit_, share))


def _released(exact: Integers, fine: int, count: int, exit_: Exit, share: Fraction) -> tuple[Floats, float]:
    """Masses of rows in `count` trees, of each row so many steps in each: with noise, and its deviation."""
    one = sensitivity(count)
    noisy = exit_.release(exact, Sensitivity(one.l1 * fine, one.l2_squared * fine**2), share)
    return noisy.astype(np.float64) / fine, exit_.cost.deviation(one, share)
