"""`discreet preview`: what a question would cost, and how exact its answer would be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.options import asks, curator_at, named
from discreet.cli.output import draw, json_option, plain, progress, tell_program


@click.command(short_help="Show what a question would cost and how exact it would be; free.")
@asks
@json_option
def preview(
    policy: Path | str, sql: str, params: tuple[tuple[str, Any], ...], as_json: bool, dummy: bool, **settings: Any
) -> None:
    """Show what the question SQL (- reads standard input) would cost and how exact its answer would be.

    Free: no data is read for it.
    """
    given = named(params)
    with progress(shown=not as_json) as tell, curator_at(policy, dummy=dummy, progress=tell) as curator:
        shown = curator.preview(sql, params=given, **settings)
    if as_json:
        tell_program(plain(shown.to_dict()))
    else:
        draw(shown)
