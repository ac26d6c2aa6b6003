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
@click.option("--until", help="Of streams: seal the blocks that end by then (2024-03-07, in UTC); now if left out.")
@click.option("--all", "everything", is_flag=True, help="Read all rows again, also of tables with newer_by.")
@json_option
def refresh(policy: Path, reason: str, until: str | None, everything: bool, as_json: bool) -> None:
    """Read the sources of POLICY anew and advance the data version, on the record.

    If reading fails, nothing changes: questions are answered from the version before. What was spent stays spent.

    Of streams only new rows are read, and the blocks that have ended are sealed and opened, each with a budget of its
    own. Counts that are shown are exact: they are for the owner.
    """
    from discreet.curator.state import open_ledger
    from discreet.curator.state import refreshed as advance
    from discreet.policy import read

    refreshed = read(policy)
    reports: dict[str, Report] = {}
    with progress(shown=not as_json) as tell, open_ledger(refreshed) as ledger:
        done = advance(refreshed, ledger, reason or "refreshed", tell, reports.update, until, everything=everything)
    version = done.version
    reports.update({table: arrived.report for table, arrived in done.streams.items()})
    if as_json:
        left_out = {
            table: {"records": report.counts.dropped, "files": report.unreadable} for table, report in reports.items()
        }
        streams = {table: arrived.counts for table, arrived in done.streams.items()}
        more = {"streams": streams} if streams else {}
        tell_program({"policy": refreshed.name, "data_version": version, "left_out": left_out, **more})
        return
    for table, report in reports.items():
        for path, why in report.unreadable.items():
            click.echo(f"{printable(table)}: {printable(path)} was left out: {printable(why)}")
        for path in sorted(report.mixed):
            click.echo(f"{printable(table)}: {printable(path)} has texts that are not UTF-8: they are NULL")
        if report.counts.dropped:
            click.echo(f"{printable(table)}: {report.counts.dropped:,} bad records were left out")
    for table, arrived in done.streams.items():
        click.echo(f"{printable(table)}: {arrived.words}")
        for path in arrived.changed:
            click.echo(f"{printable(table)}: {printable(path)} was read before; what changed in it is not read again")
    click.echo(f"questions are answered from data version {version} now")
