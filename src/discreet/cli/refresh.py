"""`discreet refresh`: read the sources anew."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.failures import FAILED
from discreet.cli.ledger import tell_retained
from discreet.cli.output import json_option, policy_argument, printable, progress, reason_option, tell_program

if TYPE_CHECKING:
    from discreet.curator.refreshing import Refreshed
    from discreet.engines.sources import Report


@click.command(short_help="Read the sources anew and advance the data version.")
@policy_argument
@reason_option
@click.option("--until", help="Of streams: seal the blocks that end by then (2024-03-07, in UTC); now if left out.")
@click.option("--all", "everything", is_flag=True, help="Read all rows again, also of tables with newer_by.")
@click.option("--erase", is_flag=True, help="Erase everybody who is gone at the source: also from sealed blocks.")
@click.option("--missing-files", is_flag=True, help="With --erase: files of streams that are gone count as deleted.")
@click.option(
    "--wait", type=click.FloatRange(0, 86400), default=30.0, show_default=True, metavar="SECONDS",
    help="With --erase: how long to wait for programs that have earlier copies open.",
)  # fmt: skip
@json_option
def refresh(
    policy: Path,
    reason: str,
    until: str | None,
    everything: bool,
    erase: bool,
    missing_files: bool,
    wait: float,
    as_json: bool,
) -> int:
    """Read the sources of POLICY anew and advance the data version, on the record.

    If reading fails, nothing changes: questions are answered from the version before. What was spent stays spent.

    Of streams only new rows are read, and the blocks that have ended are sealed and opened, each with a budget of its
    own. Counts that are shown are exact: they are for the owner.

    With --erase all rows are read again, and whoever has none left at the source is erased from copies and sealed
    blocks too. It ends with 5 if a program still has an earlier copy open: the rows are on the disk until it ends.
    """
    from discreet.curator.erasing import Erasure
    from discreet.curator.refreshing import refreshed as advance
    from discreet.curator.state import open_ledger
    from discreet.policy import read

    refreshed = read(policy)
    reports: dict[str, Report] = {}
    with progress(shown=not as_json) as tell, open_ledger(refreshed) as ledger:
        done = advance(
            refreshed, ledger, reason or ("erased" if erase else "refreshed"), tell, reports.update, until,
            everything=everything, erase=Erasure(missing_files, wait) if erase else None,
        )  # fmt: skip
    reports.update({table: arrived.report for table, arrived in done.streams.items()})
    if as_json:
        tell_program({"policy": refreshed.name, **_document(done, reports, erase=erase)})
    else:
        _tell(done, reports)
        if erase:
            _tell_erased(done, refreshed.unit)
    return FAILED if done.held or not done.retained.gone else 0


def _document(done: Refreshed, reports: Mapping[str, Report], *, erase: bool) -> dict[str, object]:
    left_out = {
        table: {"records": report.counts.dropped, "files": report.unreadable} for table, report in reports.items()
    }
    document: dict[str, object] = {"data_version": done.version, "left_out": left_out}
    if done.streams:
        document["streams"] = {table: arrived.counts for table, arrived in done.streams.items()}
    if done.retained:
        document["retained"] = done.retained.document()
    if erase:
        document["erased"] = {table: {"rows": each.rows, "units": each.units} for table, each in done.erased.items()}
        document["held"] = list(done.held)
    return document


def _tell(done: Refreshed, reports: Mapping[str, Report]) -> None:
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
    click.echo(f"questions are answered from data version {done.version} now")
    if done.retained:
        tell_retained(done.retained)


def _tell_erased(done: Refreshed, unit: str) -> None:
    from discreet.curator.refreshing import HELD

    for line in done.erased_words(unit):
        click.echo(line)
    if done.held:
        click.secho("not gone from the disk yet:", fg="red", bold=True)
        for what in done.held:
            click.echo(f"    {printable(what)}")
        click.echo(HELD)
