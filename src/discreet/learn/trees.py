"""Decision trees and random forests, for classes and for numbers."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from discreet.exact import whole
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn import zooming
from discreet.learn.box import Box, Floats
from discreet.learn.core import Estimator, Typical, parameters
from discreet.learn.growing import CHOICE, NEAR, SIZE, Facts, Grown, Trees, counted_first, grown, sensitivity
from discreet.learn.labels import Array, Labels
from discreet.learn.leaves import Classes, First, Range, Shares
from discreet.learn.predictors import Classifier, Regressor
from discreet.mechanisms.arrays import Integers


@parameters
class _Forest(Estimator):
    """Says what the leaves of its trees say together."""

    bounds: Any = None
    max_depth: int | None = None

    def _many(self) -> int | None:
        return 1

    def _public(self, width: int | None, cost: Cost, **more: Any) -> Facts:
        depth = None if self.max_depth is None else whole(self.max_depth, "max_depth")
        facts = Facts(Box.read(self.bounds, width), self._many(), depth, **more)
        facts.check(cost)
        return facts

    def _typical(self, facts: Facts, cost: Cost) -> Typical:  # noqa: ARG002
        """The leaves of the tree with chosen cuts: it tells the most, and where rows are few all."""
        return sensitivity(1), (WHOLE - SIZE) * CHOICE

    def _keep(self, model: Grown) -> None:
        self.features_: list[Integers] = list(model.trees.features)
        self.thresholds_: list[Floats] = list(model.trees.thresholds)
        self.max_depth_ = model.depth
        self.counts_ = model.counts
        self.leaf_values_ = model.values

    def _sums(self, rows: Array) -> Floats:
        """What all trees add, for each row."""
        trees = Trees(self.features_, self.thresholds_)
        total = np.zeros((len(rows), self.leaf_values_[0].shape[1]))
        for tree, values in enumerate(self.leaf_values_):
            total += values[trees.leaf(rows, tree)]
        return total


@parameters
class _Ensemble(_Forest):
    """Several trees."""

    n_estimators: int | None = field(default=None, kw_only=False)

    def _many(self) -> int | None:
        return None if self.n_estimators is None else whole(self.n_estimators, "n_estimators")


@parameters
class _ForClasses(_Forest, Classifier):
    classes: Any = None

    def _facts(self, width: int | None, cost: Cost) -> Facts:
        return self._public(width, cost, classes=Labels.read(self.classes, "classes"))

    def _learn(self, exact: Array, labels: Array | None, facts: Facts, exit_: Exit) -> None:
        assert labels is not None
        assert facts.classes is not None
        places = facts.classes.places(labels)
        known = places >= 0
        target = Classes(places[known], facts.classes.count)
        first = First.of_classes(*counted_first(target.whole, exit_))
        model = grown(exact[known], target, first, facts, exit_, WHOLE - SIZE)
        self._keep(model)
        self.classes_ = facts.classes.values
        self.class_count_ = np.maximum(model.masses, 0)
        self.class_log_prior_ = np.log(model.prior)

    def _joint(self, rows: Array) -> Floats:
        joint: Floats = self.class_log_prior_ + self._sums(rows)
        return joint


@parameters
class _ForNumbers(_Forest, Regressor):
    y_bounds: Any = None

    def _facts(self, width: int | None, cost: Cost) -> Facts:
        zooming.check(1, cost, NEAR)
        return self._public(width, cost, target=Box.read(self.y_bounds, 1, "y_bounds"))

    def _learn(self, exact: Array, labels: Array | None, facts: Facts, exit_: Exit) -> None:
        assert labels is not None
        assert facts.target is not None
        box = zooming.zoomed(labels[:, None], facts.target, exit_, NEAR)
        target = Shares((np.clip(labels, box.low, box.high) - box.low) / (2 * box.half))
        near = Range.of(*counted_first(target.whole, exit_))
        model = grown(exact, target.within(near), near.first, facts, exit_, WHOLE - NEAR - SIZE)
        self._keep(model)
        low, high = box.low + 2 * box.half * np.array([near.low, near.high])
        self.range_ = np.array([low, high])
        self.mean_ = float(low + (high - low) * model.prior[1])
        self.leaf_values_ = [(high - low) * values for values in model.values]

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """The expected number of each row."""
        said = self._sums(self._again(X))[:, 0]
        predicted: Floats = np.clip(self.mean_ + said, *self.range_)
        return predicted


@parameters
class DecisionTreeClassifier(_ForClasses):
    """One tree that can be read: a cut for every level, each about the best by a private choice.

    Theorem  The declared loss: see `growing.grown`. Which rows have no declared class follows from each row alone, and
             these are left out.
    Source   Friedman & Schuster 2010 (cuts chosen by how many rows a majority gets right); Kohavi & Li 1995 (one cut
             for a level); Jagannathan, Pillaipakkamnatt & Wright 2009 (noisy leaves).

    `max_depth` comes from the noisy number of rows if it is not given. Leaves are believed as far as they differ by
    more than noise; where rows are few, all that is released is how many there are of each class.

    >>> DecisionTreeClassifier(bounds=(0, 1), classes=[0, 1], rho=0.1).loss_for(4)
    Concentrated(rho=0.1)
    """


@parameters
class RandomForestClassifier(_ForClasses, _Ensemble):
    """A tree with chosen cuts, as `DecisionTreeClassifier` has it, and beside it random ones if rows are many.

    Theorem  The declared loss: see `growing.grown`.
    Source   Jagannathan, Pillaipakkamnatt & Wright 2009 (random trees with noisy leaves); Özuysal, Fua & Lepetit 2007
             (what trees with one random cut for each level say is added up).

    How much the one and the others say is about what suits the rows best, by a private choice. `n_estimators` and
    `max_depth` come from the noisy number of rows if they are not given.

    >>> RandomForestClassifier(bounds=([0, 0], [110, 5000]), classes=["no", "yes"], epsilon=1).loss_for(2)
    Pure(epsilon=1)
    """


@parameters
class DecisionTreeRegressor(_ForNumbers):
    """One tree that can be read, with a number in each leaf.

    Theorem  The declared loss. Proof: a share for where numbers lie (`zooming.zoomed`), and the rest for
             `growing.grown`, where a number is a share of that range, and the mass of a row is that much high and for
             the rest low.
    Source   As `DecisionTreeClassifier`.

    `y_bounds` are public bounds of the number; `max_depth` comes from the noisy number of rows if it is not given.

    >>> DecisionTreeRegressor(bounds=(0, 110), y_bounds=(0, 5000), epsilon=1).loss_for(1)
    Pure(epsilon=1)
    """


@parameters
class RandomForestRegressor(_ForNumbers, _Ensemble):
    """A tree with chosen cuts, as `DecisionTreeRegressor` has it, and beside it random ones if rows are many.

    Theorem  The declared loss, as that of `DecisionTreeRegressor`.
    Source   As `RandomForestClassifier`.

    >>> RandomForestRegressor(bounds=(0, 110), y_bounds=(0, 5000), epsilon=1).loss_for(1)
    Pure(epsilon=1)
    """
