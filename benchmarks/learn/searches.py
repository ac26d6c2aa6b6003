"""How good a search is that looks at every candidate, beside one that looks at a hidden random set of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from statistics import fmean, pstdev
from typing import Any, Final

import numpy as np

from benchmarks.figures import Figure, at_least
from discreet.learn import LogisticRegression, PrivateSearchCV

ROWS: Final = 4000
GRID: Final = {"C": [10.0**power for power in range(-4, 4)], "max_iter": [5, 10, 20]}
"""24 candidates."""


def figures() -> Iterator[Figure]:
    """On rows that are generated, at ε = 1: what is above the constant model, by the second method and by the first."""
    fits = int(os.environ.get("DISCREET_FITS", "20"))
    for name, seed in (("a line", 1), ("a noisy line", 2)):
        reached = {method: [_accuracy(method, seed, fit) for fit in range(fits)] for method in ("some", "every")}
        some, every = (fmean(scores) for scores in reached.values())
        shown = [f"{fmean(scores):.3f} ± {pstdev(scores):.3f}" for scores in reached.values()]
        what = f"accuracy of a search among 24 settings on {name}, ε = 1: some, and every"
        yield at_least(what, shown[0], shown[1], (some - 0.5) / max(every - 0.5, 1e-3), 1)


def _accuracy(method: str, seed: int, fit: int) -> float:
    rows, labels = _made(ROWS, seed, fit)
    others, truth = _made(ROWS, seed, fit + 10**6)
    model = LogisticRegression(bounds=(-1, 1), classes=[0, 1])
    search = PrivateSearchCV(model, GRID, epsilon=1, method=method).fit(rows, labels)
    return float((search.predict(others) == truth).mean())


def _made(count: int, seed: int, fit: int) -> tuple[Any, Any]:
    """Half of each class, nearly."""
    source = np.random.default_rng([seed, fit])
    rows = source.uniform(-1, 1, (count, 6))
    noise = source.logistic(size=count) * (0.3 if seed == 1 else 1.0)
    return rows, (rows @ np.array([3, -2, 1, 0, 0, 0]) + noise > 0).astype(int)
