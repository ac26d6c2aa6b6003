"""Ours by name, and beside each what scikit-learn has without privacy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import discreet.learn
from benchmarks.learn.rows import Set

DELTA: Final = 1e-5


@dataclass(frozen=True, slots=True)
class Cost:
    """Pure ε, or ε with δ."""

    epsilon: float
    delta: float | None = None

    def __str__(self) -> str:
        return f"ε = {self.epsilon:g}" + (", δ = 10⁻⁵" if self.delta else "")

    @property
    def options(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon} | ({} if self.delta is None else {"delta": self.delta})


def ours(name: str, held: Set, cost: Cost) -> Any:
    """One of ours, told what is public."""
    if name == "CategoricalNB":
        return discreet.learn.CategoricalNB(categories=_sizes(held), classes=held.classes, **cost.options)
    known: dict[str, Any] = {"bounds": (held.low, held.high), **cost.options}
    known |= {"classes": held.classes} if held.ends is None else {"y_bounds": held.ends}
    return getattr(discreet.learn, name)(**known)


def plain(name: str, held: Set) -> Any:
    """Scikit-learn's."""
    return CategoricalNB(min_categories=_sizes(held)) if name == "CategoricalNB" else PLAIN[name]()


def _sizes(held: Set) -> list[int]:
    return [int(top) + 1 for top in held.high]


PLAIN: Final[dict[str, Callable[[], Any]]] = {
    "LogisticRegression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    "GaussianNB": GaussianNB,
    "DecisionTreeClassifier": lambda: DecisionTreeClassifier(max_depth=8, random_state=0),
    "RandomForestClassifier": lambda: RandomForestClassifier(50, min_samples_leaf=3, random_state=0),
    "AdditiveClassifier": lambda: HistGradientBoostingClassifier(max_leaf_nodes=3, max_iter=300, random_state=0),
    "LinearRegression": LinearRegression,
    "DecisionTreeRegressor": lambda: DecisionTreeRegressor(max_depth=8, random_state=0),
    "RandomForestRegressor": lambda: RandomForestRegressor(30, min_samples_leaf=3, random_state=0),
    "AdditiveRegressor": lambda: HistGradientBoostingRegressor(max_leaf_nodes=3, max_iter=300, random_state=0),
}
"""Additive models stand beside boosted trees of three leaves, which see two features at a time at most."""
CLASSIFIERS: Final = (
    "LogisticRegression",
    "GaussianNB",
    "DecisionTreeClassifier",
    "RandomForestClassifier",
    "AdditiveClassifier",
)
REGRESSORS: Final = ("LinearRegression", "DecisionTreeRegressor", "RandomForestRegressor", "AdditiveRegressor")
