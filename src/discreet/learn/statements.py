"""What is released to score a model: vectors of integers, each with the sensitivity of one row.

A row adds to one cell of a histogram, or a part of a whole to one number and the rest of it to another. All metrics are
post-processing (`readings`), so that several of them may be read from one vector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.accounting.losses import Sensitivity
from discreet.learn.box import Box, Floats
from discreet.learn.labels import Array, Labels
from discreet.mechanisms.arrays import Integers

UNIT: Final = Sensitivity(Fraction(1), Fraction(1))
CUTS: Final = 1 / (1 + np.exp(-np.linspace(-6, 6, 129)[1:-1]))
"""Between bins of scores: even in log-odds, so that probabilities near 0 and 1 are told apart."""
TENTHS: Final = np.arange(1, 10) / 10
"""Between bins of a calibration."""
LEAST: Final = 0.001
"""Probabilities below are taken for this one in a logarithmic loss, which has no limit else."""


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What is public about what is scored."""

    classes: Labels | None
    """Of a classifier."""
    target: Box | None
    """The bounds of what a regressor predicts: the limits of an error."""
    positive: int = 1
    """The place of the class whose probability is a row's score."""

    @property
    def count(self) -> int:
        """How many classes there are."""
        assert self.classes is not None
        return self.classes.count


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """What a model says of each row, and what is true of it."""

    truth: Any
    """Of a classifier the places of the classes, −1 for what is none of them; of a regressor the numbers."""
    predicted: Any = None
    shares: Floats | None = None
    """Probabilities of the classes, in the order of the facts."""

    @property
    def chances(self) -> Floats:
        """What the model says of the classes, whatever it says: between 0 and 1."""
        assert self.shares is not None
        return np.clip(np.nan_to_num(self.shares, nan=0.0), 0, 1)


Vector = Callable[[Said, Facts, int], Integers]


@dataclass(frozen=True, slots=True)
class Statement:
    """A vector: how it is made of rows, with so many steps to a row, and how far one row moves it, in rows.

    Theorem  Adding or removing a row moves it by steps·l1 in L1 and steps²·l2² in squared L2. Proof: beside each.
    """

    vector: Vector
    moved: Sensitivity = UNIT

    def sensitivity(self, steps: int) -> Sensitivity:
        return Sensitivity(self.moved.l1 * steps, self.moved.l2_squared * steps**2)


def _histogram(cells: Array, inside: Array, length: int, steps: int) -> Integers:
    """A row is in one cell, or in none: l1 and l2² are at most 1."""
    return np.bincount(cells[inside], minlength=length).astype(np.int64) * steps


def _pair(parts: Integers, steps: int) -> Integers:
    """A row adds s to one and the rest of the steps to the other: l1 is 1, and l2² at most 1."""
    return np.array([parts.sum(), (steps - parts).sum()], dtype=np.int64)


# of classes


def _right(said: Said, facts: Facts, steps: int) -> Integers:  # noqa: ARG001
    """How many are right, and how many wrong; what is none of the classes is wrong."""
    return _pair(np.where((said.truth >= 0) & (said.predicted == said.truth), steps, 0).astype(np.int64), steps)


def _recalls(said: Said, facts: Facts, steps: int) -> Integers:
    """For each true class, and for none of them, how many are right and how many wrong."""
    count = facts.count
    true = np.where(said.truth < 0, count, said.truth)
    return _histogram(2 * true + (said.predicted != said.truth), true >= 0, 2 * (count + 1), steps)


def _confusion(said: Said, facts: Facts, steps: int) -> Integers:
    """For each true class, and for none of them, how many are predicted as each class."""
    count = facts.count
    true = np.where(said.truth < 0, count, said.truth)
    return _histogram(count * true + said.predicted, said.predicted >= 0, count * (count + 1), steps)


def _areas(said: Said, facts: Facts, steps: int) -> Integers:
    """How many of the class, and of others, have a score in each bin; what is none of the classes is left out."""
    bins = np.searchsorted(CUTS, said.chances[:, facts.positive], side="right")
    cells = np.where(said.truth == facts.positive, 0, len(CUTS) + 1) + bins
    return _histogram(cells, said.truth >= 0, 2 * (len(CUTS) + 1), steps)


def _bins(said: Said, facts: Facts, steps: int) -> Integers:
    """For each bin and for the class and others: what its rows lie above the lower end of the bin, and below the upper.

    A row adds s to one number and the rest of the steps to the other: l1 is 1, and l2² at most 1.
    """
    chances = said.chances[:, facts.positive]
    bins = np.searchsorted(TENTHS, chances, side="right")
    above = np.clip(np.rint((chances * 10 - bins) * steps), 0, steps)
    cells = 2 * bins + (said.truth != facts.positive)
    known = said.truth >= 0
    length = 2 * (len(TENTHS) + 1)
    # whole numbers below 2⁵³, which float64 adds exactly
    sums = [np.bincount(cells[known], part[known], minlength=length) for part in (above, steps - above)]
    return np.stack(sums, axis=1).ravel().astype(np.int64)


def _logs(said: Said, facts: Facts, steps: int) -> Integers:  # noqa: ARG001
    """Minus the logarithms of the probabilities of what is true, as parts of the largest; it is that for no class."""
    rows = np.arange(len(said.truth))
    chances = np.where(said.truth >= 0, said.chances[rows, said.truth], 0)
    shares = np.log(np.clip(chances, LEAST, 1)) / np.log(LEAST)
    return _pair(np.clip(np.rint(shares * steps), 0, steps).astype(np.int64), steps)


# of numbers


def shares_of(predicted: Array, truth: Array, target: Box, steps: int, power: int) -> Integers:
    """The error of each row as a share of the largest one, to a power."""
    inside = [np.clip(side.astype(np.float64), target.low, target.high) for side in (predicted, truth)]
    share = np.nan_to_num(np.abs(inside[0] / 2 - inside[1] / 2) / target.half, nan=1.0)
    return np.clip(np.rint(share**power * steps), 0, steps).astype(np.int64)


def _absolute(said: Said, facts: Facts, steps: int) -> Integers:
    assert facts.target is not None
    return _pair(shares_of(said.predicted, said.truth, facts.target, steps, 1), steps)


def _squared(said: Said, facts: Facts, steps: int) -> Integers:
    assert facts.target is not None
    return _pair(shares_of(said.predicted, said.truth, facts.target, steps, 2), steps)


def _moments(said: Said, facts: Facts, steps: int) -> Integers:
    """Squares of errors less a half, targets, their squares less a half, and rows.

    With e from 0 to 1 and y from −1 to 1, l1 is at most ½ + 1 + ½ + 1, and l2² at most ¼ + 1 + ¼ + 1.
    """
    assert facts.target is not None
    errors = shares_of(said.predicted, said.truth, facts.target, steps, 2)
    truth = np.asarray(said.truth, dtype=np.float64)
    places = facts.target.steps(np.nan_to_num(truth, nan=0.0)[:, None], steps)[:, 0]
    squares = np.clip(np.rint((places / steps) ** 2 * steps), 0, steps).astype(np.int64)
    half = steps // 2
    return np.array([(errors - half).sum(), places.sum(), (squares - half).sum(), steps * len(places)], dtype=np.int64)


STATEMENTS: Final[Mapping[str, Statement]] = {
    "right": Statement(_right),
    "recalls": Statement(_recalls),
    "confusion": Statement(_confusion),
    "areas": Statement(_areas),
    "bins": Statement(_bins),
    "logs": Statement(_logs),
    "absolute": Statement(_absolute),
    "squared": Statement(_squared),
    "moments": Statement(_moments, Sensitivity(Fraction(3), Fraction(5, 2))),
}
FROM: Final[Mapping[str, tuple[str, ...]]] = {
    "accuracy": ("right", "recalls", "confusion"),
    "balanced_accuracy": ("recalls", "confusion"),
    "confusion_matrix": ("confusion",),
    "roc_auc": ("areas",),
    "log_loss": ("logs",),
    "calibration": ("bins",),
    "mean_absolute_error": ("absolute",),
    "mean_squared_error": ("squared", "moments"),
    "root_mean_squared_error": ("squared", "moments"),
    "r2": ("moments",),
}
"""By metric: the statements that it can be read from, the smallest first."""
OF_CLASSES: Final = frozenset(
    {"accuracy", "balanced_accuracy", "confusion_matrix", "roc_auc", "log_loss", "calibration"}
)
OF_CHANCES: Final = frozenset({"roc_auc", "log_loss", "calibration"})
"""Metrics of probabilities."""
OF_ONE_CLASS: Final = frozenset({"roc_auc", "calibration"})
"""Metrics of the probability of one class."""


def statements_for(metrics: Sequence[str]) -> dict[str, str]:
    """For each metric the statement that it is read from: as few of them as there can be, each as small as it can be.

    >>> statements_for(["accuracy"]), statements_for(["accuracy", "balanced_accuracy"])
    ({'accuracy': 'right'}, {'accuracy': 'recalls', 'balanced_accuracy': 'recalls'})
    """
    chosen: dict[str, str] = {}
    for metric in sorted(metrics, key=lambda each: len(FROM[each])):  # who has the least choice comes first
        others = [name for name in FROM[metric] if name in chosen.values()]
        chosen[metric] = (others or FROM[metric])[0]
    return {metric: chosen[metric] for metric in metrics}
