from __future__ import annotations

import dataclasses
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import (
    Approximate,
    Concentrated,
    ConcentratedFilter,
    Loss,
    Pure,
    PureFilter,
    compose,
    epsilon_of,
    rho_for,
)
from discreet.accounting.conversion import rho_of_pure
from discreet.accounting.labels import rho_of_label
from discreet.accounting.rounding import UNITS, charged, granted
from discreet.errors import BudgetExhausted, Refused
from tests.accounting.truth import mp, real

law = settings(deadline=None, max_examples=60)
UNIT = Fraction(1, UNITS)
costs = st.one_of(
    st.fractions(0, 2, max_denominator=10**30),
    st.floats(0, 2),
    st.sampled_from([Fraction(0), UNIT, UNIT / 3, Fraction(1, 3), Fraction(1, 10), Fraction(1)]),
)


# Filling a budget


def fill(times: int) -> None:
    spent = PureFilter.of(1)
    part = Pure(Fraction(1, times))
    for _ in range(times):
        spent = spent.admit(part)
    assert spent.remaining == Pure(0)
    with pytest.raises(BudgetExhausted):
        spent.admit(part)
    with pytest.raises(BudgetExhausted):
        spent.admit(Pure(UNIT))


def test_ten_thousand_small_charges_fill_a_budget_exactly() -> None:
    fill(10_000)


@pytest.mark.slow
def test_a_million_charges_of_a_millionth_fill_a_budget_exactly() -> None:
    fill(10**6)


def test_ten_tenths_fit_into_one_and_not_a_unit_more() -> None:
    spent = PureFilter.of(1.0)
    for _ in range(10):
        spent = spent.admit(Pure(0.1))
    assert spent.remaining == Pure(0)
    assert spent.admit(Pure(0)) == spent
    with pytest.raises(BudgetExhausted):
        spent.admit(Pure(1e-24))


def test_thirds_are_rounded_up_so_that_three_do_not_fit_into_one() -> None:
    spent = PureFilter.of(1).admit(Pure(Fraction(1, 3))).admit(Pure(Fraction(1, 3)))
    assert spent.remaining.epsilon < Fraction(1, 3)
    with pytest.raises(BudgetExhausted):
        spent.admit(Pure(Fraction(1, 3)))


def test_ten_tenths_of_rho_fit_into_one_and_not_a_unit_more() -> None:
    spent = ConcentratedFilter(rho=UNITS, delta=UNITS // 10**6)
    for _ in range(10):
        spent = spent.admit(Concentrated(0.1, 1e-7))
    assert spent.remaining == Concentrated(0, 0)
    with pytest.raises(BudgetExhausted, match="the cost is rho"):
        spent.admit(Concentrated(1e-24))
    with pytest.raises(BudgetExhausted, match="the cost is delta"):
        spent.admit(Concentrated(0, 1e-24))


def test_charges_round_up_and_grants_round_down() -> None:
    assert charged(UNIT / 2) == 1
    assert granted(UNIT / 2) == 0
    assert charged(Fraction(0)) == granted(Fraction(0)) == 0
    assert charged(Fraction(1, 3)) == granted(Fraction(1, 3)) + 1


def test_a_third_of_a_unit_costs_a_whole_one_in_every_currency() -> None:
    """Otherwise endless charges would fit that are each too small to be seen."""
    assert PureFilter(total=1).admit(Pure(UNIT / 3)).units == (1,)
    assert ConcentratedFilter(rho=1, delta=1).admit(Concentrated(UNIT / 3, UNIT / 3)).units == (1, 1)


# What may be charged to which budget


@pytest.mark.parametrize("loss", [Concentrated(0), Concentrated(0.1), Concentrated(0, 1e-9), Approximate(0.1, 1e-9)])
def test_a_pure_budget_takes_pure_losses_only(loss: Loss) -> None:
    with pytest.raises(Refused) as refusal:
        PureFilter.of(1).admit(loss)
    assert refusal.value.code == "cost-invalid"
    assert repr(loss) in refusal.value.reason
    assert "give the budget a delta" in refusal.value.fix
    assert not isinstance(refusal.value, BudgetExhausted)


@pytest.mark.parametrize("epsilon", ["1e-9", "0.001", "0.1", "1", "3"])
def test_a_concentrated_budget_takes_pure_losses_at_the_cost_of_randomised_response(epsilon: str) -> None:
    cost = Fraction(epsilon)
    spent = ConcentratedFilter.of(20, 1e-6).admit(Pure(cost))
    truth = real(cost) * mp.tanh(real(cost) / 2)
    assert truth <= real(Fraction(spent.spent_rho, UNITS)) <= truth + real(UNIT) + truth * mp.mpf("1e-28")
    assert spent.spent_rho <= charged(cost**2 / 2)
    assert spent.spent_delta == 0


def test_a_concentrated_budget_takes_statements_as_pure_ones_with_delta() -> None:
    spent = ConcentratedFilter.of(10, 1e-6).admit(Approximate(1, 1e-7))
    assert (spent.spent_rho, spent.spent_delta) == (charged(rho_of_pure(Fraction(1))), UNITS // 10**7)


# Budgets


@pytest.mark.parametrize("epsilon", ["1e-9", "0.1", "1", "3", "50", "1e9"])
@pytest.mark.parametrize("delta", ["1e-300", "1e-12", "1e-6", "0.1"])
def test_a_concentrated_budget_keeps_its_promise_when_all_of_it_is_spent(epsilon: str, delta: str) -> None:
    """Half of δ pays for the conversion, the other half is there to be spent."""
    budget = ConcentratedFilter.of(Fraction(epsilon), Fraction(delta))
    half = Fraction(delta) / 2
    assert float(Fraction(budget.rho, UNITS)) == pytest.approx(rho_for(Fraction(epsilon), half), rel=1e-14, abs=1e-24)
    assert epsilon_of(Concentrated(Fraction(budget.rho, UNITS)), half) <= float(epsilon)
    assert Fraction(budget.delta, UNITS) <= half
    emptied = budget.admit(budget.remaining)
    assert emptied.remaining == Concentrated(0, 0)
    everything = Concentrated(Fraction(emptied.spent_rho, UNITS), Fraction(emptied.spent_delta, UNITS))
    assert epsilon_of(everything, Fraction(delta)) <= float(epsilon)


def test_a_concentrated_budget_wastes_nothing() -> None:
    budget = ConcentratedFilter.of(1, 1e-6)
    assert epsilon_of(Concentrated(Fraction(budget.rho, UNITS)), 5e-7) > 1 - 1e-9
    assert budget.delta == UNITS // (2 * 10**6)


@pytest.mark.parametrize("bad", [0, -1, 1e10, 1e-10, float("nan"), float("inf")])
def test_budgets_out_of_range_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"^epsilon must "):
        PureFilter.of(bad)
    with pytest.raises(ValueError, match=r"^epsilon must "):
        ConcentratedFilter.of(bad, 1e-6)


@pytest.mark.parametrize("bad", [None, "1", True])
def test_budgets_are_numbers(bad: Any) -> None:
    with pytest.raises(TypeError, match=r"^epsilon must be a number"):
        PureFilter.of(bad)
    with pytest.raises(TypeError, match=r"^delta must be a number"):
        ConcentratedFilter.of(1, bad)


@pytest.mark.parametrize("bad", [0, 1, 2, -1e-6])
def test_deltas_out_of_range_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"^delta must lie strictly between 0 and 1"):
        ConcentratedFilter.of(1, bad)


def test_filters_are_values() -> None:
    for budget in (PureFilter.of(1), ConcentratedFilter.of(1, 1e-6)):
        before = dataclasses.replace(budget)
        after = budget.admit(Pure(0.1))
        assert budget == before
        assert hash(budget) == hash(before)
        assert after != before
        for field in dataclasses.fields(budget):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(budget, field.name, 0)


# Refusals tell what works

SIXTHS = [Fraction(6666666, 10**7), Fraction(1, 3), Fraction(2, 3), Fraction(99999999, 10**8), Fraction(1, 7 * 10**6)]


def offered(refusal: BudgetExhausted, name: str) -> Decimal:
    found = re.search(rf"{name} ([0-9.e-]+)", refusal.fix)
    assert found
    return Decimal(found[1])


@pytest.mark.parametrize("left", SIXTHS)
def test_what_a_pure_refusal_offers_is_there(left: Fraction) -> None:
    budget = PureFilter.of(left)
    with pytest.raises(BudgetExhausted) as refusal:
        budget.admit(Pure(2))
    assert refusal.value.code == "budget-exhausted"
    assert refusal.value.reason.startswith("the cost is epsilon 2 and ")
    cost = offered(refusal.value, "epsilon")
    assert budget.admit(Pure(cost)).remaining.epsilon < left / 10**5


@pytest.mark.parametrize("left", SIXTHS)
def test_what_a_concentrated_refusal_offers_is_there(left: Fraction) -> None:
    half = Fraction(1, 2 * 10**6)
    budget = ConcentratedFilter(rho=granted(left), delta=granted(left / 10), conversion=half)
    with pytest.raises(BudgetExhausted) as refusal:
        budget.admit(Concentrated(2))
    assert budget.admit(Concentrated(offered(refusal.value, "rho"))).remaining.rho < left / 10**5
    labelled = rho_of_label(Fraction(offered(refusal.value, "epsilon")), half)
    assert budget.admit(Concentrated(labelled)).remaining.rho < left / 10**4
    with pytest.raises(BudgetExhausted) as refusal:
        budget.admit(Concentrated(0, 0.9))
    assert "group by declared keys" in refusal.value.fix
    assert budget.admit(Concentrated(0, offered(refusal.value, "use"))).remaining.delta < left / 10**6


@law
@given(st.fractions(Fraction(1, 10**9), 10, max_denominator=10**24), st.fractions(0, 1))
def test_what_any_refusal_offers_is_there(total: Fraction, share: Fraction) -> None:
    budget = PureFilter.of(total).admit(Pure(Fraction(granted(total * share), UNITS)))
    with pytest.raises(BudgetExhausted) as refusal:
        budget.admit(Pure(20))
    if budget.remaining.epsilon:
        budget.admit(Pure(offered(refusal.value, "epsilon")))


def test_where_nothing_is_left_nothing_is_offered() -> None:
    with pytest.raises(BudgetExhausted) as refusal:
        PureFilter(total=0).admit(Pure(1))
    assert refusal.value.fix == "only the owner can grant a larger budget"
    with pytest.raises(BudgetExhausted) as refusal:
        ConcentratedFilter(rho=0, delta=0).admit(Concentrated(1))
    assert refusal.value.fix == "only the owner can grant a larger budget"
    with pytest.raises(BudgetExhausted) as refusal:
        ConcentratedFilter(rho=0, delta=0).admit(Concentrated(0, 0.1))
    assert refusal.value.fix == "group by declared keys, which cost no delta"


def test_the_ledger_writes_down_whole_units() -> None:
    assert PureFilter.of(1).admit(Pure(0.1)).units == (UNITS // 10,)
    assert ConcentratedFilter.of(1, 1e-6).admit(Concentrated(1e-3, 1e-9)).units == (UNITS // 1000, UNITS // 10**9)


# Costs chosen adaptively, against exact sums


def next_cost(left: Fraction, move: tuple[str, Any]) -> Fraction:
    """A cost that depends on what is left, as an analyst's may."""
    kind, value = move
    amount = Pure(value).epsilon
    return {"any": amount, "share": left * amount / 2, "all": left, "too much": left + UNIT}[kind]


moves = st.lists(st.tuples(st.sampled_from(["any", "any", "share", "share", "all", "too much"]), costs), max_size=30)


@law
@given(st.fractions(Fraction(1, 10**9), 5, max_denominator=10**30), moves)
def test_a_pure_budget_is_never_overspent_and_refuses_nothing_that_fits(total: Fraction, choices: list[Any]) -> None:
    budget, exact = PureFilter.of(total), Fraction(0)
    for count, move in enumerate(choices, start=1):
        cost = next_cost(budget.remaining.epsilon, move)
        try:
            budget = budget.admit(Pure(cost))
        except BudgetExhausted:
            assert exact + cost > total - (count + 1) * UNIT
        else:
            exact += cost
        assert exact <= total
        assert total - exact - (count + 1) * UNIT <= budget.remaining.epsilon <= total - exact


@law
@given(
    st.fractions(Fraction(1, 10**9), 5, max_denominator=10**30),
    moves,
    st.lists(
        st.tuples(st.sampled_from([Pure, Concentrated, Approximate]), st.fractions(0, Fraction(1, 10))), max_size=30
    ),
)
def test_a_concentrated_budget_is_never_overspent(total: Fraction, choices: list[Any], kinds: list[Any]) -> None:
    cap = Fraction(1, 4)
    budget, exact, deltas = ConcentratedFilter(granted(total), granted(cap)), mp.mpf(0), Fraction(0)
    for count, (move, (kind, delta)) in enumerate(zip(choices, kinds, strict=False), start=1):
        amount = next_cost(budget.remaining.rho, move)
        loss: Loss = Pure(amount) if kind is Pure or not delta else kind(amount, delta)
        own = Fraction(0) if isinstance(loss, Pure) else delta
        cost = _true_rho(loss)
        try:
            budget = budget.admit(loss)
        except BudgetExhausted:
            room = (count + 1) * UNIT
            assert exact + cost > real(total - room) - cost * mp.mpf("1e-28") or deltas + own > cap - room
        else:
            exact, deltas = exact + cost, deltas + own
        assert exact <= real(total) + mp.mpf("1e-80")
        assert deltas <= cap


def _true_rho(loss: Loss) -> Any:
    if isinstance(loss, Concentrated):
        return real(loss.rho)
    return real(loss.epsilon) * mp.tanh(real(loss.epsilon) / 2)


@law
@given(st.lists(st.builds(Pure, costs), max_size=20))
def test_a_filter_admits_what_composition_adds_up(some: list[Pure]) -> None:
    budget = PureFilter.of(100)
    for loss in some:
        budget = budget.admit(loss)
    total = compose(*some)
    assert isinstance(total, Pure)
    assert 0 <= Fraction(budget.spent, UNITS) - total.epsilon <= len(some) * UNIT


def test_zero_is_a_loss_that_costs_nothing() -> None:
    assert rho_of_pure(Fraction(0)) == 0
    assert ConcentratedFilter.of(1, 1e-6).admit(Pure(0)) == ConcentratedFilter.of(1, 1e-6)
