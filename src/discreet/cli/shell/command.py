"""The command itself; everything that takes time to import is imported when a conversation begins."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from discreet.cli.options import opened
from discreet.cli.output import policy_argument


@click.command(short_help="Ask one question after another, with the cost of each shown before it is charged.")
@policy_argument
@click.option("-e", "--epsilon", type=float, help="The cost of each question; in a terminal, a tenth of the budget.")
@click.option("--analyst", help="Whose share is charged.")
@click.option("--dummy", is_flag=True, help="Use dummy data: free, and nothing private is read.")
def shell(policy: Path, epsilon: float | None, analyst: str | None, dummy: bool) -> int:
    """Ask POLICY one question after another. In a terminal the cost is shown first; \\help says the rest.

    Where standard input is no terminal, the statements in it (each ended by a semicolon) are run without asking, and
    the exit code is that of the first that failed.

    \b
    discreet shell hospital.toml
    echo "SELECT COUNT(*) FROM patients;" | discreet shell hospital.toml --epsilon 0.5
    """
    from discreet.cli.shell.session import Bar, Session, Settings

    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    bar = Bar()
    with opened(policy, dummy=dummy, progress=bar) as curator:
        curator.budget(analyst)  # an analyst that is not known is told before anything is asked
        session = Session(curator, Settings(epsilon=epsilon, analyst=analyst), bar, dummy=dummy)
        if interactive:
            from discreet.cli.shell.terminal import converse

            converse(session)
            return 0
        from discreet.cli.shell.execute import run_script

        return run_script(session, sys.stdin.buffer)
