"""`discreet tables`: what may be asked about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.output import draw, json_option, printable, table, target_argument, tell_program

if TYPE_CHECKING:
    from discreet.answers.facts import Facts


@click.command(short_help="Show the tables and columns that may be asked about.")
@target_argument
@json_option
def tables(policy: Path | str, as_json: bool) -> None:
    """Show what POLICY tells analysts: tables, columns, types, bounds, keys and limits. No data is read."""
    from discreet.answers.wire import facts_written
    from discreet.cli.options import curator_at

    with curator_at(policy) as curator:
        shown = curator.tables()
    if as_json:
        tell_program({"tables": {name: facts_written(facts) for name, facts in shown.items()}})
        return
    draw_tables(shown)


def draw_tables(tables: Mapping[str, Facts]) -> None:
    """Tables for people, one below the other."""
    from discreet.answers.facts import limits_words

    for index, (name, facts) in enumerate(tables.items()):
        click.echo("\n" if index else "", nl=False)
        click.echo(f"{click.style(printable(name), bold=True)}  {limits_words(facts)}")
        if facts.columns:
            _draw_columns(facts)


def _draw_columns(facts: Facts) -> None:
    from rich.padding import Padding

    from discreet.answers.facts import column_words

    rows = [[column.name, column.kind, column_words(column, facts)] for column in facts.columns.values()]
    draw(Padding(table(["column", "type", "values"], rows), (0, 0, 0, 2)))
