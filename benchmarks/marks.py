"""Figures in README and docs that come from what was measured: each stands between two comments that name it.

`<!-- figure noise/discrete-laplace-10-6-2 ratio -->180<!-- / -->` is the ratio of that row, to two digits. `ours` and
`against` are the first number of those cells, `ours.2` the second; `ours~3` has three digits. `python -m benchmarks
--write` writes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.results import Result, Row

ROOT: Final = Path(__file__).parents[1]
MARK: Final = re.compile(r"<!-- figure (?P<part>\w+)/(?P<key>[a-z0-9-]+) (?P<field>\S+) -->(?P<shown>.*?)<!-- / -->")
NUMBER: Final = re.compile(r"\d[\d,]*(?:\.\d+)?")
DIGITS: Final = 2


class UnknownFigureError(Exception):
    """A page names a figure that nobody measured."""


def pages(root: Path = ROOT) -> list[Path]:
    return [path for path in (root / "README.md", *sorted((root / "docs").rglob("*.md"))) if MARK.search(_text(path))]


def marked(text: str, results: Sequence[Result]) -> str:
    """The text with all its figures as they were measured."""
    rows = {(result.part, row.key): row for result in results for row in result.rows}

    def written(match: re.Match[str]) -> str:
        row = rows.get((match["part"], match["key"]))
        if row is None:
            raise UnknownFigureError(f"no figure {match['part']}/{match['key']} was measured")
        name = f"{match['part']}/{match['key']} {match['field']}"
        field, _, digits = match["field"].partition("~")
        if digits not in ("", *"12345"):
            raise UnknownFigureError(f"{name}: ~ is followed by the number of digits, 1 to 5")
        value = _value(row, field, name)
        return f"<!-- figure {name} -->{shown(value, int(digits or DIGITS))}<!-- / -->"

    return MARK.sub(written, text)


def _value(row: Row, field: str, name: str) -> float:
    """The number that a mark means."""
    label, _, place = field.partition(".")
    texts = {"ours": row.ours, "against": row.against}
    if label == "ratio" and not place and row.ratio is not None:
        return row.ratio
    if label == "inverse" and not place and row.ratio:
        return 1 / row.ratio
    numbers = NUMBER.findall(texts.get(label, ""))
    index = int(place or 1) - 1 if (place or "1").isdecimal() else -1
    if not 0 <= index < len(numbers):
        raise UnknownFigureError(f"{name} is no number: a mark ends with ratio, inverse, ours, ours.2 or against")
    return float(numbers[index].replace(",", ""))


def shown(value: float, digits: int = DIGITS) -> str:
    """To two digits or so many, never in powers of ten.

    >>> [shown(value) for value in (0.01234, 0.5, 3.14159, 18.4, 184.6, 12_345.0)]
    ['0.012', '0.5', '3.1', '18', '180', '12,000']
    >>> shown(0.9973, 3), shown(277.9, 3)
    ('0.997', '278')
    """
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if rounded >= 10 ** (digits - 1) else f"{rounded:.10f}".rstrip("0").rstrip(".")


def stale(results: Sequence[Result], root: Path = ROOT) -> Iterator[Path]:
    """Pages whose figures are not those that were measured."""
    return (path for path in pages(root) if _text(path) != marked(_text(path), results))


def write(results: Sequence[Result], root: Path = ROOT) -> list[str]:
    """Write every page anew; why some could not be: those stay as they are."""
    problems = []
    for path in pages(root):
        try:
            path.write_text(marked(_text(path), results), encoding="utf-8")
        except UnknownFigureError as unknown:
            problems.append(f"{path.name} stays as it is: {unknown}")
    return problems


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
