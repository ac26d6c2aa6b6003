"""`discreet audit`: tries to tell two neighbouring databases apart, without reading any real one."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from discreet.cli.output import draw, json_option, policy_argument, printable, progress, table, tell_program
from discreet.cli.program import LazyGroup

if TYPE_CHECKING:
    from discreet.audit.policies import Audit, Result

DIFFERENCE: Final = 6
"""The exit code of an audit that found a difference."""
DEFAULT: Final = "policy"
COMMANDS: Final = {DEFAULT: "discreet.cli.audit:policy_audit", "zoo": "discreet.cli.audit_zoo:zoo"}


class AuditGroup(LazyGroup):
    """A group in which whatever is no subcommand is the policy to audit."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.list_commands(ctx), *ctx.help_option_names):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=AuditGroup,
    lazy=COMMANDS,
    subcommand_metavar="POLICY [OPTIONS] | COMMAND [ARGS]...",
    options_metavar="",
    short_help="Try to tell neighbouring databases apart; no data is read.",
)
def audit() -> None:
    """Try to break the promise of a policy: `discreet audit POLICY`, with the options of `discreet audit policy`.

    A policy file that is called like one of the commands below is written ./zoo.
    """


@audit.command(DEFAULT, short_help="The default: audit a policy with dummy data.")
@policy_argument
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where the page goes; else NAME.audit.html in this folder, NAME being that of the policy file.",
)
@click.option("--no-report", is_flag=True, help="Write no page.")
@click.option("--questions", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many at most.")
@click.option("--every-pair", is_flag=True, help="Ask each of every small database too; takes many times as long.")
@click.option("--fits", is_flag=True, help="Fit models to all databases, not to two each; takes a minute.")
@json_option
def policy_audit(
    policy: Path, report: Path | None, no_report: bool, questions: int, every_pair: bool, fits: bool, as_json: bool
) -> int:
    """Ask questions made from POLICY of invented databases, with and without one unit, and compare what can be seen.

    No source, no state and no ledger is read: rows and questions come from the policy alone. Exit codes: 0 nothing was
    found, 6 two neighbours could be distinguished.
    """
    if report is not None and no_report:
        raise click.UsageError("--report and --no-report contradict each other: give one of them")
    if fits and find_spec("sklearn") is None:
        raise click.UsageError("--fits needs scikit-learn: install discreet[learn], or leave it out")
    target = None if no_report else _writable(report or Path(f"{policy.stem}.audit.html"), policy)
    from discreet.audit.policies import FIT_PAIRS, audit_policy
    from discreet.audit.report import page
    from discreet.policy import read

    with progress(shown=not as_json) as tell:
        audit = audit_policy(
            read(policy),
            most=questions,
            every_pair=every_pair,
            fit_pairs=None if fits else FIT_PAIRS,
            progress=tell,
        )
    if target is not None:
        target.write_text(page(audit), encoding="utf-8")
    if as_json:
        tell_program(_for_programs(audit, target))
    else:
        _tell(audit, target)
    return 0 if audit.passed else DIFFERENCE


def _writable(target: Path, policy: Path) -> Path:
    """A place for the page; what cannot be written is said before the work begins."""
    if (
        target.is_dir()
        or not target.parent.is_dir()
        or not os.access(target if target.exists() else target.parent, os.W_OK)
    ):
        raise click.UsageError(f"{target} cannot be written: name another file with --report")
    if target.exists() and policy.exists() and target.samefile(policy):
        raise click.UsageError(f"{target} is the policy itself: name another file with --report")
    return target


def _tell(audit: Audit, target: Path | None) -> None:
    kinds: dict[str, list[Result]] = {}
    for result in audit.results:
        kinds.setdefault(result.question.kind, []).append(result)
    rows = [[kind, *_summary(results)] for kind, results in kinds.items()]
    heads = ["questions about", "asked", "refused", "differences", "of the sensitivity"]
    draw(table(heads, rows, numbers=frozenset(heads[1:])))
    for result in audit.of("difference"):
        click.secho(f"\n{printable(result.report.question)}", bold=True)
        click.echo(f"    {printable(str(result.report.difference))}")
        click.echo(f"    → look at how this is bounded; the unit was {printable(result.what)}")
    click.echo()
    click.secho(_verdict(audit), fg="green" if audit.passed else "red", bold=True)
    click.echo("dummy data only: no source, state or ledger was read")
    if target is not None:
        click.echo(f"page: {printable(str(target))}")


def _summary(results: list[Result]) -> list[str]:
    states = [result.state for result in results]
    moved = [result.report.l1 for result in results if result.report.moved is not None]
    used = f"{float(max(moved)):.0%}" if moved else "–"
    return [str(len(results)), str(states.count("refused")), str(states.count("difference")), used]


def _verdict(audit: Audit) -> str:
    summary = f"{len(audit.results)} questions, {audit.comparisons:,} comparisons: "
    differences = len(audit.of("difference"))
    if differences:
        return f"{summary}{differences} distinguish{'es' if differences == 1 else ''} two neighbours"
    return f"{summary}no difference" if audit.results else "there is nothing to ask: the policy has no private table"


def _for_programs(audit: Audit, target: Path | None) -> dict[str, Any]:
    return {
        "policy": audit.policy,
        "questions": len(audit.results),
        "refused": len(audit.of("refused")),
        "differences": len(audit.of("difference")),
        "pairs": audit.pairs,
        "comparisons": audit.comparisons,
        "sensitivity": float(audit.share),
        "epsilon": float(audit.epsilon),
        "report": None if target is None else str(target),
        "results": [_result(result) for result in audit.results],
    }


def _result(result: Result) -> dict[str, Any]:
    report = result.report
    return {
        "kind": result.question.kind,
        "question": report.question,
        "state": result.state,
        "refusal": report.refusal,
        "pairs": result.pairs,
        "sensitivity": float(report.l1) if report.moved is not None else None,
        "unit": result.what,
        "difference": None
        if report.same
        else {
            "kind": report.kind,
            "words": report.difference,
            "expected": report.expected,
            "observed": report.observed,
        },
    }
