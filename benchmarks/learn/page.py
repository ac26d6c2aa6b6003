"""The tables of the guide on models, from `benchmarks/results/models.json`, which `python -m benchmarks models` writes.

The file has the score of every fit, set by set, with day, commit and load; means and spreads are taken here. A test
compares page and file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.learn.models import DELTA
from benchmarks.learn.sets import CLASSES, CLUSTERS, NUMBERS, REPORTED
from benchmarks.peers.environments import ROOT

PAGE: Final = ROOT / "docs" / "guide" / "28-models-beside-others.md"
KEPT: Final = ROOT / "benchmarks" / "results" / "models.json"
START, END = "<!-- tables: python -m benchmarks models -->\n", "<!-- end of tables -->\n"


@dataclass(frozen=True, slots=True)
class Column:
    """Whose score stands there, and for which cost."""

    title: str
    who: str
    model: str
    epsilon: float | None = None
    delta: float | None = None
    wide: bool = False
    rival: int = 0
    """How many columns before is what it competes with: set in bold where it is better."""

    @property
    def asked(self) -> dict[str, Any]:
        """What is measured for it, as the file says it."""
        cost = {"epsilon": self.epsilon, "delta": self.delta}
        known = {name: value for name, value in cost.items() if value is not None}
        return {"who": self.who, "model": self.model, **known, "wide": self.wide}


def _ours(model: str, title: str, **more: Any) -> Column:
    return Column(title, "discreet", model, 1.0, **more)


def _beside(linear: str, additive: str) -> tuple[Column, ...]:
    """A linear and an additive model, each beside its rival and with wide bounds."""
    return (
        Column("boosted trees, not private", "scikit-learn", additive),
        _ours(linear, f"`{linear}`"),
        Column("diffprivlib's", "diffprivlib", linear, 1.0, rival=1),
        _ours(linear, "bounds 30× too wide", wide=True),
        _ours(additive, f"`{additive}`, δ", delta=DELTA),
        Column("DP-EBM, δ", "DP-EBM", additive, 1.0, DELTA, rival=1),
        _ours(additive, "bounds 30× too wide, δ", delta=DELTA, wide=True),
    )


TABLES: Final[dict[str, tuple[str, str, tuple[Column, ...]]]] = {
    CLASSES: (
        "area under the curve",
        "auc",
        (
            *_beside("LogisticRegression", "AdditiveClassifier"),
            _ours("RandomForestClassifier", "`RandomForestClassifier`"),
        ),
    ),
    NUMBERS: ("error over spread", "error", _beside("LinearRegression", "AdditiveRegressor")),
    CLUSTERS: (
        "over what is had without privacy",
        "",
        (
            _ours("KMeans", "`KMeans`: cost"),
            Column("diffprivlib's", "diffprivlib", "KMeans", 1.0, rival=1),
            _ours("KMeans", "bounds 30× too wide", wide=True),
            _ours("PCA", "`PCA`: variance"),
            Column("diffprivlib's", "diffprivlib", "PCA", 1.0, rival=1),
            _ours("PCA", "bounds 30× too wide", wide=True),
        ),
    ),
}
LESS: Final = ("error", "cost")
"""Measures that are better when smaller."""
MEASURES: Final = {"KMeans": "cost", "PCA": "share"}
"""Of what a set's rows are put into groups or turned by; it stands over what is had without privacy."""
MOST: Final = 10.0
"""What is larger is only said to be so."""
Kept = dict[str, dict[str, Any]]
"""For each set: when and on what it was measured, how many rows and columns it has, and its cells."""


def read(path: Path = KEPT) -> Kept:
    kept: Kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return kept


def write(kept: Kept, path: Path = KEPT) -> None:
    """In the order of the page."""
    ordered = {name: kept[name] for name in REPORTED if name in kept}
    path.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def tables(kept: Kept) -> str:
    return "\n".join("\n".join(_table(kept, task)) + "\n" for task in TABLES)


def _table(kept: Kept, task: str) -> Iterator[str]:
    title, _, columns = TABLES[task]
    yield _line([f"{title}, ε = 1", *(column.title for column in columns)])
    yield "|" + "---|" * (len(columns) + 1)
    for name, listed in REPORTED.items():
        if listed.task == task and name in kept:
            rows, width = kept[name]["shape"]
            yield _line([f"{name} ({rows:,} × {width})", *_cells(task, columns, kept[name]["cells"])])


def _cells(task: str, columns: Sequence[Column], cells: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    found = {json.dumps({**cell, "values": None, "failed": None}, sort_keys=True): cell for cell in cells}
    asked = [json.dumps({**column.asked, "values": None, "failed": None}, sort_keys=True) for column in columns]
    values = [np.array(found.get(key, {}).get("values", [])) for key in asked]
    for at, column in enumerate(columns):
        yield _cell(values[at], values[at - column.rival] if column.rival else values[at][:0], measure_of(task, column))


def measure_of(task: str, column: Column) -> str:
    return TABLES[task][1] or MEASURES[column.model]


def _cell(values: Any, rival: Any, measure: str) -> str:
    """Bold where it is better than what it competes with."""
    if not len(values):
        return "–"
    shown = f"{values.mean():.3f} ± {values.std():.3f}" if values.mean() < MOST else f"> {MOST:g}"
    sign = -1 if measure in LESS else 1
    ahead = len(rival) and sign * values.mean() > sign * rival.mean() + 0.0005
    return f"**{shown}**" if ahead else shown


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def told(kept: Kept) -> str:
    """When, on what and for how long, and what could not be fitted."""
    days, commits = (sorted({each[name] for each in kept.values()}) for name in ("date", "commit"))
    minutes = sum(each["processor"] for each in kept.values()) / 60
    loads = [each["load"] for each in kept.values()]
    failed = [
        f"{cell['who']}'s {cell['model']} on {name} ({cell['failed']})"
        for name, each in kept.items()
        for cell in each["cells"]
        if "failed" in cell
    ]
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    said = f"Measured {span} at commit {', '.join(commits)}, {minutes:.0f} minutes of the processor in all, "
    said += f"at load {min(loads):g} to {max(loads):g}."
    return said + (f" A dash was tried and has no figure: {'; '.join(failed)}." if failed else "") + "\n"


def written(text: str, kept: Kept) -> str:
    """The page with the tables of the file."""
    before, rest = text.split(START)
    return before + START + "\n" + tables(kept) + "\n" + told(kept) + "\n" + END + rest.split(END)[1]
