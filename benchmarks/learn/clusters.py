"""k-means on blobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import sklearn.cluster

from benchmarks.figures import Figure
from benchmarks.learn.bundled import blobs
from benchmarks.learn.compared import below, peer_scores
from benchmarks.learn.rows import FITS
from discreet.learn import KMeans

BLOBS: Final = (
    (100_000, 2, 15, 1.0, 1.5),
    (5_000, 2, 15, 1.0, 2.0),
    (10_000, 8, 8, 1.0, 3.0),
    (20_000, 30, 8, 1.0, 3.0),
)
"""Rows, features, clusters, ε, and how many times the cost without privacy may be."""


def figures(path: Path) -> Iterator[Figure]:
    for blob in BLOBS:
        yield from _compared(path, *blob)


def _compared(path: Path, rows: int, width: int, clusters: int, epsilon: float, most: float) -> Iterator[Figure]:
    what = f"k-means cost, {rows:,} × {width}, k = {clusters}, ε = {epsilon:g}"
    held = blobs(rows, width, clusters)
    best = float(sklearn.cluster.KMeans(clusters, n_init=10, random_state=0).fit(held).inertia_)
    model = KMeans(clusters, bounds=(-1, 1), epsilon=epsilon)
    ours = np.array([-model.fit(held).score(held) for _ in range(FITS)]) / best
    yield below(what, ours, np.ones(1), "scikit-learn, not private:", most)
    low, high = np.full(width, -1.0), np.full(width, 1.0)
    np.savez(path, rows=held, low=low, high=high, clusters=clusters, epsilon=epsilon, times=min(FITS, 5))
    theirs = peer_scores("kmeans", path)
    yield below(what, ours, theirs / best if isinstance(theirs, np.ndarray) else theirs, "diffprivlib")
