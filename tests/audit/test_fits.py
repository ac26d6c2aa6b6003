"""Fits, replayed on neighbours as queries are."""

from __future__ import annotations

import pytest

from discreet.audit.policies import audit_policy
from tests.learn.test_tables import BOTH, POLICY, PURE
from tests.sql.worlds import policy_of


@pytest.mark.slow
@pytest.mark.parametrize("head", [PURE, BOTH])
def test_no_fit_tells_neighbours_apart(head: str) -> None:
    found = audit_policy(policy_of(POLICY, head=head), most=1, with_fits=True)
    results = [result for result in found.results if result.question.kind == "fits"]
    assert len(results) == 8
    assert {result.state for result in results} == {"the same"}
    assert max(result.report.l1 for result in results) == 1
