"""Where something stands in the text of a query, and how it is spelled there: refusals say both.

Theorem  A message holds nothing but constants of this program, facts of the policy, and the analyst's own text.
Proof    What is quoted is a slice of the text that is being read, between two places that its tokens gave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from discreet.errors import Refused

MAX_WORD: Final = 60
"""Characters of a word that is quoted."""


@dataclass(frozen=True, slots=True)
class _Reading:
    text: str
    dialect: str


_CURRENT: Final[ContextVar[_Reading | None]] = ContextVar("reading", default=None)


@contextmanager
def reading(text: str, dialect: str) -> Iterator[None]:
    """While a text is read and planned: a refusal of something in it says where that stands."""
    before = _CURRENT.set(_Reading(text, dialect))
    try:
        yield
    except Refused as refused:
        _say_where(placed(refused, None), text)
        raise
    finally:
        _CURRENT.reset(before)


def dialect() -> str:
    """Of what is being read."""
    current = _CURRENT.get()
    return "duckdb" if current is None else current.dialect


def about(refused: Refused, node: Any) -> Refused:
    """The refusal, with the place of what it is about, unless it knows a nearer one."""
    if refused.span is None:
        refused.span = _span(node)
    return refused


def placed(refused: Refused, node: Any) -> Refused:
    """The refusal with a place if it has none: that of the word it begins with, if the text has that once; else that of
    the first thing in a part of the query."""
    if refused.span is None and refused.code not in _ANYWHERE:
        refused.span = _only_span(refused.reason)
        if refused.span is None and node is not None:
            refused.span = _span(node)
    return refused


def stands_once(word: str) -> bool:
    """Whether a word stands in the text that is being read, and only once."""
    current = _CURRENT.get()
    return current is not None and len(_tokens(current, [word])) == 1


_ANYWHERE: Final = frozenset({"too-complex", "cost-missing", "cost-too-high", "cost-twice", "budget-exhausted"})
"""Refusals that are about no part of a text."""
_WORD_OF_SQL: Final = re.compile(
    r"[A-Z][A-Z_]+(?: [A-Z][A-Z_]+)*|[a-z]+(?:_[a-z]+)+|epsilon|delta|rho|confidence|error"
)


def _only_span(reason: str) -> tuple[int, int] | None:
    current, begins = _CURRENT.get(), _WORD_OF_SQL.match(reason)
    if current is None or begins is None:
        return None
    spans = _tokens(current, begins[0].split(" "))
    return spans[0] if len(spans) == 1 else None


def _tokens(current: _Reading, words: list[str]) -> list[tuple[int, int]]:
    """Where these words follow each other in the text, outside of quotes and comments."""
    try:
        tokens = Dialect.get_or_raise(current.dialect).tokenize(current.text)
    except SqlglotError:
        return []
    pieces = [(word, token) for token in tokens for word in token.text.upper().split()]
    wanted, span = [word.upper() for word in words], len(words)
    starts = (n for n in range(len(pieces) - span + 1) if [word for word, _ in pieces[n : n + span]] == wanted)
    return [(pieces[n][1].start, pieces[n + span - 1][1].end) for n in starts]


def spelled(node: Any) -> str:
    """The name of a function as it is written, in capitals; a name of SQL's where it has none in the text."""
    current, span = _CURRENT.get(), _own_span(node)
    if current is not None and span is not None:
        word = current.text[span[0] : span[1] + 1]
        if word.isidentifier():
            return word[:MAX_WORD].upper()
    if isinstance(node, exp.Anonymous):
        return str(node.this)[:MAX_WORD].upper()
    named = _WORDS.get(type(node))
    return named or (str(node.sql_name()) if isinstance(node, exp.Func) else node.key.upper())


_WORDS: Final[dict[type[exp.Expression], str]] = {
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.WithinGroup: "WITHIN GROUP",
    exp.Bracket: "[…]",
    exp.Window: "OVER",
    exp.SimilarTo: "SIMILAR TO",
    exp.Interval: "INTERVAL",
    exp.GroupConcat: "STRING_AGG",
}


def _own_span(node: Any) -> tuple[int, int] | None:
    meta = getattr(node, "_meta", None) or {}
    start, end = meta.get("start"), meta.get("end")
    return (start, end) if isinstance(start, int) and isinstance(end, int) else None


def _span(node: Any) -> tuple[int, int] | None:
    """Its own place, or that of the first thing in it that has one."""
    own = _own_span(node)
    if own is not None:
        return own
    spans = [span for part in node.walk() if (span := _own_span(part)) is not None]
    return min(spans, default=None)


def _say_where(refused: Refused, text: str) -> None:
    if refused.span is None or "(line " in refused.reason:
        return
    start, end = refused.span
    word = " ".join(text[start : end + 1].split())
    near = "" if not word or word.lower() in refused.reason.lower() else f', near "{word[:MAX_WORD]}"'
    refused.reason += f"{near} {position(text, start)}"
    refused.args = (refused.code, refused.reason, refused.fix)


def position(text: str, start: int) -> str:
    """Line and column of a place, both from 1."""
    return f"(line {text.count(chr(10), 0, start) + 1}, column {start - text.rfind(chr(10), 0, start)})"
