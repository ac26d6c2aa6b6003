"""From text to a syntax tree, or a refusal. What is not one SELECT of moderate size goes no further."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import Refused
from discreet.exact import number
from discreet.sql.clause import (
    EXPLAIN,
    Options,
    has_clause,
    together,
    with_bounds,
    with_bounds_outside,
    with_clauses,
    without_clauses,
)
from discreet.sql.dialects import as_meant
from discreet.sql.now import fixed
from discreet.sql.other_dialects import NAMES
from discreet.sql.parser import parsed
from discreet.sql.places import position
from discreet.sql.syntax import understood
from discreet.sql.work import brief

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it would log what analysts write

MAX_CHARACTERS: Final = 100_000
MAX_TOKENS: Final = 20_000
MAX_DEPTH: Final = 30
"""Nested parentheses and CASEs, counted on tokens before anything recursive sees them."""
MAX_TREE_DEPTH: Final = 150
"""Nested operators, such as a + b + c + …"""
_OPENS: Final = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSES: Final = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
DIALECTS: Final = tuple(NAMES)


@dataclass(frozen=True, slots=True)
class Statement:
    """One SELECT, what its privacy clauses say, together and each, and whether only its cost is asked."""

    tree: exp.Query
    options: Options
    clauses: tuple[Options, ...]
    explain: bool
    notes: tuple[str, ...] = ()
    """Which moment the present is."""


def language_of(text: object, dialect: str | None = None) -> tuple[str, str]:
    """A text and its dialect: BigQuery's if it has its clause, else DuckDB's, unless one is named."""
    if not isinstance(text, str):
        raise Refused("syntax", f"a question is a text, not {type(text).__name__}", "write SQL, as a string")
    language = dialect or ("bigquery" if has_clause(text[:MAX_CHARACTERS]) else "duckdb")
    if language not in DIALECTS:
        raise Refused("syntax", "the dialect is not known", f"use one of: {', '.join(DIALECTS)}")
    return text, language


def statement(
    given: object,
    dialect: str | None = None,
    params: Mapping[str, object] | None = None,
    now: datetime | None = None,
) -> Statement:
    """The one SELECT that a text holds, its named parameters and the present filled in."""
    text, language = language_of(given, dialect)
    explain = EXPLAIN.match(text) if len(text) <= MAX_CHARACTERS else None
    query = re.sub(r"\S", " ", explain[0]) + text[explain.end() :] if explain else text  # positions stay
    tokens, clauses, clause = without_clauses(_tokens(query, language))
    marked, marker = with_bounds_outside(tokens)
    tree = _parsed(marked, query, language)
    _measure(tree)
    with_clauses(tree, clause, len(clauses))
    with_bounds(tree, marker)
    tree = _filled(_positive(tree), params)
    notes = fixed(tree, now)
    as_meant(tree, language)
    understood(tree)
    return Statement(tree, together(clauses), tuple(clauses), explain is not None, notes)


def _parsed(tokens: list[Token], text: str, language: str) -> exp.Query:
    try:
        trees = parsed(tokens, text, language)
    except ParseError as error:
        raise _syntax_error(error, tokens, text, language) from None
    except RecursionError:
        raise _too_complex("it is nested too deeply", "ask a simpler question") from None
    statements = [part for part in trees if part is not None and not isinstance(part, exp.Semicolon)]
    if not statements:
        raise Refused("syntax", "there is no statement", "write one SELECT, such as SELECT COUNT(*) FROM a_table")
    if len(statements) > 1:
        raise Refused("statement-not-allowed", "there is more than one statement", "ask one SELECT at a time")
    tree = statements[0]
    if not isinstance(tree, exp.Query) or isinstance(tree, exp.Table):
        raise Refused("statement-not-allowed", "only SELECT is supported", "write one SELECT")
    return tree


def _positive(tree: exp.Query) -> exp.Query:
    """NOT LIKE as NOT (… LIKE …): sqlglot writes it as a mark on LIKE, which is easily overlooked."""
    for node in reversed(list(tree.find_all(exp.Like, exp.ILike))):  # the inner ones first: outer ones are made anew
        if node.args.get("negate"):
            plain = type(node)(**{name: value for name, value in node.args.items() if name != "negate"})
            escape = node.parent if isinstance(node.parent, exp.Escape) else None
            if escape is not None:
                plain = exp.Escape(this=plain, expression=escape.expression)
            (escape or node).replace(exp.Not(this=exp.Paren(this=plain)))
    return tree


def _filled(tree: exp.Query, params: object) -> exp.Query:
    """Put the values of named parameters, $name or :name, in their places."""
    if params is not None and not isinstance(params, Mapping):
        raise Refused("syntax", "params must map names to values", 'write params={"name": value}')
    values = dict(params or {})
    for node in list(tree.find_all(exp.Placeholder, exp.Parameter)):
        name = str(node.name)
        if name not in values:
            raise Refused("syntax", "a parameter has no value", 'write params={"name": value} for $name in the text')
        node.replace(_literal(values[name]))
    return tree


def _literal(value: object) -> Any:
    if isinstance(value, str):
        _check_letters(value)
    if value is None or isinstance(value, (bool, str)):
        return exp.convert(value)
    if isinstance(value, datetime):
        return exp.cast(exp.Literal.string(value.isoformat(sep=" ")), "timestamp")
    if isinstance(value, date):
        return exp.cast(exp.Literal.string(value.isoformat()), "date")
    try:
        exact = number(value, "a parameter")
    except (TypeError, ValueError):
        raise Refused("syntax", "a parameter cannot be used", "pass numbers, texts, dates, True, False, None") from None
    whole = exact.denominator == 1 and not isinstance(value, float)
    written = exp.Literal.number(str(abs(int(exact))) if whole else repr(float(abs(exact))))
    return exp.Neg(this=written) if exact < 0 else written


def _check_letters(text: str) -> None:
    if _CONTROL.search(text):
        raise Refused("syntax", "there is a control character in the text", "remove it")
    if _SURROGATE.search(text):
        raise Refused("syntax", "the text is not valid Unicode", "remove the lone surrogates")


def _tokens(text: str, language: str) -> list[Token]:
    if len(text) > MAX_CHARACTERS:
        raise _too_complex(f"it has more than {MAX_CHARACTERS} characters", "ask a shorter one")
    _check_letters(text)
    try:
        tokens = sqlglot.tokenize(text, read=language)
    except TokenError:
        raise Refused("syntax", "a quote or a comment does not end", "close it") from None
    if len(tokens) > MAX_TOKENS:
        raise _too_complex(f"it has more than {MAX_TOKENS} words and signs", "ask a shorter one")
    tokens = [_top(tokens, index) for index in range(len(tokens))]
    depth = 0
    for token in tokens:
        depth += (token.token_type in _OPENS) - (token.token_type in _CLOSES)
        if depth > MAX_DEPTH:
            raise _too_complex(f"it is nested more than {MAX_DEPTH} deep", "ask a simpler question")
    return tokens


def _top(tokens: list[Token], index: int) -> Token:
    """A token; TOP of SELECT TOP 10, which most dialects write as LIMIT 10, by the kind that sqlglot knows it by."""
    token = tokens[index]
    if token.text.upper() != "TOP":
        return token
    kinds = [each.token_type for each in tokens[max(index - 1, 0) : index + 2]]
    if kinds != [TokenType.SELECT, TokenType.VAR, TokenType.NUMBER]:
        return token
    return Token(TokenType.TOP, token.text, token.line, token.col, token.start, token.end)


def _measure(tree: exp.Query) -> None:
    """Refuse a tree that is too deep for functions that call themselves."""
    level: list[Any] = [tree]
    for _ in range(MAX_TREE_DEPTH):
        level = [child for node in level for child in node.iter_expressions()]
        if not level:
            return
    raise _too_complex("too many operators are chained", "use IN for long lists, or ask a simpler question")


def _syntax_error(error: ParseError, tokens: list[Token], text: str, language: str) -> Refused:
    """Where a query stops being SQL, in its own words: nothing but its text is quoted."""
    details = error.errors[0] if error.errors else {}
    end = (details.get("line"), details.get("col"))
    token = next((token for token in tokens if (token.line, token.col) == end), tokens[-1])
    word = brief(" ".join(text[token.start : token.end + 1].split()))
    return Refused(
        "syntax",
        f'syntax error near "{word}" {position(text, token.start)}',
        f"correct it there or just before; the text is read as {NAMES[language]}'s SQL",
    )


def _too_complex(reason: str, fix: str) -> Refused:
    return Refused("too-complex", f"the question is too complex: {reason}", fix)
