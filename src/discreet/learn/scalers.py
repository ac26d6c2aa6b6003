"""Scalers: features to mean 0 and variance 1, or to a range."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from discreet.accounting import Pure
from discreet.exact import interval
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn.box import Box, Floats
from discreet.learn.core import Estimator, Typical, parameters
from discreet.learn.labels import Array
from discreet.learn.moments import moments, moved
from discreet.learn.sizing import SURE, check, sized


@parameters
class StandardScaler(OneToOneFeatureMixin, TransformerMixin, Estimator):  # type: ignore[misc]
    """Subtracts private means and divides by private standard deviations.

    Theorem  The declared loss. Proof: `sizing.sized`, and for what that leaves one release of count, sums and sums
             of squares with the sensitivity of `discreet.learn.moments.sensitivity`; the rest is post-processing.

    Bounds may be far too wide: with rows enough, those that nearly all rows lie within are found first, and others
    count as if they lay there.

    >>> StandardScaler(bounds=(0, 110), epsilon=0.1).loss_for(1)
    Pure(epsilon=0.1)
    """

    bounds: Any = None

    def _facts(self, width: int | None, cost: Cost) -> Box:
        box = Box.read(self.bounds, width)
        check(box.width, cost, SURE)
        cost.fineness(moved(cost, box.width), SURE.left)
        return box

    def _typical(self, facts: Box, cost: Cost) -> Typical:
        return moved(cost, facts.width), WHOLE

    def _learn(self, exact: Array, labels: Array | None, facts: Box, exit_: Exit) -> None:  # noqa: ARG002
        begun = sized(exact, facts, exit_, search=SURE)
        facts = begun.box
        noisy = moments(exact, np.zeros(len(exact), dtype=np.int64), 1, facts, exit_, begun.left)
        least = np.maximum(noisy.square_noise[0], 1e-6) ** 2  # where noise hides the variance, do not divide by it
        self.mean_ = facts.points(noisy.means[0])
        self.var_ = np.maximum(noisy.variances[0], least) * facts.half**2
        self.scale_ = np.sqrt(self.var_)
        self.count_ = float(noisy.counts[0])

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """The rows, scaled."""
        scaled: Floats = (self._again(X) - self.mean_) / self.scale_
        return scaled

    def inverse_transform(self, X: Any) -> Floats:  # noqa: N803
        """Scaled rows, as they were."""
        points: Floats = self._again(X) * self.scale_ + self.mean_
        return points


class MinMaxScaler(OneToOneFeatureMixin, TransformerMixin, Estimator):  # type: ignore[misc]
    """Moves the declared bounds to `feature_range`; values beyond them are clipped.

    Nothing is learned from the rows but how many features they have, so it is free.

    >>> float(MinMaxScaler(bounds=(0, 110)).fit([[30.0]]).transform([[55.0]])[0, 0])
    0.5
    """

    epsilon = delta = rho = ledger = None

    def __init__(self, *, bounds: Any = None, feature_range: tuple[float, float] = (0, 1)) -> None:
        self.bounds = bounds
        self.feature_range = feature_range

    def _cost(self, width: int | None = None) -> Cost:  # noqa: ARG002
        return Cost(Pure(0))

    def _facts(self, width: int | None, cost: Cost) -> Box:  # noqa: ARG002
        interval(self.feature_range, "feature_range")
        return Box.read(self.bounds, width)

    def _learn(self, exact: Array, labels: Array | None, facts: Box, exit_: Exit) -> None:  # noqa: ARG002
        low, high = (float(end) for end in interval(self.feature_range, "feature_range"))
        self.data_min_, self.data_max_ = facts.low, facts.high
        self.scale_ = (high - low) / 2 / facts.half
        self.min_ = low - facts.low * self.scale_

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """The rows, clipped and scaled."""
        scaled: Floats = np.clip(self._again(X), self.data_min_, self.data_max_) * self.scale_ + self.min_
        return scaled

    def inverse_transform(self, X: Any) -> Floats:  # noqa: N803
        """Scaled rows, as they were."""
        points: Floats = (self._again(X) - self.min_) / self.scale_
        return points

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False
        return tags
