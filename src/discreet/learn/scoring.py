"""How good a model is, on private rows: a value and its interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from discreet.answers.scores import Score as Score
from discreet.answers.scores import Scores as Scores
from discreet.exact import Number, probability
from discreet.exit import SAMPLER, Exit, opened
from discreet.exit.charges import charge_for
from discreet.exit.cost import Cost
from discreet.learn.box import Box
from discreet.learn.core import is_ours
from discreet.learn.labels import Array, Labels
from discreet.learn.readings import Measured
from discreet.learn.statements import (
    FROM,
    OF_CHANCES,
    OF_CLASSES,
    OF_ONE_CLASS,
    STATEMENTS,
    Facts,
    Said,
    shares_of,
    statements_for,
)
from discreet.learn.statements import (
    UNIT as UNIT,
)
from discreet.mechanisms.arrays import Integers


@dataclass(frozen=True, slots=True)
class Metric:
    """A mean over rows, of numbers between 0 and a public limit: what a search compares candidates by."""

    parts: Callable[[Array, Array, Any, int], Integers]
    """Of predictions, truths and facts: each row's share of the limit, in so many steps."""


def _right(predicted: Array, truth: Array, classes: Labels, fine: int) -> Integers:
    places = classes.places(truth)
    return np.where((places >= 0) & (classes.places(predicted) == places), fine, 0).astype(np.int64)


def _absolute(predicted: Array, truth: Array, target: Box, fine: int) -> Integers:
    return shares_of(predicted, truth, target, fine, 1)


METRICS: Final[Mapping[str, Metric]] = {"accuracy": Metric(_right), "mean_absolute_error": Metric(_absolute)}


def private_score(
    estimator: Any,
    X: Any,  # noqa: N803
    y: Any,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    metric: str | Sequence[str] | None = None,
    y_bounds: Any = None,
    positive: Any = None,
    confidence: Number = 0.95,
    ledger: Any = None,
) -> Any:
    """How good a model is on rows that it was not fitted on: a `Score`, or of several metrics `Scores`, for one cost.

    Theorem  The declared loss. Proof: each statement costs its share (`statements`), and shares add up to 1. Metrics
             are post-processing.
    Error    The interval covers the score on these rows with the confidence asked for, with targets and predictions
             clipped to `y_bounds`, and with what bins and limits hide; what other rows would say is another matter.

    Of classifiers: accuracy, balanced_accuracy, confusion_matrix; by their probabilities log_loss, roc_auc and
    calibration, the last two of the class `positive` (of two classes, the second). Of regressors: mean_absolute_error,
    mean_squared_error, root_mean_squared_error, r2. The model must be public: fitted by discreet, or on other data.
    """
    check_is_fitted(estimator)
    metrics = metrics_for(estimator, metric)
    facts = facts_about(estimator, metrics, y_bounds, positive)
    sure = probability(confidence, "confidence")
    cost = cost_of(metrics, epsilon=epsilon, delta=delta, rho=rho, ledger=ledger)
    measured = measured_privately(estimator, X, y, metrics, facts, cost, ledger)
    scores = measured.scores(metrics, sure)
    return scores[metrics[0]] if metric is None or isinstance(metric, str) else scores


def cost_of(
    metrics: Sequence[str], *, epsilon: Number | None, delta: Number | None, rho: Number | None, ledger: Any
) -> Cost:
    """What metrics on rows of one's own may cost: of (ε, δ), what has less noise."""
    if epsilon is None or delta is None or rho is not None or ledger is not None:
        return Cost.alone(epsilon=epsilon, delta=delta, rho=rho)
    typical = STATEMENTS[statements_for(metrics)[metrics[0]]].moved
    share = Fraction(1, len(set(statements_for(metrics).values())))
    return Cost.less_noisy(lambda kind: kind.deviation(typical, share), epsilon=epsilon, delta=delta)


def measured_privately(
    estimator: Any,
    X: Any,  # noqa: N803
    y: Any,
    metrics: Sequence[str],
    facts: Facts,
    cost: Cost,
    ledger: Any,
) -> Measured:
    """The noisy statements that metrics are read from, on rows of one's own: charged first, if there is a ledger."""
    demand_affordable(cost, metrics)
    with opened(charge_for(ledger, cost.loss, "private_score"), cost, sampler=SAMPLER) as exit_:
        check_consistent_length(X, y)
        kind = None if facts.target is None else np.float64
        with np.errstate(all="ignore"):  # as in a fit
            truth = check_array(column_or_1d(y), ensure_2d=False, dtype=kind, ensure_min_samples=0)
        return measure(estimator, X, truth, metrics, facts, exit_)


def measure(
    estimator: Any,
    rows: Any,
    truth: Array,
    metrics: Sequence[str],
    facts: Facts,
    exit_: Exit,
    ask: Callable[..., Array] | None = None,
) -> Measured:
    """Release the statements that metrics are read from, each for its share."""
    names = sorted(set(statements_for(metrics).values()))
    share = Fraction(1, len(names))
    vectors = {}
    with np.errstate(all="ignore"):
        said = said_of(estimator, rows, truth, metrics, facts, ask or predictions)
        for name in names:
            statement = STATEMENTS[name]
            steps = exit_.cost.fineness(statement.moved, share)
            exact = statement.vector(said, facts, steps)
            vectors[name] = exit_.release(exact, statement.sensitivity(steps), share).tolist()
    return Measured(exit_.cost, vectors, facts)


def demand_affordable(cost: Cost, metrics: Sequence[str]) -> None:
    """Refuse a cost that is too low to draw the noise of each statement."""
    names = set(statements_for(metrics).values())
    for name in names:
        cost.fineness(STATEMENTS[name].moved, Fraction(1, len(names)))


# what is public


def metrics_for(estimator: Any, metric: object) -> list[str]:
    """The names of the metrics: what was asked for, else accuracy for classifiers and the mean absolute error."""
    if metric is None or isinstance(metric, str):
        return [metric_for(estimator, metric)]
    if not isinstance(metric, Sequence) or not metric or not all(isinstance(each, str) for each in metric):
        raise ValueError(f"metric must be one of {', '.join(FROM)}, or a list of them, not {metric!r}")
    if len(set(metric)) < len(metric):
        raise ValueError("metric must name each metric once")
    return [metric_for(estimator, each) for each in metric]


def metric_for(estimator: Any, metric: str | None) -> str:
    """The name of the metric: what was asked for, else accuracy for classifiers and the mean absolute error."""
    if metric is None:
        return "accuracy" if is_classifier(estimator) else "mean_absolute_error"
    if metric not in FROM:
        raise ValueError(f"metric must be one of {', '.join(FROM)}, not {metric!r}")
    if (metric in OF_CLASSES) is not is_classifier(estimator):
        raise ValueError(f"{metric} does not suit this model: leave metric out")
    if metric in OF_CHANCES and not hasattr(estimator, "predict_proba"):
        raise ValueError(f"{metric} is of probabilities, and this model says none: use accuracy")
    return metric


def facts_about(estimator: Any, metrics: Sequence[str], y_bounds: Any, positive: Any) -> Facts:
    """What is public about the model and what it predicts."""
    facts = facts_for(estimator, metrics[0], y_bounds)
    if isinstance(facts, Box):
        if positive is not None:
            raise ValueError("positive is one of the classes of a classifier: leave it out")
        return Facts(None, facts)
    if not OF_ONE_CLASS & set(metrics) and positive is None:
        return Facts(facts, None)
    if positive is None and facts.count != 2:
        raise ValueError("there are more classes than two: say which one with positive=…")
    index = 1 if positive is None else int(facts.places(np.array([positive], dtype=object))[0])
    if index < 0:
        raise ValueError("positive must be one of the classes of the model")
    return Facts(facts, None, index)


def facts_for(estimator: Any, metric: str, y_bounds: Any) -> Labels | Box:
    """The classes that the model knows, or the bounds of its target, which are the limits of an error."""
    if metric in OF_CLASSES:
        return Labels.read(estimator.classes_, "classes")
    return Box.read(getattr(estimator, "y_bounds", None) if y_bounds is None else y_bounds, 1, "y_bounds")


# what the model says


def said_of(
    estimator: Any, rows: Any, truth: Array, metrics: Sequence[str], facts: Facts, ask: Callable[..., Array]
) -> Said:
    """What the model says of each row, as far as the metrics ask for it."""
    classes = facts.classes
    if classes is None:
        return Said(truth, ask(estimator, rows, len(truth)))
    predicted, shares = None, None
    if set(metrics) - OF_CHANCES:
        predicted = classes.places(ask(estimator, rows, len(truth)))
    if set(metrics) & OF_CHANCES:
        said = ask(estimator, rows, len(truth), "predict_proba").reshape(len(truth), classes.count)
        shares = said[:, np.argsort(classes.places(np.asarray(estimator.classes_)))]
    return Said(classes.places(truth), predicted, shares)


def predictions(estimator: Any, rows: Any, count: int, method: str = "predict") -> Array:
    """What the model says of each row, by that row alone.

    Those of this package are made so (`rowwise`). A matrix product rounds a row by where it stands among others: models
    of anybody else, which may use one, see one row at a time.
    """
    if not count:
        return np.zeros(0)
    said = getattr(estimator, method)
    if is_ours(estimator):
        return np.asarray(said(rows))
    taken = rows.iloc if hasattr(rows, "iloc") else rows
    return np.concatenate([np.asarray(said(taken[row : row + 1])) for row in range(count)])
