"""The tables of the guide: `python -m benchmarks.learn.page scores.jsonl` keeps those of a file of scores.

They are kept in `benchmarks/results/models.json`, cell by cell, with the day and what was fitted how often; without a
file of scores the page is written from there again. A test compares them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.learn.measured import set_of
from benchmarks.learn.models import DELTA
from benchmarks.learn.sets import CLASSES, CLUSTERS, NUMBERS, REPORTED
from benchmarks.peers.environments import ROOT

PAGE: Final = ROOT / "docs" / "guide" / "28-models-beside-others.md"
KEPT: Final = ROOT / "benchmarks" / "results" / "models.json"
START, END = "<!-- tables: python -m benchmarks.learn.page -->\n", "<!-- end of tables -->\n"


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
Found = dict[tuple[Any, ...], dict[str, list[float]]]


def read(path: Path) -> Found:
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {
        (line["who"], line["model"], line["set"], line.get("epsilon"), line.get("delta"), line["wide"]): line[
            "measures"
        ]
        for line in lines
    }


def tables(found: Found) -> str:
    return "\n".join("\n".join(_table(found, task)) + "\n" for task in TABLES)


def _table(found: Found, task: str) -> Iterator[str]:
    title, measure, columns = TABLES[task]
    yield _line([f"{title}, ε = 1", *(column.title for column in columns)])
    yield "|" + "---|" * (len(columns) + 1)
    for name, listed in REPORTED.items():
        if listed.task == task:
            shape = set_of(name).rows.shape
            cells = [_values(found, name, column, measure) for column in columns]
            yield _line([f"{name} ({shape[0]:,} × {shape[1]})", *_cells(columns, cells)])


def _values(found: Found, name: str, column: Column, measure: str) -> tuple[str, Any] | None:
    """The measure's name, and its values."""
    scores = found.get((column.who, column.model, name, column.epsilon, column.delta, column.wide))
    if scores is None:
        return None
    chosen = measure or next(iter(scores))
    values = np.array(scores[chosen])
    if not measure:
        values = values / found[("scikit-learn", column.model, name, None, None, False)][chosen][0]
    return chosen, values


def _cells(columns: Sequence[Column], cells: Sequence[tuple[str, Any] | None]) -> Iterator[str]:
    for at, (column, cell) in enumerate(zip(columns, cells, strict=True)):
        if cell is None:
            yield "–"
            continue
        measure, values = cell
        shown = f"{values.mean():.3f} ± {values.std():.3f}" if values.mean() < 10 else "> 10"
        rival = cells[at - column.rival]
        sign = -1 if measure in LESS else 1
        ahead = rival is not None and column.rival and sign * values.mean() > sign * rival[1].mean() + 0.0005
        yield f"**{shown}**" if ahead else shown


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def keep(text: str, date: str, fits: str, path: Path = KEPT) -> None:
    """Tables as a file: when they were measured, how many fits, and every cell."""
    parts = [part.splitlines() for part in text.strip().split("\n\n")]
    cells = [[_parts(line) for line in part if not line.startswith("|---")] for part in parts]
    kept = {"date": date, "fits": fits, "tables": cells}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _parts(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def kept(path: Path = KEPT) -> str:
    """The tables that a file holds, as the page has them."""
    held = json.loads(path.read_text(encoding="utf-8"))["tables"]
    return "\n".join(
        "\n".join([_line(table[0]), "|" + "---|" * len(table[0]), *map(_line, table[1:])]) + "\n" for table in held
    )


def written(text: str, path: Path = KEPT) -> str:
    """The page with the tables of the file."""
    before, rest = text.split(START)
    return before + START + "\n" + kept(path) + "\n" + END + rest.split(END)[1]


def main(arguments: Sequence[str]) -> None:
    if arguments:
        fits = arguments[1] if len(arguments) > 1 else ""
        keep(tables(read(Path(arguments[0]))), datetime.now(UTC).date().isoformat(), fits)
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
