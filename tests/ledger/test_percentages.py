"""Shares in per cent: a part of ρ and of δ, or of a pure budget's ε, whatever the budget is."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting import Concentrated, Pure
from discreet.accounting.labels import rho_of_label, selection_delta
from discreet.curator.state import balances
from discreet.errors import BudgetExhausted
from discreet.ledger import Grant, Ledger
from discreet.ledger.memory import Memory
from discreet.policy import Percentage, PolicyError, parse
from tests.policy.examples import HOSPITAL

QUARTER = Percentage(Fraction(1, 4))
EPSILON, DELTA = Fraction(3), Fraction("1e-6")


def with_share(written: str) -> bytes:
    return f"{HOSPITAL}\n[analysts.quarter]\n{written}\n".encode()


def test_a_quarter_is_a_quarter_of_rho_and_of_delta() -> None:
    grant = Grant.of(EPSILON, DELTA)
    assert grant.share_limits(QUARTER) == tuple(limit // 4 for limit in grant.limits)
    assert grant.share_limits(Percentage(Fraction(1))) == grant.limits
    assert Grant.of(EPSILON, None).share_limits(QUARTER) == (grant_units(Fraction(3, 4)),)


def grant_units(epsilon: Fraction) -> int:
    return Grant.of(epsilon, None).limits[0]


def test_what_a_share_guarantees_is_its_epsilon() -> None:
    grant = Grant.of(EPSILON, DELTA)
    epsilon = grant.share_epsilon(QUARTER)
    assert Fraction(3, 4) < epsilon < 3  # the ε of a quarter of ρ is more than a quarter of ε
    assert rho_of_label(epsilon, DELTA / 2) <= rho_of_label(EPSILON, DELTA / 2) / 4 * (1 + Fraction(1, 10**9))
    assert rho_of_label(epsilon, DELTA / 2) >= rho_of_label(EPSILON, DELTA / 2) / 4 * (1 - Fraction(1, 10**9))
    assert grant.share_epsilon(Percentage(Fraction(1))) == EPSILON
    assert Grant.of(EPSILON, None).share_epsilon(QUARTER) == Fraction(3, 4)


def test_a_pure_share_ends_at_its_part() -> None:
    with Ledger(Memory(), Grant.of(Fraction(2), None), shares={"a": QUARTER}) as ledger:
        assert ledger.balance("a").total.epsilon == ledger.balance("a").remaining.epsilon == 0.5
        with ledger.charge(Pure(0.5), why="all of it", analyst="a"):
            pass
        with pytest.raises(BudgetExhausted), ledger.charge(Pure(1e-9), why="more", analyst="a"):
            pass
        assert ledger.balance().remaining.epsilon == 1.5


def test_what_is_offered_to_a_share_fits_with_its_selection() -> None:
    with Ledger(Memory(), Grant.of(EPSILON, DELTA), shares={"a": QUARTER}) as ledger:
        rho = rho_of_label(Fraction(repr(ledger.remaining("a").epsilon)), DELTA / 2)
        whole = Concentrated(rho, selection_delta(rho, EPSILON, DELTA))
        with ledger.charge(whole, why="the most that is offered", analyst="a"):
            pass
        with pytest.raises(BudgetExhausted), ledger.charge(whole, why="again", analyst="a"):
            pass


def test_a_policy_says_per_cent() -> None:
    policy = parse(with_share('share = "12.5 %"'), Path("p.toml"))
    assert policy.analysts["quarter"] == Percentage(Fraction(1, 8))
    assert balances(policy, "quarter")["quarter"].total.rho == pytest.approx(
        (balances(policy)[None].total.rho or 0) / 8
    )
    assert parse(with_share('share = "100%"'), Path("p.toml")).analysts["quarter"] == Percentage(Fraction(1))


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('share = "0 %"', "analysts.quarter.share: must be above 0 % and at most 100 %"),
        ('share = "101 %"', "analysts.quarter.share: must be above 0 % and at most 100 %"),
        ("share = 25", "analysts.quarter.share: must be a text with a number and a per cent sign"),
        ('share = "25"', "analysts.quarter.share: must be a text with a number and a per cent sign"),
        ('share = "-5 %"', "analysts.quarter.share: must be a text with a number and a per cent sign"),
        ('share = "٢ %"', "analysts.quarter.share: must be a text with a number and a per cent sign"),
        ('share = "25 %"\nepsilon = 1', "analysts.quarter.share: is said twice, as epsilon too"),
        ("", "analysts.quarter.epsilon: missing"),
    ],
)
def test_what_is_no_share_is_reported(written: str, problem: str) -> None:
    with pytest.raises(PolicyError) as wrong:
        parse(with_share(written), Path("p.toml"))
    assert problem in str(wrong.value)
