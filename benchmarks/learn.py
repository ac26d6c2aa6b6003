"""How good private models are, and how long they take, beside scikit-learn's and diffprivlib's at the same ε.

`DISCREET_FITS` says how many fits each mean is over (20). Bounds of the bundled sets are those that their public
descriptions print, never looked up in the rows; both libraries get the same ones. Naïve Bayes of
diffprivlib takes ε alone: it has no use for δ. How variances are steadied was chosen on these very sets, on other
splits: their figures flatter it a little.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import sklearn.cluster
import sklearn.naive_bayes
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from benchmarks.figures import Figure, at_least, at_most, best_of
from benchmarks.peers.environments import Failed, Peer, result
from discreet.learn import CategoricalNB, GaussianNB, KMeans

FITS: Final = int(os.environ.get("DISCREET_FITS", "20"))
DIFFPRIVLIB: Final = Peer(
    "diffprivlib", "diffprivlib_learn", ("diffprivlib==0.6.6", "scikit-learn==1.6.1"), environment="diffprivlib"
)
BLOBS: Final = (
    (100_000, 2, 15, 1.0, 1.5),
    (5_000, 2, 15, 1.0, 2.0),
    (10_000, 8, 8, 1.0, 3.0),
    (20_000, 30, 8, 1.0, 3.0),
)
"""Rows, features, clusters, ε, and how many times the cost without privacy may be."""
SETS: Final = {"breast cancer": (load_breast_cancer, 0.8), "digits": (load_digits, 0.7), "wine": (load_wine, 0.5)}
"""Loader, and the accuracy to hold at ε = 1, δ = 10⁻⁵."""
MANY: Final = 1_000_000


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        path = Path(name) / "arrays.npz"
        for rows, width, clusters, epsilon, most in BLOBS:
            yield from _kmeans(path, rows, width, clusters, epsilon, most)
        for label, (load, least) in SETS.items():
            yield from _bayes(path, label, load, least)
    yield from _times()


def blobs(rows: int, width: int, clusters: int) -> Any:
    dice = np.random.default_rng(1)
    centres = dice.uniform(-0.8, 0.8, (clusters, width))
    return np.clip(centres[dice.integers(clusters, size=rows)] + dice.normal(0, 0.04, (rows, width)), -1, 1)


def described(text: str, width: int) -> tuple[Any, Any]:
    """Least and largest value of each feature, as a set's description prints them; pixels go from 0 to 16."""
    pairs = np.array(re.findall(r"^[^\n:]+:\s+(\d[\d.]*)\s+(\d[\d.]*)(?:\s|$)", text, re.MULTILINE), dtype=np.float64)
    if not len(pairs) and "0..16" in text:
        return np.zeros(width), np.full(width, 16.0)
    if len(pairs) != width:
        raise ValueError("the description does not print the bounds of every feature: look them up and write them here")
    return pairs[:, 0], pairs[:, 1]


def _kmeans(path: Path, rows: int, width: int, clusters: int, epsilon: float, most: float) -> Iterator[Figure]:
    what = f"k-means cost, {rows:,} × {width}, k = {clusters}, ε = {epsilon:g}"
    held = blobs(rows, width, clusters)
    best = float(sklearn.cluster.KMeans(clusters, n_init=10, random_state=0).fit(held).inertia_)
    model = KMeans(clusters, bounds=(-1, 1), epsilon=epsilon)
    ours = np.array([-model.fit(held).score(held) for _ in range(FITS)]) / best
    yield at_most(what, _spread(ours), "scikit-learn, not private: 1", float(ours.mean()), most)
    low, high = np.full(width, -1.0), np.full(width, 1.0)
    np.savez(path, rows=held, low=low, high=high, clusters=clusters, epsilon=epsilon, times=min(FITS, 5))
    found = result(DIFFPRIVLIB, "kmeans", path)
    if isinstance(found, Failed):
        yield at_most(what, _spread(ours), f"diffprivlib failed: {found.reason}", math.nan, 1)
    else:
        theirs = np.array(found) / best
        yield at_most(what, _spread(ours), f"diffprivlib {_spread(theirs)}", float(ours.mean() / theirs.mean()), 1)


def _bayes(path: Path, label: str, load: Callable[..., Any], least: float) -> Iterator[Figure]:
    bundle = load()
    rows, labels = bundle.data, bundle.target
    low, high = described(bundle.DESCR, rows.shape[1])
    splits = _splits(len(rows))
    what = f"naïve Bayes accuracy on {label}, ε = 1, δ = 10⁻⁵"
    model = GaussianNB(bounds=(low, high), classes=np.unique(labels), epsilon=1, delta=1e-5)
    ours = np.array([model.fit(rows[t], labels[t]).score(rows[~t], labels[~t]) for t in splits])
    plain = sklearn.naive_bayes.GaussianNB()
    theirs = np.array([plain.fit(rows[t], labels[t]).score(rows[~t], labels[~t]) for t in splits])
    held = float(ours.mean()) >= least
    ratio = float(ours.mean() / theirs.mean())
    yield Figure(what, _spread(ours), f"scikit-learn, not private: {_spread(theirs)}", ratio, f"≥ {least:g}", held)
    np.savez(path, rows=rows, labels=labels, low=low, high=high, epsilon=1.0, splits=splits)
    found = result(DIFFPRIVLIB, "bayes", path)
    if isinstance(found, Failed):
        yield at_least(what, _spread(ours), f"diffprivlib failed: {found.reason}", math.nan, 1)
    else:
        peer = np.array(found)
        yield at_least(
            what, _spread(ours), f"diffprivlib (ε alone) {_spread(peer)}", float(ours.mean() / peer.mean()), 1
        )


def _splits(rows: int) -> Any:
    """Which rows are trained on, three quarters of them each time."""
    dice = np.random.default_rng(2)
    return np.array([dice.permutation(rows) < 0.75 * rows for _ in range(FITS)])


def _times() -> Iterator[Figure]:
    dice = np.random.default_rng(3)
    rows, labels = blobs(MANY, 2, 15), dice.integers(0, 2, MANY)
    wide = dice.normal(labels[:, None] * 0.5, 1, (MANY, 10))
    places = dice.integers(0, 5, (MANY, 10))
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "k-means, 10⁶ × 2, k = 15": (
            lambda: KMeans(15, bounds=(-1, 1), epsilon=1).fit(rows),
            lambda: sklearn.cluster.KMeans(15, random_state=0).fit(rows),
        ),
        "Gaussian naïve Bayes, 10⁶ × 10": (
            lambda: GaussianNB(bounds=(-5, 5), classes=[0, 1], epsilon=1).fit(wide, labels),
            lambda: sklearn.naive_bayes.GaussianNB().fit(wide, labels),
        ),
        "categorical naïve Bayes, 10⁶ × 10": (
            lambda: CategoricalNB(categories=5, classes=[0, 1], epsilon=1).fit(places, labels),
            lambda: sklearn.naive_bayes.CategoricalNB().fit(places, labels),
        ),
    }
    for what, (ours, theirs) in pairs.items():
        here, there = best_of(3, ours), best_of(3, theirs)
        yield at_most(f"fit time: {what}", f"{here:.2f} s", f"scikit-learn {there:.2f} s", here / there, 3)


def _spread(values: Any) -> str:
    return f"{values.mean():.2f} ± {values.std():.2f}"
