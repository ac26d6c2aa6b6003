"""`discreet init`: the draft of a policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.output import json_option, printable, tell_program, write_new

if TYPE_CHECKING:
    from discreet.policy import Finding

UNNAMED = "policy"


@click.command(short_help="Draft a policy from the names and types of sources.")
@click.argument("sources", nargs=-1, metavar="SOURCE...")
@click.option(
    "--from-smartnoise", "metadata", type=click.Path(path_type=Path), help="Import SmartNoise's YAML instead."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to write it; else it is printed.")
@click.option("--name", help="What to call the data; else the name of the file.")
@click.option("--unit", metavar="COLUMN", help="The column that names whom to protect; else it is left to decide.")
@click.option(
    "--decide",
    "decisions",
    multiple=True,
    metavar="KEY=VALUE",
    help="What you decide, as the policy says it: 'tables.visits.max_rows = 20', 'tables.visits.columns.age = false'.",
)
@json_option
def init(
    sources: tuple[str, ...],
    metadata: Path | None,
    output: Path | None,
    name: str | None,
    unit: str | None,
    decisions: tuple[str, ...],
    as_json: bool,
) -> None:
    """Draft a policy for each SOURCE: files (.csv, .parquet, .duckdb), patterns like "visits-*.parquet", or databases
    like postgresql://reader@host/clinic (with #clinic.visits for one table).

    Nothing is read from the data but names and types of columns. What only you can decide is left open, unless --decide
    says it, once for each: the line that the policy would have, or false for a table or column that is to be left out.
    """
    if bool(sources) == (metadata is not None):
        raise click.UsageError("name the sources, or --from-smartnoise FILE, and not both")
    if metadata and (unit or decisions):
        raise click.UsageError("--unit and --decide are for sources: SmartNoise's YAML says it itself")
    text = _imported(metadata, name) if metadata else _drafted(sources, name, output, unit, decisions)
    if output:
        write_new(output, text)
    undecided = _undecided(text, output or Path(f"{UNNAMED}.toml"))
    if as_json:
        problems = [{"where": problem.where, "message": problem.message, "fix": problem.fix} for problem in undecided]
        tell_program({"draft": text, "written": str(output) if output else None, "undecided": problems})
        return
    if not output:
        click.echo(text, nl=False)
    if output:
        click.echo(f"wrote {printable(str(output))}", err=True)
    click.echo("still to decide:" if undecided else "nothing is left to decide", err=True)
    for problem in undecided:
        click.echo(f"  {printable(str(problem))}", err=True)


def _imported(metadata: Path, name: str | None) -> str:
    try:
        from discreet.owner.smartnoise import from_smartnoise
    except ImportError as missing:
        raise click.UsageError(str(missing)) from None
    return from_smartnoise(metadata, name)


def _drafted(
    sources: tuple[str, ...], name: str | None, output: Path | None, unit: str | None, decisions: tuple[str, ...]
) -> str:
    from discreet.owner.decisions import read_decisions
    from discreet.owner.draft import draft

    folder, called = output.absolute().parent if output else None, name or (output.stem if output else UNNAMED)
    return draft(sources, called, folder=folder, unit=unit, decisions=read_decisions(decisions))


def _undecided(text: str, path: Path) -> tuple[Finding, ...]:
    from discreet.policy import PolicyError, parse

    try:
        parse(text.encode(), path)
    except PolicyError as wrong:
        return wrong.problems
    return ()
