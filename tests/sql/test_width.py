"""Sixty questions as analysts ask them: how many are answered, and that the others are refused for a reason."""

from __future__ import annotations

from benchmarks.width import QUESTIONS, outcomes

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
