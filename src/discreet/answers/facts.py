"""What analysts may know about tables and columns, in words. It imports little: commands need it before all else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from discreet.printing import counted, printable

if TYPE_CHECKING:
    from discreet.policy import Column, Table

SHOWN_VALUES: Final = 24
"""Values of a column that are listed; programs are told all."""


@dataclass(frozen=True, slots=True, repr=False)
class Facts:
    """What an analyst may know about a table."""

    name: str
    public: bool
    unit: str | None
    columns: Mapping[str, Column]
    max_rows: int
    max_groups: int
    max_rows_per_group: int
    stream: str | None = None
    """Of a stream: what is protected, in one sentence."""

    @classmethod
    def of(cls, table: Table, stream: str | None = None) -> Facts:
        return cls(
            table.name,
            table.is_public,
            None if table.owner is None else table.owner.column or "row",
            dict(table.columns),
            table.max_rows,
            table.max_groups,
            table.max_rows_per_group,
            stream,
        )

    def __repr__(self) -> str:
        from discreet.answers.tables import Tables

        return repr(Tables({self.name: self}))

    def _repr_html_(self) -> str:
        from discreet.answers.tables import Tables

        return Tables({self.name: self})._repr_html_()

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """The declared bounds of its numbers, by column, as estimators take them; those of booleans are 0 and 1."""
        pairs: dict[str, tuple[float, float]] = {}
        for column in self.columns.values():
            if column.kind == "boolean":
                pairs[column.name] = 0, 1
            elif column.kind in ("integer", "number") and column.bounds is not None:
                low, high = (_plain(Fraction(end)) for end in column.bounds)  # type: ignore[arg-type]
                pairs[column.name] = low, high
        return pairs

    @property
    def values(self) -> dict[str, list[Any]]:
        """The declared values of columns, by column."""
        return {column.name: list(column.values) for column in self.columns.values() if column.values is not None}


def _plain(end: Fraction) -> float:
    """A whole number where it is one."""
    return end.numerator if end.denominator == 1 else float(end)


def limits_words(facts: Facts) -> str:
    """Who is protected, and how much of each is read."""
    if facts.public:
        return "public"
    if facts.unit == "row":
        return printable(facts.stream or "each row is protected on its own")
    parts = [counted(facts.max_rows, "row")]
    if facts.max_groups != facts.max_rows:
        parts.append(counted(facts.max_groups, "group"))
    if facts.max_rows_per_group != facts.max_rows:
        parts.append(f"{counted(facts.max_rows_per_group, 'row')} per group")
    whom = f"each {printable(str(facts.unit))} is protected" if facts.stream is None else printable(facts.stream)
    return f"{whom}: at most {', '.join(parts)}"


def column_words(column: Column, facts: Facts) -> str:
    """What is known about the values of a column."""
    words = []
    if column.values is not None:
        shown = [printable(_text(value)) for value in column.values[:SHOWN_VALUES]]
        more = len(column.values) - len(shown)
        words.append(", ".join(shown) + (f", … ({more} more)" if more else ""))
    elif column.bounds is not None:
        low, high = column.bounds
        step = f" in steps of {_text(column.step)}" if column.step is not None else ""
        words.append(f"{_text(low)} … {_text(high)}{step}")
    elif column.is_key and str(column.kind) == "boolean":
        words.append("false, true")
    elif column.is_key and not facts.public:
        words.append("keys are private")
    if column.nullable:
        words.append("or NULL" if words else "may be NULL")
    return " ".join(words)


def number_of(value: Any) -> Any:
    """A fraction as the number that was written."""
    if not isinstance(value, Fraction):
        return value
    return int(value) if value.denominator == 1 else float(value)


_TEXTS: Final[dict[type, Callable[[Any], str]]] = {
    bool: lambda value: str(value).lower(),
    Fraction: lambda value: f"{number_of(value):,}" if abs(value) >= 10_000 else str(number_of(value)),
    date: date.isoformat,
    datetime: lambda value: value.isoformat(sep=" "),
}


def _text(value: Any) -> str:
    return _TEXTS.get(type(value), str)(value)
