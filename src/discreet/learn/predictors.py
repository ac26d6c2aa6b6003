"""What classifiers share, and what regressors do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from discreet.learn.box import Box, Floats
from discreet.learn.core import Estimator, parameters
from discreet.learn.labels import Array, Labels, category_labels
from discreet.learn.missing import is_there
from discreet.learn.shapes import check_classes, check_targets
from discreet.learn.weights import check_weights, log_weights


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """What is public about rows of numbers with a class each."""

    classes: Labels
    box: Box


@parameters
class _Weighing(Estimator):
    """Classes that may have weights: "balanced", by the noisy numbers of rows, or one for each (`weights`)."""

    class_weight: Any = None


class Classifier(ClassifierMixin, _Weighing):  # type: ignore[misc]
    """Predicts by the logarithms of joint probabilities."""

    classes: Any
    classes_: Array
    class_count_: Floats
    """About how many rows each class has."""
    class_log_prior_: Floats
    intercept_: Any

    def _read(self, X: Any, y: Any) -> tuple[Array, Array | None]:  # noqa: N803
        rows, labels = _both(self, X, y, None)
        check_classification_targets(labels[is_there(labels)])
        check_classes(labels, Labels.read(self.classes, "classes"))
        return rows, labels

    def _check_labels(self, labels: Any) -> None:
        if self.classes is not None:
            check_classes(labels, Labels.read(self.classes, "classes"))

    def _check_options(self) -> None:
        check_weights(self.class_weight, Labels.read(self.classes, "classes"))

    def _finish(self) -> None:
        if self.class_weight is None:
            return
        logs = log_weights(self.class_weight, self.classes_, self.class_count_)
        if hasattr(self, "decision_function"):  # scores that are linear in features have a place for it
            self.intercept_ = self.intercept_ + (logs if logs.size > 2 else logs[1:] - logs[:1])
        else:
            self.class_log_weight_ = logs

    def _weighted(self, X: Any) -> Floats:  # noqa: N803
        weighted: Floats = self._joint(self._again(X)) + getattr(self, "class_log_weight_", 0.0)
        return weighted

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The likeliest class of each row."""
        joint = self._weighted(X)
        predicted: Array = self.classes_[np.argmax(joint, axis=1)]
        return predicted

    def predict_log_proba(self, X: Any) -> Floats:  # noqa: N803
        """The logarithms of the probabilities of the classes, in the order of `classes_`."""
        joint = self._weighted(X)
        above = joint - joint.max(axis=1, keepdims=True)
        logs: Floats = above - np.log(np.exp(above).sum(axis=1, keepdims=True))
        return logs

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """The probabilities of the classes, in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def _joint(self, rows: Array) -> Floats:
        raise NotImplementedError


class Regressor(RegressorMixin, Estimator):  # type: ignore[misc]
    """Predicts a number."""

    y_bounds: Any

    def _read(self, X: Any, y: Any) -> tuple[Array, Array | None]:  # noqa: N803
        return _both(self, X, y, np.float64)

    def _check_labels(self, labels: Any) -> None:
        check_targets(labels)


@parameters
class Categorical(Estimator):
    """Its features have few values, which are declared."""

    categories: Any = None

    def _dtype(self) -> Any:
        """Numbers where all values are numbers that float64 can hold; else as they come."""
        known = getattr(self, "categories_", None)
        tables = [Labels(values) for values in known] if known is not None else category_labels(self.categories, None)
        return np.float64 if all(labels.small for labels in tables) else object

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def _both(model: Estimator, X: Any, y: Any, kind: Any) -> tuple[Array, Array]:  # noqa: N803
    """The caller's features and labels; what is missing is an error, unless somebody declared what becomes of it."""
    rows = model._validated(X, reset=True)
    finite = model.missing is None
    labels = check_array(y, ensure_2d=False, dtype=kind, ensure_all_finite=finite, input_name="y", ensure_min_samples=0)
    labels = column_or_1d(labels, warn=True)
    check_consistent_length(rows, labels)
    return rows, labels
