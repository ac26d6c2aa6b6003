"""sqlglot's parser, which may move over only so many tokens for each that a text has.

Where a text may mean two things, the parser tries one, goes back, and tries the other. If that happens around each of
several brackets in each other, every level doubles the work of all levels inside: ARRAY[ARRAY[…]], IF[IF[…]] and
VARCHAR(VARCHAR(…)), thirty deep in two hundred characters, take days of the processor that nobody can interrupt. It
also parses what stands in quotes, where names of types, hints and intervals may be, with parsers that it makes itself.

Theorem  To read a text of n tokens all parsers together move over at most 4n + `FREE` of them, whatever the text is.
Proof    A parser moves by `Parser._advance` alone, forward and backward, and no dialect has another one (a test looks).
         Each move in this context is counted, whoever's it is, before it is made. The refusal is no ParseError, so no
         attempt of a parser takes it for its own failure and goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.parser import Parser

from discreet.errors import Refused

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

FREE: Final = 4_000
"""Moves in any text, beside four for each token that it has: people need fewer than three for each."""


class Moves:
    """How many are left."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            reason = "the question is too complex: too much of it may mean two things, one within the other"
            raise Refused("too-complex", reason, "ask a simpler question, with less nested in brackets")


_moves: Final[ContextVar[Moves | None]] = ContextVar("moves", default=None)
"""Of the text that is being read; None for parsers of others in this process, which are not counted."""


def _counting(advance: Any) -> Any:
    if not isinstance(advance, FunctionType):
        raise ImportError("a compiled sqlglot cannot be kept from reading without end: uninstall sqlglotc")

    def counted(self: Parser, times: int = 1) -> None:
        moves = _moves.get()
        if moves is not None:
            moves.take(abs(times))
        advance(self, times)

    return counted


Parser._advance = _counting(Parser._advance)  # type: ignore[method-assign]  # its own parsers make others of its own


def parsed(tokens: Sequence[Token], text: str, language: str) -> list[exp.Expr | None]:
    """The statements of a text whose tokens these are, as sqlglot has them; refused if that takes too long."""
    parser = Dialect.get_or_raise(language).parser()
    counting = _moves.set(Moves(4 * len(tokens) + FREE))
    try:
        return list(parser.parse(list(tokens), text))
    except (TokenError, AttributeError, LookupError, TypeError, ValueError, AssertionError):
        near = parser._prev  # a function is built of arguments that it does not have, as VAR_MAP(x); quotes in a quote
        raise ParseError("wrong arguments", [{"line": near.line, "col": near.col}]) from None
    finally:
        _moves.reset(counting)


def parsed_text(text: str, language: str) -> list[exp.Expr | None]:
    return parsed(sqlglot.tokenize(text, read=language), text, language)
