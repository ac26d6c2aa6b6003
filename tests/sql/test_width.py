"""Sixty questions as analysts ask them: how many are answered, and that the others are refused for a reason."""

from __future__ import annotations

import pytest
from benchmarks.width import QUESTIONS, SUITES, outcomes, suite

from discreet.sql.read import DIALECTS

REFUSED_BY_NATURE = ("SELECT diagnosis FROM", "SELECT channel, total FROM", "STRING_AGG", "MODE(diagnosis)")
"""They ask for rows, or for values that nobody declared."""


def test_all_of_sixty_are_answered_that_can_be() -> None:
    found = outcomes()
    assert len(QUESTIONS) == 60
    assert {question.dialect for question in QUESTIONS} == set(DIALECTS)
    refused = {outcome.question.text: outcome.refused for outcome in found if outcome.refused is not None}
    assert len(refused) == len(REFUSED_BY_NATURE), refused
    for part in REFUSED_BY_NATURE:
        assert any(part in text for text in refused), part
    for message in refused.values():
        assert message is not None
        assert "→" in message


BEYOND = {
    "TPC-H": {"GROUP BY c.client": "a row for each client"},
    "TPC-DS": {},
    "BigQuery": {},
}
"""What is refused of each suite, and why: rows of units."""


@pytest.mark.parametrize("name", SUITES)
def test_questions_after_the_suites_of_others_are_answered(name: str) -> None:
    found = suite(name, sizes=False)
    assert len(found) == {"TPC-H": 22, "TPC-DS": 18, "BigQuery": 12}[name]
    refused = {outcome.question.text: outcome.refused for outcome in found if outcome.refused is not None}
    assert len(refused) == len(BEYOND[name]), refused
    for part, reason in BEYOND[name].items():
        assert any(part in text and reason in (message or "") for text, message in refused.items()), refused


def test_rows_along_unique_keys_do_not_multiply() -> None:
    """Clients, their purchases and the lines of these: as exact as the lines alone."""
    errors = {outcome.question.text: outcome.errors for outcome in suite("TPC-H", sizes=False)}
    alone = next(
        each["revenue"] for text, each in errors.items() if "FROM lines JOIN products" in text and "revenue" in each
    )
    chained = [
        each["revenue"]
        for text, each in errors.items()
        if "FROM clients c JOIN purchases p" in text and "revenue" in each
    ]
    assert len(chained) == 3
    assert alone is not None
    for error in chained:
        assert error is not None
        assert error <= 1.01 * alone
