"""Rates of counts: how many there are of something for each unit, by declared categories."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn import zooming
from discreet.learn.box import Box, Floats
from discreet.learn.core import Typical, demand, parameters
from discreet.learn.counting import affordable
from discreet.learn.labels import Array, Labels, category_labels
from discreet.learn.moments import sums
from discreet.learn.predictors import Categorical, Regressor
from discreet.mechanisms.arrays import Integers

MOST_CELLS: Final = 2**16
CAUTION: Final = 3
"""Cells with fewer rows than so many times the noise are trusted less than half."""
ROW: Final = Sensitivity(Fraction(1), Fraction(1))
"""How far one row moves the two sums of its cell: see `PoissonCount`."""
NEAR: Final = Fraction(1, 20)
"""The share of the cost that tells where counts lie, if their bounds are far too wide."""


@dataclass(frozen=True, slots=True)
class _Facts:
    categories: tuple[Labels, ...]
    target: Box

    @property
    def cells(self) -> int:
        return math.prod(labels.count for labels in self.categories)


@parameters
class PoissonCount(Categorical, Regressor):
    """The rate of a count in each cell of declared categories: a noisy sum over a noisy number of rows.

    Theorem  The declared loss. Proof: a share for where counts lie (`zooming.zoomed`), and the rest for one release of
             the vector with (1 − a, a) of each cell, summed over its rows, where a is the count's place in that range,
             from 0 to 1. A row is in one cell at most, whatever the number of features, and other cells do not move:
             l1 ≤ 1 and l2² ≤ 1. In m steps to the unit both numbers are integers that are not negative and add up to
             m (`Box.steps`), so that l1 ≤ m and l2² ≤ m². Numbers of rows and rates are post-processing.

    The maximum-likelihood rate of Poisson counts is their mean. Counts beyond `y_bounds` are clamped, and so are rates.
    Where the noise hides how many rows a cell has, its rate is nearly that of all cells together; values that nobody
    declared are not counted, and are predicted to have that one. `categories` is as in `CategoricalNB`; `rates_` has
    the cells in the order of `categories_`, the last feature running fastest.

    >>> PoissonCount(categories=[["F", "M"]], y_bounds=(0, 20), epsilon=0.5).loss_for(1)
    Pure(epsilon=0.5)
    """

    y_bounds: Any = None

    def _facts(self, width: int | None, cost: Cost) -> _Facts:
        facts = _Facts(category_labels(self.categories, width), Box.read(self.y_bounds, 1, "y_bounds"))
        low, high = float(facts.target.low[0]), float(facts.target.high[0])
        if low < 0:
            raise ValueError(f"counts are not below 0: pass y_bounds=(0, {max(high, 1):g})")
        demand(
            facts.cells <= MOST_CELLS,
            "too-complex",
            f"the categories have {facts.cells} combinations",
            f"use fewer features or values: at most {MOST_CELLS} combinations",
        )
        affordable(cost, ROW, WHOLE - NEAR)
        zooming.check(1, cost, NEAR)
        return facts

    def _typical(self, facts: _Facts, cost: Cost) -> Typical:  # noqa: ARG002
        return ROW, WHOLE - NEAR

    def _learn(self, exact: Array, labels: Array | None, facts: _Facts, exit_: Exit) -> None:
        assert labels is not None
        box, left = zooming.zoomed(labels[:, None], facts.target, exit_, NEAR), WHOLE - NEAR
        fine = exit_.cost.fineness(ROW, left)
        high = (box.steps(labels[:, None], fine) + fine) // 2
        vector = sums(_cells(exact, facts.categories), np.hstack([fine - high, high]), facts.cells)
        moved = Sensitivity(ROW.l1 * fine, ROW.l2_squared * fine**2)
        lows, highs = exit_.release(vector, moved, left).astype(np.float64).T / fine
        rows, totals = lows + highs, highs - lows
        counts = np.maximum(rows, 0)
        mean = np.clip(totals.sum() / max(rows.sum(), 1), -1, 1)
        doubt = CAUTION * math.sqrt(2) * exit_.cost.deviation(ROW, left)
        shrunk = mean + (totals - mean * counts) * counts / (counts**2 + doubt**2)
        self.categories_ = [labels.values for labels in facts.categories]
        self.counts_ = counts
        self.rates_ = box.points(shrunk)
        self.rate_ = float(box.points(mean)[0])

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """The rate of each row's cell."""
        rows = self._again(X)
        cells = _cells(rows, tuple(Labels(values) for values in self.categories_))
        return np.where(cells >= 0, self.rates_[cells], self.rate_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # of numbers that are no categories, nothing is learned
        return tags


def _cells(rows: Array, categories: tuple[Labels, ...]) -> Integers:
    """The cell of each row, from its own values alone; −1 where one of them is not declared."""
    cells, inside = np.zeros(len(rows), dtype=np.int64), np.ones(len(rows), dtype=np.bool_)
    for column, labels in zip(rows.T, categories, strict=True):
        places = labels.places(column)
        cells, inside = cells * labels.count + places, inside & (places >= 0)
    return np.where(inside, cells, -1)
