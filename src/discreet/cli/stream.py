"""`discreet stream`: tables that grow, block by block."""

from __future__ import annotations

from typing import Final

import click

from discreet.cli.program import LazyGroup

COMMANDS: Final = {
    "status": "discreet.cli.stream_status:status",
    "retire": "discreet.cli.stream_retire:retire",
    "demo": "discreet.cli.stream_demo:demo",
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    no_args_is_help=False,
    short_help="Tables that grow: how their blocks stand, and a demo.",
)
def stream() -> None:
    """Tables that grow: every block of rows has a budget of its own."""
