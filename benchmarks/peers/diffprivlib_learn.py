"""diffprivlib's estimators on the arrays of a NumPy file, at ε = 1.

Those that are tuned get the options of a grid that score best on the first splits, at no cost for the choice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from diffprivlib.models import (  # type: ignore[import-not-found, unused-ignore]
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    RandomForestClassifier,
)

from benchmarks.peers.task import perform

TRIED = 5
"""Splits on which options are compared."""
FORMS = {"unit": (0.0, 1.0), "centred": (-1.0, 1.0)}
"""Where features are moved to by their bounds, at no cost."""
Split = tuple[Any, Any, Any, Any]
Score = Callable[[Split], float]

warnings.simplefilter("ignore")


def kmeans(path: Path) -> list[float]:
    """Sums of squared distances to the nearest centre."""
    held: Any = np.load(path)
    rows, low, high = held["rows"], held["low"], held["high"]
    return [_cost(rows, _centres(held, rows, (low, high))) for _ in range(int(held["times"]))]


def _centres(held: Any, rows: Any, bounds: Any) -> Any:
    model = KMeans(int(held["clusters"]), epsilon=float(held["epsilon"]), bounds=bounds)
    return model.fit(rows).cluster_centers_


def _cost(rows: Any, centres: Any) -> float:
    distances = [((rows - centre) ** 2).sum(axis=1) for centre in centres]
    return float(np.min(distances, axis=0).sum())


def bayes(path: Path) -> list[float]:
    """Accuracies."""
    held: Any = np.load(path)

    def of(smoothing: float) -> Score:
        bounds = held["low"], held["high"]
        return _score(lambda: GaussianNB(epsilon=1.0, bounds=bounds, var_smoothing=smoothing))

    return _best(held, [of(smoothing) for smoothing in (1e-9, 1e-4, 1e-2, 1e-1)])


def logistic(path: Path, form: str) -> list[float]:
    """Accuracies."""
    held: Any = np.load(path)

    def of(norm: float, penalty: float) -> Score:
        score = _score(lambda: LogisticRegression(epsilon=1.0, data_norm=norm, C=penalty, max_iter=300))
        return lambda split: score(_moved(held, split, form))

    return _best(held, [of(*options) for options in product((1.5, 2.5, 3.5, 6.0), (1.0, 0.1, 0.03, 0.01))])


def linear(path: Path) -> list[float]:
    """Roots of mean squared errors, in standard deviations of what is predicted."""
    held: Any = np.load(path)
    width, ends = len(held["low"]), tuple(float(end) for end in held["ends"])

    def of(form: str) -> Score:
        bounds = tuple(np.full(width, end) for end in FORMS[form])
        score = _score(lambda: LinearRegression(epsilon=1.0, bounds_X=bounds, bounds_y=ends))
        return lambda split: -float(np.sqrt(1 - score(_moved(held, split, form))))

    return [-value for value in _best(held, [of(form) for form in FORMS])]


def forest(path: Path) -> list[float]:
    """Accuracies."""
    held: Any = np.load(path)
    bounds, classes = (held["low"], held["high"]), np.unique(held["labels"])

    def of(trees: int, depth: int) -> Score:
        return _score(
            lambda: RandomForestClassifier(
                trees, epsilon=1.0, bounds=bounds, classes=classes, max_depth=depth, shuffle=True
            )
        )

    return _best(held, [of(*options) for options in product((5, 10, 30), (3, 5, 8))])


def _score(make: Callable[[], Any]) -> Score:
    def found(split: Split) -> float:
        rows, labels, other_rows, other_labels = split
        return float(make().fit(rows, labels).score(other_rows, other_labels))

    return found


def _moved(held: Any, split: Split, form: str) -> Split:
    low, high = FORMS[form]
    rows, labels, other_rows, other_labels = split
    here, there = (
        low + (high - low) * (each - held["low"]) / (held["high"] - held["low"]) for each in (rows, other_rows)
    )
    return here, labels, there, other_labels


def _best(held: Any, scores: list[Score]) -> list[float]:
    """What the options that are best on the first splits score on all."""
    rows, labels = held["rows"], held["labels"]
    splits = [(rows[train], labels[train], rows[~train], labels[~train]) for train in held["splits"]]
    means = [float(np.mean([score(split) for split in splits[:TRIED]])) for score in scores]
    chosen = scores[int(np.argmax(means))]
    return [chosen(split) for split in splits]


if __name__ == "__main__":
    forms = {f"logistic {form}": partial(logistic, form=form) for form in FORMS}
    perform({"kmeans": kmeans, "bayes": bayes, "linear": linear, "forest": forest, **forms})
