"""How much each feature matters to a fitted model: post-processing of what was released, so it costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from scipy.special import softmax

from discreet.learn.box import Floats


def importances_of(model: Any) -> Floats:
    """A number for each feature, all of them at least 0, with sum 1; AttributeError where there are none."""
    for attribute, weigh in WAYS.items():
        if attribute in vars(model):
            weights = weigh(model)
            total = float(weights.sum())
            return weights / total if total > 0 else np.full(len(weights), 1 / max(len(weights), 1))
    raise AttributeError(f"{type(model).__name__} has no feature_importances_")


def _linear(model: Any) -> Floats:
    """How far a usual difference of the feature moves the prediction: |coefficient| times its released spread."""
    if "spread_" not in vars(model):
        raise AttributeError("feature_importances_")
    sizes: Floats = np.abs(np.atleast_2d(model.coef_)).mean(axis=0) * model.spread_
    return sizes


def _trees(model: Any) -> Floats:
    """How far the cuts of each feature move what the leaves say, by the noisy mass on both sides.

    All nodes of a level have one cut, and leaves that differ by it alone stand in pairs: for masses a and b and values
    u and v (of classes: their probabilities) it is a·b/(a + b)·|u − v|², by which the cut raises the variance.
    """
    sizes, prior = np.zeros(model.n_features_in_), getattr(model, "class_log_prior_", None)
    for features, counts, values in zip(model.features_, model.counts_, model.leaf_values_, strict=True):
        depth, masses = len(features), np.maximum(counts.sum(axis=1), 0)
        said = values if prior is None else softmax(values + prior, axis=1)
        for level, feature in enumerate(features):
            sides = masses.reshape(2**level, 2, -1)
            apart = np.diff(said.reshape(2**level, 2, 2 ** (depth - level - 1), -1), axis=1)[:, 0]
            both = sides[:, 0] * sides[:, 1] / np.maximum(sides.sum(axis=1), 1)
            sizes[feature] += float((both * (apart**2).sum(axis=-1)).sum())
    return sizes


def _curves(model: Any) -> Floats:
    """How widely the curve of each feature spreads over its bins."""
    return np.array([float(np.std(curve, axis=0).mean()) for curve in model.curves_])


WAYS: Final[dict[str, Callable[[Any], Floats]]] = {"coef_": _linear, "leaf_values_": _trees, "curves_": _curves}
"""By what the model learned."""
