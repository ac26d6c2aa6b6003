"""Names and values as they stand in SQL text. Nothing else puts text of others into a query.

Texts made of these strings are for the owner's side, where tables are copied; queries are made with `composed`.
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from fractions import Fraction
from typing import Final

Value = str | int | bool | float | Fraction | date | datetime | None

_HUGEINT = 2**127


def name(identifier: str) -> str:
    """An identifier, quoted."""
    return '"' + str.replace(identifier, '"', '""') + '"'


def unquoted(names: str, quote: str = '"') -> list[str] | None:
    """The identifiers of a path of quoted ones, with dots between them; None if it is no such path.

    >>> unquoted('"my.schema"."a ""b"'), unquoted('"a".'), unquoted("`a``b`", "`")
    (['my.schema', 'a "b'], None, ['a`b'])
    """
    one = re.compile(f"{quote}((?:[^{quote}]|{quote}{quote})+){quote}(?:\\.|$)")
    parts, end = [], 0
    while end < len(names):
        part = one.match(names, end)
        if part is None:
            return None
        parts.append(part[1].replace(quote * 2, quote))
        end = part.end()
    return None if names.endswith(".") else parts


def literal(value: Value) -> str:
    """A value, quoted. Whole numbers are exact up to 127 bits; all other numbers are DOUBLE.

    >>> literal("it's"), literal(7), literal(Fraction(1, 4)), literal(date(2026, 1, 2)), literal(None)
    ("'it''s'", '7', '0.25e0', "DATE '2026-01-02'", 'NULL')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return str(value) if -_HUGEINT < value < _HUGEINT else double(value)
    if isinstance(value, (float, Fraction)):
        return double(value)
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return "'" + str.replace(value, "'", "''") + "'"


def double(value: float | Fraction) -> str:
    """The nearest float64, as DOUBLE: a literal without an exponent would be a DECIMAL, and those overflow."""
    try:
        number = float(value) + 0.0  # no −0.0, which the smallest negative numbers become
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if not math.isfinite(number):
        return f"'{number}'::DOUBLE"
    written = repr(number)
    return written if "e" in written else f"{written}e0"


DATED: Final = {
    "date": "CASE WHEN {0} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN {0} END",
    "timestamp": (
        "CASE WHEN {0} BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59.999999' THEN {0} END"
    ),
}
TEXT_LENGTH: Final = 1024
"""Characters of a text at most, wherever it comes from: what is longer is cut, like a number that is clamped. A row
could make gigabytes of texts that grow, and one that fails or lasts longer than others tells about itself."""
STORED: Final = {
    **DATED,
    "number": "CASE WHEN NOT isnan({0}) THEN {0} + 0e0 END",
    "text": "CASE WHEN strlen({0}) > 1024 THEN left({0}, 1024) ELSE {0} END",
    "integer": "{0}",
    "boolean": "{0}",
}
"""Values of each kind as columns hold them: numbers are not NaN, and 0.0 is never −0.0 (the two would tie in every
order, and yet be told apart as text); texts have at most `TEXT_LENGTH` characters; dates are of the years 1 to 9999."""
WHOLE: Final = "CASE WHEN {0} >= {1} THEN {1} WHEN {0} <= {2} THEN {2} ELSE TRY_CAST({0} AS BIGINT) END"
STEPS: Final = (
    "CASE WHEN {0} >= {1} THEN {2} WHEN {0} <= {3} THEN {4} ELSE TRY_CAST(FLOOR({0} / {5} + 0.5e0) AS BIGINT) END"
)


def dated(text: str, kind: str) -> str:
    """A date or time of the years 1 to 9999, else NULL: beyond, functions fail, and Python has no such days."""
    return DATED[kind].format(text)


def stored(text: str, kind: str) -> str:
    """A value of the type of its kind, as columns hold it."""
    return STORED[kind].format(text)


def whole_steps(value: str, step: Fraction | None, low: int, high: int) -> str:
    """A number as an integer number of steps, rounded half up and clamped to two integers; NULL stays NULL.

    Without a step the value is a whole number already.

    Theorem  Whatever the row holds, the result is NULL or an integer from `low` to `high`, if those are below 2⁵⁰.
    Proof    NaN became NULL before. Values from high·step on give `high`, those up to low·step give `low`. For those
             between, the quotient in float64 is at most high·(1 + 2⁻⁵⁰) < high + ½, so ⌊q + ½⌋ ≤ high; likewise low.
    """
    if step is None:
        return WHOLE.format(value, high, low)
    return STEPS.format(value, double(high * step), high, double(low * step), low, double(step))
