"""Bounds that are found, as audits see them: by the policy's own audit, and as a black box at the label."""

from __future__ import annotations

import pytest

from discreet.audit import Estimate, audit_policy, estimate, question
from discreet.audit.neighbours import Data
from discreet.audit.questions import questions
from discreet.sql.unknown import Extremes
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
CROWD = [{"who": f"p{n}", "x": 200.0, "i": 1, "g": "a"} for n in range(146)]
"""As many as a bin must have to pass at ε = 1."""
GUEST = [{"who": "guest", "x": 200.0, "i": 9, "g": "b"}, {"who": "guest", "x": -200.0, "i": 9, "g": "b"}]
NEAR: Data = {"t": CROWD}
MORE: Data = {"t": [*CROWD, *GUEST]}
SURE = 1 - 1e-6


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


def estimated(*, on: Data, beside: Data) -> Estimate:
    batch = question(policy_of(POLICY, head=""), "SELECT SUM(x) AS s FROM t", epsilon=1)
    return estimate(batch, on, beside, claim=1, samples=400, confidence=SURE)


@pytest.mark.slow
def test_search_and_release_keep_their_label_together() -> None:
    """So many are in the bin that one more decides as often as anybody can whether it passes."""
    for on, beside in ((NEAR, MORE), (MORE, NEAR)):
        result = estimated(on=on, beside=beside)
        assert not result.violated, str(result)


@pytest.mark.slow
def test_a_search_that_counts_for_more_than_it_says_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Extremes.counts
    monkeypatch.setattr(Extremes, "counts", lambda self, rows: [1000 * count for count in right(self, rows)])
    assert estimated(on=MORE, beside=NEAR).violated
