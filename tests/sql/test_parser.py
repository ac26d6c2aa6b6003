"""However a text is nested, the parser reads it, or refuses it, after about as many steps as it has words."""

from __future__ import annotations

import random
from contextlib import suppress
from functools import cache

import pytest
import sqlglot
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.parser import Parser

from discreet.errors import Refused
from discreet.sql import parser
from discreet.sql.parser import FREE, parsed_text
from discreet.sql.read import DIALECTS, statement
from tests.sql.fixtures import ANSWERED

DEEP = 28
FORMS = ("{}(", "{}[", "{} {{'a': ", "{}(x AS ", "CAST(x AS {}(", "x::{}[", "({} ", "{}(SELECT ", "{}<")
ARGUMENTS = (
    "x",
    "'a'",
    "1",
    "*",
    "DISTINCT x",
    "x AS y",
    "(SELECT 1)",
    "NULL",
    "x -> y",
    "[1]",
    "INTERVAL 1 DAY",
    "x ORDER BY y",
)
ENDS = {"(": ")", "[": "]", "{": "}", "<": ">"}


def nested(form: str, word: str, depth: int = DEEP) -> str:
    opened = form.format(word)
    closed = "".join(ENDS[sign] for sign in reversed(opened) if sign in ENDS)
    return f"SELECT {opened * depth}1{closed * depth} FROM t"


class Steps:
    """How far parsers moved, forward and backward."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken = 0
        advance = Parser._advance

        def counted(self_: Parser, times: int = 1) -> None:
            self.taken += abs(times)
            advance(self_, times)

        monkeypatch.setattr(Parser, "_advance", counted)


@cache
def words(language: str) -> tuple[str, ...]:
    """What means something to a dialect: it may be read in two ways."""
    dialect = Dialect.get_or_raise(language)
    known = {*dialect.tokenizer_class.KEYWORDS, *dialect.parser_class.FUNCTIONS, *dialect.parser_class.FUNCTION_PARSERS}
    return tuple(word for word in sorted(known) if word and word.replace("_", "").replace(" ", "").isalnum())


def demand_few_steps(steps: Steps, text: str, language: str) -> None:
    """The theorem of the module. Without the limit IF[IF[…]] and ARRAY[ARRAY[…]] would take days here."""
    size, steps.taken = len(sqlglot.tokenize(text, read=language)), 0
    with suppress(Refused, ParseError, RecursionError):
        parsed_text(text, language)
    assert steps.taken <= 4 * size + FREE + size, text  # the last move is counted, and not made


def test_nested_words_are_read_as_often_as_is_said_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some words of dialects in some forms, others in each run."""
    steps, dice = Steps(monkeypatch), random.Random()
    for _ in range(60):
        language = dice.choice(DIALECTS)
        demand_few_steps(steps, nested(dice.choice(FORMS), dice.choice(words(language))), language)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("language", ["duckdb", "bigquery", "postgres", "spark"])
def test_all_nested_words_are(language: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(monkeypatch)
    for word in words(language):
        demand_few_steps(steps, nested(form, word), language)


def test_functions_of_any_arguments_are_read_or_refused() -> None:
    """sqlglot fails to build some of fewer arguments than they have, with an IndexError; and quotes within quotes."""
    with pytest.raises(Refused, match=r'near "x" \(line 1, column 16\)'):
        statement("SELECT VAR_MAP(x) FROM t")
    with pytest.raises(Refused, match="syntax error near"):
        statement("""SELECT x::"'" FROM t""")
    dice = random.Random()
    for _ in range(300):
        language = dice.choice(DIALECTS)
        arguments = ", ".join(dice.choice(ARGUMENTS) for _ in range(dice.randrange(5)))
        text = f"SELECT {dice.choice(words(language))}({arguments}) FROM t"
        try:
            statement(text, language)
        except Refused:
            pass
        except Exception as error:
            raise AssertionError(f"{language}: {text}") from error


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ('SELECT CAST(x AS "{}") FROM t', "duckdb"),
        ('SELECT x::"{}" FROM t', "postgres"),
        ("SELECT CAST(x AS `{}`) FROM t", "bigquery"),
        ("SELECT CAST(x AS `{}`) FROM t", "spark"),
        ("SELECT GENERATE_SERIES(1, 2, '{}') FROM t", "postgres"),
    ],
)
def test_what_is_parsed_in_quotes_is_counted_with_the_rest(text: str, language: str) -> None:
    """sqlglot parses some of it with parsers of other dialects than the text's."""
    deep = text.format("ARRAY[" * 40 + "1" + "]" * 40)
    with pytest.raises(Refused, match="may mean two things"):
        parsed_text(deep, language)


def test_all_parsers_move_in_one_way_and_others_are_not_counted() -> None:
    seen, left = set(), [Parser]
    while left:
        kind = left.pop()
        seen.add(kind)
        assert kind is Parser or "_advance" not in vars(kind)
        left += kind.__subclasses__()
    assert len(seen) >= len(DIALECTS)
    assert sqlglot.parse("SELECT " + "ARRAY[" * 11 + "1" + "]" * 11)  # a program that uses sqlglot itself
    with pytest.raises(ImportError, match="compiled"):
        parser._counting(len)


@pytest.mark.parametrize("form", ["ARRAY[", "IF[", "IF {{'a': ", "VARCHAR(", "STRUCT("])
def test_forms_that_were_found_to_double_are_refused_deep_and_read_flat(form: str) -> None:
    with pytest.raises(Refused, match="may mean two things") as refusal:
        parsed_text(nested(form, "", 14), "duckdb")
    assert refusal.value.code == "too-complex"
    assert parsed_text(nested(form, "", 3), "duckdb")


def test_what_people_write_is_far_from_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is answered is read with four moves for each token, and none that are free."""
    monkeypatch.setattr(parser, "FREE", 0)
    for fixture in ANSWERED:
        assert statement(fixture.text, params=fixture.params).tree is not None
