"""Dummy data from a policy alone: nothing is read, and the same policy gives the same rows.

Every value is a hash of the policy's fingerprint, its table, its column and its row, so that nothing is drawn at random
and no order of evaluation matters. Columns that name units or lead to them are numbered through: number k means the
same value in every column that is compared with it, so that joins and foreign keys find each other.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final

from discreet.curator.dummy.kinships import Kinships, Spot
from discreet.errors import Refused
from discreet.policy import Column, Kind, Policy, Table, fingerprint

MOST_ROWS: Final = 100_000
WORDS: Final = 60
"""Different texts in a column of private keys; the first one stands in about every sixth row."""
PUBLIC_ROWS: Final = 100
"""At most so many rows of a public table are invented: it is looked up by one of its columns, row by row."""
_NULLS: Final = 1 / 12
_CROWDED: Final = 0.04
"""The share of units that have more rows than the policy allows."""
_DAYS: Final = (date(2020, 1, 1), date(2029, 12, 31))
_TIMES: Final = (datetime(2020, 1, 1), datetime(2029, 12, 31))
_SYLLABLES: Final = ("ba", "dor", "el", "fa", "gi", "hol", "im", "ka", "lu", "mer", "no", "pi", "ra", "sen", "to", "vi")

Row = dict[str, Any]


def dummy_rows(policy: Policy, rows: object) -> dict[str, list[Row]]:
    """So many rows for each private table, and as many as make sense for public ones."""
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS:
        raise Refused("rows-invalid", f"rows is a whole number from 1 to {MOST_ROWS}", "write dummy(rows=1000)")
    digest, kinships = fingerprint(policy), Kinships.of(policy)
    return {
        table.name: _public_rows(digest, table, rows) if table.is_public else _rows(digest, kinships, table, rows)
        for table in policy.tables.values()
    }


def _rows(digest: str, kinships: Kinships, table: Table, rows: int) -> list[Row]:
    columns = {
        spelling: list(_numbered(Draws.of(digest, table.name, spelling), kinships, spot, table, rows))
        for spot, spelling in kinships.of_table(table).items()
    }
    for column in table.columns.values():
        if column.name not in columns:
            columns[column.name] = list(_values(Draws.of(digest, table.name, column.name), column, rows))
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)] or [{}] * rows


def _public_rows(digest: str, table: Table, rows: int) -> list[Row]:
    """One row for each value of the column that rows are most likely looked up by: the first with listed values."""
    if not table.columns:
        return []
    first = next((column for column in table.columns.values() if column.values), next(iter(table.columns.values())))
    scale = Scale.of(first)
    count = scale.count if first.values else min(rows, scale.count, PUBLIC_ROWS)
    drawn = {
        column.name: list(_values(Draws.of(digest, table.name, column.name), column, count))
        for column in table.columns.values()
    }
    drawn[first.name] = [scale.at(index) for index in range(count)]
    return [dict(zip(drawn, values, strict=True)) for values in zip(*drawn.values(), strict=True)]


# values


@dataclass(frozen=True, slots=True)
class Scale:
    """The values that a column may have, in order: `at(0)` to `at(count − 1)`."""

    count: int
    at: Callable[[int], Any]

    @classmethod
    def of(cls, column: Column) -> Scale:
        if column.values is not None:
            return cls(len(column.values), column.values.__getitem__)
        return SCALES[column.kind](column)


def _numbers(column: Column) -> Scale:
    """Multiples of the step between the bounds; without a step, of a power of ten that makes a thousand or more."""
    low, high = _ends(column)
    step = column.step or (Fraction(1) if column.kind is Kind.INTEGER else _power_of_ten((high - low) / 1000))
    first, last = math.ceil(low / step), math.floor(high / step)
    python: Callable[[Fraction], Any] = int if column.kind is Kind.INTEGER else float
    return Scale(last - first + 1, lambda index: python((first + index) * step))


def _ends(column: Column) -> tuple[Fraction, Fraction]:
    if column.bounds is None:
        return Fraction(0), 1000 * (column.step or Fraction(1))
    low, high = column.bounds
    assert isinstance(low, Fraction)
    assert isinstance(high, Fraction)
    return low, high


def _power_of_ten(most: Fraction) -> Fraction:
    """The largest that is not above, about.

    >>> _power_of_ten(Fraction(5))
    Fraction(1, 1)
    """
    return Fraction(10) ** math.floor(math.log10(most.numerator) - math.log10(most.denominator))


def _dates(column: Column) -> Scale:
    low, high = column.bounds or _DAYS
    assert isinstance(low, date)
    assert isinstance(high, date)
    return Scale((high - low).days + 1, lambda index: low + timedelta(days=index))


def _times(column: Column) -> Scale:
    """Whole seconds; microseconds where the bounds are close."""
    low, high = column.bounds or _TIMES
    assert isinstance(low, datetime)
    assert isinstance(high, datetime)
    tick = timedelta(seconds=1) if high - low >= timedelta(hours=1) else timedelta(microseconds=1)
    return Scale((high - low) // tick + 1, lambda index: low + index * tick)


def _words(column: Column) -> Scale:
    """The same words in every column of this name, so that tables can be joined on them."""
    draws = Draws.of(column.name)
    return Scale(WORDS, lambda index: draws.word(index))


SCALES: Final[dict[Kind, Callable[[Column], Scale]]] = {
    Kind.INTEGER: _numbers,
    Kind.NUMBER: _numbers,
    Kind.TEXT: _words,
    Kind.BOOLEAN: lambda _: Scale(2, bool),
    Kind.DATE: _dates,
    Kind.TIMESTAMP: _times,
}


def _values(draws: Draws, column: Column, rows: int) -> Iterator[Any]:
    """Values of a declared column. Listed ones all occur, NULL among them, if there are rows enough."""
    scale, start = Scale.of(column), draws.number(rows)
    shape = _headed if column.is_key else draws.shape
    for row in range(rows):
        index = (row + start) % rows
        first, second, third = draws.shares(row)
        if column.values is not None and index < len(column.values):
            yield column.values[index]
        elif column.nullable and (third < _NULLS or (column.values is not None and index == len(column.values))):
            yield None
        else:
            yield scale.at(min(int(shape(first, second, scale.count) * scale.count), scale.count - 1))


def _headed(first: float, _: float, count: int) -> float:
    """A share of the keys such that the first ones are common and the last ones rare: log-uniform."""
    return (math.exp(first * math.log(count + 1)) - 1) / count


# units and foreign keys


def _numbered(draws: Draws, kinships: Kinships, spot: Spot, table: Table, rows: int) -> Iterator[Any]:
    """Values of a column that names units or leads to them."""
    declared = kinships.strictest(spot, lambda column: Scale.of(column).count)
    scale = Scale(rows, lambda index: index + 1) if declared is None else Scale.of(declared)
    known = min(rows, scale.count)
    if spot in kinships.keys:
        distinct = list(dict.fromkeys(scale.at(row) for row in range(known)))  # steps that are too fine for floats
        yield from distinct + [None] * (rows - len(distinct))
        return
    owners = _owners(draws, table.max_rows, rows)
    order = sorted(range(rows), key=draws.shares)
    placed = dict(zip(order, owners, strict=True))
    yield from (scale.at(placed[row] % known) for row in range(rows))


def _owners(draws: Draws, max_rows: int, rows: int) -> Iterator[int]:
    """The number of each row's owner: most have few rows, one has as many as are read, and some have more."""
    most = max(1, rows // 4)
    usual = min(max_rows, max(1, rows // 50))
    sizes = [min(max_rows + 1, most), min(max_rows, most)]
    left = rows
    owner = 0
    while left:
        share, crowd, _ = draws.shares(rows + owner)
        size = 1 + int(usual * share**3) if share > _CROWDED else usual + 1 + int(usual * crowd)
        size = min(sizes[owner] if owner < len(sizes) else size, left)
        yield from [owner] * size
        left -= size
        owner += 1


# hashes


@dataclass(frozen=True, slots=True)
class Draws:
    """Numbers that look random and are hashes of what they are for."""

    seed: bytes

    @classmethod
    def of(cls, *names: str) -> Draws:
        return cls(hashlib.blake2b(json.dumps(names).encode("ascii"), digest_size=32).digest())

    def shares(self, index: int) -> tuple[float, float, float]:
        """Three numbers from 0 to 1."""
        digest = self._digest(index)
        first, second, third = (int.from_bytes(digest[start : start + 6], "big") for start in (0, 6, 12))
        return first / 2**48, second / 2**48, third / 2**48

    def number(self, below: int) -> int:
        return int.from_bytes(self._digest(-1), "big") % below

    def shape(self, first: float, second: float, _: int) -> float:
        """A hill between 0 and 1 that leans to one side: how far depends on the column."""
        return float(((first + second) / 2) ** (1, 1.5, 2.5)[self.seed[0] % 3])

    def word(self, index: int) -> str:
        """Two or three syllables."""
        digest = self._digest(index)
        return "".join(_SYLLABLES[byte % len(_SYLLABLES)] for byte in digest[: 2 + digest[3] % 2]).capitalize()

    def _digest(self, index: int) -> bytes:
        return hashlib.blake2b(index.to_bytes(8, "big", signed=True), key=self.seed, digest_size=18).digest()
