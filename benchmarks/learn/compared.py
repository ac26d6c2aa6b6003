"""Ours beside a model without privacy and beside a peer, as figures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.figures import Figure, at_least, at_most
from benchmarks.learn.rows import Set
from benchmarks.peers.environments import Failed, Peer, result

DIFFPRIVLIB: Final = Peer(
    "diffprivlib", "diffprivlib_learn", ("diffprivlib==0.6.6", "scikit-learn==1.6.1"), environment="diffprivlib"
)
Scores = Any


def scores(model: Any, held: Set) -> Scores:
    """What `score` says of the rows left out, fit by fit."""
    return np.array([model.fit(rows, labels).score(*left) for rows, labels, *left in held.each()])


def errors(model: Any, held: Set) -> Scores:
    """Roots of mean squared errors on the rows left out, in standard deviations of what is predicted there."""
    return np.sqrt(1 - scores(model, held))


def peer_scores(task: str, path: Path) -> Scores | Failed:
    found = result(DIFFPRIVLIB, task, path)
    return found if isinstance(found, Failed) else np.array(found, dtype=np.float64)


def best_scores(tasks: Iterable[str], path: Path) -> Scores | Failed:
    """Of the task that has the highest."""
    found = [peer_scores(task, path) for task in tasks]
    return max(found, key=lambda scores: -math.inf if isinstance(scores, Failed) else float(scores.mean()))


def within(what: str, ours: Scores, plain: Scores, points: float, name: str = "scikit-learn") -> Figure:
    """No more than so many hundredths below the model without privacy."""
    held = bool(ours.mean() >= plain.mean() - points / 100)
    peer = f"{name}, not private: {spread(plain)}"
    return Figure(what, spread(ours), peer, ours.mean() / plain.mean(), f"{points:g} points", held)


def above(what: str, ours: Scores, plain: Scores, least: float) -> Figure:
    ratio, held = ours.mean() / plain.mean(), bool(ours.mean() >= least)
    return Figure(what, spread(ours), f"scikit-learn, not private: {spread(plain)}", ratio, f"≥ {least:g}", held)


def beside(what: str, ours: Scores, theirs: Scores | Failed, label: str) -> Figure:
    """At least as high as the peer's."""
    if isinstance(theirs, Failed):
        return at_least(what, spread(ours), f"{label} failed: {theirs.reason}", math.nan, 1)
    return at_least(what, spread(ours), f"{label} {spread(theirs)}", ours.mean() / theirs.mean(), 1)


def below(what: str, ours: Scores, theirs: Scores | Failed, label: str, most: float = 1) -> Figure:
    """At most so many times the peer's."""
    if isinstance(theirs, Failed):
        return at_most(what, spread(ours), f"{label} failed: {theirs.reason}", math.nan, most)
    return at_most(what, spread(ours), f"{label} {spread(theirs)}", ours.mean() / theirs.mean(), most)


def useful(what: str, ours: Scores, plain: Scores) -> Figure:
    """An error below that of predicting the mean."""
    ratio, held = ours.mean() / plain.mean(), bool(ours.mean() < 1)
    return Figure(what, spread(ours), f"scikit-learn, not private: {spread(plain)}", ratio, "error < 1", held)


def spread(values: Scores) -> str:
    form = "{:.3f} ± {:.3f}" if values.mean() < 100 else "{:.2g} ± {:.2g}"
    return form.format(values.mean(), values.std())
