"""Statements and commands, from their text to what is shown; whatever goes wrong is reported, and the shell goes on."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import BinaryIO

import click

from discreet.answers.layout import answer_parts
from discreet.answers.render import Drawing
from discreet.cli.failures import EXHAUSTED, INTERRUPTED, REFUSED, WRONG_USE, Failure, NobodyReads, failure_of
from discreet.cli.output import draw, printable
from discreet.cli.shell.backslash import obey
from discreet.cli.shell.session import Interrupted, Session, Settings
from discreet.cli.shell.statements import LAST_WORDS, asks_help, split

Agree = Callable[[Session, str], Settings | None]
"""How a question is to be asked, once somebody agreed to its cost; None if nobody did."""


def perform(session: Session, text: str, agree: Agree, most: int | None) -> Failure | None:
    """Do what a text says and show so many rows of its answer (None: all); the failure, if it failed.

    The end of the conversation is EOFError, as where nothing more can be read.
    """
    if text.lower() in LAST_WORDS:
        raise EOFError
    try:
        if text.startswith("\\") or asks_help(text):
            obey(session, text if text.startswith("\\") else f"\\{text}")
            return None
        settings = agree(session, text)
        if settings is not None:
            draw(Drawing(answer_parts(session.ask(text, settings), most=most)))
        return None
    except (BrokenPipeError, EOFError):
        raise
    except Exception as error:
        if is_gone(error):
            raise NobodyReads from None
        failure = _failure_of(error)
    tell(failure)
    return failure


def is_gone(error: Exception) -> bool:
    """Whether the terminal was closed."""
    return isinstance(error, OSError) and error.errno == errno.EIO


def _failure_of(error: Exception) -> Failure:
    if isinstance(error, Interrupted):
        return Failure(INTERRUPTED, "interrupted", str(error), spent=None)
    if isinstance(error, click.UsageError):
        return Failure(WRONG_USE, "usage", error.format_message(), "\\help lists the commands")
    return failure_of(error)


def tell(failure: Failure) -> None:
    """A failure as other commands tell it; a refusal with its code, which is what help is found by."""
    if failure.exit == INTERRUPTED:
        click.echo(f"\n{failure.reason}", err=True)  # the terminal showed ^C on a line that goes on
        return
    if failure.exit not in (REFUSED, EXHAUSTED):
        failure.tell(json=False)
        return
    click.secho(f"refused ({failure.code}): ", fg="yellow", nl=False, err=True)
    click.echo(printable(failure.reason), err=True)
    if failure.fix:
        click.echo(f"→ {printable(failure.fix)}", err=True)


def run_script(session: Session, source: BinaryIO) -> int:
    """Run the statements of a pipe or a file one after the other, at the given cost, without asking.

    The exit code is that of the first that failed.
    """
    try:
        text = source.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise click.UsageError("standard input is not UTF-8 text") from None
    code = 0
    for index, statement in enumerate(split(text).all):
        click.echo("\n" if index else "", nl=False)
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
