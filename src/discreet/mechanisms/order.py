"""One public order of keys, and one way to write each: neither depends on where a key stood in the data.

Theorem  What `in_public_order` gives is a function of the set of keys: not of the order in which a mapping has them,
         nor of which of several equal keys it holds.
Proof    Keys are first made plain: Python takes 1, 1.0, True, Decimal(1) and −0.0 and 0 for one key and keeps the first
         that was put in, and so it does with one instant in two time zones; of such a class one member is left. Plain
         keys are then sorted by (kind, value), where every kind has a total order by value alone: two plain keys that
         compare as equal are equal, and a mapping has no equal keys.

The order: numbers by value, texts by code points, bytes, dates, times without a zone, times by UTC, tuples by their
parts, and None last, as NULL is in SQL. Texts are not normalised: what has other code points is another key. Anything
else is refused: an order by `repr` or `id` would be that of memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, TypeVar

from discreet.late import np

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Plain = tuple[Any, ...]
"""The rank of a key's kind, then its value."""
_PLAIN: Final = "make it plain first: text, bytes, a number, a date, None, or a tuple of such"
_DIGITS: Final = 1000
"""Of a decimal's exponent: beyond, its value would fill the memory."""


def in_public_order(counts: Mapping[Key, Value], name: str = "counts") -> list[tuple[Key, Value]]:
    """The items of a mapping with plain keys, in the public order of these."""
    items = [(*_made_plain(key, name), value) for key, value in counts.items()]
    ordered = sorted(items, key=lambda item: item[0])
    if any(a[0] == b[0] for a, b in pairwise(ordered)):
        raise ValueError(f"{name} holds two keys that are the same once they are plain: {_PLAIN}")
    return [(key, value) for _, key, value in ordered]


def public_rank(key: Hashable) -> Plain:
    """By what keys are sorted that may stay as they are: those of a typed column, where equal ones look the same."""
    return _made_plain(key, "keys")[0]


def _made_plain(key: Any, name: str) -> tuple[Plain, Any]:
    """By what a key is sorted, and the plain key."""
    plain = key.item() if isinstance(key, (np.bool_, np.integer, np.floating, np.str_, np.bytes_)) else key
    make = _KINDS.get(type(plain))
    if make is not None:
        return make(plain, name)
    raise TypeError(f"{name} has a key of type {type(key).__name__}, which has no public order: {_PLAIN}")


def _nothing(key: None, name: str) -> tuple[Plain, None]:  # noqa: ARG001
    return (8,), key


def _number(key: Any, name: str) -> tuple[Plain, Any]:
    """Whole numbers become int, whatever they were; others stay float, or Fraction where no float is the same."""
    if key != key:
        raise ValueError(f"{name} has a key that is not a number (NaN), which is not even equal to itself")
    if isinstance(key, (float, Decimal)) and key in (math.inf, -math.inf):
        return (1, 1 if key > 0 else -1, Fraction(0)), math.inf if key > 0 else -math.inf
    if isinstance(key, Decimal) and abs(key.adjusted()) > _DIGITS:
        raise ValueError(f"{name} has a decimal with an exponent beyond {_DIGITS}")
    if type(key) is int:
        return (1, 0, key), key
    exact = Fraction(key)
    return (1, 0, exact), _written(exact)


def _written(exact: Fraction) -> int | float | Fraction:
    if exact.denominator == 1:
        return exact.numerator
    try:
        near = exact.numerator / exact.denominator
    except OverflowError:
        return exact
    return near if Fraction(near) == exact else exact


def _date(key: date, name: str) -> tuple[Plain, date]:  # noqa: ARG001
    return (4, key), key


def _time(key: datetime, name: str) -> tuple[Plain, datetime]:
    """`fold` and the time zone are not part of what makes two times equal."""
    if key.tzinfo is None:
        plain = key.replace(fold=0)
        return (5, plain), plain
    try:
        plain = key.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{name} has a time that is not in the years 1 to 9999 by UTC") from None
    return (6, plain), plain


def _tuple(key: tuple[Any, ...], name: str) -> tuple[Plain, tuple[Any, ...]]:
    parts = [_made_plain(part, name) for part in key]
    return (7, tuple(order for order, _ in parts)), tuple(plain for _, plain in parts)


_KINDS: Final[dict[type, Callable[[Any, str], tuple[Plain, Any]]]] = {
    type(None): _nothing,
    bool: _number,
    int: _number,
    float: _number,
    Fraction: _number,
    Decimal: _number,
    str: lambda key, _: ((2, key), key),
    bytes: lambda key, _: ((3, key), key),
    date: _date,
    datetime: _time,
    tuple: _tuple,
}
