"""Principal components."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet.exact import whole
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn.box import Box, Floats
from discreet.learn.core import Estimator, Typical, demand, parameters
from discreet.learn.gram import WIDEST_MATRIX, Size, products, radius, square, triangle
from discreet.learn.labels import Array
from discreet.learn.rowwise import product
from discreet.learn.scaling import GRAIN


@dataclass(frozen=True, slots=True)
class _Facts:
    box: Box
    components: int
    steps: int

    @property
    def size(self) -> Size:
        return _size(self.box, self.steps)


@parameters
class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):  # type: ignore[misc]
    """Directions of largest variance, from one noisy matrix of products.

    Theorem  The declared loss. Proof: one release of the upper triangle of Σ aᵀa with a = (1, x), which holds the
             number of rows, their sums and their products; x is centred in the box and measured in the widest of its
             half-widths, so |aᵢ| ≤ radiusᵢ and the sensitivity is that of `gram.Size.of`.
    Source   Dwork, Talwar, Thakurta & Zhang 2014 (Analyze Gauss); Laplace noise on the triangle where ε is pure.

    Features have their own units, as in scikit-learn: scale them first if those cannot be compared. `count_` is about
    the number of rows.

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
        return _Facts(box, components, radius(cost, lambda steps: _size(box, steps).gram))

    def _typical(self, facts: _Facts, cost: Cost) -> Typical:  # noqa: ARG002
        return _size(facts.box, GRAIN).gram, WHOLE

    def _learn(self, exact: Array, labels: Array | None, facts: _Facts, exit_: Exit) -> None:  # noqa: ARG002
        box, side = facts.box, facts.box.width + 1
        steps = box.steps(exact, np.array(_radii(box, facts.steps)))
        rows = np.hstack([np.full((len(steps), 1), facts.steps, dtype=np.int64), steps])
        values = exit_.release(products(rows, rows)[triangle(side)], facts.size.gram)
        matrix = square(values / facts.steps**2, side)
        widest = box.half.max()
        self.count_ = max(float(matrix[0, 0]), 1.0)
        means = matrix[0, 1:] / self.count_
        self.mean_ = box.points(means * widest / box.half)
        spread = (matrix[1:, 1:] - self.count_ * np.outer(means, means)) / max(self.count_ - 1, 1)
        values, vectors = np.linalg.eigh(spread)
        variances = np.maximum(values[::-1], 0) * widest**2
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


def _radii(box: Box, steps: int) -> list[int]:
    """The half-widths in steps, of which the widest has so many."""
    widest = box.half.max()
    return [math.ceil(Fraction(half / widest) * steps) for half in box.half]


def _size(box: Box, steps: int) -> Size:
    return Size.of([steps, *_radii(box, steps)])


def _turned(components: Floats) -> Floats:
    """Each with its largest number positive, so that signs do not depend on the solver."""
    largest = np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, None], axis=1)
    return components * np.where(largest < 0, -1, 1)
