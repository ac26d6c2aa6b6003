"""Which blocks a stream has, and what they are called: by the policy and the calendar alone, never by rows.

Blocks are numbered from 0. Those of time begin with the one that holds the declared minimum of the time column, and end
with the one that holds its maximum. Those of units come in cohorts, one for each refresh: `buckets` blocks each.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from discreet.policy.model import Table

Range = tuple[int, int]
"""Numbers of blocks, both ends included."""
PERIODS: Final = ("hour", "day", "week", "month")
_PERIOD: Final = re.compile(
    r"(?P<year>\d{4})(?:-W(?P<week>\d{2})|-(?P<month>\d{2})(?:-(?P<day>\d{2})(?:[T ](?P<hour>\d{2}))?)?)?"
)
_BUCKET: Final = re.compile(r"(?P<cohort>\d{1,9})(?:\.(?P<bucket>\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class Days:
    """Blocks of time: one for each hour, day, week (from Monday) or month, from `start` on."""

    by: str
    start: datetime
    last: int
    """The number of the block that holds the last moment that is declared."""

    @classmethod
    def of(cls, by: str, low: date, high: date) -> Days:
        start = begin(by, moment(low))
        return cls(by, start, number(by, start, moment(high)))

    def label(self, block: int) -> str:
        """The period: 2024-03-07T15, 2024-03-07, 2024-W10 or 2024-03."""
        there = after(self.by, self.start, block)
        if self.by == "week":
            year, week, _ = there.isocalendar()
            return f"{year:04}-W{week:02}"
        return there.isoformat()[: {"hour": 13, "day": 10, "month": 7}[self.by]]

    def passed(self, until: datetime) -> int:
        """How many blocks have ended at a moment."""
        return max(0, min(number(self.by, self.start, until), self.last + 1))

    def named(self, text: str) -> Range | None:
        """The blocks that begin in a period, such as 2024-03: the last is below the first if none does."""
        written = _PERIOD.fullmatch(text)
        period = None if written is None else _period(written)
        if period is None:
            return None
        first, end = period
        return self._from(first), self._from(end) - 1

    def _from(self, there: datetime) -> int:
        """The first block that does not begin before a moment."""
        return number(self.by, self.start, there) + (begin(self.by, there) < there)


@dataclass(frozen=True, slots=True)
class Cohorts:
    """Blocks of units: those that first came with one refresh are a cohort, divided among buckets by keyed hash."""

    buckets: int

    def label(self, block: int) -> str:
        """The cohort and the bucket."""
        return f"{block // self.buckets}.{block % self.buckets}"

    def named(self, text: str) -> Range | None:
        written = _BUCKET.fullmatch(text)
        if written is None:
            return None
        first = int(written["cohort"]) * self.buckets
        if written["bucket"] is None:
            return first, first + self.buckets - 1
        bucket = int(written["bucket"])
        return (first + bucket,) * 2 if bucket < self.buckets else None


def calendar(table: Table) -> Days | Cohorts:
    """The blocks of a stream."""
    stream = table.stream
    assert stream is not None
    if stream.by == "unit":
        return Cohorts(stream.buckets)
    assert stream.column is not None
    bounds = table.columns[stream.column].bounds
    assert bounds is not None
    low, high = (end for end in bounds if isinstance(end, date))
    return Days.of(stream.by, low, high)


def moment(day: date) -> datetime:
    return day if isinstance(day, datetime) else datetime.combine(day, time())


_BEGIN: Final[dict[str, Callable[[datetime], datetime]]] = {
    "hour": lambda there: there.replace(minute=0, second=0, microsecond=0),
    "day": lambda there: datetime.combine(there.date(), time()),
    "week": lambda there: datetime.combine(there.date(), time()) - timedelta(days=there.weekday()),
    "month": lambda there: datetime(there.year, there.month, 1),
}
_LENGTH: Final = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}


def begin(by: str, there: datetime) -> datetime:
    """The beginning of the period that holds a moment; the first week of all has no Monday."""
    try:
        return _BEGIN[by](there)
    except OverflowError:
        return datetime.min


def number(by: str, start: datetime, there: datetime) -> int:
    """How many periods after the one that begins at `start` a moment lies."""
    if by == "month":
        return (there.year - start.year) * 12 + there.month - start.month
    return (begin(by, there) - start) // _LENGTH[by]


def after(by: str, start: datetime, count: int) -> datetime:
    """The beginning of the period so many after the one that begins at `start`; the end of time is its last moment."""
    try:
        if by == "month":
            years, month = divmod(start.year * 12 + start.month - 1 + count, 12)
            return datetime(years, month + 1, 1)
        return start + count * _LENGTH[by]
    except (OverflowError, ValueError):
        return datetime.max


def _period(written: re.Match[str]) -> tuple[datetime, datetime] | None:
    """The first moment of what is written, and the first after it."""
    year, week, month, day, hour = (written[part] for part in ("year", "week", "month", "day", "hour"))
    try:
        if week is not None:
            first = datetime.fromisocalendar(int(year), int(week), 1)
            return first, after("week", first, 1)
        first = datetime(int(year), int(month or 1), int(day or 1), int(hour or 0))
    except ValueError:
        return None
    if month is None:
        return first, after("month", first, 12)
    by = "hour" if hour is not None else "day" if day is not None else "month"
    return first, after(by, first, 1)
