"""Logistic regression."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.exact import Number, flag, positive, whole
from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn.box import Box, Floats
from discreet.learn.core import Typical, demand, parameters
from discreet.learn.gradients import Clip, Descent, Examples
from discreet.learn.gram import (
    MOST_FEATURES,
    WIDEST_MATRIX,
    centred,
    norm_for,
    products,
    radius,
    square,
    triangle,
)
from discreet.learn.labels import Array, Labels
from discreet.learn.predictors import Classifier
from discreet.learn.rowwise import product
from discreet.learn.scaling import GRAIN, Scaling, mean_noise, measured
from discreet.learn.scaling import sensitivity as spread_sensitivity
from discreet.learn.zooming import SHARES, check, share_for, zoomed
from discreet.mechanisms.arrays import Integers

COUNT: Final = Fraction(1, 20)
"""The share for the number of rows of each class."""
SPREAD: Final = Fraction(3, 20)
"""The share for where features lie and how widely they spread, where there are rows enough for it."""
NOISY: Final = 0.1
"""There are enough if that finds means of features to a tenth of what they may be."""
CURVATURE: Final = Fraction(1, 10)
"""The share for products of features, unless the noise on them would be `HOPELESS` times the number of rows."""
HOPELESS, CAUTIOUS = 20, 5
"""Where the noise hides the curvature, it is taken for at most so many times what independent features have."""
LONG: Final = {1: Fraction(14, 5), 2: Fraction(24, 10) ** 2}
"""A long row is 2.8 times as long as a usual one in L1, and 2.4 times in L2."""
LITTLE, MUCH = 0.02, 4.0
"""The variance of the scores of usual models, at least for each feature and at most in all."""
USELESS: Final = 25.0
"""Where noise makes scores vary by so much, frequencies of classes are all that can be learned."""
FLAT, PLAIN = 0.07, 1 / 9
"""Without the spread: the curvature, as a part of what half-widths let one think, and the variance of a feature."""
SLOW, FAST = 0.9, 0.5
"""Momentum without and with the spread."""
FEWEST, MANY, MAX_TURNS = 3, 4, 16
"""Steps, unless the caller says how many: at least 3 without and 4 with the spread, at most 16."""
SURE: Final = 2.5
"""There are rows at all where their number is so many deviations of its noise."""
ONE: Final = Sensitivity.cells(1, 1)


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

    def clipping(self, scaling: Scaling) -> Clip:
        """Against rows that are long in this scaling."""
        return Clip(self.clip, self.norm, self.side, self.columns, scaling.length * LONG[self.norm])

    def gram(self, scaling: Scaling, steps: int) -> Sensitivity:
        """How far a row of at most the usual length moves the triangle of Σ aᵀa."""
        return scaling.size(self.side, steps, self.norm).gram

    @property
    def penalties(self) -> Floats:
        """Of weights in the units of rows."""
        return np.concatenate([np.zeros(self.constant), np.full(self.box.width, self.penalty)])


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """How a fit goes on once it knows about how many rows there are."""

    scaling: Scaling
    pace: Floats
    momentum: float
    ratio: float
    """About the true curvature, in terms of the one that the pace assumes."""
    variance: float
    """About that of a feature."""
    turns: int
    clip: Clip
    left: Fraction


@parameters
class LogisticRegression(Classifier):
    """Probabilities of classes from a weighted sum of features, by descent along noisy gradients of all rows.

    Theorem  The declared loss. Proof: a twentieth is for the number of rows of each class, of which a row moves one
             by 1. If there are enough, up to a tenth is for `zooming.zoomed`, three twentieths for `scaling.measured`,
             a tenth for the triangle of Σ aᵀa of rows a = (1, x) so scaled, shortened to the usual length, with the
             sensitivity of `gram.Size.gram`. The rest is shared equally by the steps, each one a release with the
             sensitivity of `gradients.Clip.sensitivity`; or it is for the numbers of rows again, where noise would hide
             all else. Bounds, units, lengths and the number of steps depend on
             released numbers only.
    Source   Song, Chaudhuri & Sarwate 2013; Bassily, Smith & Thakurta 2014; clipping: Song, Steinke, Thakkar & Thakurta
             2021; the bound on the curvature by Σ aᵀa: Böhning 1992.

    Bounds may be far too wide: with rows enough, those that they lie within are found. Weights that noise may have made
    are shrunk towards those of a model that knows the frequencies of classes only.

    C         as in scikit-learn, for weights of features in units of their spread, or in half-widths of their bounds
              where there are too few rows to tell that
    max_iter  the number of steps; by default 3 to 16, as many as the noise lets be useful
    clip      how long the gradient of a row may be, as a share of that of a long row which is predicted wrongly

    Steps go along features in units of their spread around their means, because noise is as large for each of them;
    where there are too few rows to tell the spread, in half-widths of the bounds. Bounds that begin at 0, as those of
    indicators do, cost least where most values are 0.

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

    def _facts(self, width: int | None, cost: Cost) -> _Facts:
        constant = int(flag(self.fit_intercept, "fit_intercept"))
        box = Box.read(self.bounds, width)
        demand(box.width < MOST_FEATURES, "too-complex", "there are too many features", "use fewer than 65536")
        share = positive(self.clip, "clip")
        if share > 1:
            raise ValueError(f"clip must be a share of the longest gradient, at most 1, not {self.clip}")
        facts = _Facts(
            classes=Labels.read(self.classes, "classes", least=2),
            box=centred(box, constant),
            constant=constant,
            turns=None if self.max_iter is None else whole(self.max_iter, "max_iter"),
            clip=share,
            penalty=1 / float(positive(self.C, "C")),
            norm=norm_for(cost),
        )
        _affordable(cost, facts)
        return facts

    def _typical(self, facts: _Facts, cost: Cost) -> Typical:  # noqa: ARG002
        clip = facts.clipping(Scaling.plain(facts.box, facts.constant))
        return clip.sensitivity(GRAIN), (WHOLE - COUNT) / (facts.turns or MANY)

    def _learn(self, exact: Array, labels: Array | None, facts: _Facts, exit_: Exit) -> None:
        assert labels is not None
        places = facts.classes.places(labels)
        if (places < 0).any():
            exact, places = exact[places >= 0], places[places >= 0]
        count, shares = _frequencies(places, facts, exit_, COUNT)
        share = share_for(count, facts.box.width, exit_.cost)
        if share:
            facts = replace(facts, box=centred(zoomed(exact, facts.box, exit_, share), facts.constant))
        self.low_, self.high_ = facts.box.low, facts.box.high
        plan = _planned(exact, count, shares, facts, exit_, WHOLE - COUNT - share)
        scaling, share = plan.scaling, plan.left / plan.turns
        steps = min(radius(exit_.cost, plan.clip.sensitivity, share), scaling.finest)
        descent = Descent(plan.turns, plan.pace, plan.momentum, facts.penalties)
        noise = exit_.cost.deviation(plan.clip.sensitivity(steps), share) / steps**2 * descent.carried(plan.ratio)
        # the pace is as if there were `count` rows: with fewer, noise would be carried farther than it says
        unknown = math.sqrt(facts.classes.count) * exit_.cost.deviation(ONE, COUNT)
        varied = noise**2 * float((plan.pace**2).sum()) * plan.variance * (count / max(count - unknown, 1.0)) ** 2
        if facts.turns is None and (varied > USELESS or count < SURE * unknown):
            weights, turns = _start(_frequencies(places, facts, exit_, plan.left)[1], facts), 0
        else:
            examples = Examples.of(exact, places, scaling.ruler(steps, facts.constant), plan.clip)

            def gradient(weights: Floats) -> Floats:
                return exit_.release(examples.gradient(weights), plan.clip.sensitivity(steps), share) / steps**2

            start, turns = _start(shares, facts), plan.turns
            weights = _trusted(start, descent.run(gradient, start, exit_.watched), varied, plan.variance)
        self.n_iter_ = turns
        self.classes_, self.class_count_ = facts.classes.values, count * shares
        self.spread_ = scaling.width
        self.coef_ = weights[:, facts.constant :] / scaling.width
        starts = weights[:, 0] if facts.constant else np.zeros(facts.columns)
        self.intercept_ = starts - self.coef_ @ scaling.middle

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """The score of the second of two classes, or of each."""
        scores = self._scores(self._again(X))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _joint(self, rows: Array) -> Floats:
        scores = self._scores(rows)
        return scores if scores.shape[1] > 1 else np.hstack([np.zeros_like(scores), scores])

    def _scores(self, rows: Array) -> Floats:
        """Features beyond the bounds that were found count as if they lay there, as they did in the fit."""
        scores: Floats = product(np.clip(rows, self.low_, self.high_), self.coef_.T) + self.intercept_
        return scores


def _frequencies(places: Integers, facts: _Facts, exit_: Exit, share: Fraction) -> tuple[float, Floats]:
    """How many rows there are, and the share of each class among them."""
    noisy = exit_.release(np.bincount(places, minlength=facts.classes.count).astype(np.int64), ONE, share)
    # as many imagined rows of each class as the noise is wide: it must not make a class look impossible
    counts = np.maximum(noisy.astype(np.float64), 0) + 2 * exit_.cost.deviation(ONE, share)
    return max(float(noisy.sum()), 1.0), counts / counts.sum()


def _start(shares: Floats, facts: _Facts) -> Floats:
    """Weights that know how frequent the classes are, and nothing else."""
    start = np.zeros((facts.columns, facts.side))
    logs = np.log(shares)
    if facts.constant:
        start[:, 0] = logs if facts.columns > 1 else logs[1] - logs[0]
    return start


def _trusted(start: Floats, weights: Floats, noisy: float, variance: float) -> Floats:
    """Weights between those of the start and those that were found, the nearer to the start the more of them is noise.

    Noise alone makes scores vary by `noisy`. By how much they vary beyond that, within what usual models have, the
    signal is known, and the factor is Wiener's. Scores of many features, which often go together, vary more than the
    weights say.
    """
    moved = weights - start
    seen = float((moved**2).sum()) / len(weights) * variance - noisy
    signal = min(max(seen, min(LITTLE * weights.shape[1], 0.5)), MUCH)
    return np.asarray(start + moved * signal / (signal + noisy))


def _affordable(cost: Cost, facts: _Facts) -> None:
    """Refuse before the charge what could not be drawn after it; no usual row is longer than one in a corner."""
    scaling = Scaling.largest(facts.box, facts.constant)
    turns = MAX_TURNS if facts.turns is None else facts.turns
    radius(cost, facts.clipping(scaling).sensitivity, (WHOLE - COUNT - SHARES[-1] - SPREAD - CURVATURE) / turns)
    radius(cost, lambda steps: facts.gram(scaling, steps), CURVATURE)
    radius(cost, lambda steps: spread_sensitivity(facts.box.width, steps, facts.norm), SPREAD)
    radius(cost, lambda _: ONE, COUNT)
    check(facts.box.width, cost, SHARES[0])


def _planned(exact: Floats, count: float, shares: Floats, facts: _Facts, exit_: Exit, left: Fraction) -> _Plan:
    """In units of the spread where there are rows enough to measure it; else in those of the box."""
    if mean_noise(exit_.cost, facts.box.width, facts.norm, SPREAD) < NOISY * count:
        return _measured(exact, count, shares, facts, exit_, left)
    scaling, clip = (
        Scaling.plain(facts.box, facts.constant),
        Clip.longest(facts.clip, facts.norm, facts.side, facts.columns),
    )
    bent = count * (1 + facts.box.width / 3) / (6 if facts.columns > 1 else 12)
    turns = facts.turns or _turns(FEWEST, count, exit_.cost, clip, left)
    return _Plan(scaling, 1 / (bent + facts.penalties), SLOW, FLAT, PLAIN, turns, clip, left)


def _measured(exact: Floats, count: float, shares: Floats, facts: _Facts, exit_: Exit, left: Fraction) -> _Plan:
    cost, left = exit_.cost, left - SPREAD
    scaling = measured(exact, facts.box, facts.constant, facts.norm, exit_, SPREAD)
    bend, penalties = _bend(shares, facts.columns > 1), facts.penalties
    steps = min(radius(cost, lambda steps: facts.gram(scaling, steps), CURVATURE), scaling.finest)
    noise = cost.deviation(facts.gram(scaling, steps), CURVATURE) / steps**2 * math.sqrt(facts.side)
    pace: Floats = 1 / (bend * CAUTIOUS * count + penalties)
    ratio = 1 / CAUTIOUS
    if facts.side <= WIDEST_MATRIX and noise < HOPELESS * count:
        left, ratio = left - CURVATURE, 0.5
        values, vectors = np.linalg.eigh(_curvature(exact, scaling, facts, steps, exit_))
        seen = np.maximum(values - noise, 0) + min(noise, CAUTIOUS * count)
        pace = np.linalg.inv((vectors * (bend * seen)) @ vectors.T + np.diag(penalties))
    clip = facts.clipping(scaling)
    turns = facts.turns or _turns(MANY, count / 4 * math.sqrt(facts.columns), cost, clip, left)
    return _Plan(scaling, pace, FAST, ratio, 1.0, turns, clip, left)


def _bend(shares: Floats, several: bool) -> float:
    """How much the loss of a row bends: as at the start, and no less than 0.4 of the most that there is."""
    most = max(float(np.linalg.eigvalsh(np.diag(shares) - np.outer(shares, shares))[-1]), 0.2)
    return most if several else most / 2


def _turns(least: int, most: float, cost: Cost, clip: Clip, left: Fraction) -> int:
    """As many steps as keep the norm of the noise in each below `most`."""
    numbers = math.sqrt(clip.side * clip.columns)
    useful = [
        turns
        for turns in range(least, MAX_TURNS + 1)
        if cost.deviation(clip.sensitivity(1024), left / turns) / 1024**2 * numbers < most
    ]
    return max(useful, default=least)


def _curvature(exact: Floats, scaling: Scaling, facts: _Facts, steps: int, exit_: Exit) -> Floats:
    """A noisy Σ aᵀa."""
    sums = products(exact, scaling.ruler(steps, facts.constant), scaling.limit(steps, facts.norm), facts.norm)
    values = exit_.release(sums[triangle(facts.side)], facts.gram(scaling, steps), CURVATURE)
    return square(values / steps**2, facts.side)
