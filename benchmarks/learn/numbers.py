"""Errors of regressions, in standard deviations of what is predicted: 1 is that of predicting the mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import sklearn.linear_model

from benchmarks.figures import Figure
from benchmarks.learn.bundled import adult, diabetes, radius
from benchmarks.learn.compared import below, errors, peer_scores, useful
from benchmarks.learn.rows import Set
from benchmarks.peers.adult import SIZES
from discreet.learn import LinearRegression

RANGES: Final = {"diabetes": (25.0, 346.0), "breast cancer": (6.981, 28.11)}
"""What may be predicted, as published."""
PAID: Final[dict[str, dict[str, Any]]] = {"ε = 1": {"epsilon": 1}, "ε = 1, δ = 10⁻⁵": {"epsilon": 1, "delta": 1e-5}}


def figures(path: Path) -> Iterator[Figure]:
    for held in (diabetes(), radius()):
        yield from _compared(path, held, held.name, RANGES[held.name])
    ages = adult("indicators", "age")
    if ages is not None:
        yield from _compared(path, replace(ages, labels=ages.labels * 1.0), "Adult (age)", (0.0, SIZES["age"] - 1.0))


def _compared(path: Path, held: Set, name: str, ends: tuple[float, float]) -> Iterator[Figure]:
    plain = errors(sklearn.linear_model.LinearRegression(), held)
    theirs = peer_scores("linear", held.save(path, ends=ends))
    for cost, paid in PAID.items():
        what = f"linear regression error on {name}, {cost}"
        ours = errors(LinearRegression(bounds=(held.low, held.high), y_bounds=ends, **paid), held)
        yield useful(what, ours, plain)
        if "delta" not in paid:  # the peer's guarantee has none
            yield below(what, ours, theirs, "diffprivlib, tuned,")
