"""Every estimator, in both currencies, with small data that suits it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from discreet.learn import (
    PCA,
    AdditiveClassifier,
    AdditiveRegressor,
    CategoricalNB,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    MinMaxScaler,
    Pipeline,
    PoissonCount,
    PrivateSearchCV,
    RandomForestClassifier,
    RandomForestRegressor,
    StandardScaler,
)

BOUNDS: Final = ([-1.0, 0.0, 100.0], [1.0, 5.0, 101.0])
COSTS: Final = {"pure": {"epsilon": 1.0}, "approximate": {"epsilon": 1.0, "delta": 1e-6}, "rho": {"rho": 0.1}}


@dataclass(frozen=True)
class Case:
    """How to build an estimator at a cost."""

    name: str
    make: Callable[..., Any]
    costs: tuple[str, ...] = tuple(COSTS)
    data: str = "numbers"

    def each(self) -> list[tuple[str, Callable[..., Any]]]:
        return [(f"{self.name}-{cost}", partial(self.make, **COSTS[cost])) for cost in self.costs]


def _labelled(kind: Callable[..., Any], *classes: str, **given: Any) -> Callable[..., Any]:
    return lambda **more: kind(**{"bounds": BOUNDS, "classes": list(classes), **given, **more})


def _measured(kind: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **more: kind(**{"bounds": BOUNDS, "y_bounds": (-2, 3), **more})


def _kmeans(method: str, **given: Any) -> Callable[..., Any]:
    facts = {"n_clusters": 3, "bounds": BOUNDS, "method": method, "n_init": 2, **given}
    return lambda **more: KMeans(**{**facts, **more})


CASES: Final = (
    Case("grid", _kmeans("grid")),
    Case("grid-of-many", _kmeans("grid", expected_n=10**6)),
    Case("lloyd", _kmeans("lloyd"), ("pure",)),
    Case("laplace-lloyd", _kmeans("laplace-lloyd"), ("pure",)),
    Case("gaussian-lloyd", _kmeans("gaussian-lloyd"), ("approximate", "rho")),
    Case("gaussian-nb", _labelled(GaussianNB, "a", "b", "c")),
    Case(
        "categorical-nb",
        lambda **more: CategoricalNB(**{"categories": [3, 3, 3], "classes": ["a", "b", "c"], **more}),
        data="places",
    ),
    Case("scaler", lambda **more: StandardScaler(**{"bounds": BOUNDS, **more})),
    Case("pca", lambda **more: PCA(**{"n_components": 2, "bounds": BOUNDS, **more})),
    Case("linear", _measured(LinearRegression), data="targets"),
    Case("rates", lambda **more: PoissonCount(**{"categories": [3, 3, 3], "y_bounds": (0, 3), **more}), data="counts"),
    Case("logistic-two", _labelled(LogisticRegression, "a", "b")),
    Case("logistic-three", _labelled(LogisticRegression, "a", "b", "c")),
    Case("forest", _labelled(RandomForestClassifier, "a", "b", "c")),
    Case("tree", _labelled(DecisionTreeClassifier, "a", "b", "c")),
    Case("forest-number", _measured(RandomForestRegressor), data="targets"),
    Case("tree-number", _measured(DecisionTreeRegressor), data="targets"),
    Case("additive-two", _labelled(AdditiveClassifier, "a", "b"), ("pure", "rho")),
    Case("additive-three", _labelled(AdditiveClassifier, "a", "b", "c"), ("pure", "rho")),
    Case("additive-number", _measured(AdditiveRegressor), ("pure", "rho"), data="targets"),
    Case(
        "pipeline",
        lambda **more: Pipeline(
            [("scaler", StandardScaler()), ("last", GaussianNB())],
            **{"bounds": BOUNDS, "classes": ["a", "b", "c"], **more},
        ),
    ),
    Case(
        "search",
        lambda **more: PrivateSearchCV(_labelled(GaussianNB, "a", "b", "c")(), {"var_smoothing": [1e-4, 1e-2]}, **more),
    ),
)
FITS: Final = [(name, make, case.data) for case in CASES for name, make in case.each()]
PURE: Final = [fit for fit in FITS if fit[0].endswith("-pure")]
IDS: Final = [name for name, _, _ in FITS]
FREE: Final = MinMaxScaler(bounds=BOUNDS)


def data(kind: str, rows: int, seed: int) -> tuple[Any, Any]:
    """Features and labels, or targets; some beyond the bounds, some that nobody declared."""
    dice = np.random.default_rng(seed)
    labels = dice.choice(np.array(["a", "b", "c", "other"]), rows)
    if kind == "targets":
        return data("numbers", rows, seed)[0], dice.uniform(-4, 4, rows)
    if kind == "counts":
        return data("places", rows, seed)[0], dice.choice(np.array([-1.0, 0.0, 1.0, 2.5, 3.0, 9.0]), rows)
    if kind == "places":
        return dice.integers(-1, 4, (rows, 3)).astype(np.float64), labels
    low, high = (np.array(side) for side in BOUNDS)
    corners = dice.choice(np.array([-1.0, 0.0, 1.0]), (rows, 3))
    inside = np.where(dice.random((rows, 3)) < 0.5, corners, dice.uniform(-1.2, 1.2, (rows, 3)))
    return (low + high) / 2 + inside * (high - low) / 2, labels
