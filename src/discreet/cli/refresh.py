"""`discreet refresh`: read the sources anew."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.output import json_option, policy_argument, progress, reason_option, tell_program


@click.command(short_help="Read the sources anew and advance the data version.")
@policy_argument
@reason_option
@json_option
def refresh(policy: Path, reason: str, as_json: bool) -> None:
    """Read the sources of POLICY anew and advance the data version, on the record.

    If reading fails, nothing changes: questions are answered from the version before. What was spent stays spent.
    """
    from discreet.curator.state import refresh as advance
    from discreet.policy import read

    refreshed = read(policy)
    with progress(shown=not as_json) as tell:
        version = advance(refreshed, reason or "refreshed", tell)
    if as_json:
        tell_program({"policy": refreshed.name, "data_version": version})
    else:
        click.echo(f"questions are answered from data version {version} now")
