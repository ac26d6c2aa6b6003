"""`discreet refresh`: read the sources anew."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.output import json_option, policy_argument, printable, progress, reason_option, tell_program

if TYPE_CHECKING:
    from discreet.engines.sources import Report


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
    reports: dict[str, Report] = {}
    with progress(shown=not as_json) as tell:
        version = advance(refreshed, reason or "refreshed", tell, reports.update)
    if as_json:
        left_out = {
            table: {"records": report.counts.dropped, "files": report.unreadable} for table, report in reports.items()
        }
        tell_program({"policy": refreshed.name, "data_version": version, "left_out": left_out})
        return
    for table, report in reports.items():
        for path, why in report.unreadable.items():
            click.echo(f"{printable(table)}: {printable(path)} was left out: {printable(why)}")
        for path in sorted(report.mixed):
            click.echo(f"{printable(table)}: {printable(path)} has texts that are not UTF-8: they are NULL")
        if report.counts.dropped:
            click.echo(f"{printable(table)}: {report.counts.dropped:,} bad records were left out")
    click.echo(f"questions are answered from data version {version} now")
