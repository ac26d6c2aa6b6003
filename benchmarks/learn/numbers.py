"""Errors of regressions, in standard deviations of what is predicted: 1 is that of predicting the mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from benchmarks.figures import Figure
from benchmarks.learn.compared import no_worse, recovered, shown, spread
from benchmarks.learn.measured import DIFFPRIVLIB, DP_EBM, both, of_ours, of_peer, of_plain, private_mean, set_of
from benchmarks.learn.models import DELTA, REGRESSORS, Cost
from benchmarks.learn.sets import NUMBERS, REPORTED, names
from benchmarks.peers.environments import Failed, Peer

EPSILONS: Final = (0.1, 1.0, 10.0)
AT: Final = " at ε = 0.1 / 1 / 10"
ROWS: Final = 20_000


def figures() -> Iterator[Figure]:
    for name in names(NUMBERS):
        for model in REGRESSORS:
            yield from _of(name, model)
        for cost in (Cost(epsilon, delta) for delta in (None, DELTA) for epsilon in EPSILONS):
            forest, tree = (
                of_ours(one, name, cost)["error"] for one in ("RandomForestRegressor", "DecisionTreeRegressor")
            )
            yield no_worse(f"{name}: forest beside tree, {cost}, error", [forest], [tree], "tree", least=True)
        if name in REPORTED:
            yield _beside(name, "LinearRegression", DIFFPRIVLIB, None)
            yield _beside(name, "AdditiveRegressor", DP_EBM, DELTA)


def _of(name: str, model: str) -> Iterator[Figure]:
    plain = of_plain(model, name)["error"]
    for delta in (None, DELTA):
        found = [of_ours(model, name, Cost(epsilon, delta))["error"] for epsilon in EPSILONS]
        what = f"{name}: {model}{'' if delta is None else ', δ = 10⁻⁵'}, error{AT}"
        yield shown(what, found, f"scikit-learn, not private: {spread(plain)}")
    limit = 0.9 if len(set_of(name).rows) >= ROWS else None
    for cost in (Cost(1.0), Cost(1.0, DELTA)):
        tight, wide = (1 - np.square(one["error"]) for one in both(model, name, cost))
        yield recovered(f"{name}: {model}, {cost}, bounds 30 times too wide, R²", wide, tight, 0.0, limit, least=False)
    low = [of_ours(model, name, Cost(0.1))["error"]]
    what = f"{name}: {model}, ε = 0.1, error"
    yield no_worse(what, low, [private_mean(name, 0.1)], "private mean", least=True)


def _beside(name: str, model: str, peer: Peer, delta: float | None) -> Figure:
    found = of_peer(peer, model, name, EPSILONS)
    ours = [of_ours(model, name, Cost(epsilon, delta))["error"] for epsilon in EPSILONS]
    theirs = found if isinstance(found, Failed) else [found[epsilon]["error"] for epsilon in EPSILONS]
    what = f"{name}: {model}{', δ = 10⁻⁵' if delta else ''}, error{AT}"
    return no_worse(what, ours, theirs, peer.name, least=True)
