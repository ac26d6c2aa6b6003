"""How good a model is, on private rows: a value and its interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from discreet.accounting.losses import Sensitivity
from discreet.exact import Number, probability
from discreet.exit import SAMPLER, opened
from discreet.exit.charges import charge_for
from discreet.exit.cost import Cost, Loss
from discreet.learn.box import Box
from discreet.learn.core import is_ours
from discreet.learn.labels import Array, Labels
from discreet.mechanisms.arrays import Integers

UNIT: Final = Sensitivity(Fraction(1), Fraction(1))


@dataclass(frozen=True, slots=True)
class Metric:
    """A mean over rows, of numbers between 0 and a public limit."""

    parts: Callable[[Array, Array, Any, int], Integers]
    """Of predictions, truths and facts: each row's share of the limit, in so many steps."""
    power: int
    """The limit is the width of the target's bounds to this power."""


def _right(predicted: Array, truth: Array, classes: Labels, fine: int) -> Integers:
    places = classes.places(truth)
    return np.where((places >= 0) & (classes.places(predicted) == places), fine, 0).astype(np.int64)


def _absolute(predicted: Array, truth: Array, target: Box, fine: int) -> Integers:
    return _shares(predicted, truth, target, fine, 1)


def _squared(predicted: Array, truth: Array, target: Box, fine: int) -> Integers:
    return _shares(predicted, truth, target, fine, 2)


def _shares(predicted: Array, truth: Array, target: Box, fine: int, power: int) -> Integers:
    """The error of each row as a share of the largest one, to a power."""
    inside = [np.clip(side.astype(np.float64), target.low, target.high) for side in (predicted, truth)]
    share = np.nan_to_num(np.abs(inside[0] / 2 - inside[1] / 2) / target.half, nan=1.0)
    return np.clip(np.rint(share**power * fine), 0, fine).astype(np.int64)


METRICS: Final = {
    "accuracy": Metric(_right, 0),
    "mean_absolute_error": Metric(_absolute, 1),
    "mean_squared_error": Metric(_squared, 2),
}


@dataclass(frozen=True, slots=True)
class Score:
    """What the rows say of a model, with noise."""

    metric: str
    value: float
    interval: tuple[float, float]
    confidence: float
    rows: float
    """About how many rows there are."""
    loss: Loss

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.metric} {self.value:.3g} ({low:.3g} to {high:.3g} at {self.confidence:.0%})"


def private_score(
    estimator: Any,
    X: Any,  # noqa: N803
    y: Any,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    metric: str | None = None,
    y_bounds: Any = None,
    confidence: Number = 0.95,
    ledger: Any = None,
) -> Score:
    """A model's accuracy, or its mean absolute or squared error, on rows that it was not fitted on.

    Theorem  The declared loss. Proof: a row adds s steps to one number and m − s to the other, with 0 ≤ s ≤ m: l1 ≤ m
             and l2² ≤ m². The mean and the number of rows are post-processing of the two.
    Error    Both exact numbers lie within the width of the noise with the confidence asked for (half of what is missing
             for each), and then their ratio lies in the interval. It covers the score on these rows, with targets and
             predictions clipped to `y_bounds`; what other rows would say is another matter.

    The model must be public: fitted by discreet, or on other data.
    """
    check_is_fitted(estimator)
    name = metric_for(estimator, metric)
    facts = facts_for(estimator, name, y_bounds)
    sure = probability(confidence, "confidence")
    if epsilon is None or delta is None or rho is not None or ledger is not None:
        cost = Cost.alone(epsilon=epsilon, delta=delta, rho=rho)
    else:
        cost = Cost.less_noisy(lambda kind: kind.deviation(UNIT), epsilon=epsilon, delta=delta)
    with (
        opened(charge_for(ledger, cost.loss, "private_score"), cost, sampler=SAMPLER) as exit_,
        np.errstate(all="ignore"),
    ):
        check_consistent_length(X, y)
        kind = np.float64 if isinstance(facts, Box) else None
        truth = check_array(column_or_1d(y), ensure_2d=False, dtype=kind, ensure_min_samples=0)
        fine = cost.fineness(UNIT)
        parts = METRICS[name].parts(predictions(estimator, X, len(truth)), truth, facts, fine)
        exact = np.array([parts.sum(), (fine - parts).sum()], dtype=np.int64)
        noisy = exit_.release(exact, _steps(fine))
    scale = float((facts.high - facts.low)[0]) ** METRICS[name].power if isinstance(facts, Box) else 1.0
    wide = cost.noise(_steps(fine)).error(1 - (1 - sure) / 2, like=np.zeros(2, dtype=np.int64))
    value, low, high = (scale * part for part in _ratio(noisy, int(wide)))
    return Score(name, value, (low, high), float(sure), max(float(noisy.sum()) / fine, 0.0), cost.loss)


def metric_for(estimator: Any, metric: str | None) -> str:
    """The name of the metric: what was asked for, else accuracy for classifiers and the mean absolute error."""
    if metric is None:
        return "accuracy" if is_classifier(estimator) else "mean_absolute_error"
    if metric not in list(METRICS):
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, not {metric!r}")
    if (metric == "accuracy") is not is_classifier(estimator):
        raise ValueError(f"{metric} does not suit this model: leave metric out")
    return metric


def facts_for(estimator: Any, metric: str, y_bounds: Any) -> Labels | Box:
    """The classes that the model knows, or the bounds of its target, which are the limits of an error."""
    if metric == "accuracy":
        return Labels.read(estimator.classes_, "classes")
    return Box.read(getattr(estimator, "y_bounds", None) if y_bounds is None else y_bounds, 1, "y_bounds")


def predictions(estimator: Any, rows: Any, count: int) -> Array:
    """What the model says of each row, by that row alone.

    Those of this package are made so (`rowwise`). A matrix product rounds a row by where it stands among others: models
    of anybody else, which may use one, see one row at a time.
    """
    if not count:
        return np.zeros(0)
    if is_ours(estimator):
        return np.asarray(estimator.predict(rows))
    taken = rows.iloc if hasattr(rows, "iloc") else rows
    return np.concatenate([np.asarray(estimator.predict(taken[row : row + 1])) for row in range(count)])


def _steps(fine: int) -> Sensitivity:
    return Sensitivity(UNIT.l1 * fine, UNIT.l2_squared * fine**2)


def _ratio(noisy: Integers, wide: int) -> tuple[float, float, float]:
    """The first number's share of both: about, at least and at most, if each is off by `wide` at most."""
    first, second = (max(int(part), 0) for part in noisy)
    least, most = (np.maximum(noisy + side, 0).tolist() for side in (-wide, wide))
    low = least[0] / (least[0] + most[1]) if least[0] else 0.0
    high = most[0] / (most[0] + least[1]) if least[1] else 1.0
    value = first / (first + second) if first + second else (low + high) / 2
    return min(max(value, low), high), low, high
