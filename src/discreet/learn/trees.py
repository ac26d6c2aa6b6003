"""Trees whose cuts are drawn from the bounds alone, as they come or the best of many, with noisy leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.exact import whole
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn.box import Box, Floats
from discreet.learn.core import Typical, parameters
from discreet.learn.counting import affordable, counted
from discreet.learn.labels import Array, Labels
from discreet.learn.predictors import Classifier
from discreet.learn.thresholds import FINE, Rows, offered, weights_of
from discreet.mechanisms.arrays import Integers

DEPTHS: Final = (2, 8)
"""The least and the greatest depth that is chosen without being told."""
FEWEST_TREES: Final = 5
MOST_TREES: Final = {True: 10, False: 100}
"""Trees that are chosen without being told: few if they share epsilon, for that noise grows faster than they help."""
MOST_CELLS: Final = 2**24
"""Leaves times classes that all trees may have together."""
SIZE: Final = Fraction(1, 20)
"""The share of the cost that tells about how many rows there are."""
CHOICE: Final = Fraction(1, 2)
"""The share of what is left that chooses a tree, or the cuts of trees."""
MOST_CHOSEN: Final = 10
"""Trees whose cuts are chosen, without being told: further ones ask the same."""
WORTH: Final = 300
"""So many rows, in units of noise, are worth one tree with chosen cuts; n trees are worth n³ times as many."""
ENOUGH: Final = 200
"""Cuts are chosen if there are so many rows of each class, in units of a leaf's noise."""


@dataclass(frozen=True, slots=True)
class Trees:
    """Complete binary trees: node i has the children 2i + 1 (up to the threshold) and 2i + 2 (above it)."""

    features: Integers
    thresholds: Floats
    depth: int

    @property
    def count(self) -> int:
        return len(self.features)

    def leaf(self, rows: Floats, tree: int) -> Integers:
        """Where each row ends in a tree; comparing is exact, so it depends on that row alone."""
        node = np.zeros(len(rows), dtype=np.int64)
        every = np.arange(len(rows))
        for _ in range(self.depth):
            above = rows[every, self.features[tree, node]] > self.thresholds[tree, node]
            node = 2 * node + 1 + above
        leaf: Integers = node - (2**self.depth - 1)
        return leaf

    def only(self, tree: int) -> Trees:
        return Trees(self.features[[tree]], self.thresholds[[tree]], self.depth)


def grown(count: int, depth: int, box: Box, exit_: Exit) -> Trees:
    """Random trees: each node takes any feature, and splits what its ancestors left of its range anywhere.

    Nothing of it depends on rows, so it is free (Geurts, Ernst & Wehenkel 2006: totally randomised trees).
    """
    nodes = 2**depth - 1
    features = exit_.below(box.width, (count, nodes))
    places = (exit_.below(FINE, (count, nodes)) + 0.5) / FINE
    shares = np.zeros((count, nodes))
    for level in range(depth):
        node = np.arange(2**level - 1, 2 ** (level + 1) - 1)
        low, high = _range(node, features, shares)
        shares[:, node] = low + (high - low) * places[:, node]
    return Trees(features, box.middle[features] + (2 * shares - 1) * box.half[features], depth)


def _range(node: Integers, features: Integers, shares: Floats) -> tuple[Floats, Floats]:
    """What the ancestors of nodes on one level leave of the range of each one's feature."""
    own = features[:, node]
    low, high = np.zeros(own.shape), np.ones(own.shape)
    child = node
    while child[0] > 0:
        parent = (child - 1) // 2
        same = features[:, parent] == own
        right = child % 2 == 0
        low = np.where(same & right, np.maximum(low, shares[:, parent]), low)
        high = np.where(same & ~right, np.minimum(high, shares[:, parent]), high)
        child = parent
    return low, high


def chosen(shape: _Shape, rows: Rows, box: Box, exit_: Exit, share: Fraction) -> Trees:
    """Trees with one cut for all nodes of a level, each chosen for its part of a share of the cost."""
    features, cuts = offered(box, shape.trees, shape.depth, exit_)
    part = share / (shape.trees * shape.depth)
    each = exit_.watched(range(shape.trees), shape.trees, "cuts of trees")
    best = np.array([list(rows.chosen(features[tree], cuts[tree], exit_, part)) for tree in each])[:, :, None]
    level = np.repeat(np.arange(shape.depth), 2 ** np.arange(shape.depth))
    features, cuts = np.take_along_axis(features, best, axis=2), np.take_along_axis(cuts, best, axis=2)
    return Trees(features[:, level, 0], cuts[:, level, 0], shape.depth)


def counts_of(trees: Trees, exact: Floats, places: Integers, classes: int, exit_: Exit) -> Integers:
    """How many rows of each class end in each leaf of each tree; rows of no class are in none."""
    known = places >= 0
    rows, held = exact[known], places[known]
    cells = 2**trees.depth * classes
    counts = [
        np.bincount(trees.leaf(rows, tree) * classes + held, minlength=cells).reshape(-1, classes)
        for tree in exit_.watched(range(trees.count), trees.count, "trees")
    ]
    return np.array(counts, dtype=np.int64)


def sensitivity(count: int) -> Sensitivity:
    """How far one row moves the counts of all leaves of `count` trees.

    Theorem  l1 ≤ T and l2² ≤ T. Proof: a row has one class and ends in one leaf of each tree; that count moves by 1.
    """
    return Sensitivity(Fraction(count), Fraction(count))


@dataclass(frozen=True, slots=True)
class _Facts:
    classes: Labels
    box: Box
    trees: int | None
    depth: int | None


@parameters
class _Forest(Classifier):
    """Predicts by what the leaves of all trees say together."""

    bounds: Any = None
    classes: Any = None
    max_depth: int | None = None

    def _many(self) -> int | None:
        raise NotImplementedError

    def _facts(self, width: int | None, cost: Cost) -> _Facts:
        depth = None if self.max_depth is None else whole(self.max_depth, "max_depth")
        facts = _Facts(Labels.read(self.classes, "classes"), Box.read(self.bounds, width), self._many(), depth)
        most = facts.trees or MOST_TREES[False]
        if most * 2 ** min(depth or DEPTHS[1], 30) * facts.classes.count > MOST_CELLS:
            raise ValueError("the trees would have more than 2**24 leaves times classes: use fewer trees or less depth")
        affordable(cost, sensitivity(most), SIZE)
        return facts

    def _keep(
        self, trees: Trees, counts: Integers, facts: _Facts, exit_: Exit, share: Fraction, say: float = 1.0
    ) -> None:
        """Release the leaves for a share of the cost; what they say is post-processing.

        A leaf's shares are pulled towards those of all rows by as many imagined rows as its noise is wide. `say` is how
        much its odds count: 1 if trees tell different things, less if they repeat each other.
        """
        moved = sensitivity(trees.count)
        noisy = counted(counts, moved, exit_, share)
        self.classes_ = facts.classes.values
        self.features_, self.thresholds_, self.max_depth_ = trees.features, trees.thresholds, trees.depth
        self.counts_ = noisy
        prior = np.maximum(noisy.sum(axis=1).mean(axis=0), 1)
        self.class_count_ = prior
        self.class_log_prior_ = np.log(prior / prior.sum())
        pull = max(1.0, exit_.cost.deviation(moved, share))
        held = np.maximum(noisy, 0) + pull * prior / prior.sum()
        self.leaf_log_odds_ = say * (np.log(held / held.sum(axis=2, keepdims=True)) - self.class_log_prior_)

    def _joint(self, rows: Array) -> Floats:
        trees = Trees(self.features_, self.thresholds_, self.max_depth_)
        joint = np.tile(self.class_log_prior_, (len(rows), 1))
        for tree in range(trees.count):
            joint += self.leaf_log_odds_[tree, trees.leaf(rows, tree)]
        return joint


@parameters
class RandomForestClassifier(_Forest):
    """Many random trees or a few good ones, and one release of how many rows of each class end in each of their leaves.

    Where rows are few all cuts are random, and cost nothing. Where they are many (`ENOUGH`), each cut is about the best
    of some random ones by a private choice, one for all nodes of a level, and what the trees say is averaged.

    Theorem  The declared loss. Proof: counts of the rows of each class with sensitivity 1 for 1/20 of the cost, which
             tell the shape; choices for half of the rest, if they are made (`Rows.chosen`); all leaves as one vector
             with that sensitivity for what is left then. What is offered to choose from comes from the bounds only.
    Source   Jagannathan, Pillaipakkamnatt & Wright 2009 (random trees with noisy leaves); Friedman & Schuster 2010
             (cuts chosen by how many rows a majority gets right); Kohavi & Li 1995 (one cut for a level).

    `n_estimators` and `max_depth` come from the noisy number of rows if they are not given.

    >>> RandomForestClassifier(bounds=([0, 0], [110, 5000]), classes=["no", "yes"], epsilon=1).loss_for(2)
    Pure(epsilon=1)
    """

    n_estimators: int | None = field(default=None, kw_only=False)

    def _many(self) -> int | None:
        return None if self.n_estimators is None else whole(self.n_estimators, "n_estimators")

    def _typical(self, facts: _Facts, cost: Cost) -> Typical:  # noqa: ARG002
        """The leaves of random trees: of as few as there may be, unless their number is given."""
        return sensitivity(facts.trees or FEWEST_TREES), WHOLE - SIZE

    def _facts(self, width: int | None, cost: Cost) -> _Facts:
        facts = super()._facts(width, cost)
        most = (facts.trees or MOST_CHOSEN) * (facts.depth or DEPTHS[1])
        affordable(cost, sensitivity(1), (WHOLE - SIZE) * CHOICE / most)
        return facts

    def _learn(self, exact: Array, labels: Array | None, facts: _Facts, exit_: Exit) -> None:
        assert labels is not None
        places, count = facts.classes.places(labels), facts.classes.count
        sizes = counted(np.bincount(places[places >= 0], minlength=count), sensitivity(1), exit_, SIZE)
        shape, left, say = _good_shape(sizes, facts, exit_.cost), WHOLE - SIZE, 1.0
        if shape is None:
            shape = _random_shape(float(sizes.sum()), facts, exit_.cost)
            trees = grown(shape.trees, shape.depth, facts.box, exit_)
        else:
            rows = Rows.of(exact, places, weights_of(sizes))
            trees = chosen(shape, rows, facts.box, exit_, left * CHOICE)
            left, say = left - left * CHOICE, 1 / shape.trees
        self._keep(trees, counts_of(trees, exact, places, count, exit_), facts, exit_, left, say)


@parameters
class DecisionTreeClassifier(_Forest):
    """One tree that can be read: of many random ones, about the best.

    Theorem  The declared loss. Proof: a count of rows with sensitivity 1 for 1/20 of the cost (unless the shape is
             given); a choice for half of the rest by how many rows the majorities of a tree's leaves get right, which
             a new row raises by 0 or 1; the leaves of that tree, with that sensitivity, for the other half.
    Source   McSherry & Talwar 2007 (the choice); Jagannathan, Pillaipakkamnatt & Wright 2009 (the leaves).

    `candidates` is how many trees to choose from; `max_depth` comes from the noisy number of rows if it is not given.

    >>> DecisionTreeClassifier(bounds=(0, 1), classes=[0, 1], rho=0.1).loss_for(4)
    Concentrated(rho=0.1)
    """

    candidates: int = 200

    def _many(self) -> int:
        return whole(self.candidates, "candidates", least=2)

    def _typical(self, facts: _Facts, cost: Cost) -> Typical:  # noqa: ARG002
        """The leaves of the tree."""
        return sensitivity(1), (WHOLE - SIZE) * CHOICE

    def _learn(self, exact: Array, labels: Array | None, facts: _Facts, exit_: Exit) -> None:
        assert labels is not None
        assert facts.trees is not None
        places = facts.classes.places(labels)
        depth, left = _depth(places, facts, exit_)
        trees = grown(facts.trees, depth, facts.box, exit_)
        counts = counts_of(trees, exact, places, facts.classes.count, exit_)
        best = exit_.choose(counts.max(axis=2).sum(axis=1), 1, left * CHOICE)
        self._keep(trees.only(best), counts[[best]], facts, exit_, left - left * CHOICE)


@dataclass(frozen=True, slots=True)
class _Shape:
    """How many trees, and how deep."""

    trees: int
    depth: int


def _good_shape(sizes: Floats, facts: _Facts, cost: Cost) -> _Shape | None:
    """What was given, and for the rest as many trees with chosen cuts as noise allows; None if rows are too few.

    More classes need more trees, and leaves that hold more rows. Very many trees stay random: choices would take hours.
    """
    size, count = float(sizes.sum()), facts.classes.count
    seen = max(size, 0) / cost.deviation(sensitivity(1))
    trees = facts.trees or round(min(max(count / 2 * math.cbrt(seen / WORTH), 1), MOST_CHOSEN))
    shown = size / cost.deviation(sensitivity(trees)) / count
    enough = shown >= ENOUGH and trees <= MOST_TREES[False]
    return _Shape(trees, facts.depth or _levels(shown / 4)) if enough else None


def _random_shape(size: float, facts: _Facts, cost: Cost) -> _Shape:
    """What was given, and for the rest what leaves of equal size need to hold more rows than noise.

    The noise grows with the number of trees; noise that is Gaussian averages out over many, unless rows are few. That
    of all classes of a leaf together grows as the root of their number.
    """
    fair = int(max(FEWEST_TREES, min(size / (3 * cost.deviation(sensitivity(1))), MOST_TREES[cost.pure])))
    trees = facts.trees or fair
    wide = cost.deviation(sensitivity(trees)) * math.sqrt(facts.classes.count / 2)
    return _Shape(trees, facts.depth or _levels(size / max(1.0, wide)))


def _depth(places: Integers, facts: _Facts, exit_: Exit) -> tuple[int, Fraction]:
    """How deep one tree should be, and the share of the cost that is left: all of it if the depth is given."""
    if facts.depth is not None:
        return facts.depth, WHOLE
    size = float(counted(np.array([np.count_nonzero(places >= 0)]), sensitivity(1), exit_, SIZE)[0])
    return _levels(size / max(1.0, exit_.cost.deviation(sensitivity(1)))), WHOLE - SIZE


def _levels(leaves: float) -> int:
    return min(max(math.floor(math.log2(max(leaves, 1))), DEPTHS[0]), DEPTHS[1])
