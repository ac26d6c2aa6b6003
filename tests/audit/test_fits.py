"""Fits, replayed on neighbours as queries are."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.accounting.losses import Sensitivity
from discreet.audit import policies
from discreet.audit.policies import FIT_PAIRS, audit_policy
from discreet.learn import moments
from tests.learn.test_tables import BOTH, POLICY, PURE
from tests.sql.worlds import policy_of


@pytest.mark.slow
@pytest.mark.parametrize("head", [PURE, BOTH])
def test_no_fit_tells_neighbours_apart(head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty pairs for each of them, in turn."""
    monkeypatch.setattr(policies, "QUERIES_PER_FIT", Fraction(1, 8))
    found = audit_policy(policy_of(POLICY, head=head), most=1, fit_pairs=20)
    results = [result for result in found.results if result.question.kind == "fits"]
    assert len(results) == 8
    assert {result.state for result in results} == {"the same"}
    assert max(result.report.l1 for result in results) == 1


@pytest.mark.long
def test_by_default_a_few_fits_meet_two_pairs_each_and_one_that_leaks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousandth of the sensitivity: every pair of neighbours shows it."""
    nearly_none = Sensitivity(Fraction(1, 1000), Fraction(1, 10**6))
    monkeypatch.setattr(moments, "sensitivity", lambda *_: nearly_none)
    monkeypatch.setattr(policies, "QUERIES_PER_FIT", Fraction(1, 5))
    found = audit_policy(policy_of(POLICY, head=PURE), most=1)
    fits = [result for result in found.results if result.question.kind == "fits"]
    assert len(fits) == 5
    assert all(result.pairs <= FIT_PAIRS for result in fits)
    states = {result.question.text.partition(".")[0]: set[str]() for result in fits}
    for result in fits:
        states[result.question.text.partition(".")[0]].add(result.state)
    assert states["KMeans"] == states["LinearRegression"] == {"the same"}
    assert "difference" in states["StandardScaler"]
