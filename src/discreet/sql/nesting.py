"""How long a text may take to be read, counted on its tokens before anything reads it.

sqlglot reads what stands in brackets behind the name of a type twice: as the parameters of the type, and when that
fails as an expression. In ARRAY[ARRAY[ARRAY[…]]] each level doubles the work of all levels inside: thirty of them, in
two hundred characters, take a day of the processor that nobody can interrupt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import Refused

BRACKETS: Final = {TokenType.L_PAREN: TokenType.R_PAREN, TokenType.L_BRACKET: TokenType.R_BRACKET}
CLOSES: Final = frozenset(BRACKETS.values())
AGAIN: Final = 3
"""How often a token is read for each such bracket around it, at most."""
MAX_READ: Final = 200_000
"""Tokens that are read, each as often as it is: ten times as many as the longest text has."""


def demand_readable(tokens: Sequence[Token], language: str) -> None:
    """Refuse a text that takes too long to read."""
    types = Parser.TYPE_TOKENS | Dialect.get_or_raise(language).parser_class.TYPE_TOKENS
    weight, weights, read, before = 1, [], 0, TokenType.SPACE
    for token in tokens:
        kind = token.token_type
        if kind in BRACKETS:
            weights.append(weight)
            weight *= AGAIN if before in types else 1
        elif kind in CLOSES and weights:
            weight = weights.pop()
        read, before = read + weight, kind
        if read > MAX_READ:
            reason = "the question is too complex: too many types or arrays are nested in each other"
            raise Refused("too-complex", reason, "ask a simpler question")


def parsed(text: str, language: str) -> list[exp.Expr | None]:
    """The statements of a text, as sqlglot has them; refused if that takes too long."""
    tokens = sqlglot.tokenize(text, read=language)
    demand_readable(tokens, language)
    return list(Dialect.get_or_raise(language).parser().parse(tokens, text))
