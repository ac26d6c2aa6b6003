"""The header of a CSV file, read by ourselves: an engine's reader looks at rows to find out about it."""

from __future__ import annotations

import csv
import gzip
from typing import Final

from discreet.engines.problems import SourceError

LONGEST_LINE: Final = 1_000_000
OTHER_FORMAT: Final = "see that it is a file of the format that its ending tells"


def header(path: str, said: str | None = None) -> list[str]:
    """The names in the first record of a file; `said` is what the owner calls it."""
    opened = gzip.open if path.lower().endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            lines = iter(lambda: file.readline(LONGEST_LINE), "")
            names = next(csv.reader(lines, delimiter=delimiter(path), strict=True), [])
    except (OSError, EOFError, UnicodeDecodeError, csv.Error):
        names = []
    if not names:
        raise SourceError(said or path, "could not read a header of column names", OTHER_FORMAT)
    return names


def delimiter(path: str) -> str:
    return "\t" if ".tsv" in path.lower() else ","
