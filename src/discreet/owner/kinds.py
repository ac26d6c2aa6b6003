"""What the columns of a CSV file seem to hold, from its first records: a kind for each, and no value.

Parquet and databases say the types of their columns; a CSV file says nothing, and a wrong type makes every value NULL.
So the owner's draft proposes what nearly all of the first values are, and says that it was read there: the owner looks
at it before anybody else does. One record changes a proposal only where others leave it open (`NEARLY`).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from discreet.engines.header import opened
from discreet.policy import Kind

RECORDS: Final = 1000
BYTES: Final = 2**20
NEARLY: Final = 0.95
"""Of the values that are there: so many have to be of a kind."""
MISSING: Final = frozenset({"na", "n/a", "null", "none", "-", "?"})
"""How programs write that there is no value, in any case of letters. NaN is a value to some of them."""
_DATE: Final = r"\d{4}([-/])\d\d\1\d\d"
_KINDS: Final = {
    Kind.BOOLEAN: re.compile(r"true|false", re.IGNORECASE),
    Kind.INTEGER: re.compile(r"[+-]?(0|[1-9]\d{0,17})"),
    Kind.NUMBER: re.compile(r"[+-]?((0|[1-9]\d{0,17})(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?"),
    Kind.DATE: re.compile(_DATE),
    Kind.TIMESTAMP: re.compile(rf"{_DATE}([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?"),
}
"""By the first that fits: codes with leading zeros, such as postal ones, are text."""
_COMMA: Final = re.compile(r"[+-]?((0|[1-9]\d{0,17})|[1-9]\d{0,2}(\.\d{3}){1,5})(,\d+)?")


@dataclass(frozen=True, slots=True)
class Seen:
    """The kinds of columns, in their order, and what stands before fractions."""

    kinds: tuple[Kind | None, ...]
    """None where there was no value."""
    decimal: str | None = None
    """A comma, where some column has numbers with one; None for a point, or where there are none."""


def seen(path: str, separator: str, columns: int) -> Seen:
    """What the first records of a file hold; nothing at all if they cannot be read."""
    held: list[list[str]] = [[] for _ in range(columns)]
    for record in _records(path, separator, columns):
        for values, value in zip(held, record, strict=True):
            if value.strip() and value.strip().lower() not in MISSING:
                values.append(value.strip())
    commas = separator != "," and any(_has_commas(values) for values in held)
    return Seen(tuple(_kind(values, commas=commas) for values in held), "," if commas else None)


def _records(path: str, separator: str, columns: int) -> Iterator[Sequence[str]]:
    """Records with as many fields as the header; the last is left out where the file was cut."""
    try:
        with opened(path) as file:
            start = file.read(BYTES)
    except (OSError, EOFError):
        return
    text = start.decode("utf-8", errors="replace").removeprefix("\ufeff")
    whole = text if len(start) < BYTES else text[: text.rfind("\n") + 1]
    reader = csv.reader(io.StringIO(whole, newline=""), delimiter=separator)
    try:
        yield from (record for record in islice(reader, 1, RECORDS + 1) if len(record) == columns)
    except csv.Error:
        return


def names_nothing(names: Sequence[str]) -> bool:
    """Whether most of these names are numbers or dates: so a file begins that has no header."""
    forms = [form for kind, form in _KINDS.items() if kind is not Kind.BOOLEAN]
    odd = sum(any(form.fullmatch(name.strip()) for form in forms) for name in names)
    return 2 * odd > len(names)


def _has_commas(values: Sequence[str]) -> bool:
    return _share(_COMMA, values) >= NEARLY and any("," in value for value in values)


def _kind(values: Sequence[str], *, commas: bool) -> Kind | None:
    if not values:
        return None
    if commas and _has_commas(values):
        return Kind.NUMBER
    return next((kind for kind, form in _KINDS.items() if _share(form, values) >= NEARLY), Kind.TEXT)


def _share(form: re.Pattern[str], values: Sequence[str]) -> float:
    return sum(form.fullmatch(value) is not None for value in values) / max(len(values), 1)
