"""`discreet upgrade`: bring a state folder of an earlier version up to date."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.output import json_option, policy_argument, printable, tell_program


@click.command(short_help="Bring the state folder of an earlier version up to date.")
@policy_argument
@click.option("--check", is_flag=True, help="Only say what would be done; nothing is changed.")
@json_option
def upgrade(policy: Path, check: bool, as_json: bool) -> None:
    """Bring the state folder of POLICY up to date.

    First a copy of the ledger is made beside it and verified. Killed in the middle, it is begun again by the next one.
    Stop the server before.
    """
    from discreet.curator.formats import FORMAT, backup_of, demand_not_newer
    from discreet.curator.formats import upgrade as bring_up_to_date
    from discreet.policy import read

    opened = read(policy)
    before = demand_not_newer(opened.state).number
    if not check:
        bring_up_to_date(opened.state)
    copy = backup_of(opened.state, FORMAT)
    if as_json:
        tell_program({"format": before if check else FORMAT, "before": before, "knows": FORMAT})
    elif before == FORMAT:
        click.echo(f"up to date: format {FORMAT}")
    elif check:
        click.echo(f"format {before}: would be brought to {FORMAT}")
    else:
        copied = f"; the ledger before is {printable(copy.name)}" if copy.exists() else ""
        click.echo(f"format {before} was brought to {FORMAT}{copied}")
