"""Bounds that everybody knows, by the names of columns: round, public, and never from the data.

They are proposals: the owner sees where they come from, and writes others where the column means something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from discreet.owner.names import words
from discreet.policy import Kind


@dataclass(frozen=True, slots=True)
class Known:
    """What is known about such values, wherever they come from."""

    kind: Kind
    low: int | date | datetime
    high: int | date | datetime
    why: str


_DAYS: Final = (date(1900, 1, 1), date(2099, 12, 31))
_TIMES: Final = (datetime(1900, 1, 1), datetime(2099, 12, 31, 23, 59, 59))
_KNOWN: Final[Mapping[str, Known]] = {
    "age": Known(Kind.INTEGER, 0, 120, "nobody gets much older"),
    "pressure": Known(Kind.NUMBER, 0, 300, "of blood, in mmHg"),
    "bmi": Known(Kind.NUMBER, 10, 100, "of grown people"),
    "height": Known(Kind.NUMBER, 0, 250, "of people, in cm"),
    "weight": Known(Kind.NUMBER, 0, 300, "of people, in kg"),
    "temperature": Known(Kind.NUMBER, 30, 45, "of people, in °C"),
    "percent": Known(Kind.NUMBER, 0, 100, "per cent"),
    "percentage": Known(Kind.NUMBER, 0, 100, "per cent"),
    "stars": Known(Kind.INTEGER, 1, 5, "one to five"),
    "rating": Known(Kind.INTEGER, 1, 5, "one to five"),
    "hour": Known(Kind.INTEGER, 0, 23, "of a day"),
    "minute": Known(Kind.INTEGER, 0, 59, "of an hour"),
    "weekday": Known(Kind.INTEGER, 0, 7, "of a week"),
    "week": Known(Kind.INTEGER, 1, 53, "of a year"),
    "month": Known(Kind.INTEGER, 1, 12, "of a year"),
    "year": Known(Kind.INTEGER, 1900, 2100, "two centuries"),
    "latitude": Known(Kind.NUMBER, -90, 90, "on Earth"),
    "longitude": Known(Kind.NUMBER, -180, 180, "on Earth"),
    "children": Known(Kind.INTEGER, 0, 20, "of one family"),
    "nights": Known(Kind.INTEGER, 0, 365, "of a year"),
    "days": Known(Kind.INTEGER, 0, 365, "of a year"),
}
_BY_KIND: Final[Mapping[Kind, Known]] = {
    Kind.DATE: Known(Kind.DATE, *_DAYS, "two centuries: narrower is better where it is public"),
    Kind.TIMESTAMP: Known(Kind.TIMESTAMP, *_TIMES, "two centuries: narrower is better where it is public"),
}


def known_bounds(column: str, kind: Kind) -> Known | None:
    """What is known about a column of this name and type; None if nothing is.

    >>> known_bounds("age_at_visit", Kind.INTEGER).high, known_bounds("cost", Kind.NUMBER)
    (120, None)
    """
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    if kind not in (Kind.INTEGER, Kind.NUMBER):
        return None
    return next((_KNOWN[word] for word in words(column) if word in _KNOWN), None)
