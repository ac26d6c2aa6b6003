"""The header of a CSV file, read by ourselves: an engine's reader looks at rows to find out about it."""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass
from typing import BinaryIO, Final

from discreet.engines.problems import SourceError
from discreet.engines.records import MAX_RECORD, record

OTHER_FORMAT: Final = "see that it is a file of the format that its ending tells"
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Header:
    """The names in the first record of a file, and where the rest begins."""

    names: tuple[str, ...]
    end: int
    lines: int


def header(path: str, said: str | None = None) -> list[str]:
    """The names in the first record of a file; `said` is what the owner calls it."""
    try:
        with opened(path) as file:
            return list(read_header(file, delimiter(path)).names)
    except (OSError, EOFError, ValueError):
        raise SourceError(said or path, "could not read a header of column names", OTHER_FORMAT) from None


def opened(path: str) -> BinaryIO:
    """The bytes of a file, unpacked."""
    return gzip.open(path, "rb") if path.lower().endswith(".gz") else open(path, "rb")  # type: ignore[return-value]


def read_header(file: BinaryIO, delimiter: str) -> Header:
    """The header of an open file; `ValueError` if it has none. Names that are empty are called by their place."""
    start = file.read(MAX_RECORD)
    if not start.endswith(b"\n") and len(start) < MAX_RECORD:
        start += b"\n"
    mark = len(_BOM) if start.startswith(_BOM) else 0
    line = record(delimiter.encode()).match(start, mark)
    if line is None or b"\0" in line[0]:
        raise ValueError("no header")
    text = line[0].decode("utf-8")
    names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), [])
    if not any(names):
        raise ValueError("no names")
    return Header(tuple(name or f"column{index}" for index, name in enumerate(names)), line.end(), line[0].count(b"\n"))


def delimiter(path: str) -> str:
    return "\t" if path.lower().endswith((".tsv", ".tsv.gz")) else ","
