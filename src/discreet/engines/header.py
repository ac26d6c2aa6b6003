"""The header of a CSV file, read by ourselves: an engine's reader looks at rows to find out about it."""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass
from typing import BinaryIO, Final

from discreet.engines.problems import SourceError
from discreet.engines.records import MAX_RECORD, record
from discreet.policy.sources import SEPARATORS

OTHER_FORMAT: Final = "see that it is a file of the format that its ending tells"
NAMED: Final = "leave it out, or write the names of its columns into its first line"
TO_UTF_8: Final = "save it as UTF-8, or: iconv -f WINDOWS-1252 -t UTF-8 old.csv > new.csv"
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Header:
    """The names in the first record of a file, and where the rest begins."""

    names: tuple[str, ...]
    end: int
    lines: int


def header(path: str, said: str | None = None) -> list[str]:
    """The names in the first record of a file; `said` is what the owner calls it."""
    return separated(path, said)[1]


def separated(path: str, said: str | None = None, apart: str | None = None) -> tuple[str, list[str]]:
    """What stands between fields, as the first record shows, and the names in it; `said`: what the owner calls it.

    `apart` is what the owner says stands between fields: then nothing else is tried.
    """
    tried = (delimiter(path), *SEPARATORS) if apart is None else (apart,)
    try:
        with opened(path) as file:
            read = {each: names for each in tried if (names := _names(file, each))}
    except UnicodeDecodeError:
        raise SourceError(said or path, "is not UTF-8", TO_UTF_8) from None
    except (OSError, EOFError):
        read = {}
    if not read and _is_empty(path):
        raise SourceError(said or path, "is empty", NAMED) from None
    if not read:
        raise SourceError(said or path, "could not read a header of column names", OTHER_FORMAT) from None
    return max(read.items(), key=lambda pair: len(pair[1]))


def _is_empty(path: str) -> bool:
    try:
        with opened(path) as file:
            return not file.read(1)
    except (OSError, EOFError):
        return False


def _names(file: BinaryIO, apart: str) -> list[str]:
    """The names if this stood between fields; none if the first record is none then."""
    file.seek(0)
    try:
        return list(read_header(file, apart).names)
    except UnicodeDecodeError:
        raise
    except ValueError:
        return []


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


def delimiter(path: str, said: str | None = None) -> str:
    """What stands between the fields of a file; `said` by the policy, or what is usual for its ending."""
    if said is not None:
        return said
    return "\t" if path.lower().endswith((".tsv", ".tsv.gz")) else ","
