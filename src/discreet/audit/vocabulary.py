"""One private table as questions name it: its numbers, its keys of every kind, its conditions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cache
from typing import Any, Final

import sqlglot

from discreet.curator.dummy.rows import Scale
from discreet.policy import Column, Kind, Policy, Table
from discreet.quoting import literal, name

MOST_KEYS: Final = 400
"""Whole numbers and dates between bounds are keys as they are, if there are no more of them."""
_PLAIN: Final = re.compile("[a-z][a-z0-9_]*")
NUMBERS: Final = (Kind.INTEGER, Kind.NUMBER)


@dataclass(frozen=True, slots=True)
class Scene:
    """One private table, as questions name it."""

    policy: Policy
    table: Table

    @property
    def source(self) -> str:
        return spelt(self.table.name)

    @property
    def unit(self) -> str | None:
        """The column that names the unit; None where rows are units."""
        return spelt(self.table.owner.column) if self.table.owner and self.table.owner.column else None

    @property
    def columns(self) -> list[Column]:
        return list(self.table.columns.values())

    @property
    def numbers(self) -> list[str]:
        """Numbers between bounds: those that the policy states, and a clamp where it states none."""
        return [_bounded(column) for column in self.columns if column.kind in NUMBERS and column.values is None]

    @property
    def unbounded(self) -> list[str]:
        """Numbers whose bounds queries may leave out."""
        numbers = [column for column in self.columns if column.kind in NUMBERS and column.values is None]
        return [spelt(c.name) for c in numbers if c.bounds is None] if self.policy.implicit_bounds else []

    @property
    def number(self) -> str:
        """Something to add up, in any table."""
        return next(iter(self.numbers), "1")

    def keys(self, column: Column) -> list[str]:
        if column.kind is Kind.TEXT and column.values is None and self.policy.budget.delta is None:
            return [_named(column)]
        return KEYS[column.kind](column) if column.values is None else [spelt(column.name)]

    @property
    def every_key(self) -> list[str]:
        return [key for column in self.columns for key in self.keys(column)]

    @property
    def private(self) -> list[str]:
        """Keys that noise selects."""
        if self.policy.budget.delta is None:
            return []
        return [spelt(column.name) for column in self.columns if column.kind is Kind.TEXT and column.values is None]

    @property
    def public(self) -> list[str]:
        """One key of each column whose keys are listed in advance."""
        return [
            self.keys(column)[0]
            for column in self.columns
            if self.keys(column) and spelt(column.name) not in self.private
        ]

    @property
    def conditions(self) -> list[str]:
        return [_condition(column) for column in self.columns]

    @property
    def others(self) -> list[Table]:
        """Further private tables whose rows belong to named units."""
        return [
            other
            for other in self.policy.private_tables.values()
            if other is not self.table and other.owner is not None and other.owner.column is not None
        ]


# names and values


def spelt(identifier: str) -> str:
    """An identifier, quoted where it must be.

    >>> spelt("cost"), spelt("order"), spelt("billed at"), spelt("Ward")
    ('cost', '"order"', '"billed at"', '"Ward"')
    """
    plain = _PLAIN.fullmatch(identifier) and identifier.upper() not in _keywords()
    return identifier if plain else name(identifier)


@cache
def _keywords() -> frozenset[str]:
    """Every word that means something to the parser, alone or beside others."""
    known: Iterable[str] = sqlglot.Dialect.get_or_raise("duckdb").tokenizer_class.KEYWORDS
    return frozenset(word for keyword in known for word in keyword.split())


def _written(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 and abs(value) < 10**15 else repr(float(value))


def _bounded(column: Column) -> str:
    return spelt(column.name) if column.bounds else f"CLAMP({spelt(column.name)}, 0, 100)"


def _middle(column: Column) -> Any:
    low, high = column.bounds or (Fraction(0), Fraction(100))
    return low + (high - low) / 2  # type: ignore[operator]  # both are numbers, or both are days


def _condition(column: Column) -> str:
    label = spelt(column.name)
    if column.values is not None:
        return f"{label} = {literal(column.values[0])}"
    return CONDITIONS[column.kind](column, label)


def _dated(column: Column, label: str) -> str:
    if column.bounds is None:
        return f"EXTRACT(month FROM {label}) < 7"
    return f"{label} >= {literal(_middle(column))}"


CONDITIONS: Final[dict[Kind, Callable[[Column, str], str]]] = {
    Kind.INTEGER: lambda column, label: f"{label} > {_written(_middle(column))}",
    Kind.NUMBER: lambda column, label: f"{label} > {_written(_middle(column))}",
    Kind.TEXT: lambda _, label: f"{label} LIKE '%a%'",
    Kind.BOOLEAN: lambda _, label: label,
    Kind.DATE: _dated,
    Kind.TIMESTAMP: _dated,
}


def _named(column: Column) -> str:
    """A private text by values that the question names."""
    word = literal(Scale.of(column).at(0))
    return f"CASE {spelt(column.name)} WHEN {word} THEN {word} ELSE 'others' END"


def _cut(column: Column) -> list[str]:
    """Keys of a number, few keys first: cut into four, by a condition, as it is if it is whole and has few values."""
    if column.bounds is None:
        return [f"WIDTH_BUCKET({_bounded(column)}, 0, 100, 4)"]
    low, high = column.bounds
    assert isinstance(low, Fraction)
    assert isinstance(high, Fraction)
    buckets = [
        f"WIDTH_BUCKET({spelt(column.name)}, {_written(low)}, {_written(high)}, 4)",
        f"CASE WHEN {_condition(column)} THEN 'high' ELSE 'low' END",
    ]
    few = column.kind is Kind.INTEGER and high - low < MOST_KEYS
    return [*buckets, spelt(column.name)] if few else buckets


def _cut_days(column: Column) -> list[str]:
    label, parts = spelt(column.name), ["month"] if column.kind is Kind.DATE else ["month", "hour"]
    buckets = [f"EXTRACT({part} FROM {label})" for part in parts]
    if column.bounds is None:
        return buckets
    low, high = column.bounds
    assert isinstance(low, date)
    assert isinstance(high, date)
    return [*buckets, f"DATE_TRUNC('{_unit_of_time(low, high)}', {label})"]


def _unit_of_time(low: date, high: date) -> str:
    for length, unit in ((timedelta(days=3), "hour"), (timedelta(days=60), "day"), (timedelta(days=1500), "month")):
        if high - low < length and (unit != "hour" or isinstance(low, datetime)):
            return unit
    return "year"


KEYS: Final[dict[Kind, Callable[[Column], list[str]]]] = {
    Kind.INTEGER: _cut,
    Kind.NUMBER: _cut,
    Kind.TEXT: lambda column: [spelt(column.name)],
    Kind.BOOLEAN: lambda column: [spelt(column.name)],
    Kind.DATE: _cut_days,
    Kind.TIMESTAMP: _cut_days,
}
