"""The command itself; everything that takes time to import is imported when a conversation begins."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from discreet.cli.options import curator_at
from discreet.cli.output import is_address, target_argument

HISTORY: Final = "shell_history"
"""In the state folder, beside the ledger: what was asked is there already, and only its owner may look. Of a server
nothing is remembered here."""


@click.command(short_help="Ask one question after another, with the cost of each shown before it is charged.")
@target_argument
@click.option("-e", "--epsilon", type=float, help="The cost of each question; in a terminal, a tenth of the budget.")
@click.option("--analyst", help="Whose share is charged.")
@click.option("--confirm", is_flag=True, help="Of statements that are piped: charge errors above a tenth of the rest.")
@click.option("--dummy", is_flag=True, help="Use dummy data: free, and nothing private is read.")
def shell(policy: Path | str, epsilon: float | None, analyst: str | None, confirm: bool, dummy: bool) -> int:
    """Ask POLICY one question after another. In a terminal the cost is shown first; \\help says the rest.

    A server is asked by its address instead, with the token in DISCREET_TOKEN.

    Where standard input is no terminal, the statements in it (each ended by a semicolon) are run without asking, and
    the exit code is that of the first that failed.

    \b
    discreet shell hospital.toml
    discreet shell https://host:8000/hospital
    echo "SELECT COUNT(*) FROM patients;" | discreet shell hospital.toml --epsilon 0.5
    """
    from discreet.cli.shell.session import Bar, Session, Settings

    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    bar = Bar()
    with curator_at(policy, dummy=dummy, progress=bar) as curator:
        curator.budget(analyst)  # an analyst that is not known is told before anything is asked
        history = None if is_address(policy) else curator.policy.state / HISTORY  # type: ignore[union-attr]
        settings = Settings(epsilon=epsilon, analyst=analyst, confirm=confirm)
        session = Session(curator, settings, bar, dummy=dummy, history=history)
        if interactive:
            from discreet.cli.shell.terminal import converse

            converse(session)
            return 0
        from discreet.cli.shell.execute import run_script

        return run_script(session, sys.stdin.buffer)
