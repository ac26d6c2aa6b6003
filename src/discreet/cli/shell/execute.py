"""One statement or command, from its text to what is shown; whatever goes wrong is told, and the shell goes on."""

from __future__ import annotations

import errno
from collections.abc import Callable

import click

from discreet.answers.layout import answer_parts
from discreet.answers.render import Drawing
from discreet.cli.failures import INTERRUPTED, WRONG_USE, Failure, NobodyReads, failure_of
from discreet.cli.output import draw
from discreet.cli.shell.backslash import obey
from discreet.cli.shell.session import Interrupted, Session, Settings
from discreet.cli.shell.statements import LAST_WORDS
from discreet.cli.shell.words import tell

Agree = Callable[[Session, str], Settings | None]
"""How a question is to be asked, once somebody agreed to its cost; None if nobody did."""


def perform(session: Session, text: str, agree: Agree, most: int | None) -> Failure | None:
    """Do what a text says and show so many rows of its answer (None: all); the failure, if it failed.

    The end of the conversation is EOFError, as where nothing more can be read.
    """
    if text.lower() in LAST_WORDS:
        raise EOFError
    try:
        if text.startswith("\\"):
            obey(session, text)
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
