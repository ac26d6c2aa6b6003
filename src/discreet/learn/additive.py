"""Additive models: predictions are sums of one curve for each feature, which can be drawn and read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn.boosting import BINS, Plan, Rows, binned, boosted, by_class, scored
from discreet.learn.box import Box, Floats
from discreet.learn.core import Estimator, Typical, parameters
from discreet.learn.labels import Array, Labels
from discreet.learn.predictors import ClassFacts, Classifier, Regressor
from discreet.learn.residuals import GRAIN, OneClass, Values
from discreet.mechanisms.arrays import Integers


@parameters
class _Additive(Estimator):
    """The tables that both models learn."""

    bounds: Any = None

    def _keep(self, tables: Integers, box: Box) -> None:
        """`curves_` says what each feature adds between two of its `edges_`, and `intercept_` what all rows have."""
        self.tables_ = tables
        self.low_, self.high_ = box.low, box.high
        self.edges_ = np.linspace(box.low, box.high, BINS + 1, axis=1)
        self.curves_ = tables[:-1] / GRAIN
        self.intercept_ = tables[-1, 0] / GRAIN

    def _scores(self, rows: Array) -> Floats:
        return scored(binned(rows, Box(self.low_, self.high_)), self.tables_) / GRAIN


@parameters
class AdditiveClassifier(_Additive, Classifier):
    """Logarithmic odds as sums of one curve for each feature, boosted.

    Theorem  The declared loss: see `discreet.learn.boosting.boosted`. Rows whose label is not among `classes` are not
             learned from.

    >>> AdditiveClassifier(bounds=([0, 0], [110, 5000]), classes=["no", "yes"], epsilon=1).loss_for(2)
    Pure(epsilon=1)
    """

    classes: Any = None
    counts_classes = False

    def _facts(self, width: int | None, cost: Cost) -> ClassFacts:
        facts = ClassFacts(Labels.read(self.classes, "classes", least=2), Box.read(self.bounds, width))
        Plan.check(facts.box.width, cost)
        return facts

    def _typical(self, facts: ClassFacts, cost: Cost) -> Typical:  # noqa: ARG002
        return Plan.typical(OneClass(0, facts.classes.count), facts.box.width)

    def _learn(self, exact: Array, labels: Array | None, facts: ClassFacts, exit_: Exit) -> None:
        assert labels is not None
        places = facts.classes.places(labels)
        parts = by_class(binned(exact, facts.box), places, facts.classes.count)
        self.classes_ = facts.classes.values
        self._keep(boosted(parts, exit_), facts.box)

    def _joint(self, rows: Array) -> Floats:
        scores = self._scores(rows)
        return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores


@dataclass(frozen=True, slots=True)
class _ValueFacts:
    target: Box
    box: Box


@parameters
class AdditiveRegressor(_Additive, Regressor):
    """A bounded number as a sum of one curve for each feature, boosted.

    Theorem  The declared loss: see `discreet.learn.boosting.boosted`. Targets beyond `y_bounds` are clipped, and
             so are predictions.

    >>> AdditiveRegressor(bounds=(0, 1), y_bounds=(0, 5000), rho=0.1).loss_for(2)
    Concentrated(rho=0.1)
    """

    y_bounds: Any = None

    def _facts(self, width: int | None, cost: Cost) -> _ValueFacts:
        facts = _ValueFacts(Box.read(self.y_bounds, 1, "y_bounds"), Box.read(self.bounds, width))
        Plan.check(facts.box.width, cost)
        return facts

    def _typical(self, facts: _ValueFacts, cost: Cost) -> Typical:  # noqa: ARG002
        return Plan.typical(Values(np.zeros(0, dtype=np.int64)), facts.box.width)

    def _learn(self, exact: Array, labels: Array | None, facts: _ValueFacts, exit_: Exit) -> None:
        assert labels is not None
        steps = facts.target.steps(labels[:, None], GRAIN)[:, 0]
        self.target_low_, self.target_high_ = float(facts.target.low[0]), float(facts.target.high[0])
        self._keep(boosted([Rows.of(binned(exact, facts.box), Values(steps))], exit_), facts.box)

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """The expected number of each row, within `y_bounds`."""
        scores = self._scores(self._again(X))
        return Box(np.array([self.target_low_]), np.array([self.target_high_])).points(scores)[:, 0]
