"""Linear regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from discreet.accounting.losses import Reach
from discreet.exact import flag
from discreet.learn.box import Box, Floats
from discreet.learn.core import demand, parameters
from discreet.learn.gram import (
    WIDEST_MATRIX,
    Size,
    centred,
    lengths,
    norm_for,
    products,
    radius,
    shortened,
    triangle,
    usual,
    with_constant,
)
from discreet.learn.labels import Array
from discreet.learn.predictors import Regressor
from discreet.learn.price import Allowance
from discreet.mechanisms.arrays import Integers

CAUTION: Final = {1: 2.0, 2: 1.5}
"""Directions in which rows vary less than so many times the noise are trusted less than half."""


@dataclass(frozen=True, slots=True)
class _Facts:
    box: Box
    target: Box
    constant: int
    norm: int
    steps: int

    @property
    def side(self) -> int:
        return self.constant + self.box.width


@parameters
class LinearRegression(Regressor):
    """Least squares from noisy sums of products, with directions that the noise hides shrunk away.

    Theorem  The declared loss. Proof: one release of the upper triangle of Σ aᵀa and of Σ y·a, where a = (1, x) in
             shares of the box is as long as `gram.usual` at most (`gram.shortened`) and |y| ≤ 1: with the bounds of
             `gram.Size.within`, its reach is that of `Size.gram` beside that of `Size.times`.
    Source   Wang 2018 (AdaSSP). Its release of the least eigenvalue is not needed: that is read off the noisy matrix.

    A long row is shortened together with its y, which leaves linear relations as they are and weighs the row less.
    `y_bounds` are public bounds of the target.

    >>> LinearRegression(bounds=(0, 110), y_bounds=(0, 5000), epsilon=1).loss_for(1)
    Pure(epsilon=1)
    """

    bounds: Any = None
    y_bounds: Any = None
    fit_intercept: bool = True

    def _facts(self, width: int | None) -> _Facts:
        constant = int(flag(self.fit_intercept, "fit_intercept"))
        box, target = Box.read(self.bounds, width), Box.read(self.y_bounds, 1, "y_bounds")
        demand(box.width <= WIDEST_MATRIX, "too-complex", "there are too many features", "use at most 4096")
        price = self._price()
        norm = norm_for(price)
        steps = radius(price, lambda steps: reach(box.width, constant, steps, norm))
        return _Facts(centred(box, constant), centred(target, constant), constant, norm, steps)

    def _learn(self, exact: Array, labels: Array | None, facts: _Facts, allowance: Allowance) -> None:
        assert labels is not None
        side, scale = facts.side, facts.steps**2
        moved = reach(facts.box.width, facts.constant, facts.steps, facts.norm)
        sums = _sums(exact, labels, facts)[triangle(side, side + 1)]
        values = np.zeros((side, side + 1))
        values[triangle(side, side + 1)] = allowance.release(sums, moved) / scale
        matrix = values[:, :side] + np.triu(values[:, :side], 1).T
        found = _solved(matrix, values[:, side], facts, CAUTION[facts.norm] * allowance.price.deviation(moved) / scale)
        ratio = facts.target.half[0] / facts.box.half
        self.coef_ = found[1:] * ratio
        self.intercept_ = 0.0
        if facts.constant:
            start = facts.target.middle[0] + found[0] * facts.target.half[0]
            self.intercept_ = float(start - facts.box.middle @ self.coef_)

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """The expected target of each row."""
        found: Floats = self._again(X) @ self.coef_ + self.intercept_
        return found


def reach(features: int, constant: int, steps: int, norm: int) -> Reach:
    """How far a row moves all that is released, in squares of steps."""
    size = Size.within([steps] * (constant + features), usual(features, steps, norm), norm)
    return size.gram + size.times(steps)


def _sums(exact: Floats, targets: Floats, facts: _Facts) -> Integers:
    """The exact Σ aᵀ(a, y)."""
    rows = with_constant(exact, facts.box, facts.steps, facts.constant)
    both = np.hstack([rows, facts.target.steps(targets[:, None], facts.steps)])
    limit = usual(facts.box.width, facts.steps, facts.norm)
    short = shortened(both, lengths(rows, facts.norm), limit)
    return products(short[:, :-1], short)


def _solved(matrix: Floats, right: Floats, facts: _Facts, deviation: float) -> Floats:
    """The intercept (0 without one) and the coefficients, in shares of the boxes."""
    if not facts.constant:
        return np.concatenate([[0.0], _shrunk(matrix, right, deviation)])
    count = max(float(matrix[0, 0]), 1.0)
    means, mean = np.clip(matrix[0, 1:] / count, -1, 1), float(np.clip(right[0] / count, -1, 1))
    slopes = _shrunk(matrix[1:, 1:] - count * np.outer(means, means), right[1:] - count * means * mean, deviation)
    return np.concatenate([[mean - means @ slopes], slopes])


def _shrunk(matrix: Floats, right: Floats, deviation: float) -> Floats:
    """matrix⁻¹·right, where an eigenvalue μ counts as (μ² + τ²)/μ, with τ about the norm of the noise.

    Without noise it is exact; where μ is noise, so is its direction, and the coefficient along it goes to zero.
    """
    values, vectors = np.linalg.eigh(matrix)
    positive = np.maximum(values, 0)
    noise = deviation**2 * len(matrix)
    weights = positive / np.maximum(positive**2 + noise, np.finfo(np.float64).tiny)
    found: Floats = vectors @ (weights * (vectors.T @ right))
    return found
