"""What the attacks of the lab find, without protection and with ours: every number and row that `discreet lab` shows.

Data of the lab are the same for each seed, and noise has none: what is said of ours changes a little from run to run.
Nothing is compared here; the tests of the lab compare with the theorems.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from benchmarks.figures import Figure
from discreet.lab.experiments import EXPERIMENTS


def figures() -> Iterator[Figure]:
    for name, experiment in EXPERIMENTS.items():
        outcome = experiment.run()
        for figure in outcome.figures.items:
            yield _told(f"{name}, {figure.label}", figure.value)
        for table in outcome.tables:
            for label, *cells in table.rows:
                yield _told(f"{name}: {label}", " / ".join(cells))


def _told(what: str, value: str) -> Figure:
    return Figure(what, value, "", math.nan, "–", held=True)
