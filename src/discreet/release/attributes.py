"""Attributes: columns whose values are finitely many, by a public list, or by bounds that are cut into bins.

A value becomes the number of its cell (its code), by that value alone; what is outside of the domain is NULL, as it is
in SQL (decision 010), and so are NaN and what has another type. NULL has a cell of its own where the attribute is
nullable; else the code is −1, and whoever counts leaves the row out. Codes become values again in the column's own
units and Python types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np

from discreet.errors import Refused
from discreet.mechanisms.arrays import Integers
from discreet.policy import Kind
from discreet.release.codec import stored
from discreet.release.columns import DAY, Column

Edge = Fraction | date | datetime
MOST_VALUES: Final = 2**20
"""Cells of one attribute."""
OUTSIDE: Final = -1
"""The code of a row that has no cell."""
FINE: Final = 2**32
"""Uniform integers below it choose a value within a bin."""


@stored
@dataclass(frozen=True)
class Listed:
    """A column with a public list of values."""

    name: str
    kind: Kind
    values: tuple[Any, ...]
    nullable: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", _checked(self.name, self.kind, self.nullable))
        if not 0 < self.size <= MOST_VALUES or len(set(self.values)) != len(self.values):
            raise ValueError(f"{self.name} needs some values, each of them once")

    @property
    def size(self) -> int:
        return len(self.values) + self.nullable

    def codes(self, values: Column) -> Integers:
        """The cell of each value."""
        return values.looked_up(self._codes, len(self.values) if self.nullable else OUTSIDE)

    @cached_property
    def _codes(self) -> dict[Any, int]:
        return {value: code for code, value in enumerate(self.values)}

    def label(self, code: int) -> Any:
        """What stands for a cell: its value, or None."""
        return self.values[code] if code < len(self.values) else None

    def drawn(self, codes: Integers, uniform: Integers) -> list[Any]:  # noqa: ARG002
        """A value of each cell."""
        labels = np.empty(len(self.values) + 1, dtype=object)
        labels[:-1] = self.values
        drawn: list[Any] = labels[codes].tolist()
        return drawn


@stored
@dataclass(frozen=True)
class Cut:
    """A bounded column cut into bins: from each edge up to the next, which is not in it.

    The last edge is in the last bin where values lie densely (numbers, timestamps); of whole numbers and days it is one
    more than the largest.
    """

    name: str
    kind: Kind
    edges: tuple[Edge, ...]
    nullable: bool = False
    step: Fraction | None = None
    """Of numbers: values are multiples of it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", _checked(self.name, self.kind, self.nullable))
        scaled = [_scaled(edge) for edge in self.edges]
        if not 2 <= len(scaled) <= MOST_VALUES + 1 or any(a >= b for a, b in pairwise(scaled)):
            raise ValueError(f"the edges of {self.name} must grow, and be two or more")
        if self.step is not None and self.step <= 0:
            raise ValueError(f"the step of {self.name} must be above 0")

    @property
    def bins(self) -> int:
        return len(self.edges) - 1

    @property
    def size(self) -> int:
        return self.bins + self.nullable

    def codes(self, values: Column) -> Integers:
        """The cell of each value."""
        scaled = values.numbers(self.kind)
        edges = np.array([float(_scaled(edge)) for edge in self.edges])
        codes = np.searchsorted(edges, scaled, side="right").astype(np.int64) - 1
        inside = (scaled >= edges[0]) & (scaled < edges[-1])
        if not self.is_discrete:
            codes[scaled == edges[-1]] = self.bins - 1
            inside |= scaled == edges[-1]
        codes[~inside] = self.bins if self.nullable else OUTSIDE
        return codes

    def label(self, code: int) -> Any:
        """What stands for a cell: its value if it has one, else its ends, or None."""
        if code >= self.bins:
            return None
        low, high = _scaled(self.edges[code]), _scaled(self.edges[code + 1])
        if self.is_discrete:  # both ends are in it
            low, high = Fraction(math.ceil(low)), Fraction(math.ceil(high) - 1)
        if low >= high:
            return _made(low, self.kind)
        return (_made(low, self.kind), _made(high, self.kind))

    @property
    def is_discrete(self) -> bool:
        """Whether values are whole numbers or days."""
        return self.kind in (Kind.INTEGER, Kind.DATE)

    def drawn(self, codes: Integers, uniform: Integers) -> list[Any]:
        """A value of each cell, chosen within it by uniform integers below `FINE`."""
        values = np.full(len(codes), None, dtype=object)
        order = np.argsort(codes, kind="stable")
        there, begins = np.unique(codes[order], return_index=True)
        for code, begin, end in zip(there.tolist(), begins, [*begins[1:], len(codes)], strict=False):
            if code < self.bins:
                values[order[begin:end]] = self._within(code, uniform[order[begin:end]])
        drawn: list[Any] = values.tolist()
        return drawn

    def _within(self, code: int, uniform: Integers) -> Any:
        """Values of one bin."""
        low, high = _scaled(self.edges[code]), _scaled(self.edges[code + 1])
        step = Fraction(1) if self.is_discrete else self.step
        if step is None and self.kind is Kind.NUMBER:
            return np.clip(float(low) + float(high - low) * ((uniform + 0.5) / FINE), float(low), float(high))
        if step is None:
            return [
                _made(low + (high - low) * Fraction(2 * each + 1, 2 * FINE), self.kind) for each in uniform.tolist()
            ]
        first = math.ceil(low / step)
        closed = code == self.bins - 1 and not self.is_discrete
        last = math.floor(high / step) if closed else math.ceil(high / step) - 1
        if last < first:  # no multiple lies within it
            return [_made(low, self.kind)] * len(uniform)
        draws = uniform if last - first < FINE // 2 else uniform.astype(object)
        steps, places = np.unique(draws * (last - first + 1) // FINE, return_inverse=True)
        made = np.empty(len(steps), dtype=object)
        made[:] = [_made((first + each) * step, self.kind) for each in steps.tolist()]
        return made[places]


@stored
@dataclass(frozen=True)
class Unlisted:
    """A text column whose values are private: they are found by partition selection, for a share of the cost."""

    name: str
    nullable: bool = False
    kind: Kind = Kind.TEXT

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", _checked(self.name, self.kind, self.nullable))

    def listed(self, values: Sequence[Any]) -> Listed:
        """The attribute with the values that were found; all others are NULL from now on, which has a cell."""
        return Listed(self.name, self.kind, tuple(values), nullable=True)


Known = Listed | Cut
Attribute = Known | Unlisted


# cutting

DEFAULT_BINS: Final = 32
MOST_DEFAULT: Final = 400
"""Whole numbers and days up to so many are cells of their own."""
PARTS: Final[dict[str, Callable[[date], date]]] = {
    "day": lambda day: day + timedelta(days=1),
    "week": lambda day: day + timedelta(days=7 - day.weekday()),
    "month": lambda day: (day.replace(day=1) + timedelta(days=31)).replace(day=1),
    "quarter": lambda day: _later(day.replace(month=3 * ((day.month - 1) // 3) + 1, day=1), 3),
    "year": lambda day: day.replace(year=day.year + 1, month=1, day=1),
}
"""Names of bins of dates: where the next one begins."""


def cut(name: str, kind: Kind, low: Edge, high: Edge, bins: object = None, **facts: Any) -> Cut:
    """A bounded column in bins: so many of equal width, by a part of dates, at given edges, or as is usual."""
    try:
        return Cut(name, kind, _edges(kind, low, high, bins), **facts)
    except (TypeError, ValueError, OverflowError) as wrong:
        raise Refused("release-invalid", f"{name} is not cut into bins: {wrong}", _HOW) from None


_HOW: Final = 'say how: {"age": 10} for ten bins, {"age": [0, 18, 65, 110]} for edges, {"day": "month"} for dates'


def _edges(kind: Kind, low: Edge, high: Edge, bins: object) -> tuple[Edge, ...]:
    first, last = _scaled(low), _scaled(high)
    if isinstance(bins, str):
        return _by_part(low, high, bins)
    discrete = kind in (Kind.INTEGER, Kind.DATE)
    if isinstance(bins, Iterable):
        *edges, end = (_edge(edge, kind) for edge in bins)
        return (*edges, _next(end) if discrete else end)
    if bins is None and kind in (Kind.DATE, Kind.TIMESTAMP) and not (discrete and last - first < MOST_DEFAULT):
        return _by_part(low, high, _usual_part(first, last, kind))
    width = math.floor(last) - math.ceil(first) + 1 if discrete else 0
    number = (width if discrete and width <= MOST_DEFAULT else DEFAULT_BINS) if bins is None else bins
    if isinstance(number, bool) or not isinstance(number, int) or not 0 < number <= MOST_VALUES:
        raise ValueError("the number of bins is a whole number above 0")
    if not discrete:
        return tuple(_stored(first + (last - first) * Fraction(i, number), kind) for i in range(number + 1))
    start, many = math.ceil(first), min(number, width)
    return tuple(_stored(Fraction(start + i * width // many), kind) for i in range(many + 1))


def _usual_part(first: Fraction, last: Fraction, kind: Kind) -> str:
    days = (last - first) / (1 if kind is Kind.DATE else DAY)
    return "day" if days <= MOST_DEFAULT else "month" if days <= 31 * MOST_DEFAULT else "year"


def _by_part(low: Edge, high: Edge, part: str) -> tuple[Edge, ...]:
    if part not in PARTS or not isinstance(low, date) or not isinstance(high, date):
        raise ValueError(f"parts are of dates: {', '.join(PARTS)}")
    timed = isinstance(low, datetime)
    end = high if timed else _next(high)
    edges: list[date] = [low]
    day = low.date() if isinstance(low, datetime) else low
    while len(edges) <= MOST_VALUES:
        day = PARTS[part](day)
        edge = datetime(day.year, day.month, day.day) if timed else day
        if _scaled(edge) >= _scaled(end):
            break
        edges.append(edge)
    return (*edges, end)


def _next(edge: Edge) -> Edge:
    """One more than the largest of whole numbers or days."""
    return edge + timedelta(days=1) if isinstance(edge, date) else Fraction(math.floor(edge) + 1)


def _later(day: date, months: int) -> date:
    month = day.month - 1 + months
    return day.replace(year=day.year + month // 12, month=month % 12 + 1)


# units: numbers as they are, dates as days, timestamps as microseconds

_BEGIN: Final = datetime(1970, 1, 1)


def _scaled(edge: Any) -> Fraction:
    if isinstance(edge, datetime):
        since = edge.replace(tzinfo=None) - _BEGIN
        return Fraction(since.days * DAY + since.seconds * 1_000_000 + since.microseconds)
    if isinstance(edge, date):
        return Fraction(edge.toordinal())
    if isinstance(edge, bool) or not isinstance(edge, int | Fraction):
        raise TypeError("edges are numbers or dates")
    return Fraction(edge)


def _edge(edge: object, kind: Kind) -> Edge:
    if kind is Kind.TIMESTAMP and isinstance(edge, date):
        return edge if isinstance(edge, datetime) else datetime(edge.year, edge.month, edge.day)
    if kind is Kind.DATE and isinstance(edge, date) and not isinstance(edge, datetime):
        return edge
    if kind in (Kind.INTEGER, Kind.NUMBER) and isinstance(edge, int | float | Fraction | Decimal):
        return Fraction(str(edge))
    raise TypeError("edges are of the column's type")


def _stored(scaled: Fraction, kind: Kind) -> Edge:
    """An edge of the column's kind: numbers stay exact."""
    edge: Edge = scaled if kind in (Kind.INTEGER, Kind.NUMBER) else _made(scaled, kind)
    return edge


def _made(scaled: Fraction, kind: Kind) -> Any:
    """A value of the column's own type."""
    if kind is Kind.DATE:
        return date.fromordinal(int(scaled))
    if kind is Kind.TIMESTAMP:
        return _BEGIN + timedelta(microseconds=math.floor(scaled))
    return math.floor(scaled) if kind is Kind.INTEGER else float(scaled)


def _checked(name: object, kind: object, nullable: object) -> Kind:
    """The type, of an attribute whose other facts make sense."""
    if not isinstance(name, str) or not name or not isinstance(kind, str) or not isinstance(nullable, bool):
        raise ValueError("an attribute has a name, a type, and says whether NULL is a value")
    return Kind(kind)
