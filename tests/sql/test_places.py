"""Refusals name what was written, where it stands, and what to write instead; nothing but the analyst's own text."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from sqlglot import exp

from discreet.curator.curator import Curator
from discreet.errors import Refused
from discreet.sql.places import MAX_WORD
from discreet.sql.read import DIALECTS
from discreet.sql.vocabulary import functions
from discreet.sql.wording import NAMES
from tests.sql import tiny
from tests.sql.fixtures import REFUSED


@pytest.fixture(scope="module")
def curator() -> Iterator[Curator]:
    with tiny.asked("pure") as found:
        yield found


def refusal(curator: Curator, text: str, dialect: str | None = None) -> Refused:
    with pytest.raises(Refused) as caught:
        curator.preview(text, epsilon=1, dialect=dialect)
    return caught.value


@pytest.mark.parametrize(
    ("text", "word", "line", "column"),
    [
        ("SELECT SUMM(cost) FROM visits", "SUMM", 1, 8),
        ("SELECT COUNT(*)\nFROM visits\nWHERE coast > 1", "coast", 3, 7),
        ("SELECT ward,\n  Skewness(cost) FROM visits GROUP BY ward", "SKEWNESS", 2, 3),
        ("SELECT COUNT(*) FROM visits WHERE regexp_matches(note, 'a')", "REGEXP_MATCHES", 1, 35),
        ("SELECT SUM(weight) FROM visits", "SUM", 1, 8),
        ("SELECT COUNT(*), age FROM patients", "age", 1, 18),
        ("EXPLAIN PRIVACY SELECT SUMM(cost) FROM visits", "SUMM", 1, 24),
        ("SELECT COUNT(*) FROM visits WHERE note = DATE 'x'", "'x'", 1, 47),
        ("SELECT COUNT(*)\nFROM visit", "visit", 2, 6),
        ("SELECT COUNT(*) FROM visits\n  JOIN nowhere USING (patient)", "nowhere", 2, 8),
        ("SELECT COUNT(*) FROM visits\nJOIN patients ON ward = sex", "patients", 2, 6),
        ("SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT cost", "cost", 1, 55),
    ],
)
def test_token_line_and_column(curator: Curator, text: str, word: str, line: int, column: int) -> None:
    reason = refusal(curator, text).reason
    assert reason.endswith(f"(line {line}, column {column})")
    assert word in reason


@pytest.mark.parametrize(
    ("text", "dialect", "shown"),
    [
        ("SELECT COUNT(*) FROM visits WHERE CURRENT_TIME > '10:00'", "duckdb", "CURRENT_TIME"),
        ("SELECT AVG(TIMESTAMP_DIFF(day, day, HOUR)) FROM visits", "bigquery", "TIMESTAMP_DIFF"),
        ("SELECT COUNT(*) FROM visits WHERE note SIMILAR TO 'a'", "postgres", "SIMILAR TO"),
        ("SELECT string_agg(note, ',') FROM visits", "postgres", "STRING_AGG"),
        ("SELECT collect_list(note) FROM visits", "spark", "COLLECT_LIST"),
        ("SELECT median(note) FROM visits", "snowflake", "MEDIAN"),
    ],
)
def test_functions_are_called_by_their_own_names(curator: Curator, text: str, dialect: str, shown: str) -> None:
    assert shown in refusal(curator, text, dialect).reason


def test_no_class_of_the_parser_is_ever_named(curator: Curator) -> None:
    """CURRENTDATE, TIMETOSTR, NULLSAFENEQ: such words come from it alone."""
    keys = {kind.key.upper() for kind in exp.ALL_FUNCTIONS}
    keys -= {name.upper() for kind in exp.ALL_FUNCTIONS for name in kind.sql_names()}
    for case in REFUSED:
        if case.policy == "pure":
            with pytest.raises(Refused) as caught:
                curator.preview(case.text, **case.cost)
            assert not keys & set(re.findall(r"\w+", caught.value.reason)) - set(re.findall(r"\w+", case.text.upper()))


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("SELECT SUMM(cost) FROM visits", "SELECT SUM(cost) FROM visits"),
        ("SELECT COUNT(*) FROM visits WHERE date_trunk('month', day) > '2024-01-01'",
         "SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('month', day) > '2024-01-01'"),
        ("SELECT SUM(coast) FROM visits", "SELECT SUM(cost) FROM visits"),
    ],
)  # fmt: skip
def test_the_nearest_function_is_an_edit(curator: Curator, text: str, fixed: str) -> None:
    edit = refusal(curator, text).edit
    assert edit is not None
    assert edit.applied(text) == fixed
    curator.preview(fixed, epsilon=1)


@pytest.mark.parametrize("word", ["ARRAY_AGG(note)", "FIRST(note)", "BOOL_OR(urgent)", "KURTOSIS(cost)", "RANDOM()"])
def test_where_there_is_none_the_reason_is_said(curator: Curator, word: str) -> None:
    refused = refusal(curator, f"SELECT {word} FROM visits")
    assert refused.code == "function-not-allowed"
    assert ": " in refused.reason
    assert "see the" not in refused.fix


@pytest.mark.parametrize("dialect", DIALECTS)
def test_long_and_hostile_words_are_cut_and_stay_words(curator: Curator, dialect: str) -> None:
    quote = "`" if dialect in ("bigquery", "spark") else '"'
    for word in ("x" * 5000, f"{quote}<script>alert(1)</script>{quote}", f"{quote}{'y' * 5000}{quote}"):
        refused = refusal(curator, f"SELECT COUNT(*) FROM visits WHERE {word} > 1", dialect)
        assert len(refused.reason) < 200 + MAX_WORD
        assert "\n" not in refused.reason


def test_names_are_those_that_are_answered() -> None:
    """What is proposed is on the list, and everything on the list that has a name of its own can be proposed."""
    known = {name.removesuffix("(") for name in functions()}
    unwritten = {name for name in known if " " in name} | {"DAYS", "MINUTES", "IS", "VARIANCE_POP", "APPROX_TOP_K"}
    missing = {name for name in known - unwritten if name not in NAMES}
    assert not missing, sorted(missing)
