"""Linear regression."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.exact import flag
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn.box import Box, Floats
from discreet.learn.core import Typical, demand, parameters
from discreet.learn.gram import (
    WIDEST_MATRIX,
    Size,
    centred,
    norm_for,
    products,
    radius,
    triangle,
)
from discreet.learn.labels import Array
from discreet.learn.predictors import Regressor
from discreet.learn.rowwise import product
from discreet.learn.rulers import beside
from discreet.learn.scaling import GRAIN, Scaling, measured
from discreet.learn.scaling import sensitivity as spread_sensitivity
from discreet.learn.sizing import SURE, check, sized
from discreet.learn.slopes import intervals
from discreet.mechanisms.arrays import Integers
from discreet.mechanisms.calibrated import noise_of

SPREAD: Final = Fraction(3, 20)
"""The share for where features and target lie and how widely they spread."""
SHORT: Final = Fraction(2, 3)
"""Rows longer than so much of a usual one are shortened: shorter rows ask for less noise, and lose little."""
TALL: Final = 2
"""Targets are at most so many units from their mean."""
CAUTION: Final = 1.2
"""Directions in which rows vary less than so many times the noise are trusted less than half."""
DOUBT: Final = 0.6
"""Nor are any, if so much of the noise is above the number of rows."""
HOPELESS: Final = 0.9
"""Where noise is so much of the sums of rows, for what is surely spread of the target, only its mean is learned."""
SKEWED: Final = 0.05
"""Means of shortened rows may differ by so many units from those that were measured first."""
JUST_NOISE: Final = 0.75
"""What explains less than so many times what noise explains is taken for noise."""


@dataclass(frozen=True, slots=True)
class _Facts:
    box: Box
    """Of the features, and of the target after them."""
    constant: int
    norm: int

    @property
    def side(self) -> int:
        return self.constant + self.box.width - 1

    def size(self, scaling: Scaling, steps: int) -> Size:
        """Of rows a = (1, x)."""
        return Size.within([scaling.most * steps] * self.side, self.limit(scaling, steps), self.norm)

    def limit(self, scaling: Scaling, steps: int) -> int:
        return max(math.floor(scaling.limit(steps, self.norm) * SHORT), 1)

    def sensitivity(self, scaling: Scaling, steps: int) -> Sensitivity:
        """How far a row moves the triangle of Σ aᵀa and Σ y·a, in squares of steps."""
        size = self.size(scaling, steps)
        return size.gram + size.times(TALL * steps)


@parameters
class LinearRegression(Regressor):
    """Least squares from noisy sums of products, with directions that the noise hides shrunk away.

    Theorem  The declared loss. Proof: `sizing.sized` leaves most of it; three twentieths are for
             `scaling.measured`, both of features and target together. The rest is for one release of the upper triangle
             of Σ aᵀa and of Σ y·a, where a = (1, x) in those units is shortened to a limit (`rulers.shorten`) and
             |y| ≤ 2: with the bounds of `gram.Size.within`, its sensitivity is that of `Size.gram` beside that of
             `Size.times`. Or, if what was released says that noise hides the target, for `_mean`.
    Source   Wang 2018 (AdaSSP). Its release of the least eigenvalue is not needed: that is read off the noisy matrix.

    A long row is shortened together with its y, which leaves linear relations as they are and weighs the row less. What
    lies more than two standard deviations from the mean of y counts as if it lay there.
    `y_bounds` are public bounds of the target; these and those of features may be far too wide. Coefficients that noise
    may have made are shrunk towards zero, where the model says the mean of y.

    `coef_interval_` has a low and a high end for each coefficient: those that the same sums have without noise are all
    within with probability 0.95 (`slopes.intervals`); ends are infinite where noise hides them. They are about noise,
    not about clipping, shortening, or other rows that might have been drawn.

    >>> LinearRegression(bounds=(0, 110), y_bounds=(0, 5000), epsilon=1).loss_for(1)
    Pure(epsilon=1)
    """

    bounds: Any = None
    y_bounds: Any = None
    fit_intercept: bool = True

    def _facts(self, width: int | None, cost: Cost) -> _Facts:
        constant = int(flag(self.fit_intercept, "fit_intercept"))
        box, target = Box.read(self.bounds, width), Box.read(self.y_bounds, 1, "y_bounds")
        demand(box.width <= WIDEST_MATRIX, "too-complex", "there are too many features", "use at most 4096")
        both = Box(np.append(box.low, target.low), np.append(box.high, target.high))
        facts = _Facts(centred(both, constant), constant, norm_for(cost))
        # refuse before the charge what could not be drawn after it
        check(both.width, cost, SURE)
        radius(cost, partial(facts.sensitivity, Scaling.largest(facts.box, constant)), SURE.left - SPREAD)
        radius(cost, lambda steps: spread_sensitivity(both.width, steps, facts.norm), SPREAD)
        radius(cost, _pair, SURE.left - SPREAD)
        return facts

    def _typical(self, facts: _Facts, cost: Cost) -> Typical:  # noqa: ARG002
        return facts.sensitivity(Scaling.plain(facts.box, facts.constant), GRAIN), WHOLE - SPREAD

    def _learn(self, exact: Array, labels: Array | None, facts: _Facts, exit_: Exit) -> None:
        assert labels is not None
        both = beside(exact, labels)
        begun = sized(both, facts.box, exit_, search=SURE)
        left = begun.left - SPREAD
        facts, offset = _moved(both, facts, begun.box)
        self.low_, self.high_ = facts.box.low[:-1], facts.box.high[:-1]
        scaling = measured(both, facts.box, facts.constant, facts.norm, exit_, SPREAD)
        self.coef_, self.intercept_, self.spread_ = np.zeros(exact.shape[1]), 0.0, scaling.width[:-1]
        self.coef_interval_ = np.tile([-np.inf, np.inf], (exact.shape[1], 1))
        _, noise = _grain(scaling, facts, exit_.cost, left)
        if noise >= HOPELESS * scaling.count * scaling.sure[-1]:
            self.intercept_ = offset + _mean(both[:, -1:], facts, exit_, left)
            return
        start, slopes, ends = _line(both, scaling, facts, exit_, left)
        units = scaling.width[-1] / scaling.width[:-1]
        self.coef_, self.coef_interval_ = slopes * units, ends * units[:, None]
        if facts.constant:
            middle = offset + scaling.middle[-1] + start * scaling.width[-1]
            self.intercept_ = float(middle - self.coef_ @ scaling.middle[:-1])

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """The expected target of each row; features beyond the bounds that were found count as if they lay there."""
        predicted: Floats = product(np.clip(self._again(X), self.low_, self.high_), self.coef_) + self.intercept_
        return predicted


def _moved(both: Floats, facts: _Facts, box: Box) -> tuple[_Facts, float]:
    """Zero becomes the middle of the target, in the rows and in their box, so that it is not measured from its lower
    bound; and where that was. Without an intercept it is there.
    """
    box = centred(box, facts.constant)
    ends = np.zeros(box.width)
    ends[-1] = box.middle[-1]
    both[:, -1] = np.clip(both[:, -1], box.low[-1], box.high[-1]) - ends[-1]
    return replace(facts, box=Box(box.low - ends, box.high - ends)), ends[-1]


def _mean(exact: Floats, facts: _Facts, exit_: Exit, share: Fraction) -> float:
    """That of the target alone, where noise hides all else; 0 without an intercept.

    Theorem  A share of the cost. Proof: one release of (r + r·y, r − r·y) summed, with |y| ≤ 1: neither number of a
             row is negative and both add up to 2r, so l1 = 2r, and l2² ≤ (2r)² as for all numbers of one sign.
    """
    if not facts.constant:
        return 0.0
    box = facts.box.feature(facts.box.width - 1)
    steps = radius(exit_.cost, _pair, share)
    count, total = len(exact) * steps, int(box.steps(exact, steps).sum())
    above, below = exit_.release(np.array([count + total, count - total], dtype=np.int64), _pair(steps), share).tolist()
    return float(box.points(np.array([(above - below) / max(above + below, 2 * steps)]))[0])


def _pair(steps: int) -> Sensitivity:
    """Two sums that a row moves by twice so many steps together."""
    return Sensitivity(Fraction(2 * steps), Fraction(4 * steps**2))


def _grain(scaling: Scaling, facts: _Facts, cost: Cost, share: Fraction) -> tuple[int, float]:
    """Steps to the unit, and about the norm of the noise on Σ aᵀa in squares of units."""
    steps = min(radius(cost, partial(facts.sensitivity, scaling), share), scaling.finest)
    return steps, cost.deviation(facts.sensitivity(scaling, steps), share) / steps**2 * math.sqrt(facts.side)


def _line(both: Floats, scaling: Scaling, facts: _Facts, exit_: Exit, share: Fraction) -> tuple[float, Floats, Floats]:
    """The intercept, the coefficients and their intervals, in units.

    Means were measured before and are measured again: both count, by the known variances of their noise.
    """
    side = facts.side
    steps, noise = _grain(scaling, facts, exit_.cost, share)
    moved = facts.sensitivity(scaling, steps)
    values, places = np.zeros((side, side + 1)), triangle(side, side + 1)
    values[places] = exit_.release(_sums(both, scaling, steps, facts)[places], moved, share) / steps**2
    matrix = values[:, :side] + np.triu(values[:, :side], 1).T
    trust = 1 / (1 + (DOUBT * noise / scaling.count) ** 2)
    known = np.array(scaling.doubt) ** 2 + SKEWED**2
    news = known / (known + noise**2 / side / scaling.count**2)
    start, slopes = _solved(matrix, values[:, side], facts.constant, trust, CAUTION * noise, news)
    ends = intervals(matrix, values[:, side], noise_of(exit_.cost.noise(moved, share)), steps**2)
    return start, slopes, ends[facts.constant :]


def _sums(both: Floats, scaling: Scaling, steps: int, facts: _Facts) -> Integers:
    """The exact Σ aᵀ(a, y) of rows that are shortened by a alone, with |y| ≤ `TALL`."""
    ruler = scaling.ruler(steps, facts.constant)
    far = np.append(np.full(facts.box.width - 1, scaling.most), TALL)[:, None] * steps
    held = replace(ruler, low=np.maximum(ruler.low, -far), high=np.minimum(ruler.high, far))
    return products(both, held, facts.limit(scaling, steps), facts.norm, beside=1)[:-1]


def _solved(
    matrix: Floats, right: Floats, constant: int, trust: float, noise: float, news: Floats
) -> tuple[float, Floats]:
    """The intercept (0 without one) and the coefficients, in units; of means, `news` says what these sums add."""
    if not constant:
        return 0.0, trust * _shrunk(matrix, right, noise)
    count = max(float(matrix[0, 0]), 1.0)
    means, mean = news[:-1] * np.clip(matrix[0, 1:] / count, -1, 1), float(news[-1] * np.clip(right[0] / count, -1, 1))
    slopes = trust * _shrunk(matrix[1:, 1:] - count * np.outer(means, means), right[1:] - count * means * mean, noise)
    return mean - float(means @ slopes), slopes


def _shrunk(matrix: Floats, right: Floats, noise: float) -> Floats:
    """matrix⁻¹·right, where an eigenvalue μ counts as (μ² + τ²)/μ, with τ about the norm of the noise.

    Without noise it is exact; where μ is noise, so is its direction, and the coefficient along it goes to zero. All are
    shrunk together by how much of what they explain would be explained by noise, too (James & Stein 1961).
    """
    values, vectors = np.linalg.eigh(matrix)
    positive, tiny = np.maximum(values, 0), np.finfo(np.float64).tiny
    weights = positive / np.maximum(positive**2 + noise**2, tiny)
    along = weights * (vectors.T @ right)
    each = (noise / CAUTION) ** 2 / len(values) * (1 + (along**2).sum())
    signal = 1 - JUST_NOISE * each * (positive * weights**2).sum() / max((positive * along**2).sum(), tiny)
    shrunk: Floats = vectors @ along * max(signal, 0.0)
    return shrunk
