"""Which constants a function takes: others mean nothing, fail in an engine, or let a row take long."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

from discreet.errors import Refused
from discreet.sql.date_texts import LONGEST_FORMAT, NAMES, is_format
from discreet.sql.dates import MOVES
from discreet.sql.expression import Expr

MAX_PATTERN_LENGTH: Final = 64
MAX_MOVES: Final = {"month": 120_000, "day": 4_000_000, "second": 4_000_000 * 86_400}
"""So far a date can be moved: from any year from 1 to 9999 to any other, and not out of what engines can hold."""


def check_constants(name: str, arguments: Sequence[Expr]) -> None:
    """Refuse a call whose constants mean nothing."""
    check = _CHECKS.get(name)
    values = [argument.value for argument in arguments if argument.constant]
    if check and not check(values[-(len(arguments) - 1) :]):
        raise Refused("function-not-allowed", f"{name.split(' ')[0]} with these constants means nothing", _FIXES[name])


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= most


def _at_most(most: int) -> Callable[[list[Any]], bool]:
    return lambda values: _is_count(values[0], most)


def _is_pattern(value: object) -> bool:
    """With _ a row takes as many steps as its text and the pattern have characters, multiplied."""
    return isinstance(value, str) and ("_" not in value or len(value) <= MAX_PATTERN_LENGTH)


def _is_escaped(pattern: object, escape: object) -> bool:
    """A pattern in which the escape stands only before what it can make plain: others fail in an engine."""
    if not (isinstance(escape, str) and len(escape) == 1 and not escape.isalpha() and escape not in "%_"):
        return False
    plain = re.sub(re.escape(escape) + f"[%_{re.escape(escape)}]", "", pattern) if isinstance(pattern, str) else escape
    return escape not in plain and _is_pattern(pattern)


def _ordered(low: Any, high: Any) -> bool:
    return isinstance(low, (int, Fraction)) and isinstance(high, (int, Fraction)) and low < high


_CHECKS: Final[dict[str, Callable[[list[Any]], bool]]] = {
    "ROUND TO": lambda values: _is_count(values[0], 15),
    "SUBSTR": lambda values: _is_count(values[0], 10**6),
    "SUBSTR TO": lambda values: all(_is_count(value, 10**6) for value in values),
    "CLAMP": lambda values: _ordered(*values) or values[0] == values[1],
    "WIDTH_BUCKET": lambda values: _ordered(*values[:2]) and _is_count(values[2], 10**6) and values[2] > 0,
    **dict.fromkeys(("LIKE", "ILIKE"), lambda values: _is_pattern(values[0])),
    **dict.fromkeys(("LIKE ESCAPE", "ILIKE ESCAPE"), lambda values: _is_escaped(*values)),
    **dict.fromkeys(("STARTS_WITH", "ENDS_WITH", "CONTAINS"), lambda values: isinstance(values[0], str)),
    **{f"DATE_ADD {unit} {kind}": _at_most(MAX_MOVES[unit]) for unit, kind in MOVES},
    "STRFTIME": lambda values: is_format(values[0]),
}
_FIXES: Final = {
    "ROUND TO": "round to -15 to 15 decimals",
    "SUBSTR": "use places up to a million",
    "SUBSTR TO": "use places up to a million",
    "CLAMP": "write CLAMP(x, low, high) with low ≤ high",
    "WIDTH_BUCKET": "write WIDTH_BUCKET(x, low, high, count) with low < high and a count of at least 1",
    **dict.fromkeys(("LIKE", "ILIKE"), f"write a text; a pattern with _ has at most {MAX_PATTERN_LENGTH} characters"),
    **dict.fromkeys(
        ("LIKE ESCAPE", "ILIKE ESCAPE"),
        "write one sign that is no letter as the escape, and in the pattern only before %, _ or itself:"
        " w LIKE '100!%' ESCAPE '!'",
    ),
    **dict.fromkeys(("STARTS_WITH", "ENDS_WITH", "CONTAINS"), "write a text"),
    **{f"DATE_ADD {unit} {kind}": f"add a whole number of at most {MAX_MOVES[unit]:,} {unit}s" for unit, kind in MOVES},
    "STRFTIME": f"write a format of at most {LONGEST_FORMAT} characters with {NAMES}",
}
