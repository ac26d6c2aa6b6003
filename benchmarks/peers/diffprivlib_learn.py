"""diffprivlib's estimators on the arrays of a NumPy file, at each of the `epsilons` there.

Those that are tuned get the options of a grid that score best on the first splits, at no cost for the choice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from diffprivlib.models import (  # type: ignore[import-not-found, unused-ignore]
    PCA,
    DecisionTreeClassifier,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    RandomForestClassifier,
)

from benchmarks.peers.measures import Measures, at_each, best, cost_of, gathered, of_classes, of_numbers, share_of
from benchmarks.peers.task import perform

TRIED = 1
"""Splits on which options are compared."""
FORMS = {"unit": (0.0, 1.0), "centred": (-1.0, 1.0)}
"""Where features are moved to by their bounds, at no cost."""
Split = tuple[Any, Any, Any, Any]
Option = Callable[[Split], dict[str, float]]

warnings.simplefilter("ignore")


def kmeans(held: Any, epsilon: float) -> Measures:
    rows, bounds = held["rows"], (held["low"], held["high"])
    models = (KMeans(int(held["clusters"]), epsilon=epsilon, bounds=bounds) for _ in range(int(held["times"])))
    return gathered({"cost": cost_of(model.fit(rows).cluster_centers_, rows)} for model in models)


def pca(held: Any, epsilon: float) -> Measures:
    """The norm that it asks for is that of the corner of the box."""
    rows, bounds = held["rows"], (held["low"], held["high"])
    middle = (bounds[0] + bounds[1]) / 2
    norm = float(np.linalg.norm(bounds[1] - middle))
    options = {"epsilon": epsilon, "centered": False, "data_norm": norm}
    moved = (bounds[0] - middle, bounds[1] - middle)
    models = (PCA(int(held["components"]), bounds=moved, **options) for _ in range(int(held["times"])))
    return gathered({"share": share_of(model.fit(rows - middle).components_, rows)} for model in models)


def bayes(held: Any, epsilon: float) -> Measures:
    bounds = held["low"], held["high"]
    return _tuned(held, "accuracy", [
        _classes(held, partial(GaussianNB, epsilon=epsilon, bounds=bounds, var_smoothing=smoothing))
        for smoothing in (1e-9, 1e-4, 1e-2, 1e-1)
    ])  # fmt: skip


def logistic(held: Any, epsilon: float) -> Measures:
    def of(form: str, norm: float, penalty: float) -> Option:
        make = partial(LogisticRegression, epsilon=epsilon, data_norm=norm, C=penalty, max_iter=300)
        return _moved(held, form, _classes(held, make))

    return _tuned(held, "accuracy", [of(*one) for one in product(FORMS, (1.5, 3.0), (1.0, 0.03))])


def linear(held: Any, epsilon: float) -> Measures:
    width, ends = len(held["low"]), tuple(float(end) for end in held["ends"])

    def of(form: str) -> Option:
        bounds = tuple(np.full(width, end) for end in FORMS[form])
        make = partial(LinearRegression, epsilon=epsilon, bounds_X=bounds, bounds_y=ends)
        return _moved(held, form, lambda split: of_numbers(make().fit(*split[:2]), *split[2:]))

    return _tuned(held, "error", [of(form) for form in FORMS])


def forest(held: Any, epsilon: float) -> Measures:
    bounds, classes = (held["low"], held["high"]), np.unique(held["labels"])

    def of(trees: int, depth: int) -> Option:
        options = {"epsilon": epsilon, "bounds": bounds, "classes": classes, "max_depth": depth, "shuffle": True}
        return _classes(held, partial(RandomForestClassifier, trees, **options))

    return _tuned(held, "accuracy", [of(*one) for one in product((5, 15), (4, 8))])


def tree(held: Any, epsilon: float) -> Measures:
    bounds, classes = (held["low"], held["high"]), np.unique(held["labels"])

    def of(depth: int) -> Option:
        return _classes(held, partial(DecisionTreeClassifier, depth, epsilon=epsilon, bounds=bounds, classes=classes))

    return _tuned(held, "accuracy", [of(depth) for depth in (3, 6)])


def _classes(held: Any, make: Callable[[], Any]) -> Option:
    classes = np.unique(held["labels"])
    return lambda split: of_classes(make().fit(*split[:2]), *split[2:], classes)


def _moved(held: Any, form: str, option: Option) -> Option:
    """With features moved to where the form has them."""
    (low, high), start, width = FORMS[form], held["low"], held["high"] - held["low"]

    def at(rows: Any) -> Any:
        return low + (high - low) * np.clip((rows - start) / width, 0, 1)

    return lambda split: option((at(split[0]), split[1], at(split[2]), split[3]))


def _tuned(held: Any, measure: str, options: Sequence[Option]) -> Measures:
    rows, labels = held["rows"], held["labels"]
    splits = [(rows[train], labels[train], rows[~train], labels[~train]) for train in held["splits"]]
    return best(list(options), splits, TRIED, measure)


if __name__ == "__main__":
    tasks = {"KMeans": kmeans, "PCA": pca, "GaussianNB": bayes, "LogisticRegression": logistic}
    more = {"LinearRegression": linear, "RandomForestClassifier": forest, "DecisionTreeClassifier": tree}
    perform({name: partial(at_each, task) for name, task in {**tasks, **more}.items()})
