"""diffprivlib's estimators on the arrays of a NumPy file: costs of k-means, accuracies of naïve Bayes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from diffprivlib.models import GaussianNB, KMeans  # type: ignore[import-not-found, unused-ignore]

from benchmarks.peers.task import perform

warnings.simplefilter("ignore")


def kmeans(path: Path) -> list[float]:
    """Sums of squared distances to the nearest centre."""
    held: Any = np.load(path)
    rows, low, high = held["rows"], held["low"], held["high"]
    return [_cost(rows, _centres(held, rows, (low, high))) for _ in range(int(held["times"]))]


def _centres(held: Any, rows: Any, bounds: Any) -> Any:
    model = KMeans(int(held["clusters"]), epsilon=float(held["epsilon"]), bounds=bounds)
    return model.fit(rows).cluster_centers_


def _cost(rows: Any, centres: Any) -> float:
    distances = [((rows - centre) ** 2).sum(axis=1) for centre in centres]
    return float(np.min(distances, axis=0).sum())


def bayes(path: Path) -> list[float]:
    """Accuracies on the rows left out."""
    held: Any = np.load(path)
    found = []
    for train in held["splits"]:
        model = GaussianNB(epsilon=float(held["epsilon"]), bounds=(held["low"], held["high"]))
        model.fit(held["rows"][train], held["labels"][train])
        found.append(float(model.score(held["rows"][~train], held["labels"][~train])))
    return found


if __name__ == "__main__":
    perform({"kmeans": kmeans, "bayes": bayes})
