"""Additive models: predictions are sums of one curve for each feature, which can be drawn and read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn import zooming
from discreet.learn.backfitting import WIDEST, Plan, Rows, Shape, backfitted, by_class, repeated, visit_sensitivity
from discreet.learn.binning import DENSITY, Bins, density, merged
from discreet.learn.box import Box, Floats
from discreet.learn.core import Estimator, Typical, parameters
from discreet.learn.counting import affordable, counted
from discreet.learn.labels import Array, Labels
from discreet.learn.predictors import ClassFacts, Classifier, Regressor
from discreet.learn.residuals import GRAIN, OneClass, Target, Values
from discreet.mechanisms.arrays import Integers

SIZE: Final = Fraction(1, 40)
"""The share of the cost that tells how many rows there are, or how many of each class."""
FEATURES: Final = Fraction(1, 20)
"""The share that narrows the bounds of features,"""
NUMBER: Final = Fraction(1, 40), Fraction(1, 10)
"""and those of which one tells the mean and the spread of a number; as much narrows its bounds."""
CLOSE: Final = 0.02
"""A mean is told well if its noise is so much of half the width of its bounds."""
AGAIN: Final = Fraction(1, 4)
"""The share that tells the numbers of rows again, where the first has told too little:"""
FEW: Final = 40
"""where they are not so many times their noise."""
LEAST: Final = WHOLE - AGAIN - FEATURES - DENSITY[-1] - 2 * NUMBER[-1]
"""What is left for curves, at least."""
ONE: Final = Sensitivity(Fraction(1), Fraction(1))
SPARSE: Final = 0.04
"""The curvature of a class is taken for so much at least: bins in which it is not rare have more."""
UNIT: Final = 3.0
"""Standard deviations of a number to a unit."""
FARTHEST_STEPS: Final = 2**20
"""Steps that a number is from its mean at most."""
HIDDEN: Final = 1.0
"""A variance is hidden if it is not so many times its noise."""
ANYWHERE: Final = 1 / 3
"""The variance of a mean that lies anywhere between −1 and 1."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a number lies and how widely it spreads, in half-widths of its bounds around their middle."""

    box: Box
    mean: float
    unit: float

    def steps(self, exact: Floats) -> Integers:
        """Each number as its distance from the mean: elementwise, so each depends on itself alone."""
        places = self.box.steps(exact[:, None], 2**30)[:, 0] - np.rint(self.mean * 2**30)
        steps: Integers = np.clip(
            np.rint(places * (GRAIN / (self.unit * 2**30))), -FARTHEST_STEPS, FARTHEST_STEPS
        ).astype(np.int64)
        return steps


@parameters
class _Additive(Estimator):
    """The curves that both models learn."""

    bounds: Any = None

    def _keep(self, bins: Bins, curves: Floats, constant: Floats) -> None:
        """`curves_` says what each feature adds between two of its `edges_`, and `intercept_` what all rows have."""
        self.edges_, self.curves_, self.intercept_ = bins.edges, curves, constant

    def _scores(self, rows: Array) -> Floats:
        """Added feature after feature: the same for a row wherever it stands."""
        scores = np.tile(self.intercept_, (len(rows), 1))
        for code, curve in zip(Bins(self.edges_, self.edges_).codes(rows), self.curves_, strict=False):
            scores += curve[code]
        return scores


def _check(target: Target, width: int, cost: Cost) -> None:
    """Refuse before the charge what could not be drawn after it."""
    zooming.check(width, cost, FEATURES)
    affordable(cost, density(width), DENSITY[0])
    Plan.check(target, width, cost, LEAST)


def _typical(target: Target, width: int) -> Typical:
    """Contrasts of all features, in a few rounds."""
    return repeated(visit_sensitivity(target, WIDEST, pure=False), width), Fraction(1, 4)


def _binned(exact: Array, box: Box, rows: float, plan: Plan, exit_: Exit) -> tuple[Bins, Fraction]:
    """Bins of all features as rows lie, and what that cost: nothing where there will be no curves."""
    spent = Fraction(0)
    if not plan.rounds:
        return Bins.equal(box, plan.bins, rows), spent
    if zooming.promising(rows, box.width, exit_.cost, FEATURES):
        box, spent = zooming.zoomed(exact, box, exit_, FEATURES), FEATURES
    bins, share = merged(exact, box, rows, plan.bins, exit_)
    return bins, spent + share


@parameters
class AdditiveClassifier(_Additive, Classifier):
    """Scores of classes as sums of one curve for each feature, by backfitting.

    Theorem  The declared loss. Proof: shares add up to 1 at most: one release of how many rows each class has (a row is
             in one), those of `zooming.zoomed`, `binning.merged` and `backfitting.backfitted`. Rows whose label is not
             among `classes` are not learned from.

    Residuals are shortened to ½, so that scores s with p = softmax(s) are not quite logarithmic odds: the sums vanish
    where probabilities are proportional to p·max(1, 2(1 − p)). `predict_proba` says those. Proof: with c the factors by
    which residuals of a class are shortened, min(1, 1/(2(1 − p))), and q the probabilities, the sum for class k is
    cₖqₖ(1 − pₖ) − pₖ·Σ cⱼqⱼ over the others = cₖqₖ − pₖ·Σ cⱼqⱼ over all; it is 0 where q is proportional to p/c.

    >>> AdditiveClassifier(bounds=([0, 0], [110, 5000]), classes=["no", "yes"], epsilon=1).loss_for(2)
    Pure(epsilon=1)
    """

    classes: Any = None

    def _facts(self, width: int | None, cost: Cost) -> ClassFacts:
        facts = ClassFacts(Labels.read(self.classes, "classes", least=2), Box.read(self.bounds, width))
        _check(OneClass(0, facts.classes.count), facts.box.width, cost)
        return facts

    def _typical(self, facts: ClassFacts, cost: Cost) -> Typical:  # noqa: ARG002
        return _typical(OneClass(0, facts.classes.count), facts.box.width)

    def _learn(self, exact: Array, labels: Array | None, facts: ClassFacts, exit_: Exit) -> None:
        assert labels is not None
        places = facts.classes.places(labels)
        known = places >= 0
        sums = np.bincount(places[known], minlength=facts.classes.count)
        (counts, surely), left = _counts(sums, exit_, SIZE), WHOLE - SIZE
        plan = Plan.choose(OneClass(0, len(sums)), facts.box.width, max(surely, 0.0) * _worth(counts), exit_.cost)
        if not plan.rounds or surely < FEW * exit_.cost.deviation(ONE, SIZE):
            share = AGAIN if plan.rounds else left
            (counts, _), left = _counts(sums, exit_, share), left - share
        bins, spent = _binned(exact if known.all() else exact[known], facts.box, counts.sum(), plan, exit_)
        start = _start(counts / counts.sum())
        parts = by_class(bins.codes(exact), places, len(sums), start)
        curves, constant = backfitted(parts, bins, _shape(counts), plan, exit_, left - spent)
        self.classes_, self.class_count_ = facts.classes.values, counts
        self._keep(bins, curves, start / GRAIN + constant)

    def _joint(self, rows: Array) -> Floats:
        scores = self._scores(rows)
        scores = np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
        above = scores - scores.max(axis=1, keepdims=True)
        total = np.exp(above).sum(axis=1, keepdims=True)
        joint: Floats = above - np.log(total) + np.log(np.maximum(1, 2 - 2 * np.exp(above) / total))
        return joint


def _counts(exact: Integers, exit_: Exit, share: Fraction) -> tuple[Floats, float]:
    """How many rows there are of each class, and not less than noise; and how many there surely are of all."""
    noisy, deviation = counted(exact, ONE, exit_, share), exit_.cost.deviation(ONE, share)
    return np.maximum(noisy, max(2 * deviation, 1.0)), float(noisy.sum()) - len(noisy) ** 0.5 * deviation


def _start(rates: Floats) -> Integers:
    """Scores, in steps, of which the probabilities are these; of the second of two classes alone.

    Bisection finds the factor with which p·max(1, 2(1 − p)) is proportional to the rates.
    """
    low, high = 0.0, 1 / float(rates.max())
    for _ in range(60):
        factor = (low + high) / 2
        low, high = (factor, high) if _shortened(factor * rates).sum() < 1 else (low, factor)
    scores: Integers = np.rint(GRAIN * np.log(_shortened(high * rates))).astype(np.int64)
    return scores[1:] - scores[:1] if len(scores) == 2 else scores


def _shortened(values: Floats) -> Floats:
    """The p of which p·max(1, 2(1 − p)) are the values."""
    return np.where(values < 0.5, (1 - np.sqrt(np.maximum(1 - 2 * values, 0))) / 2, values)


def _shape(counts: Floats) -> Shape:
    """Of classes with so many rows, as a model without features has it: of two, p is q/2(1 − q) where q is below ½."""
    rates = counts / counts.sum()
    rarer = np.minimum(rates, 1 - rates)
    scored = rarer / (2 * (1 - rarer))
    curvature = max(float(((1 - rarer) * scored * (1 - scored)).max()), SPARSE)
    return Shape(curvature, curvature / 2, 4.0)


def _worth(counts: Floats) -> float:
    """How many rows of two equal classes, of which the curvature is ⅛, tell as much as one of these."""
    return 8 * _shape(counts).curvature


@dataclass(frozen=True, slots=True)
class _ValueFacts:
    target: Box
    box: Box


@parameters
class AdditiveRegressor(_Additive, Regressor):
    """A bounded number as a sum of one curve for each feature, by backfitting.

    Theorem  The declared loss. Proof: shares add up to 1 at most: one release of the number of rows, one or
             two of the sum of y and the sum of its squares in half-widths (each at most 1 for a row), those of
             `zooming.zoomed` for y and for features, of `binning.merged` and of `backfitting.backfitted`.

    Targets beyond `y_bounds` are clipped, and so are predictions. A row counts as if it were within one and a half
    standard deviations of what the model says of it. Curves are in the unit of y.

    >>> AdditiveRegressor(bounds=(0, 1), y_bounds=(0, 5000), rho=0.1).loss_for(2)
    Concentrated(rho=0.1)
    """

    y_bounds: Any = None

    def _facts(self, width: int | None, cost: Cost) -> _ValueFacts:
        facts = _ValueFacts(Box.read(self.y_bounds, 1, "y_bounds"), Box.read(self.bounds, width))
        _check(_NOTHING, facts.box.width, cost)
        zooming.check(1, cost, NUMBER[0])
        affordable(cost, repeated(ONE, 3), NUMBER[0])
        return facts

    def _typical(self, facts: _ValueFacts, cost: Cost) -> Typical:  # noqa: ARG002
        return _typical(_NOTHING, facts.box.width)

    def _learn(self, exact: Array, labels: Array | None, facts: _ValueFacts, exit_: Exit) -> None:
        assert labels is not None
        noisy, left = float(counted(np.array([len(exact)]), ONE, exit_, SIZE)[0]), WHOLE - SIZE
        size = max(noisy - exit_.cost.deviation(ONE, SIZE), 1.0)
        plan = Plan.choose(_NOTHING, facts.box.width, size, exit_.cost)
        scale = Scale(facts.target, 0.0, 0.0)
        if plan.rounds:
            scale, size, left = _measured(labels, facts.target, size, exit_, left)
        if not scale.unit:
            plan = replace(plan, rounds=0)
            scale, left = replace(scale, mean=_mean(labels, scale.box, exit_, left), unit=1.0), Fraction(0)
        bins, spent = _binned(exact, facts.box, size, plan, exit_)
        rows = Rows.of(bins.codes(exact), Values(scale.steps(labels)), np.zeros(1, dtype=np.int64))
        curves, _ = backfitted([rows], bins, _NUMBER_SHAPE, plan, exit_, left - spent)
        middle, half = scale.box.middle, scale.box.half
        self.target_low_, self.target_high_ = float(facts.target.low[0]), float(facts.target.high[0])
        self._keep(bins, curves * scale.unit * half, middle + half * scale.mean)

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """The expected number of each row, within `y_bounds`."""
        return np.clip(self._scores(self._again(X))[:, 0], self.target_low_, self.target_high_)


_NOTHING: Final = Values(np.zeros(0, dtype=np.int64))
_NUMBER_SHAPE: Final = Shape(1.0, 0.06, 0.1)


def _moments(labels: Array, box: Box, powers: int, exit_: Exit, share: Fraction) -> tuple[Floats, float, float]:
    """Means of so many powers of a number in half-widths, the number of rows, and the noise of a mean.

    Theorem  The share. Proof: one release, of the number of rows and the sums, of which a row moves each by 1 at most.
    """
    units = repeated(ONE, powers + 1)
    fine, deviation = exit_.cost.fineness(units, share), exit_.cost.deviation(units, share)
    steps = box.steps(labels[:, None], fine)[:, 0]
    exact = np.array([len(steps) * fine, steps.sum(), (steps * steps // fine).sum()])[: powers + 1]
    noisy = exit_.release(exact, Sensitivity(units.l1 * fine, units.l2_squared * fine**2), share) / fine
    rows = max(float(noisy[0]), 2 * deviation, 1.0)
    return np.clip(noisy[1:] / rows, -1, 1), rows, deviation / rows


def _mean(labels: Array, box: Box, exit_: Exit, share: Fraction) -> float:
    """Of a number, for all that is left; one that noise hides goes to the middle."""
    (mean,), _, noise = _moments(labels, box, 1, exit_, share)
    return float(mean) * ANYWHERE / (ANYWHERE + noise**2)


def _measured(labels: Array, box: Box, rows: float, exit_: Exit, left: Fraction) -> tuple[Scale, float, Fraction]:
    """The mean and the spread of a number, within narrower bounds where those are clearly too wide; the number of rows
    again, with less noise; and the share that is left. The mean costs as little as tells it well.

    The spread is taken for more than it seems, by its noise; if that hides it, it is measured again for the largest
    share, and if it still does, the unit is 0.
    """
    share = next((some for some in NUMBER if exit_.cost.deviation(repeated(ONE, 3), some) <= CLOSE * rows), NUMBER[-1])
    if zooming.promising(rows, 1, exit_.cost, share):
        box, left = zooming.zoomed(labels[:, None], box, exit_, share), left - share
    for some in dict.fromkeys((share, NUMBER[-1])):
        (mean, square), size, noise = _moments(labels, box, 2, exit_, some)
        variance, left = float(square) - float(mean) ** 2, left - some
        if variance > HIDDEN * noise:
            return Scale(box, float(mean), UNIT * min(variance + noise, 1.0) ** 0.5), size, left
    return Scale(box, float(mean), 0.0), size, left
