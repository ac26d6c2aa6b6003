"""How long fits of a million rows take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import sklearn.cluster
import sklearn.naive_bayes

from benchmarks.figures import Figure, at_most, best_of
from benchmarks.learn.bundled import blobs
from discreet.learn import CategoricalNB, GaussianNB, KMeans

MANY: Final = 1_000_000


def figures() -> Iterator[Figure]:
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
