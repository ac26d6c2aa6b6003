"""What classifiers share, and what regressors do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from discreet.learn.box import Box, Floats
from discreet.learn.core import Estimator, parameters
from discreet.learn.labels import Array, Labels, category_labels


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """What is public about rows of numbers with a class each."""

    classes: Labels
    box: Box


class Classifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    """Predicts by the logarithms of joint probabilities."""

    classes: Any
    classes_: Array
    class_log_prior_: Floats

    def _read(self, X: Any, y: Any) -> tuple[Array, Array | None]:  # noqa: N803
        rows, labels = validate_data(self, X, y, dtype=self._dtype())
        check_classification_targets(labels)
        return rows, _same_kind(labels, Labels.read(self.classes, "classes"))

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The likeliest class of each row."""
        joint = self._joint(self._again(X))
        predicted: Array = self.classes_[np.argmax(joint, axis=1)]
        return predicted

    def predict_log_proba(self, X: Any) -> Floats:  # noqa: N803
        """The logarithms of the probabilities of the classes, in the order of `classes_`."""
        joint = self._joint(self._again(X))
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
        rows, targets = validate_data(self, X, y, dtype=self._dtype(), y_numeric=True)
        return rows, np.asarray(targets, dtype=np.float64)


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


def _same_kind(labels: Array, classes: Labels) -> Array:
    """The labels, if they are of the kind that was declared: a type is public, and a mistake of it is common."""
    if labels.dtype.kind in "biuf" and not classes.numeric:
        raise ValueError("y holds numbers and classes does not: declare the classes as they are in y")
    if labels.dtype.kind in "US" and classes.numeric:
        raise ValueError("y holds texts and classes does not: declare the classes as they are in y")
    return labels
