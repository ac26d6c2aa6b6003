"""Logistic regression."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.accounting.losses import Reach
from discreet.exact import Number, flag, positive, whole
from discreet.learn.box import Box, Floats
from discreet.learn.core import demand, parameters
from discreet.learn.gradients import Clip, Descent, Examples
from discreet.learn.gram import (
    MOST_FEATURES,
    WIDEST_MATRIX,
    Size,
    centred,
    lengths,
    norm_for,
    products,
    radius,
    shortened,
    square,
    triangle,
    usual,
    with_constant,
)
from discreet.learn.labels import Array, Labels
from discreet.learn.predictors import Classifier
from discreet.learn.price import WHOLE, Allowance, Price
from discreet.mechanisms.arrays import Integers

COUNT: Final = Fraction(1, 20)
"""The share for the number of rows of each class."""
CURVATURE: Final = Fraction(1, 4)
"""The share for products of features, where there are rows enough for them."""
SLOW, FAST = 0.9, 0.8
"""Momentum without and with the curvature."""
FEWEST, MANY, MOST = 3, 9, 25
"""Steps, unless the caller says how many: at least 3 without and 9 with the curvature, at most 25."""
ONE: Final = Reach.cells(1, 1)


@dataclass(frozen=True, slots=True)
class _Facts:
    classes: Labels
    box: Box
    constant: int
    turns: int | None
    clip: Fraction
    penalty: float
    norm: int

    @property
    def side(self) -> int:
        return self.constant + self.box.width

    @property
    def columns(self) -> int:
        """Weights of the second of two classes, or of all."""
        return 1 if self.classes.count == 2 else self.classes.count

    @property
    def clipping(self) -> Clip:
        return Clip(self.clip, self.norm, self.side, self.columns)

    def size(self, steps: int) -> Size:
        return Size.within([steps] * self.side, usual(self.box.width, steps, self.norm), self.norm)


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """How a fit goes on once it knows about how many rows there are."""

    pace: Floats
    momentum: float
    turns: int
    clip: Clip
    left: Fraction


@parameters
class LogisticRegression(Classifier):
    """Probabilities of classes from a weighted sum of features, by descent along noisy gradients of all rows.

    Theorem  The declared loss. Proof: a twentieth pays for the number of rows of each class, of which a row moves one
             by 1. If there are enough, a quarter pays for the triangle of Σ aᵀa of rows shortened to `gram.usual`, with
             the reach of `gram.Size.gram`. The rest is shared equally by the steps, each one a release with the reach
             of `gradients.Clip.reach`; how many there are depends on released numbers of rows only.
    Source   Song, Chaudhuri & Sarwate 2013; Bassily, Smith & Thakurta 2014; clipping: Song, Steinke, Thakkar & Thakurta
             2021; the bound on the curvature by Σ aᵀa: Böhning 1992.

    C         as in scikit-learn, for weights of features in half-widths of their bounds
    max_iter  the number of steps; by default 3 to 25, as many as the noise lets be useful
    clip      how long the gradient of a row may be, as a share of the longest possible one

    Rows whose label is not among `classes` are not counted.

    >>> LogisticRegression(bounds=([0, 0], [110, 5000]), classes=["no", "yes"], rho=0.1).loss_for(2)
    Concentrated(rho=0.1)
    """

    bounds: Any = None
    classes: Any = None
    C: float = 1.0
    fit_intercept: bool = True
    max_iter: int | None = None
    clip: Number = 0.25

    def _facts(self, width: int | None) -> _Facts:
        constant = int(flag(self.fit_intercept, "fit_intercept"))
        box = Box.read(self.bounds, width)
        demand(box.width < MOST_FEATURES, "too-complex", "there are too many features", "use fewer than 65536")
        share = positive(self.clip, "clip")
        if share > 1:
            raise ValueError(f"clip must be a share of the longest gradient, at most 1, not {self.clip}")
        price = self._price()
        facts = _Facts(
            classes=Labels.read(self.classes, "classes", least=2),
            box=centred(box, constant),
            constant=constant,
            turns=None if self.max_iter is None else whole(self.max_iter, "max_iter"),
            clip=share,
            penalty=1 / float(positive(self.C, "C")),
            norm=norm_for(price),
        )
        # refuse before the charge what could not be drawn after it
        turns = MOST if facts.turns is None else facts.turns
        radius(price, facts.clipping.reach, (WHOLE - COUNT - CURVATURE) / turns)
        radius(price, lambda steps: facts.size(steps).gram, CURVATURE)
        radius(price, lambda _: ONE, COUNT)
        return facts

    def _learn(self, exact: Array, labels: Array | None, facts: _Facts, allowance: Allowance) -> None:
        assert labels is not None
        places = facts.classes.places(labels)
        exact, places = exact[places >= 0], places[places >= 0]
        noisy = allowance.release(np.bincount(places, minlength=facts.classes.count).astype(np.int64), ONE, COUNT)
        # as many imagined rows of each class as the noise is wide: it must not make a class look impossible
        counts = np.maximum(noisy.astype(np.float64), 0) + 2 * allowance.price.deviation(ONE, COUNT)
        shares = counts / counts.sum()
        plan = _planned(exact, max(float(noisy.sum()), 1.0), shares, facts, allowance)
        share = plan.left / plan.turns
        steps = radius(allowance.price, plan.clip.reach, share)
        rows = with_constant(exact, facts.box, steps, facts.constant)
        examples = Examples(rows, places, steps, plan.clip)

        def gradient(weights: Floats) -> Floats:
            return allowance.release(examples.gradient(weights), plan.clip.reach(steps), share) / steps**2

        penalties = np.array([0.0] * facts.constant + [facts.penalty] * facts.box.width)
        weights = Descent(plan.turns, plan.pace, plan.momentum, penalties).run(gradient, _start(shares, facts))
        self.n_iter_ = plan.turns
        self.classes_ = facts.classes.values
        self.coef_ = weights[:, facts.constant :] / facts.box.half
        starts = weights[:, 0] if facts.constant else np.zeros(facts.columns)
        self.intercept_ = starts - self.coef_ @ facts.box.middle

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """The score of the second of two classes, or of each."""
        found: Floats = self._again(X) @ self.coef_.T + self.intercept_
        return found[:, 0] if found.shape[1] == 1 else found

    def _joint(self, rows: Array) -> Floats:
        scores: Floats = rows @ self.coef_.T + self.intercept_
        return scores if scores.shape[1] > 1 else np.hstack([np.zeros_like(scores), scores])


def _start(shares: Floats, facts: _Facts) -> Floats:
    """Weights that know how frequent the classes are, and nothing else."""
    found = np.zeros((facts.columns, facts.side))
    logs = np.log(shares)
    if facts.constant:
        found[:, 0] = logs if facts.columns > 1 else logs[1] - logs[0]
    return found


def _planned(exact: Floats, count: float, shares: Floats, facts: _Facts, allowance: Allowance) -> _Plan:
    """With the curvature where its noise is small beside what so many rows would have; else without it."""
    price, left = allowance.price, WHOLE - COUNT
    steps = radius(price, lambda steps: facts.size(steps).gram, CURVATURE)
    deviation = price.deviation(facts.size(steps).gram, CURVATURE) / steps**2
    noise = deviation * math.sqrt(facts.side)
    several, clip = facts.columns > 1, facts.clipping
    if facts.side <= WIDEST_MATRIX and count / 10 > 2 * noise:
        matrix = _curvature(exact, facts, steps, allowance)
        values, vectors = np.linalg.eigh(matrix)
        bent = np.maximum(values, 0) * _bend(shares, several) + noise / 2 + facts.penalty
        turns = facts.turns or _turns(MANY, count / 75, price, clip, left - CURVATURE)
        return _Plan((vectors / bent) @ vectors.T, FAST, turns, clip, left - CURVATURE)
    pace = 6 / (count * (1 + facts.box.width / 3)) * (1 if several else 2)
    turns = facts.turns or _turns(FEWEST, count, price, clip, left)
    return _Plan(pace * np.eye(facts.side), SLOW, turns, clip, left)


def _bend(shares: Floats, several: bool) -> float:
    """How much the loss of a row bends: as at the start, and no less than 0.4 of the most that there is."""
    most = max(float(np.linalg.eigvalsh(np.diag(shares) - np.outer(shares, shares))[-1]), 0.2)
    return most if several else most / 2


def _turns(least: int, most: float, price: Price, clip: Clip, left: Fraction) -> int:
    """As many steps as keep the norm of the noise in each below `most`."""
    numbers = math.sqrt(clip.side * clip.columns)
    useful = [
        turns
        for turns in range(least, MOST + 1)
        if price.deviation(clip.reach(1024), left / turns) / 1024**2 * numbers < most
    ]
    return max(useful, default=least)


def _curvature(exact: Floats, facts: _Facts, steps: int, allowance: Allowance) -> Floats:
    """A noisy Σ aᵀa."""
    rows: Integers = with_constant(exact, facts.box, steps, facts.constant)
    short = shortened(rows, lengths(rows, facts.norm), usual(facts.box.width, steps, facts.norm))
    values = allowance.release(products(short, short)[triangle(facts.side)], facts.size(steps).gram, CURVATURE)
    return square(values / steps**2, facts.side)
