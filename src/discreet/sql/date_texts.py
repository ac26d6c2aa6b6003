"""Dates as texts: which formats are understood, and all texts that a format makes of a bounded range of days."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Final

from discreet.sql.dates import MAX_KEYS
from discreet.sql.domain import TEXT, Domain
from discreet.sql.work import spend

_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_OF_DAYS: Final[dict[str, Callable[[date], str]]] = {
    "Y": lambda day: f"{day.year:04}",
    "y": lambda day: f"{day.year % 100:02}",
    "m": lambda day: f"{day.month:02}",
    "d": lambda day: f"{day.day:02}",
    "j": lambda day: f"{day.timetuple().tm_yday:03}",
    "B": lambda day: _MONTHS[day.month - 1],
    "b": lambda day: _MONTHS[day.month - 1][:3],
    "A": lambda day: _DAYS[day.weekday()],
    "a": lambda day: _DAYS[day.weekday()][:3],
    "u": lambda day: str(day.isoweekday()),
    "V": lambda day: f"{day.isocalendar().week:02}",
    "%": lambda _: "%",
}
"""What follows % in a format, and what it gives for a day."""
_OF_TIMES: Final = frozenset("HMS")
_CODE: Final = re.compile("%(.?)", re.DOTALL)
LONGEST_FORMAT: Final = 64
NAMES: Final = ", ".join(f"%{code}" for code in (*_OF_DAYS, *sorted(_OF_TIMES)))


def is_format(text: object) -> bool:
    """Whether every engine and dialect writes it alike."""
    if not isinstance(text, str) or not 0 < len(text) <= LONGEST_FORMAT:
        return False
    return all(code in _OF_DAYS or code in _OF_TIMES for code in _CODE.findall(text))


def formatted(value: Domain, pattern: Domain) -> Domain:
    """All texts that the days of a bounded range give, if the format has no hours."""
    given = (pattern.values or ("",))[0]
    assert isinstance(given, str)
    unlisted = replace(TEXT, length=9 * len(given))  # the longest name is September
    low, high = (edge.date() if isinstance(edge, datetime) else edge for edge in (value.low, value.high))
    codes = _CODE.findall(given)
    if not (isinstance(low, date) and isinstance(high, date)) or _OF_TIMES.intersection(codes):
        return unlisted
    count = (high - low).days + 1
    if count > MAX_KEYS:
        return unlisted
    spend(count * (2 + len(codes)))
    days = (low + timedelta(days=index) for index in range(count))
    return replace(unlisted, values=tuple(dict.fromkeys(_written(given, day) for day in days)))


def _written(pattern: str, day: date) -> str:
    return _CODE.sub(lambda code: _OF_DAYS[code[1]](day), pattern)
