"""Dates and times: parts, truncations and differences, with what they make of declared bounds."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta
from fractions import Fraction
from typing import Final

from discreet.policy.model import Key, Kind
from discreet.sql.domain import Domain, number
from discreet.sql.work import spend

MAX_KEYS: Final = 100_000
"""Truncations that are listed at most."""

Rule = Callable[..., Domain]


def as_date(value: Domain) -> Domain:
    """The days that a date or time can fall on."""
    low, high = (edge.date() if isinstance(edge, datetime) else edge for edge in (value.low, value.high))
    return Domain(Kind.DATE, low, high) if isinstance(low, date) and isinstance(high, date) else Domain(Kind.DATE)


def as_timestamp(value: Domain) -> Domain:
    if isinstance(value.low, date) and isinstance(value.high, date):
        return Domain(Kind.TIMESTAMP, _moment(value.low), _moment(value.high))
    return Domain(Kind.TIMESTAMP)


def _moment(value: date) -> datetime:
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


def _between(low: int, high: int) -> Rule:
    return lambda _: number(Fraction(low), Fraction(high), integral=True)


def _years(value: Domain) -> Domain:
    low, high = (Fraction(edge.year) if isinstance(edge, date) else None for edge in (value.low, value.high))
    return number(low, high, integral=True)


def _iso_years(value: Domain) -> Domain:
    """The year of a day's week: it may differ from the day's own by one."""
    low, high = _years(value).numbers
    return number(None if low is None else low - 1, None if high is None else high + 1, integral=True)


SUNDAY_WEEK: Final = "sunday week"
MONDAY_WEEK: Final = "monday week"
SUNDAY_FIRST: Final = "day of the week from 1"
PARTS: Final[dict[str, Rule]] = {
    "year": _years,
    "quarter": _between(1, 4),
    "month": _between(1, 12),
    "isoyear": _iso_years,
    "week": _between(1, 53),
    "day": _between(1, 31),
    "dow": _between(0, 6),
    "isodow": _between(1, 7),
    "doy": _between(1, 366),
    "hour": _between(0, 23),
    "minute": _between(0, 59),
    "second": _between(0, 59),
    SUNDAY_FIRST: _between(1, 7),
    SUNDAY_WEEK: _between(0, 53),
    MONDAY_WEEK: _between(0, 53),
}


# truncation: where a period begins, and where the next one does

Step = tuple[Callable[[datetime], datetime], Callable[[datetime], datetime]]


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _months(count: int) -> Step:
    def begin(moment: datetime) -> datetime:
        return _midnight(moment).replace(day=1, month=(moment.month - 1) // count * count + 1)

    def following(moment: datetime) -> datetime:
        months = moment.month - 1 + count
        return moment.replace(year=moment.year + months // 12, month=months % 12 + 1)

    return begin, following


def _spans(length: timedelta, begin: Callable[[datetime], datetime]) -> Step:
    return begin, lambda moment: moment + length


_STEPS: Final[dict[str, Step]] = {
    "year": _months(12),
    "quarter": _months(3),
    "month": _months(1),
    "week": _spans(timedelta(weeks=1), lambda moment: _midnight(moment) - timedelta(days=moment.weekday())),
    SUNDAY_WEEK: _spans(timedelta(weeks=1), lambda moment: _midnight(moment) - timedelta(days=moment.isoweekday() % 7)),
    "day": _spans(timedelta(days=1), _midnight),
    "hour": _spans(timedelta(hours=1), lambda moment: moment.replace(minute=0, second=0, microsecond=0)),
    "minute": _spans(timedelta(minutes=1), lambda moment: moment.replace(second=0, microsecond=0)),
}


def _truncated(part: str) -> Rule:
    begin, following = _STEPS[part]

    def rule(value: Domain) -> Domain:
        if not (isinstance(value.low, date) and isinstance(value.high, date)):
            return Domain(value.kind)
        dated = value.kind is Kind.DATE
        try:
            moment, last = begin(_moment(value.low)), _moment(value.high)
        except OverflowError:  # a week that begins before the year 1
            return Domain(value.kind)
        keys: list[Key] = []
        while moment <= last and len(keys) <= MAX_KEYS:
            keys.append(moment.date() if dated else moment)
            try:
                moment = following(moment)
            except (OverflowError, ValueError):
                break
        spend(len(keys))
        if len(keys) > MAX_KEYS or not keys:
            return Domain(value.kind)
        first, final = keys[0], keys[-1]
        assert isinstance(first, date)
        assert isinstance(final, date)
        return Domain(value.kind, first, final, tuple(keys))

    return rule


TRUNCATIONS: Final[dict[str, Rule]] = {
    **{part: _truncated(part) for part in _STEPS},
    MONDAY_WEEK: _truncated("week"),
}


# differences: how many beginnings of a period lie between two moments

_INDEXES: Final[dict[str, Callable[[datetime], int]]] = {
    "year": lambda moment: moment.year,
    "quarter": lambda moment: moment.year * 4 + (moment.month - 1) // 3,
    "month": lambda moment: moment.year * 12 + moment.month,
    "week": lambda moment: (moment.toordinal() - 1) // 7,
    MONDAY_WEEK: lambda moment: (moment.toordinal() - 1) // 7,
    SUNDAY_WEEK: lambda moment: moment.toordinal() // 7,
    "day": lambda moment: moment.toordinal(),
    "hour": lambda moment: moment.toordinal() * 24 + moment.hour,
    "minute": lambda moment: (moment.toordinal() * 24 + moment.hour) * 60 + moment.minute,
}


def _difference(part: str) -> Rule:
    index = _INDEXES[part]

    def rule(start: Domain, end: Domain) -> Domain:
        edges = [edge for edge in (start.low, start.high, end.low, end.high) if isinstance(edge, date)]
        if len(edges) < 4:
            return number(None, None, integral=True)
        first, last, low, high = (index(_moment(edge)) for edge in edges)
        room = part == "week"  # engines differ in where the weeks before 1970 begin
        return number(Fraction(low - last - room), Fraction(high - first + room), integral=True)

    return rule


DIFFERENCES: Final[dict[str, Rule]] = {part: _difference(part) for part in _INDEXES}


# so many months, days or seconds later

MOVES: Final = (
    ("month", "DATE"),
    ("month", "TIMESTAMP"),
    ("day", "DATE"),
    ("day", "TIMESTAMP"),
    ("second", "TIMESTAMP"),
)


def _later(moment: datetime, unit: str, count: int) -> datetime:
    """As SQL adds: a day that a month does not have is its last one."""
    if unit != "month":
        return moment + timedelta(**{f"{unit}s": count})
    months = moment.year * 12 + moment.month - 1 + count
    year, month = months // 12, months % 12 + 1
    if not MINYEAR <= year <= MAXYEAR:
        raise OverflowError
    return moment.replace(year=year, month=month, day=min(moment.day, monthrange(year, month)[1]))


def added(unit: str, kind: Kind) -> Rule:
    """What adding a constant does to dates: it keeps their order."""

    def moved(key: Key, count: int) -> Key:
        assert isinstance(key, date)
        later = _later(_moment(key), unit, count)
        return later.date() if kind is Kind.DATE else later

    def rule(value: Domain, count: Domain) -> Domain:
        low, high = value.low, value.high
        if not (isinstance(low, date) and isinstance(high, date)) or count.bounded is None:
            return Domain(kind)
        steps = int(count.bounded[0])
        try:
            first, last = moved(low, steps), moved(high, steps)
            listed = value.values and tuple(dict.fromkeys(moved(key, steps) for key in value.values))
        except OverflowError:
            return Domain(kind)
        spend(len(listed or ()))
        assert isinstance(first, date)
        assert isinstance(last, date)
        return Domain(kind, first, last, listed)

    return rule


def after(unit: str) -> Rule:
    """A first day or minute and a number of them, as a date or time."""
    kind = Kind.DATE if unit == "days" else Kind.TIMESTAMP

    def rule(count: Domain, first: Domain) -> Domain:
        if count.bounded is None or not isinstance(first.low, date):
            return Domain(kind)
        try:
            low, high = (_moment(first.low) + timedelta(**{unit: int(edge)}) for edge in count.bounded)
        except OverflowError:
            return Domain(kind)
        return Domain(kind, low.date(), high.date()) if kind is Kind.DATE else Domain(kind, low, high)

    return rule
