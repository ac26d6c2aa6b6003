"""The estimator."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import Any, Final

import numpy as np
from sklearn.base import ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet.exact import whole
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn.box import Box, Floats
from discreet.learn.core import Estimator, Typical, demand, parameters
from discreet.learn.kmeans.geometry import nearest, squared_distances
from discreet.learn.kmeans.grid import grid
from discreet.learn.kmeans.lloyd import TURNS, Setting, improved, lecture, turn_sensitivity
from discreet.learn.labels import Array
from discreet.learn.sizing import ONE, SIZING, check
from discreet.mechanisms.arrays import Integers

METHODS: Final = {
    "grid": grid,
    "lloyd": lecture,
    "laplace-lloyd": improved,
    "gaussian-lloyd": improved,
}
MOST_CLUSTERS: Final = 1000
"""Every grid has at least twice as many cells."""
COSTS: Final = {
    "lloyd": (True, "give epsilon alone"),
    "laplace-lloyd": (True, "give epsilon alone"),
    "gaussian-lloyd": (False, "give delta with epsilon, or rho"),
}
"""Whether the cost of a method is in ε alone, where it matters."""


@parameters
class KMeans(ClusterMixin, TransformerMixin, Estimator):  # type: ignore[misc]
    """k centres in a public box, such that rows are near to one of them.

    method  "auto", "grid": a noisy grid along the directions in which rows vary most, clustered as often as one likes,
            then rounds of Lloyd. "lloyd": the lecture's algorithm, for teaching; "laplace-lloyd" (costed in epsilon
            alone) and "gaussian-lloyd" (in rho, or epsilon with delta): better ones of that kind.

    Theorem  The declared loss: see the method's docstring in `discreet.learn.kmeans`.

    There is no `labels_`: which cluster a row of the private data is in is not private. `predict` tells it of rows
    that the caller has.

    >>> KMeans(4, bounds=(-1, 1), rho=0.02).loss_for(n_features=2)
    Concentrated(rho=0.02)
    """

    n_clusters: int = field(default=8, kw_only=False)
    bounds: Any = None
    method: str = "auto"
    max_iter: int | None = None
    expected_n: int | None = None
    n_init: int = 20

    def _facts(self, width: int | None, cost: Cost) -> Setting:
        method = self._method(cost)
        clusters = whole(self.n_clusters, "n_clusters")
        demand(clusters <= MOST_CLUSTERS, "too-complex", "there are too many clusters", f"{MOST_CLUSTERS} at most")
        turns = None if self.max_iter is None else whole(self.max_iter, "max_iter")
        cost.fineness(turn_sensitivity(1, width or 1), min(SIZING, Fraction(1, 2 * (turns or TURNS))))
        box = Box.read(self.bounds, width)
        if method == "grid":
            check(box.width, cost)
        return Setting(
            clusters=clusters,
            box=box,
            turns=turns,
            expected=None if self.expected_n is None else whole(self.expected_n, "expected_n"),
            restarts=whole(self.n_init, "n_init"),
        )

    def _typical(self, facts: Setting, cost: Cost) -> Typical:  # noqa: ARG002
        return ONE, WHOLE / 2

    def _cost(self, width: int | None = None) -> Cost:
        """Where the method says which noise, there is no choice."""
        return self._stated_cost() if self.method in COSTS else super()._cost(width)

    def _method(self, cost: Cost) -> str:
        """The name of the method."""
        if self.method == "auto":
            return "grid"
        if self.method not in METHODS:
            raise ValueError(f"method must be one of auto, {', '.join(METHODS)}, not {self.method!r}")
        kind, fix = COSTS.get(self.method, (cost.pure, ""))
        demand(kind is cost.pure, "cost-invalid", f"{self.method} cannot have this cost", fix)
        return self.method

    def _learn(self, exact: Array, labels: Array | None, facts: Setting, exit_: Exit) -> None:  # noqa: ARG002
        self.method_ = self._method(exit_.cost)
        clusters = METHODS[self.method_](exact, facts, exit_)
        self.cluster_centers_ = clusters.centres
        self.counts_ = clusters.counts
        self.n_iter_ = clusters.turns

    def predict(self, X: Any) -> Integers:  # noqa: N803
        """The place of the nearest centre to each row."""
        return nearest(self._again(X), self.cluster_centers_)

    def fit_predict(self, X: Any, y: Any = None) -> Integers:  # noqa: N803
        """Fit, then tell the cluster of each of the caller's own rows: these are exact, and not private."""
        nearest: Integers = self.fit(X, y).predict(X)
        return nearest

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """The distance from each row to every centre."""
        return np.sqrt(squared_distances(self._again(X), self.cluster_centers_))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002, N803
        """Minus the sum of squared distances to the nearest centre: exact, for rows that the caller may see."""
        return -float(squared_distances(self._again(X), self.cluster_centers_).min(axis=1).sum())

    def get_feature_names_out(self, input_features: Any = None) -> Array:  # noqa: ARG002
        """kmeans0, kmeans1, …"""
        check_is_fitted(self)
        return np.array([f"kmeans{index}" for index in range(len(self.cluster_centers_))], dtype=object)
