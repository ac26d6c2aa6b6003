"""How much CPU fits of a million rows take, and scores of a hundred thousand; load changes this little."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import sklearn.cluster
import sklearn.linear_model
import sklearn.naive_bayes

import discreet
from benchmarks.figures import Figure, at_most, cpu_beside, cpu_of
from benchmarks.learn.bundled import blobs
from discreet.learn import (
    CategoricalNB,
    DecisionTreeClassifier,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    RandomForestClassifier,
)

MANY: Final = 1_000_000
WIDTH: Final = 10
SCORED: Final = 100_000
TIMES: Final = 3
FACTS: Final[dict[str, Any]] = {"bounds": (-5, 5), "classes": [0, 1], "epsilon": 1}
NUMBER: Final[dict[str, Any]] = {"bounds": (-5, 5), "y_bounds": (-15, 15), "epsilon": 1}
FEATURES: Final = ", ".join(f"x{place}" for place in range(WIDTH))
POLICY: Final = """
name = "many"
[budget]
epsilon = 1000
[unit]
name = "person"
[tables.people]
source = "people.parquet"
unit = "id"
[tables.people.columns]
label = { type = "integer", values = [0, 1] }
"""
Work = Callable[[], object]


def figures() -> Iterator[Figure]:
    dice = np.random.default_rng(3)
    labels = dice.integers(0, 2, MANY)
    wide = dice.normal(labels[:, None] * 0.5, 1, (MANY, WIDTH))
    yield from _beside(wide, labels, wide[:, 0] * 2 + dice.normal(size=MANY))
    yield from _trees(wide, labels)
    yield from _of_curator(wide, labels)
    yield from _scores(wide[:SCORED], labels[:SCORED])


def _beside(wide: Any, labels: Any, numbers: Any) -> Iterator[Figure]:
    """Scikit-learn's own, on the same arrays."""
    rows, places = blobs(MANY, 2, 15), np.random.default_rng(5).integers(0, 5, (MANY, WIDTH))
    pairs: dict[str, tuple[Work, Work, float]] = {
        "LogisticRegression, 10⁶ × 10": (
            lambda: LogisticRegression(**FACTS).fit(wide, labels),
            lambda: sklearn.linear_model.LogisticRegression().fit(wide, labels),
            1.5,
        ),
        "LinearRegression, 10⁶ × 10": (
            lambda: LinearRegression(**NUMBER).fit(wide, numbers),
            lambda: sklearn.linear_model.LinearRegression().fit(wide, numbers),
            1.5,
        ),
        "the same, bounds 40 times too wide": (
            lambda: LinearRegression(bounds=(-200, 200), y_bounds=(-600, 600), epsilon=1).fit(wide, numbers),
            lambda: sklearn.linear_model.LinearRegression().fit(wide, numbers),
            1.5,
        ),
        "KMeans, 10⁶ × 2, k = 15": (
            lambda: KMeans(15, bounds=(-1, 1), epsilon=1).fit(rows),
            lambda: sklearn.cluster.KMeans(15, random_state=0).fit(rows),
            3,
        ),
        "GaussianNB, 10⁶ × 10": (
            lambda: GaussianNB(**FACTS).fit(wide, labels),
            lambda: sklearn.naive_bayes.GaussianNB().fit(wide, labels),
            1.5,
        ),
        "CategoricalNB, 10⁶ × 10": (
            lambda: CategoricalNB(categories=5, classes=[0, 1], epsilon=1).fit(places, labels),
            lambda: sklearn.naive_bayes.CategoricalNB().fit(places, labels),
            3,
        ),
    }
    for what, (ours, theirs, most) in pairs.items():
        here, there = cpu_beside(TIMES, ours, theirs)
        yield at_most(f"CPU of a fit: {what}", f"{here:.2f} s", f"scikit-learn {there:.2f} s", here / there, most)


def _trees(wide: Any, labels: Any) -> Iterator[Figure]:
    for model, most in ((DecisionTreeClassifier, 3), (RandomForestClassifier, 4)):
        here = cpu_of(1, partial(model(**FACTS).fit, wide, labels))
        yield at_most(f"CPU of a fit: {model.__name__}, 10⁶ × 10", f"{here:.2f} s", f"limit {most} s", here / most, 1)


def _of_curator(wide: Any, labels: Any) -> Iterator[Figure]:
    asked: dict[str, Any] = {"target": "label", "epsilon": 1, "fresh": True}
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        folder = Path(name)
        _written(folder, wide, labels)
        with discreet.open(folder / "many.toml") as curator:
            curator.make_copy()
            for model in (LogisticRegression, GaussianNB):
                asking = partial(curator.fit, model(), f"SELECT {FEATURES}, label FROM people", **asked)
                here, there = cpu_beside(TIMES, asking, partial(model(**FACTS).fit, wide, labels))
                what = f"CPU of curator.fit: {model.__name__}, 10⁶ × 10"
                yield at_most(what, f"{here:.2f} s", f"fit on arrays {there:.2f} s", here / there, 2)


def _written(folder: Path, wide: Any, labels: Any) -> None:
    columns = "\n".join(f"x{place} = {{ min = -5, max = 5 }}" for place in range(WIDTH))
    (folder / "many.toml").write_text(f"{POLICY}{columns}\n", encoding="utf-8")
    table = {f"x{place}": wide[:, place] for place in range(WIDTH)} | {"label": labels, "id": np.arange(MANY)}
    with duckdb.connect() as connection:
        connection.register("people", table)
        connection.execute(f"COPY people TO '{folder}/people.parquet' (FORMAT parquet)")


def _scores(rows: Any, labels: Any) -> Iterator[Figure]:
    for model in (LogisticRegression, GaussianNB, DecisionTreeClassifier, RandomForestClassifier):
        fitted = model(**FACTS).fit(rows, labels)
        here = cpu_of(TIMES, partial(fitted.score, rows, labels))
        yield at_most(f"CPU of scoring 10⁵ rows: {model.__name__}", f"{here:.3f} s", "limit 0.2 s", here / 0.2, 1)
