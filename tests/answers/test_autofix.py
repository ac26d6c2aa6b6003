"""A refused question is written anew only where its refusal says how, and only if it would be answered then."""

from __future__ import annotations

import pytest

from discreet.answers.autofix import fixed
from discreet.errors import Edit, Refused
from discreet.errors.edit import MAX_CHARACTERS

CLAMPED = Edit("SUM(cost)", "SUM(CLAMP(cost, 0, 100))")
SPELLED = Edit("patient", "patients")
GROUPED = Edit(new="GROUP BY sex")
UNITED = Edit("UNION SELECT", "UNION ALL SELECT")


def answered(_: str) -> None:
    """Whatever is proposed would be answered."""


def refused(text: str) -> None:
    raise Refused("syntax", text, "ask something else")


@pytest.mark.parametrize(
    ("text", "edit", "expected"),
    [
        ("SELECT SUM(cost) FROM t", CLAMPED, "SELECT SUM(CLAMP(cost, 0, 100)) FROM t"),
        ("SELECT avg ( a*(b) )", Edit("AVG(a * (b))", "AVG(CLAMP(a, 0, 1))"), "SELECT AVG(CLAMP(a, 0, 1))"),
        ("SELECT SUM(other) FROM t", CLAMPED, None),
        ("SELECT mySUM(cost) FROM t", CLAMPED, None),
        ("SELECT COUNT(*) FROM patient", SPELLED, "SELECT COUNT(*) FROM patients"),
        ("SELECT COUNT(*) FROM Patient AS p", SPELLED, "SELECT COUNT(*) FROM patients AS p"),
        ("SELECT 'patient' FROM patients, outpatient", SPELLED, None),
        (
            "SELECT 'it''s a patient' FROM patient -- patient",
            SPELLED,
            "SELECT 'it''s a patient' FROM patients -- patient",
        ),
        ("SELECT /* of a patient */ 1 FROM patient", SPELLED, "SELECT /* of a patient */ 1 FROM patients"),
        ("SELECT sex, COUNT(*) FROM t ; ", GROUPED, "SELECT sex, COUNT(*) FROM t GROUP BY sex"),
        ("SELECT 1 union SELECT 2", UNITED, "SELECT 1 UNION ALL SELECT 2"),
        ("SELECT 1 UNION ALL SELECT 2", UNITED, None),
        ("SELECT SUM(cost) FROM t", None, None),
        ("SELECT SUM(cost) FROM t", Edit(arguments={"epsilon": 0.1}), None),
        ("SELECT SUM(cost) FROM t", Edit(old="cost"), None),
        ("SELECT SUM(cost) FROM t", Edit(old=" ", new="x"), None),
        ("", SPELLED, None),
    ],
)
def test_an_edit_is_made_where_it_belongs(text: str, edit: Edit | None, expected: str | None) -> None:
    assert fixed(text, edit, answered) == expected


def test_what_would_be_refused_again_is_not_proposed() -> None:
    assert fixed("SELECT COUNT(*) FROM patient", SPELLED, refused) is None


def test_what_is_proposed_was_tried() -> None:
    tried: list[str] = []
    assert fixed("SELECT COUNT(*) FROM patient", SPELLED, tried.append) == tried[0] == "SELECT COUNT(*) FROM patients"


def test_long_texts_are_left_alone() -> None:
    assert fixed("patient" + " " * MAX_CHARACTERS, SPELLED, answered) is None


def test_an_edit_is_a_text_and_no_pattern() -> None:
    """Whoever names a column `a.*b` gets that column, and no expression that takes for ever."""
    assert fixed("SELECT a.xb FROM t", Edit("a.*b", "c"), answered) is None
    assert fixed("SELECT x", Edit("x", r"\\1 \g<old>"), answered) == r"SELECT \\1 \g<old>"
    assert fixed("( " * 4_000, Edit("(" * 100 + ")", "x"), answered) is None
