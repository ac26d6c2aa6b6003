"""A refused question is written anew only where its refusal says how, and only if it would be answered then."""

from __future__ import annotations

import pytest

from discreet.curator.autofix import mended
from discreet.errors import Refused

CLAMP = "write {0}(CLAMP({1}, 0, 100)), or add bounds to the policy"


def answered(_: str) -> None:
    """Whatever is proposed would be answered."""


def refused(text: str) -> None:
    raise Refused("syntax", text, "ask something else")


@pytest.mark.parametrize(
    ("text", "fix", "expected"),
    [
        ("SELECT SUM(cost) FROM t", CLAMP.format("SUM", "cost"), "SELECT SUM(CLAMP(cost, 0, 100)) FROM t"),
        ("SELECT avg ( a*(b) )", CLAMP.format("AVG", "a*(b)"), "SELECT AVG(CLAMP(a*(b), 0, 100))"),
        ("SELECT SUM(other) FROM t", CLAMP.format("SUM", "cost"), None),
        ("SELECT COUNT(*) FROM patient", "did you mean patients?", "SELECT COUNT(*) FROM patients"),
        ("SELECT Age, agee FROM t", "did you mean age?", "SELECT Age, age FROM t"),
        ("SELECT x FROM t", "did you mean patients?", None),
        ("SELECT sex, COUNT(*) FROM t", "add sex to GROUP BY", "SELECT sex, COUNT(*) FROM t GROUP BY sex"),
        ("SELECT sex FROM t group  by ward", "add sex to GROUP BY", None),
        ("SELECT 1 union SELECT 2", "write UNION ALL", "SELECT 1 UNION ALL SELECT 2"),
        ("SELECT 1 UNION ALL SELECT 2", "write UNION ALL", None),
        ("SELECT SUM(cost) FROM t", "ask something else", None),
        ("", "did you mean age?", None),
    ],
)
def test_a_fix_is_put_into_the_text_where_it_belongs(text: str, fix: str, expected: str | None) -> None:
    assert mended(text, fix, answered) == expected


def test_what_would_be_refused_again_is_not_proposed() -> None:
    assert mended("SELECT COUNT(*) FROM patient", "did you mean patients?", refused) is None


def test_where_one_fix_does_not_help_the_next_is_tried() -> None:
    tried = []

    def previewed(text: str) -> None:
        tried.append(text)
        if "GROUP BY" not in text:
            refused(text)

    assert mended("SELECT sexe FROM t", "did you mean sex? or add sexe to GROUP BY", previewed) == (
        "SELECT sexe FROM t GROUP BY sexe"
    )
    assert tried == ["SELECT sex FROM t", "SELECT sexe FROM t GROUP BY sexe"]


def test_texts_of_thousands_of_words_are_left_alone() -> None:
    """Comparing all of them with the proposed one would keep a processor busy for seconds."""
    assert mended("SELECT " + "patient " * 2_000, "did you mean patients?", answered) is None
