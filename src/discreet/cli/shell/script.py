"""Statements from a pipe or a file: run one after the other, at the given cost, without asking."""

from __future__ import annotations

from typing import BinaryIO

import click

from discreet.cli.failures import INTERRUPTED
from discreet.cli.shell.execute import perform
from discreet.cli.shell.session import Session, Settings
from discreet.cli.shell.statements import split


def run_script(session: Session, source: BinaryIO) -> int:
    """Run every statement; the exit code is that of the first that failed."""
    try:
        text = source.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise click.UsageError("standard input is not UTF-8 text") from None
    code = 0
    for place, statement in enumerate(split(text).all):
        click.echo("\n" if place else "", nl=False)
        try:
            failure = perform(session, statement, _unasked, most=None)
        except EOFError:
            break
        code = code or (failure.exit if failure else 0)
        if failure and failure.exit == INTERRUPTED:
            break
    return code


def _unasked(session: Session, _: str) -> Settings:
    return session.settings
