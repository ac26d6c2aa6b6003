"""`discreet check`: the policy beside its sources, for the owner."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from discreet.cli.failures import REFUSED
from discreet.cli.output import json_option, policy_argument, printable, tell_program
from discreet.printing import counted

if TYPE_CHECKING:
    from discreet.policy import Finding, Policy

COLOURS: Final = {"error": "red", "warning": "yellow", "note": "cyan"}


@click.command(short_help="Look for mistakes in a policy, beside its sources.")
@policy_argument
@click.option("--suggest", "suggests", is_flag=True, help="Propose contribution bounds instead.")
@click.option("--epsilon", type=float, help="With --suggest: propose them by private quantiles, for this cost.")
@click.option(
    "--acknowledge",
    "known",
    multiple=True,
    metavar="FINDING",
    help="Write into POLICY that this is known and meant so.",
)
@json_option
def check(policy: Path, suggests: bool, epsilon: float | None, known: tuple[str, ...], as_json: bool) -> int:
    """Look for mistakes in POLICY, beside its sources.

    For the owner only: what is found tells exact figures of the data. Ends with 3 if there are errors. What is known
    and meant so is named in the policy, as it is shown here: acknowledged = ["tables.visits.max_rows: cut-rows"]. With
    --acknowledge it is written there, and nothing is looked for.

    With --suggest, propose max_rows and max_groups: from exact values, or with --epsilon by private quantiles, which
    are charged and may be shared.
    """
    from discreet.owner.check import checked as look
    from discreet.policy import read

    if epsilon is not None and not suggests:
        raise click.UsageError("--epsilon is the cost of suggestions: add --suggest")
    if known and suggests:
        raise click.UsageError("--acknowledge and --suggest are two things: do one after the other")
    declared = read(policy)
    if known:
        _acknowledge(declared, known, as_json=as_json)
        return 0
    if suggests:
        _suggest(declared, epsilon, as_json=as_json)
        return 0
    looked = look(declared)
    findings = looked.findings
    counts = {severity: sum(f.severity == severity for f in findings) for severity in ("error", "warning", "note")}
    if as_json:
        totals = {f"{severity}s": count for severity, count in counts.items()}
        every = {"findings": findings, "acknowledged": looked.acknowledged}
        lists = {name: [asdict(finding) for finding in some] for name, some in every.items()}
        tell_program({"policy": declared.name, **totals, **lists})
    else:
        for finding in findings:
            _tell(finding)
        summary = ", ".join(counted(count, severity) for severity, count in counts.items())
        apart = f"; {len(looked.acknowledged)} acknowledged" if looked.acknowledged else ""
        click.secho(f"{summary}{apart}", bold=True)
    return REFUSED if counts["error"] else 0


def _acknowledge(policy: Policy, findings: tuple[str, ...], *, as_json: bool) -> None:
    from discreet.owner.editing import acknowledge

    for finding in findings:
        policy = acknowledge(policy, finding)
    if as_json:
        tell_program({"policy": policy.name, "acknowledged": list(policy.acknowledged)})
    else:
        click.echo(f"{printable(policy.name)} acknowledges {counted(len(policy.acknowledged), 'finding')} now")


def _suggest(policy: Policy, epsilon: float | None, *, as_json: bool) -> None:
    from discreet.opening import open as opened
    from discreet.owner.suggest import EXACT, by_quantiles, from_exact_values

    if epsilon is None:
        suggestions = from_exact_values(policy)
    else:
        with opened(policy.path) as curator:
            suggestions = by_quantiles(curator, epsilon)
    if as_json:
        marked = {"note": EXACT} if epsilon is None else {}
        tell_program({"policy": policy.name, **marked, "suggestions": [asdict(each) for each in suggestions]})
        return
    if epsilon is None:
        click.secho(EXACT, fg="red", bold=True)
    for each in suggestions:
        click.echo(f"{printable(each.table)}: {each.text}")
        click.echo(f"    {each.why}")
    if not suggestions:
        click.echo("no table has units with several rows")


def _tell(finding: Finding) -> None:
    lint = f": {finding.lint}" if finding.lint and finding.severity != "error" else ""
    severity = click.style(finding.severity, fg=COLOURS[finding.severity], bold=True)
    click.echo(f"{severity} {printable(finding.where)}{lint}")
    click.echo(f"    {printable(finding.message)}")
    click.echo(f"    → {printable(finding.fix)}")
