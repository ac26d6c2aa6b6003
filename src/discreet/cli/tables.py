"""`discreet tables`: what may be asked about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from discreet.cli.output import draw, json_option, plain, policy_argument, printable, table, tell_program

if TYPE_CHECKING:
    from discreet.curator.door import Facts
    from discreet.policy import Column

LONGEST: Final = 24
"""Values of a column that are listed; programs are told all."""
LIMITS: Final = ("max_rows", "max_groups", "max_rows_per_group")


@click.command(short_help="Show the tables and columns that may be asked about.")
@policy_argument
@json_option
def tables(policy: Path, as_json: bool) -> None:
    """Show what POLICY tells analysts: tables, columns, types, bounds, keys and limits. No data is read."""
    from discreet.curator.door import open as open_curator

    with open_curator(policy) as curator:
        found = curator.tables()
    if as_json:
        tell_program(plain({"tables": {name: facts_dict(facts) for name, facts in found.items()}}))
        return
    draw_tables(found)


def draw_tables(found: Mapping[str, Facts]) -> None:
    """Tables for people, one below the other."""
    for place, (name, facts) in enumerate(found.items()):
        click.echo("\n" if place else "", nl=False)
        click.echo(f"{click.style(printable(name), bold=True)}  {limits_words(facts)}")
        if facts.columns:
            _draw_columns(facts)


def facts_dict(facts: Facts) -> dict[str, Any]:
    """A table for programs; a public one has no limits."""
    limits = {name: None if facts.public else getattr(facts, name) for name in LIMITS}
    columns = {name: column_dict(column) for name, column in facts.columns.items()}
    return {"public": facts.public, "unit": facts.unit, **limits, "columns": columns}


def column_dict(column: Column) -> dict[str, Any]:
    low, high = map(_number, column.bounds or (None, None))
    return {
        "type": str(column.kind),
        "min": low,
        "max": high,
        "step": _number(column.step),
        "values": None if column.values is None else list(column.values),
        "nullable": column.nullable,
        "key": column.is_key,
    }


def limits_words(facts: Facts) -> str:
    """Who is protected, and how much of each is read."""
    if facts.public:
        return "public"
    if facts.unit == "row":
        return "each row is protected on its own"
    parts = [_many(facts.max_rows, "row")]
    if facts.max_groups != facts.max_rows:
        parts.append(_many(facts.max_groups, "group"))
    if facts.max_rows_per_group != facts.max_rows:
        parts.append(f"{_many(facts.max_rows_per_group, 'row')} per group")
    return f"each {printable(str(facts.unit))} is protected: at most {', '.join(parts)}"


def column_words(column: Column, facts: Facts) -> str:
    """What is known about the values of a column."""
    words = []
    if column.values is not None:
        shown = [printable(_text(value)) for value in column.values[:LONGEST]]
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


def _draw_columns(facts: Facts) -> None:
    from rich.padding import Padding

    rows = [[column.name, column.kind, column_words(column, facts)] for column in facts.columns.values()]
    draw(Padding(table(["column", "type", "values"], rows), (0, 0, 0, 2)))


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _number(value: Any) -> Any:
    """A fraction as the number that was written."""
    if not isinstance(value, Fraction):
        return value
    return int(value) if value.denominator == 1 else float(value)


_TEXTS: Final[dict[type, Callable[[Any], str]]] = {
    bool: lambda value: str(value).lower(),
    Fraction: lambda value: f"{_number(value):,}" if abs(value) >= 10_000 else str(_number(value)),
    date: date.isoformat,
    datetime: lambda value: value.isoformat(sep=" "),
}


def _text(value: Any) -> str:
    return _TEXTS.get(type(value), str)(value)
