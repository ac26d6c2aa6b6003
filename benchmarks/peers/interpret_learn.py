"""DP-EBM's models (interpret-core) on the arrays of a NumPy file, at each of the `epsilons` there, with `delta`.

Its own defaults; it is told the bounds that ours are told, and that every feature is a number. Only two classes.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from interpret.privacy import (  # type: ignore[import-not-found, unused-ignore]
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
)

from benchmarks.peers.measures import Measures, at_each, gathered, of_classes, of_numbers
from benchmarks.peers.task import perform

warnings.simplefilter("ignore")


def classifier(held: Any, epsilon: float) -> Measures:
    classes = np.unique(held["labels"])

    def found(train: Any) -> dict[str, float]:
        model = DPExplainableBoostingClassifier(**_options(held, epsilon))
        model.fit(held["rows"][train], held["labels"][train])
        return of_classes(model, held["rows"][~train], held["labels"][~train], classes)

    return gathered(found(train) for train in held["splits"])


def regressor(held: Any, epsilon: float) -> Measures:
    low, high = (float(end) for end in held["ends"])

    def found(train: Any) -> dict[str, float]:
        options = {"privacy_target_min": low, "privacy_target_max": high, **_options(held, epsilon)}
        model = DPExplainableBoostingRegressor(**options).fit(held["rows"][train], held["labels"][train])
        return of_numbers(model, held["rows"][~train], held["labels"][~train])

    return gathered(found(train) for train in held["splits"])


def _options(held: Any, epsilon: float) -> dict[str, Any]:
    bounds = np.stack([held["low"], held["high"]], axis=1)
    kinds = ["continuous"] * len(bounds)
    known = {"privacy_bounds": bounds, "feature_types": kinds, "n_jobs": 1}
    return {"epsilon": epsilon, "delta": float(held["delta"]), **known}


if __name__ == "__main__":
    tasks = {"AdditiveClassifier": classifier, "AdditiveRegressor": regressor}
    perform({name: partial(at_each, task) for name, task in tasks.items()})
