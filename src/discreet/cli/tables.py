"""`discreet tables`: what may be asked about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.output import draw, json_option, target_argument, tell_program

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
    from discreet.answers.tables import drawn

    draw(drawn(tables))
