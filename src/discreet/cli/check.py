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
    from discreet.policy import Finding

COLOURS: Final = {"error": "red", "warning": "yellow", "note": "cyan"}


@click.command(short_help="Look for mistakes in a policy, beside its sources.")
@policy_argument
@json_option
def check(policy: Path, as_json: bool) -> int:
    """Look for mistakes in POLICY, beside its sources.

    For the owner only: what is found tells exact figures of the data. Ends with 3 if there are errors.
    """
    from discreet.owner.check import check as look
    from discreet.policy import read

    checked = read(policy)
    findings = look(checked)
    counts = {severity: sum(f.severity == severity for f in findings) for severity in ("error", "warning", "note")}
    if as_json:
        totals = {f"{severity}s": count for severity, count in counts.items()}
        tell_program({"policy": checked.name, **totals, "findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            _tell(finding)
        summary = ", ".join(counted(count, severity) for severity, count in counts.items())
        click.secho(summary, bold=True)
    return REFUSED if counts["error"] else 0


def _tell(finding: Finding) -> None:
    click.echo(f"{click.style(finding.severity, fg=COLOURS[finding.severity], bold=True)} {printable(finding.where)}")
    click.echo(f"    {printable(finding.message)}")
    click.echo(f"    → {printable(finding.fix)}")
