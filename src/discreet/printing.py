"""Text that is safe to show, and amounts of privacy in few digits."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any, Final

_FORMULA: Final = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What formulas begin with, also as wide letters, which spreadsheets of East Asia take for the same."""
_TRIMMED: Final = ("\t", "\r", "\n")
AS_THEY_ARE: Final = frozenset({str, int, bool})
"""Types whose values JSON carries, all of them."""


def printable(text: str) -> str:
    r"""The text on one line, without anything that could steer a terminal.

    >>> printable("SELECT 1\n  FROM t\x1b[2J")
    'SELECT 1 FROM t\\x1b[2J'
    """
    joined = " ".join(text.split())
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in joined)


def lines_of(text: str) -> str:
    r"""The text as it is, line by line, without anything else that could steer a terminal.

    >>> lines_of("why\n  and\x1b[2J how")
    'why\n  and\\x1b[2J how'
    """
    return "".join(letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in text)


def plain(value: Any) -> Any:
    """The value as JSON can carry it: dates in ISO's form, null for numbers that are none.

    >>> plain({"day": date(2026, 1, 2), "n": (1, math.nan)})
    {'day': '2026-01-02', 'n': [1, None]}
    """
    kind = type(value)
    if value is None or kind in AS_THEY_ARE:
        return value
    if kind is float:  # before it is compared with kinds that are slow to look for
        return value if math.isfinite(value) else None
    if kind is dict or isinstance(value, Mapping):
        return {str(key): item if type(item) in AS_THEY_ARE else plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [item if type(item) in AS_THEY_ARE else plain(item) for item in value]
    if isinstance(value, date):
        return value.isoformat()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def inert(value: object) -> object:
    r"""A value that no spreadsheet takes for a formula.

    >>> inert("=1"), inert("\n=1"), inert(" @a"), inert("a = 1"), inert(-1)
    ("'=1", "'\n=1", "' @a", 'a = 1', -1)
    """
    if isinstance(value, str) and (value.startswith(_TRIMMED) or value.lstrip().startswith(_FORMULA)):
        return f"'{value}"
    return value


def csv_text(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A table for spreadsheets.

    >>> csv_text(["a", "b"], [{"a": 1, "b": "=SUM(A1)"}])
    "a,b\\n1,'=SUM(A1)\\n"
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: inert(value) for name, value in row.items()})
    return text.getvalue()


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(12000, "row"), counted(2, "body", "bodies")
    ('1 row', '12,000 rows', '2 bodies')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def at_least(value: float) -> str:
    """Four digits, rounded up.

    >>> at_least(0.123401), at_least(3.0)
    ('0.1235', '3')
    """
    return _digits(value, ROUND_CEILING)


def at_most(value: float) -> str:
    """Four digits, rounded down.

    >>> at_most(0.99999), at_most(0.0)
    ('0.9999', '0')
    """
    return _digits(value, ROUND_FLOOR)


def _digits(value: float, rounding: str) -> str:
    return f"{float(Context(prec=4, rounding=rounding).create_decimal(repr(value))):g}"
