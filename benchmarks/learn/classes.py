"""Accuracies of classifiers: naïve Bayes, logistic regression, random forests, additive models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import sklearn.ensemble
import sklearn.linear_model
import sklearn.naive_bayes

from benchmarks.figures import Figure
from benchmarks.learn.bundled import adult, bundled
from benchmarks.learn.compared import Scores, above, beside, best_scores, peer_scores, scores, within
from benchmarks.learn.rows import Set
from discreet.learn import (
    AdditiveClassifier,
    CategoricalNB,
    GaussianNB,
    LogisticRegression,
    RandomForestClassifier,
)

PURE: Final[dict[str, Any]] = {"epsilon": 1}
MIXED: Final[dict[str, Any]] = {"epsilon": 1, "delta": 1e-5}
SMALL: Final = {"breast cancer": (0.8, 0.9), "digits": (0.7, 0.8), "wine": (0.5, 0.8)}
"""Accuracies to hold at ε = 1, δ = 10⁻⁵: of naïve Bayes, and of logistic regression."""
TUNED: Final = "diffprivlib, tuned,"


def figures(path: Path) -> Iterator[Figure]:
    for name, (bayes, logistic) in SMALL.items():
        held = bundled(name)
        what = f"on {name}, ε = 1, δ = 10⁻⁵"
        yield _private_bayes(held, f"naïve Bayes accuracy {what}", MIXED, bayes)[0]
        yield _private_logistic(held, f"logistic regression accuracy {what}", MIXED, logistic)[0]
        alike = f"on {name}, ε = 1"
        yield list(_bayes(path, held, f"naïve Bayes accuracy {alike}", PURE))[1]
        yield list(_logistic(path, held, f"logistic regression accuracy {alike}", PURE))[1]
    codes, indicators = adult("codes"), adult("indicators")
    if codes is not None and indicators is not None:
        yield from _adult(path, codes, indicators)


def _adult(path: Path, codes: Set, indicators: Set) -> Iterator[Figure]:
    yield from _categorical(codes)
    yield from _bayes(path, codes, "naïve Bayes accuracy on Adult (codes), ε = 1", PURE)
    for held in (indicators, codes):
        yield from _logistic(path, held, f"logistic regression accuracy on {held.name}, ε = 1", PURE)
    what = f"logistic regression accuracy on {indicators.name}, ε = 1, δ = 10⁻⁵"
    yield _private_logistic(indicators, what, MIXED)[0]
    yield from _forest(path, codes)
    yield _additive(codes)


def _unit(held: Set) -> Set:
    """Features from 0 to 1 by their bounds, which is free: scikit-learn's penalty goes by such weights."""
    return replace(held, rows=(held.rows - held.low) / (held.high - held.low))


def _first(what: str, ours: Any, plain: Any, least: float | None) -> Figure:
    return within(what, ours, plain, 2) if least is None else above(what, ours, plain, least)


def _private_bayes(held: Set, what: str, cost: dict[str, Any], least: float | None = None) -> tuple[Figure, Scores]:
    ours = scores(GaussianNB(bounds=(held.low, held.high), classes=held.classes, **cost), held)
    return _first(what, ours, scores(sklearn.naive_bayes.GaussianNB(), held), least), ours


def _bayes(path: Path, held: Set, what: str, cost: dict[str, Any]) -> Iterator[Figure]:
    """Beside a peer at the same guarantee: diffprivlib's has no δ."""
    figure, ours = _private_bayes(held, what, cost)
    yield figure
    yield beside(what, ours, peer_scores("bayes", held.save(path)), TUNED)


def _categorical(held: Set) -> Iterator[Figure]:
    sizes = [int(top) + 1 for top in held.high]
    ours = scores(CategoricalNB(categories=sizes, classes=held.classes, **PURE), held)
    plain = scores(sklearn.naive_bayes.CategoricalNB(min_categories=sizes), held)
    yield within(f"naïve Bayes accuracy on {held.name}, as categories, ε = 1", ours, plain, 2)


def _private_logistic(held: Set, what: str, cost: dict[str, Any], least: float | None = None) -> tuple[Figure, Scores]:
    ours = scores(LogisticRegression(bounds=(held.low, held.high), classes=held.classes, **cost), held)
    plain = scores(sklearn.linear_model.LogisticRegression(max_iter=500), _unit(held))
    return _first(what, ours, plain, least), ours


def _logistic(path: Path, held: Set, what: str, cost: dict[str, Any]) -> Iterator[Figure]:
    """Beside a peer at the same guarantee: diffprivlib's has no δ."""
    figure, ours = _private_logistic(held, what, cost)
    yield figure
    yield beside(what, ours, best_scores(("logistic unit", "logistic centred"), held.save(path)), TUNED)


def _forest(path: Path, held: Set) -> Iterator[Figure]:
    what = f"random forest accuracy on {held.name}, ε = 1"
    ours = scores(RandomForestClassifier(bounds=(held.low, held.high), classes=held.classes, **PURE), held)
    plain = scores(sklearn.ensemble.RandomForestClassifier(50, n_jobs=2, random_state=0), held)
    yield within(what, ours, plain, 3)
    yield beside(what, ours, peer_scores("forest", held.save(path)), TUNED)


def _additive(held: Set) -> Figure:
    ours = scores(AdditiveClassifier(bounds=(held.low, held.high), classes=held.classes, **PURE), held)
    plain = scores(sklearn.ensemble.HistGradientBoostingClassifier(max_leaf_nodes=2, random_state=0), held)
    return within(f"additive model accuracy on {held.name}, ε = 1", ours, plain, 4, "scikit-learn's boosted stumps")
