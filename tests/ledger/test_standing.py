"""How a budget stands, from values alone: which currency ends first, whose limit is the tighter, what parts cost."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from discreet.accounting import Approximate, Concentrated, Loss, Pure
from discreet.accounting.record import PartName
from discreet.errors import Refused
from discreet.ledger import Grant
from discreet.ledger.charge import cost_of
from discreet.ledger.codec import less, plus
from discreet.ledger.entries import loss_of
from discreet.ledger.partitions import Partition
from discreet.ledger.standing import Standing
from discreet.ledger.state import State, changed
from discreet.policy import Percentage

UNIT = 10**24
PURE = Grant(Fraction(10), None, (10 * UNIT,))
BOTH = Grant(Fraction(10), Fraction(1, 10**6), (8 * UNIT, 4 * UNIT))
HALF = Percentage(Fraction(1, 2))


def stands(grant: Grant, spent: tuple[int, ...], **fields: object) -> State:
    return State(grant=grant, spent=spent, protected="a", **fields)  # type: ignore[arg-type]


def test_amounts_are_added_and_taken_off_currency_by_currency() -> None:
    assert plus((1, 2), (3, 5)) == (4, 7)
    assert less((5, 2, 3), (3, 5, 3)) == (2, 0, 0)
    for act in (plus, less):
        with pytest.raises(ValueError, match="zip"):
            act((1,), (1, 2))


@pytest.mark.parametrize(
    ("cost", "count"),
    [
        ((UNIT, UNIT), 3),  # δ ends first: 7 of ρ are left, and 3 of δ
        ((4 * UNIT, UNIT), 1),  # ρ ends first
        ((7 * UNIT, 3 * UNIT), 1),
        ((7 * UNIT + 1, 0), 0),
        ((0, 3 * UNIT + 1), 0),
        ((0, 0), None),
    ],
)
def test_as_many_charges_fit_as_neither_currency_forbids(cost: tuple[int, int], count: int | None) -> None:
    assert Standing(stands(BOTH, (UNIT, UNIT))).affordable_count(cost, None) == count


def test_what_is_free_has_no_end_and_what_costs_the_least_has() -> None:
    everybody = Standing(stands(PURE, (0,)))
    assert everybody.affordable_count((0,), None) is None
    assert everybody.affordable_count((1,), None) == 10 * UNIT


def test_an_analyst_has_what_both_the_share_and_the_budget_leave() -> None:
    """Half of (8, 4) less (1, 2) is (3, 0); the budget has (8, 4) less (7, 3)."""
    state = stands(BOTH, (7 * UNIT, 3 * UNIT), shares={"ann": (UNIT, 2 * UNIT)})
    ann = Standing(state, "ann", HALF)
    assert ann.limits == (4 * UNIT, 2 * UNIT)
    assert ann.spent == (UNIT, 2 * UNIT)
    assert ann.affordable_count((UNIT, 0), None) == 1
    assert ann.affordable_count((0, 1), None) == 0
    assert (ann.remaining().rho, ann.remaining().delta) == (1, 0)
    assert Standing(state).remaining().delta == 1
    left = Standing(stands(BOTH, (2 * UNIT, 0), shares={"ann": (UNIT, 0)}), "ann", HALF).remaining()
    assert (left.rho, left.delta) == (3, 2)


def test_a_share_that_was_made_smaller_than_what_is_spent_leaves_nothing() -> None:
    ann = Standing(stands(PURE, (6 * UNIT,), shares={"ann": (6 * UNIT,)}), "ann", Fraction(5))
    assert ann.remaining().epsilon == 0
    assert ann.affordable_count((1,), None) == 0
    assert [each.left for each in ann.filters] == [0, 4 * UNIT]


def test_the_tighter_filter_speaks_first() -> None:
    rich = Standing(stands(PURE, (9 * UNIT,), shares={"ann": (UNIT,)}), "ann", HALF)
    assert [each.left for each in rich.filters] == [UNIT, 4 * UNIT]
    poor = Standing(stands(PURE, (5 * UNIT,), shares={"ann": (4 * UNIT,)}), "ann", HALF)
    assert [each.left for each in poor.filters] == [UNIT, 5 * UNIT]
    assert [each.left for each in Standing(stands(PURE, (UNIT,))).filters] == [9 * UNIT]


def test_units_are_told_apart_in_the_balance_of_everybody_alone() -> None:
    units = {"a": {"patient": (UNIT,), "visit": (2 * UNIT,)}}
    state = stands(PURE, (3 * UNIT,), shares={"ann": (UNIT,)}, units=units)
    assert {unit: each.epsilon for unit, each in Standing(state).balance().units.items()} == {"patient": 1, "visit": 2}
    assert Standing(state, "ann", HALF).balance().units == {}


def test_the_balance_of_a_share_is_that_of_its_own_epsilon() -> None:
    state = stands(PURE, (3 * UNIT,), shares={"ann": (2 * UNIT,)})
    everybody, ann = Standing(state).balance(), Standing(state, "ann", HALF).balance()
    assert (everybody.total.epsilon, everybody.spent.epsilon, everybody.remaining.epsilon) == (10, 3, 7)
    assert (ann.total.epsilon, ann.spent.epsilon, ann.remaining.epsilon) == (5, 2, 3)
    both = Standing(stands(BOTH, (UNIT, 0)), None, Fraction(10)).balance()
    assert both.total.delta == 1e-6
    assert both.total.epsilon == 10


def test_a_part_may_cost_what_is_free_for_it_and_what_is_left() -> None:
    """One part has cost 5: another may cost 5 before the maximum grows, and 5 more are left of the budget."""
    parts = {"p": Partition.of(1, {"x": (5 * UNIT,)})}
    everybody = Standing(stands(PURE, (5 * UNIT,), partitions=parts))
    fresh, asked = PartName("p", "y", 1), PartName("p", "x", 1)
    assert (everybody.free(fresh).epsilon, everybody.affordable(fresh).epsilon) == (5, 10)
    assert (everybody.free(asked).epsilon, everybody.affordable(asked).epsilon) == (0, 5)
    assert everybody.increase(fresh, (6 * UNIT,)) == (UNIT,)
    assert everybody.increase(fresh, (5 * UNIT,)) == (0,)
    assert everybody.affordable_count((UNIT,), fresh) == 10
    assert everybody.affordable_count((UNIT,), asked) == 5
    with pytest.raises(Refused, match="made with 1 parts of a unit, not with 2") as refused:
        everybody.increase(PartName("p", "y", 2), (UNIT,))
    assert refused.value.code == "unknown-part"


def test_a_share_in_per_cent_is_that_part_of_every_limit() -> None:
    assert BOTH.share_limits(HALF) == (4 * UNIT, 2 * UNIT)
    third = Grant(Fraction(1), None, (10,)).share_limits(Percentage(Fraction(1, 3)))
    assert third == (3,), "rounded down"


def admitted(standing: Standing, loss: tuple[int, ...]) -> bool:
    """What the filters say, one by one."""
    try:
        for each in standing.filters:
            each.admit(loss_of(loss))
    except Refused:
        return False
    return True


@pytest.mark.parametrize("share", [None, HALF])
@pytest.mark.parametrize("grant", [PURE, BOTH])
def test_whether_a_loss_fits_is_what_all_filters_say(grant: Grant, share: Percentage | None) -> None:
    """Also where more is spent than there is, as after a budget was lowered: then nothing fits, not even nothing."""
    found, step = set(), UNIT // 100
    grant = replace(grant, limits=tuple(limit // 100 for limit in grant.limits))
    for spent, own, loss in product(product((0, 3, 4, 7, 8, 9, 11), repeat=len(grant.limits)), (0, 1), (0, 1, 3)):
        state = stands(grant, tuple(step * each for each in spent), shares={"a": (own * step,) * len(spent)})
        standing = Standing(state, None if share is None else "a", share)
        amounts = (loss * step,) * len(spent)
        assert standing.admits(amounts) == admitted(standing, amounts), (spent, own, loss)
        found.add(standing.admits(amounts))
    assert found == {True, False}


@pytest.mark.parametrize("loss", [Concentrated(0.3, 1e-30), Pure(0.7), Approximate(1, 1e-9), Pure(0)])
def test_what_a_loss_costs_is_what_a_filter_counts(loss: Loss) -> None:
    assert cost_of(loss, BOTH) == BOTH.unlimited.admit(loss).units
    if isinstance(loss, Pure):
        assert cost_of(loss, PURE) == PURE.unlimited.admit(loss).units
    else:
        with pytest.raises(Refused, match="pure"):
            cost_of(loss, PURE)


def test_a_changed_state_is_the_replaced_one() -> None:
    state = stands(BOTH, (1, 2), head=7, digest="d", unproven=(1, "x", None))
    for name in (each.name for each in fields(State)):
        value: Any = object()
        found, expected = changed(state, **{name: value}), replace(state, **{name: value})
        assert all(getattr(found, each.name) is getattr(expected, each.name) for each in fields(State))
