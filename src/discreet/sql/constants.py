"""Which constants a function takes: others mean nothing, fail in an engine, or let a row take long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

from discreet.errors import Refused
from discreet.sql.expression import Expr

MAX_PATTERN_LENGTH: Final = 64


def check_constants(name: str, arguments: Sequence[Expr]) -> None:
    """Refuse a call whose constants mean nothing."""
    check = _CHECKS.get(name)
    values = [argument.value for argument in arguments if argument.constant]
    if check and not check(values[-(len(arguments) - 1) :]):
        raise Refused("function-not-allowed", f"{name.split(' ')[0]} with these constants means nothing", _FIXES[name])


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= most


def _is_pattern(value: object) -> bool:
    """With _ a row takes as many steps as its text and the pattern have characters, multiplied."""
    return isinstance(value, str) and ("_" not in value or len(value) <= MAX_PATTERN_LENGTH)


def _ordered(low: Any, high: Any) -> bool:
    return isinstance(low, (int, Fraction)) and isinstance(high, (int, Fraction)) and low < high


_CHECKS: Final[dict[str, Callable[[list[Any]], bool]]] = {
    "ROUND TO": lambda values: _is_count(values[0], 15),
    "SUBSTR": lambda values: _is_count(values[0], 10**6),
    "SUBSTR TO": lambda values: all(_is_count(value, 10**6) for value in values),
    "CLAMP": lambda values: _ordered(*values),
    "WIDTH_BUCKET": lambda values: _ordered(*values[:2]) and _is_count(values[2], 10**6) and values[2] > 0,
    **dict.fromkeys(("LIKE", "ILIKE"), lambda values: _is_pattern(values[0])),
}
_FIXES: Final = {
    "ROUND TO": "round to -15 to 15 decimals",
    "SUBSTR": "use places up to a million",
    "SUBSTR TO": "use places up to a million",
    "CLAMP": "write CLAMP(x, low, high) with low < high",
    "WIDTH_BUCKET": "write WIDTH_BUCKET(x, low, high, count) with low < high and a count of at least 1",
    **dict.fromkeys(("LIKE", "ILIKE"), f"write a text; a pattern with _ has at most {MAX_PATTERN_LENGTH} characters"),
}
