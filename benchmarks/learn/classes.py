"""Classifiers: accuracy, area under the curve (AUC) and log-loss at three ε, pure and with δ; tight and wide bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from benchmarks.figures import Figure
from benchmarks.learn.compared import at_least, most, no_worse, recovered, shown, spread
from benchmarks.learn.measured import DIFFPRIVLIB, DP_EBM, both, constant, of_ours, of_peer, of_plain, set_of
from benchmarks.learn.models import CLASSIFIERS, DELTA, Cost
from benchmarks.learn.sets import CLASSES, REPORTED, names
from benchmarks.peers.environments import Failed

EPSILONS: Final = (0.1, 1.0, 10.0)
AT: Final = " at ε = 0.1 / 1 / 10"
BESIDE: Final = {
    "LogisticRegression": (0.5, 1.0),
    "GaussianNB": (1.0,),
    "RandomForestClassifier": (1.0,),
}
"""At which ε diffprivlib's stands beside ours."""
LEAST: Final = {"breast cancer": (0.8, 0.9), "digits": (0.7, 0.8), "wine": (0.5, 0.8)}
"""Accuracies at ε = 1, δ = 10⁻⁵, below which naïve Bayes and logistic regression must not fall again."""
CODED: Final = ("Adult",)
"""Every feature is a whole number from 0 on."""
ROWS: Final = 20_000
"""From so many on, bounds that are too wide are to cost little."""


def figures() -> Iterator[Figure]:
    for name in names(CLASSES):
        yield from _of(name)


def _of(name: str) -> Iterator[Figure]:
    known = constant(name)
    for model in CLASSIFIERS:
        plain = of_plain(model, name)
        for delta in (None, DELTA):
            found = [of_ours(model, name, Cost(epsilon, delta)) for epsilon in EPSILONS]
            what = f"{name}: {model}{'' if delta is None else ', δ = 10⁻⁵'}"
            for measure in ("accuracy", "auc", "logloss"):
                always = f"scikit-learn, not private: {spread(plain[measure])}; constant {spread(known[measure])}"
                yield shown(f"{what}, {measure}{AT}", [one[measure] for one in found], always)
        yield from _limits(name, model, known)
    if name in CODED:
        ours, plain = of_ours("CategoricalNB", name, Cost(1.0))["accuracy"], of_plain("CategoricalNB", name)["accuracy"]
        yield at_least(f"{name}: CategoricalNB, ε = 1, accuracy", ours, plain, 0.98)
    for model, least in zip(("GaussianNB", "LogisticRegression"), LEAST.get(name, ()), strict=False):
        found = of_ours(model, name, Cost(1.0, DELTA))["accuracy"]
        yield at_least(f"{name}: {model}, ε = 1, δ = 10⁻⁵, accuracy", found, np.array([1.0]), least)
    if name in REPORTED:
        yield from _peers(name)


def _limits(name: str, model: str, known: Any) -> Iterator[Figure]:
    limit = 0.9 if len(set_of(name).rows) >= ROWS else None
    for delta in (None, DELTA):
        cost = Cost(1.0, delta)
        tight, wide = both(model, name, cost)
        for measure in ("accuracy", "auc"):
            what = f"{name}: {model}, {cost}, bounds 30 times too wide, {measure}"
            worst = float(known[measure].mean())
            yield recovered(what, wide[measure], tight[measure], worst, limit, least=False)
    low = of_ours(model, name, Cost(0.1))["logloss"]
    yield most(f"{name}: {model}, ε = 0.1, log-loss", low, known["logloss"], "constant", 1.01)
    if model == "RandomForestClassifier":
        for cost in (Cost(epsilon, delta) for delta in (None, DELTA) for epsilon in EPSILONS):
            forest, tree = (of_ours(one, name, cost)["auc"] for one in (model, "DecisionTreeClassifier"))
            yield no_worse(f"{name}: forest beside tree, {cost}, auc", [forest], [tree], "tree", least=False)


def _peers(name: str) -> Iterator[Figure]:
    for model, epsilons in BESIDE.items():
        found = of_peer(DIFFPRIVLIB, model, name, epsilons)
        for measure in ("accuracy", "auc"):
            ours = [of_ours(model, name, Cost(epsilon))[measure] for epsilon in epsilons]
            theirs = found if isinstance(found, Failed) else [found[epsilon][measure] for epsilon in epsilons]
            what = f"{name}: {model}, {measure} at ε = {' / '.join(f'{epsilon:g}' for epsilon in epsilons)}"
            yield no_worse(what, ours, theirs, "diffprivlib, tuned:", least=False)
    if len(set_of(name).classes) == 2:  # it knows no more
        model = "AdditiveClassifier"
        found = of_peer(DP_EBM, model, name, EPSILONS)
        for measure in ("auc", "logloss"):
            ours = [of_ours(model, name, Cost(epsilon, DELTA))[measure] for epsilon in EPSILONS]
            theirs = found if isinstance(found, Failed) else [found[epsilon][measure] for epsilon in EPSILONS]
            what = f"{name}: {model}, δ = 10⁻⁵, {measure}{AT}"
            yield no_worse(what, ours, theirs, "DP-EBM", least=measure == "logloss")
