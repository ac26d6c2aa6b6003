"""Models as plain JSON that anything can evaluate: numbers, texts and lists, and a rule in words for each kind.

The guide has the rules; a test evaluates them with Python alone, and compares with `predict`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from discreet.learn.cards import names_of
from discreet.learn.encoding import OneHot
from discreet.learn.scalers import MinMaxScaler, StandardScaler

FORMAT: Final = "discreet-model"
VERSION: Final = 1


def exported(model: Any) -> dict[str, Any]:
    """The document of a fitted model; ValueError where there is no such form."""
    check_is_fitted(model)
    head = {"format": FORMAT, "version": VERSION, "features": names_of(model)}
    if hasattr(model, "steps_"):
        columns = [
            None if values is None else _list(values) for values in model.categories_ or [None] * model.n_features_in_
        ]
        steps = [_step(step) for step in model.steps_[:-1]]
        return {**head, "kind": "pipeline", "columns": columns, "steps": steps, "model": _described(model.steps_[-1])}
    return {**head, **_described(model)}


def _described(model: Any) -> dict[str, Any]:
    for attribute, describe in KINDS.items():
        if attribute in vars(model):
            return {**describe(model), **_output(model)}
    raise ValueError(
        f"{type(model).__name__} has no plain form: linear and additive models, trees and forests have one"
    )


def _output(model: Any) -> dict[str, Any]:
    """What becomes of the scores: probabilities of classes, or a number within a range."""
    if not is_classifier(model):
        limits = (
            [model.target_low_, model.target_high_] if hasattr(model, "target_low_") else getattr(model, "range_", None)
        )
        return {"output": "number", "range": None if limits is None else _list(limits)}
    logs = getattr(model, "class_log_weight_", np.zeros(len(model.classes_)))
    return {"output": "classes", "classes": _list(model.classes_), "log_weights": _list(logs)}


def _linear(model: Any) -> dict[str, Any]:
    coefficients, constants = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    bounds = {"low": _list(model.low_), "high": _list(model.high_)}
    return {"kind": "linear", **bounds, "coefficients": _list(coefficients), "intercepts": _list(constants)}


def _trees(model: Any) -> dict[str, Any]:
    trees = [
        {"features": _list(features), "thresholds": _list(thresholds), "leaves": _list(values)}
        for features, thresholds, values in zip(model.features_, model.thresholds_, model.leaf_values_, strict=True)
    ]
    start = model.class_log_prior_ if is_classifier(model) else [model.mean_]
    return {"kind": "trees", "start": _list(start), "trees": trees}


def _additive(model: Any) -> dict[str, Any]:
    """Edges are those between two bins; scores of classes are shortened (`additive.AdditiveClassifier` says why)."""
    terms = [
        {"edges": _list(edges[1:-1]), "adds": _list(curve[: len(edges) - 1])}
        for edges, curve in zip(model.edges_, model.curves_, strict=False)
    ]
    return {"kind": "additive", "start": _list(model.intercept_), "terms": terms}


KINDS: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "coef_": _linear,
    "leaf_values_": _trees,
    "curves_": _additive,
}
"""By what the model learned."""


def _step(step: Any) -> dict[str, Any]:
    if isinstance(step, OneHot):
        return {"step": "one-hot"}
    if isinstance(step, StandardScaler):
        return {"step": "scale", "subtract": _list(step.mean_), "divide": _list(step.scale_)}
    if isinstance(step, MinMaxScaler):
        low, high = _list(step.data_min_), _list(step.data_max_)
        return {"step": "range", "low": low, "high": high, "times": _list(step.scale_), "plus": _list(step.min_)}
    return {"step": "components", "subtract": _list(step.mean_), "components": _list(step.components_)}


def _list(values: Any) -> list[Any]:
    listed: list[Any] = np.asarray(values).tolist()
    return listed
