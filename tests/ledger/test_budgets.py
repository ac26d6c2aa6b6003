"""Budgets change on the record only, and never below what is spent."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting import Concentrated, Pure, epsilon_of
from discreet.accounting.balance import Amount, Balance, Used
from discreet.accounting.balance_html import balance_html, balances_html
from discreet.accounting.conversion import rho_of_pure
from discreet.accounting.labels import rho_of_label
from discreet.accounting.record import PartName
from discreet.accounting.rounding import UNITS, charged
from discreet.errors import BudgetExhausted
from discreet.ledger import Grant, LedgerError, verify
from discreet.ledger.standing import Standing
from tests.ledger.helpers import BOTH, CENT, PURE, hurried, opened, rows, spend


def kinds(path: Path) -> list[str]:
    return [json.loads(line)["kind"] for _, line, *_ in rows(path)]


def reasons(path: Path) -> list[str]:
    records = [json.loads(line) for _, line, *_ in rows(path)]
    return [record["reason"] for record in records if record["kind"] == "budget"]


def pure(epsilon: float) -> Grant:
    return Grant.of(Fraction(str(epsilon)), None)


def both(epsilon: float, delta: float = 1e-6) -> Grant:
    return Grant.of(Fraction(str(epsilon)), Fraction(str(delta)))


@pytest.mark.parametrize(
    ("recorded", "policy"),
    [
        (pure(1), pure(1.000001)),
        (both(1), both(1.1)),
        (both(1), both(1, 1e-5)),
        (both(1), both(0.5, 1e-5)),
        (pure(1), both(1)),
        (both(1), pure(1)),
        (both(1), pure(0.5)),
        (pure(1), both(0.5, 1e-9)),
    ],
)
def test_a_policy_that_grants_more_is_refused(path: Path, recorded: Grant, policy: Grant) -> None:
    with opened(path, recorded) as ledger:
        spend(ledger)
    with pytest.raises(
        LedgerError, match=r"the policy grants .*, the ledger .* → raise it on the record with `discreet"
    ):
        opened(path, policy)
    assert reasons(path) == ["the ledger begins"]
    with opened(path, recorded) as ledger:
        spend(ledger)


@pytest.mark.parametrize(
    ("recorded", "policy"),
    [(pure(1), pure(0.5)), (both(1), both(0.5)), (both(1), both(1, 1e-7)), (both(1), both(0.9, 1e-9))],
)
def test_a_policy_that_grants_less_is_recorded(path: Path, recorded: Grant, policy: Grant) -> None:
    with opened(path, recorded) as ledger:
        spend(ledger)
    with opened(path, policy) as ledger:
        assert ledger.balance().total.epsilon == float(policy.epsilon)
        with pytest.raises(BudgetExhausted), ledger.charge(Pure(0.95), why="q"):
            pytest.fail("the body must not run")
    assert reasons(path) == ["the ledger begins", "the policy lowered it"]
    with pytest.raises(LedgerError, match="raise it on the record"):
        opened(path, recorded)
    assert verify(path).problems == ()


def test_one_who_has_it_open_learns_that_it_was_lowered(path: Path) -> None:
    with hurried(path, pure(10)) as ledger:
        with opened(path, pure(1)):
            pass
        assert ledger.balance().total.epsilon == 1
        with pytest.raises(BudgetExhausted), ledger.charge(Pure(2), why="q"):
            pytest.fail("the body must not run")


@pytest.mark.parametrize(("grant", "less"), [(pure(1), pure(0.4)), (both(1), both(0.05)), (both(1), both(1, 1e-12))])
def test_less_than_what_is_spent_is_refused(path: Path, grant: Grant, less: Grant) -> None:
    loss = Pure(0.5) if grant.delta is None else Concentrated(0.01, 1e-7)
    with opened(path, grant) as ledger:
        spend(ledger, loss)
        with pytest.raises(LedgerError, match=r"is less than what is spent already .* → spending cannot be undone"):
            ledger.raise_budget(less, "to save something")
        with pytest.raises(LedgerError, match="is less than what is spent already"):
            opened(path, less)
        assert ledger.balance().total.epsilon == 1
    assert reasons(path) == ["the ledger begins"]


def test_exactly_what_is_spent_is_enough(path: Path) -> None:
    with opened(path, pure(1)) as ledger:
        spend(ledger, Pure(0.25))
    with opened(path, pure(0.25)) as ledger:
        assert ledger.balance().remaining.epsilon == 0
        with pytest.raises(BudgetExhausted), ledger.charge(Pure(1e-9), why="q"):
            pytest.fail("the body must not run")


def test_the_owner_raises_it_on_the_record(path: Path) -> None:
    with opened(path, pure(1)) as ledger:
        spend(ledger, Pure(1))
        ledger.raise_budget(pure(2), "the board agreed")
        assert ledger.balance().remaining.epsilon == 1
        spend(ledger, Pure(1))
    assert reasons(path) == ["the ledger begins", "the board agreed"]
    with opened(path, pure(2)) as ledger:
        assert ledger.balance().spent.epsilon == 2
    assert verify(path).problems == ()


def test_pure_spending_is_carried_into_a_concentrated_budget(path: Path) -> None:
    """ρ = ε·tanh(ε/2), rounded up, of the whole and of each analyst; no δ was spent."""
    with opened(path, pure(1), shares={"ann": Fraction(1), "bob": Fraction(1)}) as ledger:
        spend(ledger, Pure(Fraction(1, 3)), analyst="ann")
        spend(ledger, Pure(Fraction(1, 7)), analyst="bob")
        spend(ledger, CENT)
        ledger.raise_budget(both(3), "with delta")
        state = ledger._state
        whole = Fraction(charged(Fraction(1, 3)) + charged(Fraction(1, 7)) + charged(CENT.epsilon), UNITS)
        assert state.spent == (charged(rho_of_pure(whole)), 0)
        assert state.shares["ann"] == (charged(rho_of_pure(Fraction(charged(Fraction(1, 3)), UNITS))), 0)
        spend(ledger, Concentrated(0.01, 1e-8))
        balance = ledger.balance()
        assert balance.spent.delta == 1e-8
        assert balance.spent.rho is not None
        assert balance.spent.rho > 0.01
        entries = ledger.entries()
    assert [type(entry.loss) for entry in entries] == [Pure, Pure, Pure, Concentrated]
    assert verify(path).problems == ()
    with opened(path, both(3), shares={"ann": Fraction(1)}) as ledger:
        assert ledger.balance() == balance


def test_a_concentrated_budget_does_not_become_pure(path: Path) -> None:
    with opened(path, both(1)) as ledger:
        for epsilon in (0.5, 1, 1000):
            with pytest.raises(LedgerError, match="cannot be counted in one without → keep the delta"):
                ledger.raise_budget(pure(epsilon), "simpler")
        spend(ledger)
    assert reasons(path) == ["the ledger begins"]


def test_pure_spending_that_is_too_much_for_the_concentrated_budget(path: Path) -> None:
    with opened(path, pure(10)) as ledger:
        spend(ledger, Pure(9))
        with pytest.raises(LedgerError, match="is less than what is spent already"):
            ledger.raise_budget(both(1), "with delta")
        assert ledger.balance().spent.epsilon == 9


def test_what_remains_of_a_concentrated_budget_can_be_bought(path: Path) -> None:
    with opened(path, BOTH) as ledger:
        spend(ledger, Concentrated(0.0123, 1e-8))
        remaining = ledger.balance().remaining
        spend(ledger, Concentrated(rho_of_label(Fraction(str(remaining.epsilon)), Fraction(1, 2 * 10**6))))
        after = ledger.balance()
        assert after.remaining.rho is not None
        assert after.remaining.rho < 1e-10
        assert after.spent.epsilon <= after.total.epsilon
        assert after.spent.rho is not None
        assert after.spent.epsilon >= epsilon_of(Concentrated(after.spent.rho), float(Fraction(1, 2 * 10**6))) - 1e-12


def test_a_change_of_what_is_protected_begins_an_epoch_and_keeps_all_spending(path: Path) -> None:
    with opened(path, protected="people") as ledger:
        spend(ledger, Pure(0.5), analyst="ann")
        ledger.advance_data("a new week")
    with opened(path, protected="households") as ledger:
        assert ledger.balance().spent.epsilon == 0.5
        assert ledger.balance("ann").spent.epsilon == 0.5
        assert ledger.data_version == 2
        assert len(ledger.entries()) == 1
    with opened(path, protected="households"):
        pass
    with opened(path, protected="people"):
        pass
    assert kinds(path) == ["budget", "epoch", "charge", "data", "epoch", "epoch"]
    assert verify(path).problems == ()


def test_a_grant_in_the_ledgers_units() -> None:
    third = Grant.of(Fraction(1, 3), None)
    assert third.limits == (333333333333333333333333,)
    assert PURE.within(PURE)
    assert third.within(PURE)
    assert not PURE.within(third)
    assert not PURE.within(BOTH)
    assert not BOTH.within(PURE)
    assert BOTH.limits[1] == UNITS // (2 * 10**6)
    rho, delta = BOTH.share_limits(Fraction(1))
    assert 0 < rho < BOTH.limits[0]
    assert delta == UNITS // (6 * 10**6)
    assert BOTH.share_limits(BOTH.epsilon) == BOTH.limits


def test_a_balance_rounds_what_is_spent_up_and_what_is_granted_and_left_down() -> None:
    grant = Grant.of(Fraction(1), Fraction(1, 10**6))
    spent = (1_234567_890123_456789_012, 123456_789012_345678)
    balance = grant.balance(grant.limits, spent, grant.epsilon)
    assert (balance.spent.rho, balance.spent.delta) == (0.00123456789012346, 1.23456789012346e-7)
    whole, left = Fraction(grant.limits[0], UNITS), Fraction(grant.limits[0] - spent[0], UNITS)
    for shown, exact in [(balance.total.rho, whole), (balance.remaining.rho, left)]:
        assert shown is not None
        assert exact * (1 - Fraction(1, 10**13)) < Fraction(shown) <= exact


def test_how_many_more_charges_fit(path: Path) -> None:
    with hurried(path, Grant.of(Fraction(3, 2), None)) as ledger:
        assert ledger.affordable_count(CENT) == 150
        assert (ledger.affordable_count(CENT, "ann"), ledger.affordable_count(CENT, "bob")) == (100, 150)
        spend(ledger, Pure(0.7), analyst="ann")
        assert (
            ledger.affordable_count(CENT),
            ledger.affordable_count(CENT, "ann"),
            ledger.affordable_count(CENT, "bob"),
        ) == (80, 30, 80)
        assert ledger.affordable_count(Pure(2)) == 0
        assert ledger.affordable_count(Pure(0)) is None
        assert ledger.affordable_count(Concentrated(0.001)) == 0, "of another currency"


def test_how_much_is_used_is_exact_and_says_of_what(path: Path) -> None:
    with hurried(path, Grant.of(Fraction(3, 2), None)) as ledger:
        assert ledger.used() == Used(0.0)
        spend(ledger, Pure(0.75), analyst="ann")
        spend(ledger, Pure(0.5), analyst="bob")
        assert (ledger.used(), ledger.used("ann")) == (ledger.balance().used, ledger.balance("ann").used)
        assert ledger.used("ann") == Used(0.75, of="share")
        spend(ledger, Pure(Fraction(1, 4) - Fraction(1, UNITS)))
        assert 1 - 1e-15 < ledger.used().part < 1, "one unit is left"
        assert ledger.used().words == "over 99.9 % of the budget used"
        spend(ledger, Pure(Fraction(1, UNITS)))
        assert ledger.used().words == "100 % of the budget used"


def test_the_scarcer_of_rho_and_delta_is_what_is_used(path: Path) -> None:
    with hurried(path, both(3)) as ledger:
        rho, delta = (Fraction(limit, UNITS) for limit in ledger.grant.limits)
        spend(ledger, Concentrated(rho / 4))
        assert ledger.used().words == "25 % of the budget used"
        spend(ledger, Concentrated(0, delta))
        assert ledger.used().words == "100 % of the budget used (its δ; 25 % of its ρ)"
        assert ledger.affordable_count(Concentrated(rho / 5)) == 3, "without partition selection"
        assert ledger.affordable_count(Concentrated(rho / 5, Fraction(1, UNITS))) == 0


def test_a_share_is_limited_by_what_others_left_and_no_more_is_told_about_them(path: Path) -> None:
    with hurried(path, pure(1.5)) as ledger:
        spend(ledger, Pure(0.25))
        assert ledger.balance("ann").limit is None, "the rest of the budget is more than hers"
        spend(ledger, Pure(0.5), analyst="bob")
        hers = ledger.balance("ann")
        assert (hers.limit, hers.next) == (ledger.remaining("ann"), ledger.remaining("ann"))
        assert (hers.spent, hers.used) == (Amount(0.0), Used(0.0, of="share"))


def test_what_a_question_about_a_part_would_cost_now(path: Path) -> None:
    one, other = (PartName("a partition", part, 1) for part in ("F", "M"))
    with hurried(path) as ledger:
        assert ledger.increase(Pure(0.5), one) == Pure(0.5)
        spend(ledger, Pure(0.5), part=one)
        assert ledger.increase(Pure(0.5), one) == Pure(0.5)
        assert ledger.increase(Pure(0.5), other) == Pure(0)
        assert ledger.increase(Pure(0.75), other) == Pure(0.25)
        assert ledger.balance().spent.epsilon == 0.5


# in notebooks

ALONE = Balance(Amount(3.0), Amount(0.75), Amount(2.25))
MIXED = Balance(Amount(3.0, 0.2, 1e-6), Amount(1.0, 0.05, 0.0), Amount(0.5, 0.15, 5e-7))


def test_a_balance_is_drawn_in_its_own_currency() -> None:
    alone, mixed = balance_html(ALONE), balance_html(MIXED)
    assert "spent ε 0.75 of 3" in alone
    assert alone.count("25 % of the budget used") == mixed.count("25 % of the budget used") == 2, "the bar says it, too"
    assert "ρ" not in alone
    assert "guarantees" not in alone
    assert "spent ρ 0.05 of 0.2 and, for partition selection, δ 0 of 5e-07" in mixed
    assert "with δ 1e-06 that guarantees ε 1 of 3" in mixed


def test_balances_are_drawn_with_names() -> None:
    drawn = balances_html({None: MIXED, "<b>": MIXED})
    assert drawn.count("everybody") == drawn.count("&lt;b&gt;") == 1
    assert drawn.count("<details>") == drawn.count("that guarantees") == 2
    assert "guarantees" not in balances_html({None: ALONE})


def test_room_that_was_looked_at_is_looked_at_again_once_somebody_spent(tmp_path: Path) -> None:
    """What a charge costs is held for the state that it was computed for, and for no other."""
    with opened(tmp_path / "ledger.sqlite", pure(1)) as ledger:
        charge = ledger.charge(Pure(Fraction(3, 4)), why="first")
        ledger.demand_room(charge)
        spend(ledger, Pure(Fraction(1, 2)))
        with pytest.raises(BudgetExhausted), charge:
            pass
        other = ledger.charge(Pure(Fraction(1, 4)), why="second")
        ledger.demand_room(other)
        with other:
            pass
        assert ledger.balance().spent.epsilon == 0.75


def test_what_does_not_fit_is_not_charged_where_no_filter_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a charge fits is decided once; filters are there for the words."""
    monkeypatch.setattr(Standing, "admits", lambda *_: False)
    with opened(tmp_path / "ledger.sqlite", pure(1)) as ledger:
        with pytest.raises(LedgerError, match="does not fit"):
            spend(ledger, Pure(Fraction(1, 4)))
        assert not ledger.balance().spent.epsilon
