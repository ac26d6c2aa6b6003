"""Metrics, read from noisy statements: values and intervals. All of it is post-processing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.accounting.fieller import Noisy, Sums
from discreet.answers.scores import Score, Scores
from discreet.exit.cost import Cost
from discreet.learn.box import Box, Floats
from discreet.learn.intervals import Ends, Width, area, ratio
from discreet.learn.labels import Labels
from discreet.learn.statements import LEAST, STATEMENTS, TENTHS, Facts, statements_for
from discreet.mechanisms.calibrated import noise_of


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Noisy statements of one model on the same rows, and what was public about them."""

    cost: Cost
    """Of one row, for all of them."""
    vectors: Mapping[str, Sequence[int]]
    facts: Facts

    def scores(self, metrics: Sequence[str], sure: Fraction) -> Scores:
        """The metrics, each with an interval of this confidence."""
        chosen = statements_for(metrics)
        return Scores(tuple(self._score(metric, chosen[metric], sure) for metric in metrics))

    def _score(self, metric: str, name: str, sure: Fraction) -> Score:
        noisy = self.noisy(name)
        read = READINGS[metric](noisy, self.facts, 1 - sure)
        low, high = read.interval
        return Score(
            metric=metric,
            value=min(max(read.value, low), high),
            interval=(low, high),
            confidence=float(sure),
            rows=max(float(noisy.weights @ noisy.cells), 0.0),
            loss=self.cost.loss,
            details=read.details,
        )

    def noisy(self, name: str) -> Vector:
        """One of the statements, in rows."""
        share = Fraction(1, len(self.vectors))
        steps = self.cost.fineness(STATEMENTS[name].moved, share)
        mechanism = self.cost.noise(STATEMENTS[name].sensitivity(steps), share)
        cells = np.array(self.vectors[name], dtype=np.float64)
        weights = np.array([0.0, 0, 0, 1]) if name == "moments" else np.ones(len(cells))
        return Vector(name, cells, steps, noise_of(mechanism), weights / steps)


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """A noisy statement."""

    name: str
    cells: Floats
    """In steps."""
    steps: int
    noise: Any
    weights: Floats
    """Of the cells, for the number of rows."""

    def about(self, top: Floats, bottom: Floats, miss: Fraction, within: Ends) -> tuple[float, Ends]:
        """A ratio of two sums of cells, and where it lies."""
        ends = ratio(self.cells, top, bottom, Width(self.noise, miss), within)
        below = float(bottom @ self.cells)
        value = float(top @ self.cells) / below if below > 0 else sum(ends) / 2
        return min(max(value, ends[0]), ends[1]), ends


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """A value, where the exact one lies, and more."""

    value: float
    interval: Ends
    details: Mapping[str, Any]


def _plain(value: float, ends: Ends, **details: Any) -> Read:
    return Read(value, ends, details)


# of classes


def _accuracy(noisy: Vector, facts: Facts, miss: Fraction) -> Read:
    """The share of what is right."""
    return _plain(*noisy.about(_right(noisy, facts), np.ones(len(noisy.cells)), miss, (0.0, 1.0)))


def _right(noisy: Vector, facts: Facts) -> Floats:
    """Which cells hold what is right."""
    if noisy.name == "right":
        return np.array([1.0, 0.0])
    cells: Floats = np.sum([_recall(noisy, facts, index)[0] for index in range(facts.count)], axis=0)
    return cells


def _recall(noisy: Vector, facts: Facts, index: int) -> tuple[Floats, Floats]:
    """Which cells hold what is right of a true class, and which all of it."""
    count = facts.count
    top, bottom = np.zeros((2, count + 1, count if noisy.name == "confusion" else 2))
    top[index, index if noisy.name == "confusion" else 0] = 1
    bottom[index] = 1
    return top.ravel(), bottom.ravel()


def _balanced(noisy: Vector, facts: Facts, miss: Fraction) -> Read:
    """The mean of the shares that are right of each true class, of those classes that have rows.

    Proof    Of each class two events, its share and whether it has rows, with miss/2k each. A class that may have none
             may be left out of the mean or not: the least mean takes those of them that lie below it.
    """
    count = facts.count
    each = miss / (2 * count)
    shown: list[float] = []
    sure: list[Ends] = []
    perhaps: list[Ends] = []
    for index in range(count):
        top, bottom = _recall(noisy, facts, index)
        value, ends = noisy.about(top, bottom, each, (0.0, 1.0))
        rows = float(bottom @ noisy.cells)
        there = rows > Width(noisy.noise, each)(bottom)
        (sure if there else perhaps).append(ends)
        shown += [value] if rows > 0 else []
    ends = (
        _least_mean([low for low, _ in sure], [low for low, _ in perhaps]),
        1 - _least_mean([1 - high for _, high in sure], [1 - high for _, high in perhaps]),
    )
    return _plain(sum(shown) / len(shown) if shown else sum(ends) / 2, ends)


def _least_mean(sure: Sequence[float], perhaps: Sequence[float]) -> float:
    """The least mean of numbers, of which some may be left out."""
    taken = list(sure)
    for value in sorted(perhaps):
        if not taken or value < sum(taken) / len(taken):
            taken.append(value)
    return sum(taken) / len(taken)


def _confusion(noisy: Vector, facts: Facts, miss: Fraction) -> Read:
    """Its value is the accuracy; all counts are within the error together."""
    count = facts.count
    counts = noisy.cells / noisy.steps
    error = float(noisy.noise.width(1 - miss / counts.size)) / noisy.steps
    accuracy = _accuracy(noisy, facts, miss)
    assert facts.classes is not None
    details = {
        "classes": [
            value if isinstance(value, (int, float)) else str(value) for value in facts.classes.values.tolist()
        ],
        "matrix": [[float(cell) for cell in line] for line in counts.reshape(count + 1, count)],
        "error": error,
    }
    return Read(accuracy.value, accuracy.interval, details)


def _roc_auc(noisy: Vector, facts: Facts, miss: Fraction) -> Read:  # noqa: ARG001
    """The chance that a row of the class has a higher score than one of others, ties counted by half."""
    bins = len(noisy.cells) // 2
    positive, negative = noisy.cells[:bins], noisy.cells[bins:]
    ends = area(positive, negative, noisy.noise, miss)
    pairs = float(positive.sum() * negative.sum())
    ordered = float(positive @ (np.tri(bins, k=-1) + np.eye(bins) / 2) @ negative)
    is_known = positive.sum() > 0 and negative.sum() > 0 and ends != (0.0, 1.0)
    return _plain(ordered / pairs if is_known else sum(ends) / 2, ends)


def _log_loss(noisy: Vector, facts: Facts, miss: Fraction) -> Read:  # noqa: ARG001
    """The mean of minus the logarithms of the probabilities of what is true, of probabilities not below LEAST."""
    return _scaled(noisy, miss, -math.log(LEAST))


def _calibration(noisy: Vector, facts: Facts, miss: Fraction) -> Read:  # noqa: ARG001
    """The expected calibration error: how far probabilities are off, in the mean over bins.

    Proof    Each bin has D, the sum of truths less probabilities; the value is Σ|D|/n. With noises it is off by at most
             Σ|noise of D|, which is the largest of 2^bins sums of all noises with signs, of which those that differ by
             all signs are one event: each has miss/2^bins, and n has the other half. Shares within bins have intervals
             of their own, each of this confidence.
    """
    bins = len(TENTHS) + 1
    table = noisy.cells.reshape(bins, 2, 2)  # bin, whether others, whether below
    low = np.arange(bins) / 10
    # of a bin, truths less probabilities: a row of the class adds 1 − p, and one of others −p
    weights = np.empty((bins, 2, 2))
    for others, below in np.ndindex(2, 2):
        weights[:, others, below] = (1 - others) - (low + (0 if below else 0.1))
    off = (table * weights).sum(axis=(1, 2))
    rows = table.sum(axis=(1, 2))
    total = float(noisy.cells.sum())
    half = Width(noisy.noise, miss / 2**bins)(weights.ravel())
    stray = Width(noisy.noise, miss / 2)(np.ones(noisy.cells.size))
    sum_off = float(np.abs(off).sum())
    slip = 0.1 / noisy.steps
    least = max((sum_off - half) / (total + stray) - slip, 0.0) if total + stray > 0 else 0.0
    most = min((sum_off + half) / (total - stray) + slip, 1.0) if total > stray else 1.0
    details = [_bin(noisy, table, index, float(rows[index]), miss) for index in range(bins)]
    value = sum_off / total if total > 0 else (least + most) / 2
    return _plain(value, (min(least, most), most), bins=details)


def _bin(noisy: Vector, table: Floats, index: int, rows: float, miss: Fraction) -> dict[str, Any]:
    top, bottom = np.zeros_like(table), np.zeros_like(table)
    top[index, 0], bottom[index] = 1, 1
    observed, ends = noisy.about(top.ravel(), bottom.ravel(), miss, (0.0, 1.0))
    above = float(table[index, :, 0].sum()) / rows if rows > 0 else 0.5
    low, high = index / 10, (index + 1) / 10
    return {
        "low": low,
        "high": high,
        "predicted": min(max(low + above / 10, low), high),
        "observed": observed,
        "interval": ends,
        "rows": max(rows / noisy.steps, 0.0),
    }


# of numbers


def _scaled(noisy: Vector, miss: Fraction, scale: float) -> Read:
    """The mean of what is a part of a whole; each row's was rounded to a step."""
    slip = 0.5 / noisy.steps
    value, (low, high) = noisy.about(np.array([1.0, 0.0]), np.ones(2), miss, (0.0, 1.0))
    return _plain(scale * value, (scale * max(low - slip, 0.0), scale * min(high + slip, 1.0)))


def _absolute(noisy: Vector, facts: Facts, miss: Fraction) -> Read:
    return _scaled(noisy, miss, _wide(facts))


def _squared(noisy: Vector, facts: Facts, miss: Fraction) -> Read:
    if noisy.name == "squared":
        return _scaled(noisy, miss, _wide(facts) ** 2)
    value, (low, high) = _mean_square(noisy, miss)
    return _plain(value * _wide(facts) ** 2, (low * _wide(facts) ** 2, high * _wide(facts) ** 2))


def _root(noisy: Vector, facts: Facts, miss: Fraction) -> Read:
    read = _squared(noisy, facts, miss)
    return _plain(math.sqrt(read.value), (math.sqrt(read.interval[0]), math.sqrt(read.interval[1])))


def _mean_square(noisy: Vector, miss: Fraction) -> tuple[float, Ends]:
    """Of errors as shares of the largest."""
    slip = 0.5 / noisy.steps
    value, (low, high) = noisy.about(np.array([1.0, 0, 0, 0.5]), np.array([0.0, 0, 0, 1]), miss, (0.0, 1.0))
    return value, (max(low - slip, 0.0), min(high + slip, 1.0))


def _determination(noisy: Vector, facts: Facts, miss: Fraction) -> Read:  # noqa: ARG001
    """R² = 1 − the mean squared error / the variance of the targets: each within its interval, with half of `miss`."""
    error, (low, high) = _mean_square(noisy, miss / 2)
    _, total, squares, rows = (Noisy(int(cell), noisy.noise) for cell in noisy.cells)
    sums = Sums(rows, total, None, squares, (1, 1), shift=Fraction(1, 2))
    slip = 2 / noisy.steps
    least, most = (float(end) for end in sums.covariance(miss / 2))
    least, most = max(least - slip, 0.0), most + slip
    # targets are from −1 to 1, and errors of 1 are of 2
    count = float(noisy.cells[3])
    spread = float(noisy.cells[2]) / count + 0.5 - (float(noisy.cells[1]) / count) ** 2 if count > 0 else 0.0
    spread = min(max(spread, least), most)
    worst = 1 - 4 * high / least if least > 0 else -math.inf
    return _plain(1 - 4 * error / spread if spread > 0 else worst, (worst, 1 - 4 * low / most if most > 0 else 1.0))


def _wide(facts: Facts) -> float:
    """The largest error."""
    assert facts.target is not None
    return float((facts.target.high - facts.target.low)[0])


READINGS: Final[Mapping[str, Callable[[Vector, Facts, Fraction], Read]]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced,
    "confusion_matrix": _confusion,
    "roc_auc": _roc_auc,
    "log_loss": _log_loss,
    "calibration": _calibration,
    "mean_absolute_error": _absolute,
    "mean_squared_error": _squared,
    "root_mean_squared_error": _root,
    "r2": _determination,
}
"""By name: how a metric is read from a noisy statement."""


def facts_of(classes: Any, bounds: tuple[float, float] | None, positive: int) -> Facts:
    """The facts that were put on record."""
    target = None if bounds is None else Box(np.array([bounds[0]]), np.array([bounds[1]]))
    return Facts(None if classes is None else Labels.read(classes, "classes"), target, positive)
