"""The words of a text as PostgreSQL cuts them: quotes, comments and dollar quotes, in one pass.

This decides where statements end and what the few that are no queries say. Queries are read by the parser of the
planner, from their text, as if nobody had looked at it before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from discreet.server.wire.problems import Failed


class Sort(Enum):
    """Of a word."""

    WORD = "word"
    NAME = "quoted name"
    TEXT = "quoted text"
    SIGN = "anything else"


@dataclass(frozen=True, slots=True)
class Token:
    """A word: quoted ones without their quotes."""

    sort: Sort
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """Empty if it is quoted: then it is no word of the language."""
        return self.text.upper() if self.sort in (Sort.WORD, Sort.SIGN) else ""


PATTERN: Final = re.compile(
    r"""(?P<space>\s+|--[^\r\n]*)
      | (?P<comment>/\*)
      | (?P<escaped>[eE]'(?:[^'\\]|\\.|'')*')
      | (?P<text>(?:[uUbBxXnN]&?)?'(?:[^']|'')*')
      | (?P<name>(?:[uU]&)?"(?:[^"]|"")*")
      | (?P<dollar>\$(?P<tag>[^\W\d]\w*)?\$)
      | (?P<word>[^\W\d][\w$]*)
      | (?P<number>\d[\w.]*|\.\d+|\$\d+)
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
COMMENT: Final = re.compile(r"/\*|\*/")
UNENDED: Final = frozenset("'\"")


def tokens(text: str) -> Iterator[Token]:
    """The words of a text, or a failure: a quote or a comment does not end."""
    at = 0
    while at < len(text):
        match = PATTERN.match(text, at)
        assert match is not None
        at = match.end()
        sort = match.lastgroup
        if sort == "comment":
            at = _comment_end(text, at)
        elif sort in ("dollar", "tag"):
            quote = match["dollar"]
            end = text.find(quote, at)
            if end < 0:
                raise _unended()
            yield Token(Sort.TEXT, text[at:end], match.start(), end + len(quote))
            at = end + len(quote)
        elif sort != "space":
            yield _token(sort or "", match)


def _token(sort: str, match: re.Match[str]) -> Token:
    text = match[0]
    if sort in ("escaped", "text"):
        text = text[text.index("'") + 1 : -1].replace("''", "'")
        return Token(Sort.TEXT, text, match.start(), match.end())
    if sort == "name":
        text = text[text.index('"') + 1 : -1].replace('""', '"')
        return Token(Sort.NAME, text, match.start(), match.end())
    if text in UNENDED:
        raise _unended()
    return Token(Sort.WORD if sort == "word" else Sort.SIGN, text, match.start(), match.end())


def _comment_end(text: str, at: int) -> int:
    """Comments may hold comments."""
    depth = 1
    while depth:
        match = COMMENT.search(text, at)
        if match is None:
            raise _unended()
        depth += 1 if match[0] == "/*" else -1
        at = match.end()
    return at


def _unended() -> Failed:
    return Failed("42601", "a quote or a comment does not end", "close it", code="syntax")
