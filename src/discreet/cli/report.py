"""`discreet report`: a statement about a policy that its owner may publish."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.output import json_option, policy_argument, printable, progress, tell_program, write_new

if TYPE_CHECKING:
    from discreet.policy import Policy


@click.command(short_help="Write a statement about a policy that may be published.")
@policy_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where it goes, .html or .json; else NAME.statement.html in this folder.",
)
@click.option("--audit", "audited", is_flag=True, help="Audit the policy too, on invented data; takes a minute.")
@click.option("--no-names", is_flag=True, help="Number the analysts instead of naming them.")
@json_option
def report(policy: Path, output: Path | None, audited: bool, no_names: bool, as_json: bool) -> None:
    """Write what POLICY's owner may publish: whom it protects and how well, what was spent, and what it rests on.

    Nothing in it is private: no source is opened, and no question and no answer is repeated. With --json it is printed,
    and written where --output says.
    """
    from discreet.owner.statement import statement
    from discreet.owner.statement_page import page
    from discreet.policy import read

    target = None if as_json and output is None else output or Path(f"{policy.stem}.statement.html")
    if target is not None and target.suffix not in (".html", ".json"):
        raise click.UsageError(f"{target} is neither .html nor .json: name a file that is one of them")
    if target is not None and target.exists():
        raise click.UsageError(f"{target} exists already: name a new file with --output, or remove it")
    declared = read(policy)
    made = statement(declared, audit=_audit(declared, shown=not as_json) if audited else None, names=not no_names)
    if target is not None:
        write_new(target, page(made) if target.suffix == ".html" else json.dumps(made, indent=1) + "\n")
    if as_json:
        tell_program(made)
    else:
        click.echo(f"{'page:' if target and target.suffix == '.html' else 'wrote'} {printable(str(target))}")
        click.echo("it may be published: nothing in it is private")


def _audit(policy: Policy, *, shown: bool) -> dict[str, Any]:
    from discreet.audit.policies import audit_policy

    with progress(shown=shown) as tell:
        audit = audit_policy(policy, progress=tell)
    return {
        "questions": len(audit.results),
        "refused": len(audit.of("refused")),
        "pairs": audit.pairs,
        "comparisons": audit.comparisons,
        "differences": len(audit.of("difference")),
        "sensitivity_used": float(audit.share),
    }
