"""What was measured, as files: one for each part, in `benchmarks/results`, from which pages are written.

A figure has a key, made of what it is about, by which pages name it.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.figures import Figure
from benchmarks.parts import PARTS

FOLDER: Final = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Row:
    """A figure as the file holds it."""

    key: str
    what: str
    ours: str
    against: str
    ratio: float | None
    """None where there is nothing to compare with."""
    to_hold: str
    held: bool

    @property
    def mark(self) -> str:
        """Whether it holds, in words."""
        if self.to_hold == "–":
            return ""
        if self.ratio is None:
            return "not compared"
        return "holds" if self.held else "**does not hold**"


@dataclass(frozen=True, slots=True)
class Result:
    """What one part measured, when and where."""

    part: str
    date: str
    commit: str
    load: float
    """Of the machine when it began."""
    seconds: float
    processor: float
    """Seconds of the processor, of its children too."""
    left_out: str
    machine: Mapping[str, str]
    notes: tuple[str, ...]
    """What it said beside: what is missing, and was skipped for that."""
    failed: str
    """Why it came to no end; empty if it did."""
    rows: tuple[Row, ...]

    @property
    def misses(self) -> list[Row]:
        return [row for row in self.rows if row.ratio is not None and not row.held]


def rows_of(figures: Iterable[Figure]) -> tuple[Row, ...]:
    """With keys that are unique within the part: the second of a kind has a 2."""
    taken: dict[str, int] = {}
    rows = []
    for figure in figures:
        slug = key_of(figure.what)
        taken[slug] = taken.get(slug, 0) + 1
        key = slug if taken[slug] == 1 else f"{slug}-{taken[slug]}"
        ratio = float(f"{figure.ratio:.4g}") if math.isfinite(figure.ratio) else None
        rows.append(Row(key, figure.what, figure.ours, figure.peer, ratio, figure.to_hold, bool(figure.held)))
    return tuple(rows)


def key_of(what: str) -> str:
    """Letters and digits of what a figure is about, with single hyphens.

    >>> key_of("discrete Laplace, 10⁶: ε = 1")
    'discrete-laplace-10-6-1'
    """
    spaced = re.sub(r"([⁰¹²³⁴-⁹⁻]+)", r"-\1", what)
    plain = unicodedata.normalize("NFKD", spaced).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain))


def write(result: Result, folder: Path = FOLDER) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{result.part}.json"
    path.write_text(json.dumps(asdict(result), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def read(path: Path) -> Result:
    held: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    rows = tuple(Row(**row) for row in held.pop("rows"))
    return Result(**{**held, "notes": tuple(held["notes"])}, rows=rows)


def everything(folder: Path = FOLDER) -> list[Result]:
    """What was measured, in the order of the page; files of parts that are no more do not count."""
    return [read(path) for name in PARTS if (path := folder / f"{name}.json").exists()]
