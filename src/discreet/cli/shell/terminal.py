"""The conversation in a terminal: a prompt that edits, remembers and completes, and a question about every cost."""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, completion_is_selected
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer

from discreet.accounting.balance import brief
from discreet.answers.autofix import fixed
from discreet.answers.layout import SHOWN_ROWS
from discreet.cli.failures import REFUSED, Failure, NobodyReads
from discreet.cli.output import printable
from discreet.cli.shell.completion import Vocabulary, choices
from discreet.cli.shell.confirm import agree
from discreet.cli.shell.execute import is_gone, perform
from discreet.cli.shell.session import Session, Settings
from discreet.cli.shell.statements import is_finished, split

MAX_LETTERS: Final = 30
"""Of a name in the prompt."""
MAX_BYTES: Final = 10_000_000
"""Bytes of history from which on nothing more is remembered."""


def converse(session: Session) -> None:
    """Talk until the other side has said its last word."""
    session.with_usual_cost()
    terminal = Terminal(session)
    click.echo("statements end with ;   \\help lists the commands   \\quit ends")
    begun = ""
    while True:
        try:
            text = terminal.read(begun)
            begun = ""
            for statement in split(text).all:
                failure = perform(session, statement, terminal.agree, most=SHOWN_ROWS)
                if failure is not None and failure.exit == REFUSED:
                    begun = ready(session, statement, failure)
        except KeyboardInterrupt:
            begun = ""
        except EOFError:
            return
        except OSError as error:
            if is_gone(error):
                raise NobodyReads from None
            raise


def ready(session: Session, statement: str, failure: Failure) -> str:
    """A refused statement with its fix in it, ready to be sent, if that would be answered; else nothing."""
    proposal = fixed(statement, failure.edit, lambda text: session.preview(text, session.settings))
    return f"{proposal};" if proposal else ""


class Terminal:
    """Reads statements and replies from the keyboard."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._statements: PromptSession[str] = PromptSession(
            multiline=True,
            prompt_continuation=_continuation,
            history=_history(session.history),
            completer=_Completer(Vocabulary.of(session.curator)),
            complete_while_typing=False,
            lexer=PygmentsLexer.from_filename("question.sql"),
            key_bindings=_keys(),
        )
        self._replies: PromptSession[str] = PromptSession(history=InMemoryHistory())

    def read(self, begun: str) -> str:
        """The next text, which may hold several statements."""
        return self._statements.prompt(_shown_prompt(self._session), default=begun)

    def agree(self, session: Session, sql: str) -> Settings | None:
        return agree(session, sql, self._reply)

    def _reply(self, question: str) -> str:
        """What is typed once the question is there: what was typed before cannot have meant it."""
        clear_typeahead(self._replies.app.input)
        with suppress(termios.error, OSError, ValueError):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        try:
            return self._replies.prompt(question)
        except (KeyboardInterrupt, EOFError):
            return "n"


def _shown_prompt(session: Session) -> str:
    """The prompt; a ledger that cannot be read now is told with the next question, not here."""
    with suppress(Exception):
        return prompt_of(session)
    return f"{printable(session.curator.name)}> "


def prompt_of(session: Session) -> str:
    """Whom one talks to, how much is used up, and how many more queries like the last one there are."""
    shown = printable(session.curator.name)
    name = shown if len(shown) <= MAX_LETTERS else f"{shown[: MAX_LETTERS - 1]}…"
    if session.dummy:
        return f"{name} (dummy)> "
    analyst = session.settings.analyst or session.curator.own_share
    more = None if session.answer is None else session.answer.more
    budget = brief(session.curator.budget(analyst).used, more)
    return f"{name}{f'/{printable(analyst)}' if analyst else ''} {budget}> "


def _continuation(width: int, _: int, __: int) -> str:
    return "… ".rjust(width)


def _keys() -> KeyBindings:
    keys = KeyBindings()
    finished = Condition(lambda: _is_finished(get_app().current_buffer.document))

    @keys.add("enter", filter=finished & ~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys


def _is_finished(document: Document) -> bool:
    """Whether Enter ends the text: in a line before the last it makes room for another."""
    return document.on_last_line and is_finished(document.text)


class _Completer(Completer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002
        for choice in choices(self._vocabulary, document.text_before_cursor, document.text_after_cursor):
            yield Completion(choice.text, -choice.replaces, display=printable(choice.text), display_meta=choice.is_a)


class _Remembered(FileHistory):
    """A history that never stands in the way: what cannot be written is remembered until the end only."""

    def store_string(self, string: str) -> None:
        with suppress(OSError, UnicodeError):
            super().store_string(string)


def _history(path: Path | None) -> History:
    if path is None:
        return InMemoryHistory()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            small = os.fstat(descriptor).st_size < MAX_BYTES
        finally:
            os.close(descriptor)
    except OSError:
        return InMemoryHistory()
    return _Remembered(str(path)) if small else InMemoryHistory()
