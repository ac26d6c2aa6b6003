"""Facets: all histograms of a table for one cost, and how far a unit moves them."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest

from discreet.accounting.losses import Sensitivity
from discreet.audit.replay import Replay
from discreet.errors import Refused
from discreet.exit import Cost
from discreet.release import Domain, Facets
from discreet.release.publish import Publish
from tests.release.cases import BOTH, POLICY, PURE, world
from tests.sql.worlds import opened, policy_of


def test_all_columns_are_one_vector_whose_norm_grows_with_the_root_of_their_number() -> None:
    policy = policy_of(POLICY, head=BOTH)
    task = Publish(Facets(), "SELECT ward, stay, flag, day FROM visits", epsilon=1, max_rows=3, fresh=True)
    with Replay(policy) as auditor:
        (call,) = auditor.run(task, world(5)).calls
    assert call.sensitivity == Sensitivity(Fraction(3 * 4), Fraction(9 * 4))  # type: ignore[union-attr]
    one = Cost.alone(rho=Fraction(1, 50)).deviation(Sensitivity(Fraction(3), Fraction(9)))
    assert Cost.alone(rho=Fraction(1, 50)).deviation(call.sensitivity) == pytest.approx(2 * one)  # type: ignore[union-attr]


def test_private_texts_share_one_delta() -> None:
    """The selections of two columns and the counts cost what is charged: δ is split between them."""
    policy = policy_of(POLICY.replace('flag = { type = "boolean" }', 'flag = { type = "text" }'), head=BOTH)
    task = Publish(Facets(names=("note", "flag", "stay")), "visits", epsilon=1, max_rows=2, fresh=True)
    with Replay(policy) as auditor:
        run = auditor.run(task, world(5))
    first, second, counts = run.calls
    (charged,) = run.charges
    assert first.mechanism.loss.delta == second.mechanism.loss.delta  # type: ignore[union-attr]
    assert 2 * first.mechanism.loss.delta == charged.delta > 0  # type: ignore[union-attr]
    rho = sum((each.mechanism.loss.concentrated().rho for each in (first, second, counts)), Fraction(0))
    assert rho <= charged.rho  # type: ignore[union-attr]


def test_bins_are_so_few_that_they_can_be_seen_and_nobody_needs_to_say_them() -> None:
    domain = Domain.of({"age": (0, 110), "day": (date(2020, 1, 1), date(2026, 12, 31)), "x": (0.0, 1.0)})
    assert max(domain.shape) > 48
    policy = policy_of(POLICY.replace("max = 7 }", "max = 700 }").replace("2026-03-31", "2039-03-31"), head=PURE)
    with opened(policy, world(30)) as curator:
        found = curator.release(Facets(), "SELECT stay, day, cost, flag FROM visits", epsilon=1)
        again = curator.release(Facets(bins={"stay": 100}), "SELECT stay FROM visits", epsilon=1)
    assert max(found.domain.shape) <= 48
    assert again.domain.shape == (100,)
    assert [label for label, _ in found.histogram("flag")] == [False, True]
    assert found.histogram("stay")[0][0] == (0, 20)
    assert found.histogram("stay")[-1][0][1] == 700
    assert found.histogram("day")[-1][0][1] == date(2039, 3, 31)


def test_columns_of_unknown_values_are_left_out_or_refused_by_name() -> None:
    policy = policy_of(POLICY.replace("cost = { min = 0, max = 10 }", 'cost = { type = "number" }'), head=PURE)
    with opened(policy, world(5)) as curator:
        assert curator.release(Facets(), "SELECT cost, flag FROM visits", epsilon=1).domain.names == ("flag",)
        for publication, sql, code in (
            (Facets(names=("cost",)), "visits", "undeclared-bounds"),
            (Facets(), "SELECT cost FROM visits", "undeclared-bounds"),
            (Facets(), "visits", "private-keys-need-delta"),
            (Facets(names=("nothing",)), "visits", "unknown-column"),
            (Facets(bins={"flag": 3, "nothing": 2}), "SELECT flag FROM visits", "unknown-column"),
        ):
            with pytest.raises(Refused) as refused:
                curator.release(publication, sql, epsilon=1)
            assert refused.value.code == code
            assert refused.value.fix
