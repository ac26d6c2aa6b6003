"""CSV and Parquet files of the caller, read as they are: a row with too few fields is a mistake, not a row of NULLs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from discreet.errors import Refused
from discreet.printing import printable

SEPARATORS: Final = ",;\t|"
PARQUET: Final = b"PAR1"
LONGEST_FIELD: Final = 1 << 20


class Texts(list[str]):
    """A column of a CSV file: texts, which may stand for numbers or dates."""


def read(path: Path) -> Mapping[str, Sequence[Any]]:
    """The columns of a file, by name."""
    content = _content(path)
    return Parquet(path) if content.startswith(PARQUET) else _csv(path, _rows(path, content))


def rows_of(path: Path) -> Iterator[list[str]]:
    """The lines of a CSV file, without asking for a header."""
    return _rows(path, _content(path))


def _content(path: Path) -> bytes:
    if path.is_dir():
        raise _unreadable(path, "is a folder", "name one file")
    if not path.exists():
        raise _unreadable(path, "does not exist", "check the path")
    content = path.read_bytes()
    if not content:
        raise _unreadable(path, "is empty", "name a CSV or Parquet file")
    return content


def _unreadable(path: Path, what: str, fix: str) -> Refused:
    return Refused("table-invalid", f"{printable(str(path))} {what}", fix)


def _csv(path: Path, rows: Iterator[list[str]]) -> dict[str, Sequence[Any]]:
    names = [name.strip() for name in next(rows, [])]
    if not any(names):
        raise _unreadable(path, "has no header", "name the columns in the first line")
    _demand_apart(path, names)
    columns: list[Texts] = [Texts() for _ in names]
    for number, row in enumerate(rows, 2):
        if len(row) != len(names):
            reason = f"has {len(row)} fields in row {number}, and {len(names)} in the header"
            raise _unreadable(path, reason, "give every row as many fields, and quote those with a separator in them")
        for column, field in zip(columns, row, strict=True):
            column.append(field.strip())
    return dict(zip(names, columns, strict=True))


def _demand_apart(path: Path, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise _unreadable(path, f"has two columns called {printable(twice[0]) or 'by an empty name'}", "rename one")


def _rows(path: Path, content: bytes) -> Iterator[list[str]]:
    """Records as lists of fields; the separator is the one that is most frequent in the first line."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _unreadable(path, "is not text in UTF-8", "save it as CSV in UTF-8, or as Parquet") from None
    if "\x00" in text:
        raise _unreadable(path, "contains NUL bytes: it is no CSV file", "save it as CSV in UTF-8, or as Parquet")
    separator = max(SEPARATORS, key=text.lstrip("\r\n").partition("\n")[0].count)
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_FIELD))
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True):
            if row:  # a line without anything ends many files
                yield row
    except csv.Error as wrong:
        raise _unreadable(path, f"is no CSV file ({wrong})", "save it as CSV in UTF-8, or as Parquet") from None


class Parquet(Mapping[str, Sequence[Any]]):
    """The columns of a Parquet file, each read when it is asked for, in the order of its rows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        described = self._asked("DESCRIBE SELECT *")
        _demand_apart(path, [str(row[0]) for row in described])
        self._types = {str(name): str(kind) for name, kind, *_ in described}

    def _asked(self, selection: str) -> list[tuple[Any, ...]]:
        import duckdb

        from discreet.engines.connection import connect
        from discreet.quoting import literal

        named = re.sub(r"[][*?]", lambda letter: f"[{letter[0]}]", str(self._path))  # no pattern: one file
        try:
            with connect(threads=1) as connection:
                return connection.execute(f"{selection} FROM read_parquet({literal(named)})").fetchall()
        except duckdb.Error:
            fix = "write it again, or save it as CSV"
            raise _unreadable(self._path, "is no Parquet file that can be read", fix) from None

    def __getitem__(self, name: str) -> Sequence[Any]:
        from discreet.quoting import name as quoted

        moment = self._types[name] == "TIMESTAMP WITH TIME ZONE"  # Python would need a package for zones: UTC is one
        column = f"CAST({quoted(name)} AS TIMESTAMP)" if moment else quoted(name)
        return [value for (value,) in self._asked(f"SELECT {column}")]

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)
