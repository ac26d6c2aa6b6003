"""Principal components."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet.exact import whole
from discreet.exit import Exit
from discreet.exit.cost import Cost
from discreet.learn import covariance, sizing
from discreet.learn.box import Box, Floats
from discreet.learn.core import Estimator, Typical, demand, parameters
from discreet.learn.gram import WIDEST_MATRIX
from discreet.learn.labels import Array
from discreet.learn.rowwise import product


@dataclass(frozen=True, slots=True)
class _Facts:
    box: Box
    components: int


@parameters
class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):  # type: ignore[misc]
    """Directions of largest variance, from one noisy matrix of products.

    Theorem  The declared loss. Proof: `sizing.sized` takes its part, `covariance.covariance` all that is left.
    Source   Dwork, Talwar, Thakurta & Zhang 2014 (Analyze Gauss); Laplace noise on the triangle where ε is pure.

    Features have their own units, as in scikit-learn: scale them first if those cannot be compared. `count_` is about
    the number of rows. Where noise asks for it, rows that are farther out than usual ones weigh less: directions stay,
    variances of heavy tails get smaller.

    >>> PCA(2, bounds=([0, 0, 0], [1, 1, 1]), rho=0.1).loss_for(3)
    Concentrated(rho=0.1)
    """

    n_components: int | None = field(default=None, kw_only=False)
    bounds: Any = None

    def _facts(self, width: int | None, cost: Cost) -> _Facts:
        box = Box.read(self.bounds, width)
        demand(box.width <= WIDEST_MATRIX, "too-complex", "there are too many features", "use at most 4096")
        components = box.width if self.n_components is None else whole(self.n_components, "n_components")
        if width is not None and components > width:
            raise ValueError(f"n_components must be at most the number of features, {width}, not {components}")
        sizing.check(box.width, cost)
        covariance.check(box, cost, sizing.THOROUGH.left)
        return _Facts(box, components)

    def _typical(self, facts: _Facts, cost: Cost) -> Typical:
        return covariance.typical(facts.box, cost, sizing.THOROUGH.left)

    def _learn(self, exact: Array, labels: Array | None, facts: _Facts, exit_: Exit) -> None:  # noqa: ARG002
        begun = sizing.sized(exact, facts.box, exit_, search=sizing.THOROUGH)
        released = covariance.covariance(exact, begun.box, begun.size, exit_, begun.left)
        self.count_ = begun.size
        self.mean_ = released.means
        values, vectors = np.linalg.eigh(released.matrix)
        variances = np.maximum(values[::-1], 0) * begun.box.half.max() ** 2
        count = facts.components
        self.n_components_ = count
        self.components_ = _turned(vectors.T[::-1][:count])
        self.explained_variance_ = variances[:count]
        self.explained_variance_ratio_ = variances[:count] / max(float(variances.sum()), np.finfo(np.float64).tiny)

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """The rows, centred and seen along the components."""
        components: Floats = product(self._again(X) - self.mean_, self.components_.T)
        return components

    def inverse_transform(self, X: Any) -> Floats:  # noqa: N803
        """Rows in the original space whose transform these are."""
        check_is_fitted(self)
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_components_:
            raise ValueError(f"X must have {self.n_components_} columns, one for each component")
        points: Floats = product(rows, self.components_) + self.mean_
        return points

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)


def _turned(components: Floats) -> Floats:
    """Each with its largest number positive, so that signs do not depend on the solver."""
    largest = np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, None], axis=1)
    return components * np.where(largest < 0, -1, 1)
