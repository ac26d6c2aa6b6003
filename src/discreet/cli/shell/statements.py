"""Where statements end: at semicolons that stand in no quote and no comment, as the parser will see it.

A statement with BigQuery's privacy clause is read by BigQuery's rules, any other by DuckDB's. A line that begins with
a backslash, where a statement could begin, is a command of the shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from discreet.sql.clause import has_clause

_COMMAND: Final = re.compile(r"\s*(\\[^\n]*)(?:\n|\Z)")
_NESTED: Final = re.compile(r"/\*|\*/")

Skip = Callable[[str, re.Match[str]], int | None]
"""Where that which a mark begins ends; None if it does not."""


@dataclass(frozen=True, slots=True)
class Split:
    """The statements that ended, and what follows them."""

    statements: tuple[str, ...]
    rest: str
    """What has begun and not ended; empty if only blanks and comments follow."""
    start: int
    """Where the rest begins in the text."""
    open: str
    """The quote or comment in which the text ends; empty if it ends outside of them."""

    @property
    def all(self) -> tuple[str, ...]:
        """Every statement, whether it ended or not."""
        return (*self.statements, self.rest) if self.rest else self.statements


@dataclass(frozen=True, slots=True)
class Rules:
    """What hides semicolons in a dialect: the marks that begin it, and how far each reaches."""

    marks: re.Pattern[str]
    comments: frozenset[str]
    lines: frozenset[str]
    """Comments that end with their line."""
    skips: tuple[tuple[str, Skip], ...]

    def skip(self, text: str, mark: re.Match[str]) -> int | None:
        for beginning, skip in self.skips:
            if mark[0].lower().startswith(beginning):
                return skip(text, mark)
        raise AssertionError(mark[0])


def _until(pattern: str) -> Skip:
    ending = re.compile(pattern, re.DOTALL)

    def skip(text: str, mark: re.Match[str]) -> int | None:
        end = ending.match(text, mark.end())
        return end.end() if end else None

    return skip


def _comment(text: str, mark: re.Match[str]) -> int | None:
    depth = 1
    for bracket in _NESTED.finditer(text, mark.end()):
        depth += 1 if bracket[0] == "/*" else -1
        if not depth:
            return bracket.end()
    return None


def _dollars(text: str, mark: re.Match[str]) -> int | None:
    start = text.find(mark[0], mark.end())
    return None if start < 0 else start + len(mark[0])


_LINE: Final = _until(r"[^\n]*")
_DUCKDB: Final = Rules(
    re.compile(r"""(?<![\w$])[eE]'|'|"|--|/\*|(?<![\w$])\$(?:[^\W\d]\w*)?\$|;"""),
    frozenset({"--", "/*"}),
    frozenset({"--"}),
    (
        ("e'", _until(r"(?:[^\\']|\\.|'')*+'")),
        ("'", _until(r"[^']*+'")),  # a doubled quote ends one text and begins the next: the same for us
        ('"', _until(r'[^"]*+"')),
        ("--", _LINE),
        ("/*", _comment),
        ("$", _dollars),
    ),
)
_BIGQUERY: Final = Rules(
    re.compile(r"""\"""|'''|'|"|`|--|\#|/\*|;"""),
    frozenset({"--", "#", "/*"}),
    frozenset({"--", "#"}),
    (
        ('"""', _until(r'(?:[^\\"]|\\.|"(?!""))*+"""')),
        ("'''", _until(r"(?:[^\\']|\\.|'(?!''))*+'''")),
        ("'", _until(r"(?:[^\\']|\\.)*+'")),
        ('"', _until(r'(?:[^\\"]|\\.)*+"')),
        ("`", _until(r"(?:[^\\`]|\\.)*+`")),
        ("--", _LINE),
        ("#", _LINE),
        ("/*", _comment),
    ),
)


@dataclass(frozen=True, slots=True)
class _Statement:
    """One statement from where it begins."""

    end: int
    """Where the next one may begin."""
    text: str
    ended: bool
    open: str = ""


def split(text: str) -> Split:
    r"""The statements of a text.

    >>> split("SELECT ';' FROM a; -- b;\nSELECT 1")
    Split(statements=("SELECT ';' FROM a",), rest='-- b;\nSELECT 1', start=18, open='')
    >>> split("\\epsilon 0.2\nSELECT 1;").statements
    ('\\epsilon 0.2', 'SELECT 1')
    """
    statements: list[str] = []
    start = 0
    while True:
        statement = _next(text, start, _DUCKDB)
        if has_clause(text[start : statement.end]):
            statement = _next(text, start, _BIGQUERY)
        if not statement.ended:
            return Split(tuple(statements), statement.text, start, statement.open)
        if statement.text:
            statements.append(statement.text)
        start = statement.end


def _next(text: str, start: int, rules: Rules) -> _Statement:
    position, says, within = start, False, ""
    while True:
        command = None if says else _COMMAND.match(text, position)
        if command:
            return _Statement(command.end(), command[1].rstrip(), ended=True)
        mark = rules.marks.search(text, position)
        says = says or bool(text[position : mark.start() if mark else None].strip())
        if mark is None:
            return _Statement(len(text), text[start:].strip() if says else "", ended=False, open=within)
        if mark[0] == ";":
            return _Statement(mark.end(), text[start : mark.start()].strip() if says else "", ended=True)
        says = says or mark[0] not in rules.comments
        end = rules.skip(text, mark)
        if end is None:
            return _Statement(len(text), text[start:].strip(), ended=False, open=mark[0])
        position, within = end, mark[0] if mark[0] in rules.lines and end == len(text) else ""


def is_finished(text: str) -> bool:
    """Whether what was typed so far can be run: it ends with a semicolon or an empty line, or is a command.

    >>> is_finished("SELECT 1"), is_finished("SELECT 1;"), is_finished("SELECT 1\\n"), is_finished("SELECT ';")
    (False, True, True, False)
    """
    parts = split(text)
    if not parts.rest:
        return True
    if (parts.rest.lower() in LAST_WORDS or asks_help(parts.rest)) and not parts.statements:
        return True
    return not parts.open and not text.rpartition("\n")[2].strip() and "\n" in text


def asks_help(text: str) -> bool:
    """Whether somebody asks for help: no statement of SQL begins so.

    >>> asks_help("help"), asks_help("HELP count(*)"), asks_help("helpful")
    (True, True, False)
    """
    return text.lower().split(maxsplit=1)[:1] == [HELP] and "\n" not in text.strip()


LAST_WORDS: Final = frozenset({"exit", "quit", "\\q", "\\quit"})
"""What ends a conversation."""
HELP: Final = "help"
