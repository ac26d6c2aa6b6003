"""Fragments are whole in themselves, as the parser will see it too; the name of a column is one, whatever it says."""

from __future__ import annotations

from random import Random

import duckdb
import pytest
import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from discreet.answers.fragments import bare, fragment
from discreet.errors import Refused

PIECES = (
    "'", "''", '"', '""', "(", ")", "[", "]", "{", "}", "{#", "#}", "{{", "{%", "--", "\n", "\r", "\r\n", "/*", "/*+",
    "*/", "$$", "$a$", "$", ";", "\\", "\\'", "e'", "E'", "x'", "N'", "b'", "r'", "U&'", "`", "#", "//", "a", "1", " ",
    "CASE", "END", "\u2028", "\x0b", "\x85", "'a'", "\0", "*", "+", "ä", "_e'", "1e'", "1.e'",
    ".", "e", "DATE'", "@", ":", "::",
)  # fmt: skip
OPENS = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
CLOSES = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}


def is_torn(one: str, other: str) -> bool:
    """Whether sqlglot's tokens find other parentheses around two fragments than those that were put there."""
    try:
        tokens = sqlglot.tokenize(f'({one}\n) "between" ({other}\n)', read="duckdb")
    except SqlglotError:
        return False  # then it is no query either
    depth, outside = 0, []
    for token in tokens:
        depth -= token.token_type in CLOSES
        if depth <= 0:
            outside.append(token.text)
        depth += token.token_type in OPENS
    return outside != ["(", ")", "between", "(", ")"]


def test_what_is_accepted_is_whole_to_the_parser() -> None:
    """Of texts that are made to be torn; enough of them are accepted for this to mean something."""
    random, accepted = Random(26), [" "]
    for _ in range(8000):
        text = "".join(random.choice(PIECES) for _ in range(random.randint(1, 9)))
        try:
            fragment(text)
        except Refused:
            continue
        assert not is_torn(text, accepted[-1]), text
        accepted.append(text)
    assert len(accepted) > 500
    assert is_torn("TRUE) OR (TRUE", "x")


@pytest.mark.parametrize(
    "text",
    [
        "TRUE) OR (TRUE",
        "TRUE {# ' #}) OR (TRUE {# ' #}",
        "TRUE -- ' \r) OR (TRUE -- '",
        "TRUE /*+ ' */) OR (TRUE /* ' */",
        "x = 'a",
        'x = "a',
        "x /* a",
        "x $$ a",
        "x; DROP TABLE y",
        "x = e'\\' OR (TRUE) --'",
        "x = $e'\\'",
        "(x]",
    ],
)
def test_what_tears_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        fragment(text)


def test_the_name_of_a_column_is_that_column_whatever_word_it_is() -> None:
    keywords = {word for (word,) in duckdb.execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()}
    known = {*DuckDB.tokenizer_class.KEYWORDS, *DuckDB.parser_class.FUNCTIONS, *DuckDB.parser_class.NO_PAREN_FUNCTIONS}
    words = {str(word).lower() for word in known} | keywords | {"top", "x' OR 'x", 'a"b', "1) --", "*", "🦆"}
    for word in sorted(words):
        column = bare(word)
        tree = sqlglot.parse_one(f"SELECT {column}, AVG({column}) AS a FROM t GROUP BY 1", read="duckdb")
        assert [each.name for each in tree.find_all(exp.Column)] == [word, word]
        assert not tree.find(exp.Star)
