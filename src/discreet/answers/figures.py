"""Values as people read them: a noisy number with no more digits than its noise leaves meaningful."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any, Final

from discreet.accounting.rounding import NEAREST
from discreet.printing import printable

NULL: Final = "NULL"
BEYOND: Final = 2
"""Digits that are shown below the leading digit of the half-width."""
MAX_DIGITS: Final = 16
"""Digits before the point from which on a number is written with an exponent."""
FINEST: Final = -9
"""The same behind the point."""
_FORGIVEN: Final = Decimal("1e-6")
"""A part of the last digit: what float64 makes of 45.3 + 0.5 must not round up to one digit more."""

_PLAIN: Final = re.compile(r"-?[0-9,]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Figure:
    """A value and what stands beside it: `± half-width` or `low … high`, or nothing."""

    value: str
    sign: str = ""
    margin: str = ""


def is_listing(value: object) -> bool:
    """Whether a value is a list of counts, as histograms and the most frequent values are."""
    return isinstance(value, list) and all(
        isinstance(item, dict) and {"value", "count"} <= item.keys() for item in value
    )


def number_ends(known: Any) -> tuple[float, float] | None:
    """The ends of a number; None where nothing is known, or where a list of the same name has taken its place.

    >>> number_ends((1, 3)), number_ends([(1, 3)]), number_ends(None)
    ((1, 3), None, None)
    """
    return known if isinstance(known, tuple) else None


def item_ends(items: Sequence[Any], known: Any) -> Sequence[tuple[float, float] | None]:
    """The ends of each count of a list, or as many times None.

    >>> item_ends(["a", "b"], [(1, 3), (4, 6)]), item_ends(["a"], (1, 3))
    ([(1, 3), (4, 6)], [None])
    """
    return known if isinstance(known, list) and len(known) == len(items) else [None] * len(items)


def text_of(value: object) -> str:
    r"""A value that carries no noise, on one line.

    >>> text_of(None), text_of(True), text_of("a\x1bb"), text_of(""), text_of(0.1)
    ('NULL', 'true', 'a\\x1bb', "''", '0.1')
    """
    if value is None:
        return NULL
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value) if abs(value) < 10**40 else _written(NEAREST.plus(Decimal(value)), 0)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return printable(str(value)) or "''"


def figure(value: Any, interval: tuple[float, float] | None, rank: int | None = None) -> Figure:
    """A value beside its interval, or, of a quantile that has none, beside how far its rank may be off.

    >>> figure(1041, (1011, 1071))
    Figure(value='1,041', sign='±', margin='30')
    >>> figure(45.318722, (44.8, 45.837444))
    Figure(value='45.319', sign='±', margin='0.519')
    >>> figure(34, (29, 41))
    Figure(value='34', sign='', margin='29 … 41')
    >>> figure(34, None, 1200)
    Figure(value='34', sign='±', margin='1,200 ranks')
    """
    if interval is None:
        ranked = rank is not None and value is not None
        return Figure(_loose(value), "±", f"{rank:,} ranks") if ranked else Figure(_loose(value))
    low, high = interval
    if not all(map(_is_finite, (value, low, high))):
        return Figure(_loose(value), margin=f"{_loose(low)} … {_loose(high)}")
    exact, least, most = _decimal(value), _decimal(low), _decimal(high)
    half = NEAREST.divide(NEAREST.subtract(most, least), Decimal(2))
    exponent = _last_digit(half, exact, least, most)
    shown = _rounded(exact, exponent, ROUND_HALF_EVEN)
    if _is_middle(exact, least, most):
        return Figure(shown, "±", _rounded(half, exponent, ROUND_CEILING))
    return Figure(shown, "", f"{_rounded(least, exponent, ROUND_FLOOR)} … {_rounded(most, exponent, ROUND_CEILING)}")


def half_width(value: float) -> str:
    """A half-width alone, rounded up to three digits.

    >>> half_width(29.95), half_width(1234.5), half_width(math.inf)
    ('30', '1,240', '∞')
    """
    if not _is_finite(value):
        return _loose(value)
    exact = _decimal(value)
    shown = _rounded(exact, exact.adjusted() - BEYOND if exact else 0, ROUND_CEILING)
    return shown.rstrip("0").rstrip(".") if "." in shown and "e" not in shown else shown


def aligned(texts: Sequence[str]) -> list[str]:
    """Numbers under each other, point under point, all of one width; what is no plain number stands to the right.

    >>> aligned(["45.31", "6", "NULL"])
    ['45.31', ' 6   ', ' NULL']
    """
    tails = {text: len(text.partition(".")[1] + text.partition(".")[2]) for text in texts if _PLAIN.fullmatch(text)}
    longest = max(tails.values(), default=0)
    padded = [text + " " * (longest - tails.get(text, longest)) for text in texts]
    width = max(map(len, padded), default=0)
    return [text.rjust(width) for text in padded]


def _loose(value: Any) -> str:
    """A value whose noise is not known: six digits of a fraction say enough."""
    if not isinstance(value, float):
        return f"{value:,}" if _is_finite(value) and abs(value) < 10**MAX_DIGITS else text_of(value)
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return "NaN" if math.isnan(value) else f"{value:,.6g}"


def _is_finite(value: Any) -> bool:
    return (isinstance(value, float) and math.isfinite(value)) or (
        isinstance(value, int) and not isinstance(value, bool)
    )


def _decimal(value: float) -> Decimal:
    """A float means its shortest decimal."""
    return Decimal(value) if isinstance(value, int) else Decimal(repr(value))


def _is_middle(value: Decimal, low: Decimal, high: Decimal) -> bool:
    width = NEAREST.subtract(high, low)
    lean = NEAREST.subtract(NEAREST.add(low, high), NEAREST.multiply(value, Decimal(2)))
    return abs(lean) <= NEAREST.multiply(width, _FORGIVEN)


def _last_digit(half: Decimal, *numbers: Decimal) -> int:
    """The power of ten of the last digit that is shown: whole numbers get no fractions."""
    finest = min(int(number.normalize(NEAREST).as_tuple().exponent) for number in numbers)
    justified = abs(half).adjusted() - BEYOND if half else finest
    return max(justified, min(finest, 0))


def _rounded(value: Decimal, exponent: int, rounding: str) -> str:
    scaled = NEAREST.scaleb(value, -exponent)
    whole = scaled.to_integral_value(ROUND_HALF_EVEN)
    if abs(NEAREST.subtract(scaled, whole)) > _FORGIVEN:
        whole = scaled.to_integral_value(rounding)
    return _written(NEAREST.scaleb(whole, exponent), exponent)


def _written(value: Decimal, exponent: int) -> str:
    if not value:
        return f"{0:.{max(0, -exponent)}f}" if exponent >= FINEST else "0"
    if value.adjusted() >= MAX_DIGITS or exponent < FINEST:
        return f"{value:.{max(0, min(15, value.adjusted() - exponent))}e}"
    return f"{value:,.{max(0, -exponent)}f}"
