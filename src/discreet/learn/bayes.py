"""Naïve Bayes: classes from counts (categories) or from means and variances (numbers)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.exact import positive
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn import sizing
from discreet.learn.box import Box, Floats
from discreet.learn.core import Typical, parameters
from discreet.learn.labels import Array, Labels, category_labels
from discreet.learn.moments import Moments, affordable, moments, moved
from discreet.learn.predictors import Categorical, ClassFacts, Classifier
from discreet.mechanisms.arrays import Integers
from discreet.mechanisms.simplex import projected

HEEDED: Final = 0.25
"""Of the variance of noise, what class means are drawn together for."""


@parameters
class GaussianNB(Classifier):
    """Features that are normal in each class, from one release of all counts, sums and sums of squares.

    Theorem  The declared loss. Proof: `sizing.sized` takes its part. All that is left is for one vector with the
             sensitivity of `discreet.learn.moments.sensitivity`; a row is in one class at most, so the other classes do
             not move; the rest is post-processing.

    Means and variances are pulled towards those of all classes together where the noise hides what tells them apart.
    Rows whose label is not among `classes` are not counted.

    >>> model = GaussianNB(bounds=([0, 0], [110, 5000]), classes=["no", "yes"], epsilon=1)
    >>> model.loss_for(2)
    Pure(epsilon=1)
    """

    bounds: Any = None
    classes: Any = None
    var_smoothing: float = 1e-4

    def _facts(self, width: int | None, cost: Cost) -> ClassFacts:
        positive(self.var_smoothing, "var_smoothing")
        box = Box.read(self.bounds, width)
        sizing.check(box.width, cost)
        affordable(cost, width, sizing.LEFT)
        return ClassFacts(Labels.read(self.classes, "classes"), box)

    def _typical(self, facts: ClassFacts, cost: Cost) -> Typical:
        return moved(cost, facts.box.width), sizing.LEFT

    def _learn(self, exact: Array, labels: Array | None, facts: ClassFacts, exit_: Exit) -> None:
        assert labels is not None
        places = facts.classes.places(labels)
        begun = sizing.sized(exact, facts.box, exit_)
        box = begun.box
        noisy = moments(exact, places, facts.classes.count, box, exit_, begun.left)
        self.classes_ = facts.classes.values
        self.class_count_ = noisy.counts
        self.class_log_prior_ = np.log(noisy.counts / noisy.counts.sum())
        means, variances = _like_others(noisy)
        self.theta_ = box.points(_drawn_together(noisy.counts, means, noisy.square_noise))
        self.low_, self.high_ = box.low, box.high
        self.var_ = _steadied(noisy.counts, variances, noisy.square_noise, self.var_smoothing) * box.half**2

    def _joint(self, rows: Array) -> Floats:
        held = np.clip(rows, self.low_, self.high_)[:, None, :]
        logs = -0.5 * (np.log(2 * math.pi * self.var_) + (held - self.theta_) ** 2 / self.var_).sum(axis=2)
        joint: Floats = logs + self.class_log_prior_
        return joint


def _like_others(noisy: Moments) -> tuple[Floats, Floats]:
    """Means and variances; a class that nobody seems to be in has those of the other classes together.

    Its own would be the middle of the bounds, and so wide that rows far from all classes would be said to be in it.
    """
    if noisy.seen.all() or not noisy.seen.any():
        return noisy.means, noisy.variances
    shares = noisy.counts * noisy.seen / noisy.counts[noisy.seen].sum()
    lacking = ~noisy.seen[:, None]
    return np.where(lacking, shares @ noisy.means, noisy.means), np.where(
        lacking, shares @ noisy.variances, noisy.variances
    )


def _drawn_together(counts: Floats, means: Floats, noise: Floats) -> Floats:
    """Means with less noise in them: between what was found and the mean of all classes.

    Classes differ in a feature by about the variance B of their means, beyond that of the noise; a mean with a noise of
    variance v keeps B/(B + v) of its difference. B is that of the feature or, if larger, that of all features together,
    and at least the error of the latter: where none stands out alone, many may together. Of the noise a part is
    forgiven: what is drawn to the middle seems near to all rows, and a class should not win by that.

    Source   Efron & Morris 1973 (empirical Bayes).
    """
    shares = counts[:, None] / counts.sum()
    centre, squares = (shares * means).sum(axis=0), HEEDED * noise**2
    each = (shares * ((means - centre) ** 2 - squares)).sum(axis=0)
    error = float((shares * squares).sum()) * math.sqrt(2 / means.size)
    between = np.maximum(each, max(float(each.mean()), error, np.finfo(np.float64).tiny))
    drawn: Floats = centre + between / (between + squares) * (means - centre)
    return drawn


def _steadied(counts: Floats, variances: Floats, noise: Floats, smoothing: float) -> Floats:
    """Variances with less noise in them: mixed with those of all classes, and never far below the noise.

    A variance that noise made too small would let one feature outvote all others.
    """
    shared = counts @ variances / counts.sum()
    trust = shared**2 / (shared**2 + noise**2)
    mixed = trust * variances + (1 - trust) * shared
    steadied: Floats = np.maximum(mixed, np.maximum(smoothing, noise / 2))
    return steadied


@dataclass(frozen=True, slots=True)
class _CategoryFacts:
    classes: Labels
    categories: tuple[Labels, ...]

    @property
    def most(self) -> int:
        return max((labels.count for labels in self.categories), default=1)


@parameters
class CategoricalNB(Categorical, Classifier):
    """Features with few values, from one release of how often each occurs in each class.

    Theorem  Laplace noise of scale D/ε on each count is ε-DP, Gaussian noise of variance D/(2ρ) is ρ-zCDP.
    Proof    A row is in one cell of each of the D tables (class, value): adding it moves at most D counts by 1, so
             l1 ≤ D and l2² ≤ D. The class prior is post-processing: each table's rows add up to the classes, and the
             mean over the tables has 1/D of the variance.
    Source   Vaidya, Shafiq, Basu & Hong 2013.

    `categories` is a list with the values of each feature; a number m stands for the values 0 … m − 1, alone for those
    of every feature. Values that are not among them are not counted, nor are rows with other labels.

    >>> CategoricalNB(classes=[0, 1], categories=[["F", "M"], 4], epsilon=0.1).loss_for(2)
    Pure(epsilon=0.1)
    """

    classes: Any = None
    alpha: float = 1.0

    def _facts(self, width: int | None, cost: Cost) -> _CategoryFacts:
        positive(self.alpha, "alpha")
        tables = category_labels(self.categories, width)
        cost.fineness(_sensitivity(len(tables)))
        return _CategoryFacts(Labels.read(self.classes, "classes"), tables)

    def _typical(self, facts: _CategoryFacts, cost: Cost) -> Typical:  # noqa: ARG002
        return _sensitivity(len(facts.categories)), WHOLE

    def _learn(self, exact: Array, labels: Array | None, facts: _CategoryFacts, exit_: Exit) -> None:
        assert labels is not None
        width = len(facts.categories)
        counts = _counts(exact, facts.classes.places(labels), facts)
        held = np.concatenate([np.full(labels.count, column) for column, labels in enumerate(facts.categories)])
        noisy = exit_.release(counts, _sensitivity(width)).astype(np.float64)
        tables = [noisy[:, held == column] for column in range(width)]
        prior = np.maximum(np.mean([table.sum(axis=1) for table in tables], axis=0), 1)
        self.classes_ = facts.classes.values
        self.categories_ = [labels.values for labels in facts.categories]
        self.class_count_ = prior
        self.class_log_prior_ = np.log(prior / prior.sum())
        self.category_count_ = [projected(table, prior) for table in tables]
        self.feature_log_prob_ = [_smoothed(table, self.alpha) for table in self.category_count_]

    def _joint(self, rows: Array) -> Floats:
        joint = np.tile(self.class_log_prior_, (len(rows), 1))
        for column, values, logs in zip(rows.T, self.categories_, self.feature_log_prob_, strict=True):
            places = Labels(values).places(column)
            # a value that nobody declared says nothing about the class
            joint += np.where((places >= 0)[:, None], logs.T[places], 0)
        return joint


def _sensitivity(width: int) -> Sensitivity:
    """A row is in one cell of each feature's table."""
    return Sensitivity(Fraction(width), Fraction(width))


def _counts(exact: Array, classes: Integers, facts: _CategoryFacts) -> Integers:
    """How often each value of each feature occurs in each class: a row for each class, the features side by side."""
    tables = []
    for column, labels in zip(exact.T, facts.categories, strict=True):
        places = labels.places(column)
        inside = (places >= 0) & (classes >= 0)
        cells = np.where(inside, classes * labels.count + places, facts.classes.count * labels.count)
        counts = np.bincount(cells, minlength=facts.classes.count * labels.count + 1)[:-1]
        tables.append(counts.reshape(facts.classes.count, labels.count))
    return np.hstack(tables).astype(np.int64)


def _smoothed(table: Floats, alpha: float) -> Floats:
    logs: Floats = np.log((table + alpha) / (table + alpha).sum(axis=1, keepdims=True))
    return logs
