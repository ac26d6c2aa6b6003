"""k-means and principal components: cost, and share of the variance, over those without privacy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import numpy as np
import sklearn.cluster
import sklearn.decomposition

from benchmarks.figures import Figure
from benchmarks.learn.compared import most, no_worse, recovered, shown
from benchmarks.learn.measured import DIFFPRIVLIB, described, of_peer, set_of, taken
from benchmarks.learn.models import DELTA, Cost
from benchmarks.learn.rows import FITS
from benchmarks.learn.sets import ALL, CLUSTERS, REPORTED, names
from benchmarks.peers.environments import Failed
from benchmarks.peers.measures import Measures, cost_of, gathered, share_of
from discreet.learn import PCA, KMeans

EPSILONS: Final = (0.1, 1.0, 10.0)
AT: Final = " at ε = 0.1 / 1 / 10"
COMPONENTS: Final = 3
MODELS: Final = ("KMeans", "PCA")
LIMITS: Final = {range(1, 4): 1.5, range(4, 7): 1.1, range(7, 19): 1.5, range(19, 99): 3.0}
"""How many times the cost without privacy may be at ε = 1, by the number of features."""
ROWS: Final = 20_000


def figures() -> Iterator[Figure]:
    for name in names(CLUSTERS):
        for model in MODELS:
            yield from _of(model, name)


def _of(model: str, name: str) -> Iterator[Figure]:
    measure = "cost over that without privacy" if model == "KMeans" else f"share of {COMPONENTS} components' variance"
    for delta in (None, DELTA):
        what = f"{name}: {model}{'' if delta is None else ', δ = 10⁻⁵'}, {measure}{AT}"
        yield shown(what, [ours(model, name, Cost(epsilon, delta)) for epsilon in EPSILONS], "not private: 1")
    tight = ours(model, name, Cost(1.0))
    rows = set_of(name).rows
    if model == "KMeans" and len(rows) >= ROWS:
        times = next(limit for widths, limit in LIMITS.items() if rows.shape[1] in widths)
        yield most(f"{name}: {model}, ε = 1, {measure}", tight, np.ones(1), "not private:", times)
    limit = 0.9 if len(rows) >= ROWS else None
    what = f"{name}: {model}, ε = 1, bounds 30 times too wide, {measure}"
    wide = ours(model, name, Cost(1.0), wide=True)
    yield recovered(what, wide, tight, _constant(model, name), limit, least=model == "KMeans")
    if name in REPORTED:
        found = of_peer(DIFFPRIVLIB, model, name, EPSILONS, clusters=ALL[name].clusters, components=COMPONENTS)
        pure = [ours(model, name, Cost(epsilon)) for epsilon in EPSILONS]
        theirs = found if isinstance(found, Failed) else [relative(model, name, found[one]) for one in EPSILONS]
        yield no_worse(f"{name}: {model}, {measure}{AT}", pure, theirs, "diffprivlib", least=model == "KMeans")


@cache
def ours(model: str, name: str, cost: Cost, wide: bool = False) -> Any:
    some = set_of(name, wide=wide)
    bounds = (some.low, some.high)

    def one() -> dict[str, float]:
        if model == "KMeans":
            centres = KMeans(ALL[name].clusters, bounds=bounds, **cost.options).fit(some.rows).cluster_centers_
            return {"cost": cost_of(centres, some.rows)}
        return {"share": share_of(PCA(COMPONENTS, bounds=bounds, **cost.options).fit(some.rows).components_, some.rows)}

    line = described("discreet", model, name, cost, wide)
    return relative(model, name, taken(line, FITS, lambda: gathered(one() for _ in range(FITS))))


def relative(model: str, name: str, found: dict[str, Any]) -> Any:
    return found["cost" if model == "KMeans" else "share"] / _plain(model, name)


@cache
def _plain(model: str, name: str) -> float:
    """What is had without privacy."""

    def take() -> Measures:
        rows = set_of(name).rows
        if model == "KMeans":
            return {
                "cost": [float(sklearn.cluster.KMeans(ALL[name].clusters, n_init=5, random_state=0).fit(rows).inertia_)]
            }
        return {"share": [share_of(sklearn.decomposition.PCA(COMPONENTS).fit(rows).components_, rows)]}

    found = taken(described("scikit-learn", model, name), 1, take)
    return float(found["cost" if model == "KMeans" else "share"][0])


def _constant(model: str, name: str) -> float:
    """Of one centre for all, and of components drawn at random."""
    rows = set_of(name).rows
    if model == "KMeans":
        return cost_of(rows.mean(axis=0)[None], rows) / _plain(model, name)
    return COMPONENTS / int(rows.shape[1]) / _plain(model, name)
