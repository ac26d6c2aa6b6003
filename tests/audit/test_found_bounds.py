"""Bounds that are found, as audits see them: by the policy's own audit, and as a black box at the label."""

from __future__ import annotations

import pytest

from discreet.audit import audit_policy, estimate, question
from discreet.audit.questions import questions
from tests.sql.worlds import policy_of

POLICY = """
name = "w"
implicit_bounds = true
[budget]
epsilon = 9
[unit]
name = "person"
[tables.t]
source = "t.csv"
unit = "who"
max_rows = 2
[tables.t.columns]
x = { type = "number" }
i = { type = "integer" }
g = { values = ["a", "b"] }
"""
CROWD = [{"who": f"p{n}", "x": 3.0, "i": 1, "g": "a"} for n in range(6)]
GUEST = [{"who": "guest", "x": 200.0, "i": 9, "g": "b"}, {"who": "guest", "x": -200.0, "i": 9, "g": "b"}]
SURE = 1 - 1e-8


def test_a_policys_audit_leaves_bounds_out() -> None:
    policy = policy_of(POLICY, head="")
    texts = [each.text for each in questions(policy)]
    assert any("SUM(x), AVG(x)" in text for text in texts)
    assert any("AUTO" in text for text in texts)
    audit = audit_policy(policy, most=2)
    assert audit.passed, [str(result.report) for result in audit.of("difference")]
    left_out = [result for result in audit.results if "SUM(x), AVG(x)" in result.question.text]
    assert [result.state for result in left_out] == ["the same"]
    assert left_out[0].report.l1 > 0


@pytest.mark.slow
def test_search_and_release_keep_their_label_together() -> None:
    """One person is in bins of its own, and in the sum: both together are seen no better than the label allows."""
    batch = question(policy_of(POLICY, head=""), "SELECT SUM(x) AS s FROM t", epsilon=4)
    for sides in (({"t": CROWD}, {"t": [*CROWD, *GUEST]}), ({"t": [*CROWD, *GUEST]}, {"t": CROWD})):
        estimated = estimate(batch, *sides, claim=4, samples=1200, confidence=SURE)
        assert not estimated.violated, str(estimated)
