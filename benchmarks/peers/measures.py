"""What is measured of a model on rows that it did not learn from; here, so that peers are measured alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

Measures = dict[str, list[float]]
LEAST = 1e-12
"""Probabilities below count as this much: a model that is sure and wrong has a loss of 27, not an infinite one."""


def of_classes(model: Any, rows: Any, labels: Any, classes: Any) -> dict[str, float]:
    """Accuracy, area under the curve (of each class against the rest, if there are more than two), log-loss."""
    found = np.zeros((len(rows), len(classes)))
    found[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(rows)
    return of_probabilities(found, labels, classes)


def of_probabilities(found: Any, labels: Any, classes: Any) -> dict[str, float]:
    found = np.maximum(np.nan_to_num(found), LEAST)
    found /= found.sum(axis=1, keepdims=True)
    places = np.searchsorted(classes, labels)
    right = found[np.arange(len(found)), places]
    areas = [float(roc_auc_score(places == one, found[:, one])) for one in range(len(classes)) if one in places]
    return {
        "accuracy": float(np.mean(found.argmax(axis=1) == places)),
        "auc": float(np.mean(areas[1:] if len(classes) == 2 else areas)),
        "logloss": float(-np.log(right).mean()),
    }


def of_numbers(model: Any, rows: Any, labels: Any) -> dict[str, float]:
    """The root of the mean squared error, in standard deviations of what is predicted."""
    misses = np.nan_to_num(np.asarray(model.predict(rows)).reshape(len(rows)) - labels, nan=np.inf)
    return {"error": float(np.sqrt(np.mean(np.square(misses))) / labels.std())}


def cost_of(centres: Any, rows: Any) -> float:
    """The sum of squared distances to the nearest centre."""
    squares = (rows**2).sum(axis=1)
    crossed = [squares - 2 * rows @ centre + (centre**2).sum() for centre in centres]
    return float(np.min(crossed, axis=0).clip(0).sum())


def share_of(components: Any, rows: Any) -> float:
    """How much of the variance lies along components, which need not be of length one, nor orthogonal."""
    centred = rows - rows.mean(axis=0)
    basis, _ = np.linalg.qr(np.asarray(components).T)
    return float(np.square(centred @ basis).sum() / np.square(centred).sum())


def gathered(found: Iterable[dict[str, float]]) -> Measures:
    """Of one fit after the other, by name."""
    listed = list(found)
    return {name: [one[name] for one in listed] for name in listed[0]} if listed else {}


def best(options: list[Callable[[Any], dict[str, float]]], splits: list[Any], tried: int, measure: str) -> Measures:
    """What the option that is best on the first splits measures on all; errors are better when smaller."""
    sign = -1 if measure in ("error", "logloss") else 1
    means = [sign * float(np.mean([option(split)[measure] for split in splits[:tried]])) for option in options]
    chosen = options[int(np.argmax([-math.inf if math.isnan(mean) else mean for mean in means]))]
    return gathered(chosen(split) for split in splits)


def at_each(task: Callable[[Any, float], Measures], path: Path) -> dict[str, Measures]:
    """What a task measures on the arrays of a NumPy file, at each of the `epsilons` there."""
    with np.load(path) as held:
        arrays = dict(held)
    return {f"{epsilon:g}": task(arrays, float(epsilon)) for epsilon in arrays["epsilons"]}
