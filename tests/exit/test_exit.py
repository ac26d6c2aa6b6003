"""The exit and its bill: what leaves is added up, and ends with its charge."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet.accounting import Concentrated, Pure
from discreet.accounting.losses import Sensitivity
from discreet.accounting.record import OWNER, BlockNames
from discreet.engines.stopping import Stop, Stopped
from discreet.errors import BudgetExhausted, Refused
from discreet.exit import SAMPLER, Bill, Cost, Exit, opened
from discreet.exit import exit as exit_module
from discreet.exit.charges import charge_for
from discreet.exit.cost import Choices
from discreet.ledger import Grant, Ledger
from discreet.ledger.memory import Memory
from discreet.mechanisms import Exponential, KeySelection, PermuteAndFlip
from discreet.noise import SYSTEM
from tests.learn.helpers import Till

ONE = Sensitivity.cells(1, 1)
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
COSTS = [Cost(Pure(1)), Cost(Concentrated(1))]


def bill(**more: Any) -> Bill:
    return Bill(**{"loss": Pure(1), "cost": Cost(Pure(1)), "why": "a test", "plan": "p", "data": 1, **more})


@pytest.mark.parametrize("key", ["", "x" * 201, 7, b"name", ("name", "request")])
def test_a_bill_with_a_key_that_is_none_cannot_be_made(key: Any) -> None:
    with pytest.raises(Refused, match="key-invalid"):
        bill(key=key)


def test_a_text_names_the_request_of_one_caller_and_what_it_asks() -> None:
    """The same text of another caller is another name; the same name for something else is noticed."""
    mine = bill(key="tips").request
    assert mine is not None
    assert mine == bill(key="tips").request == bill(key="tips", analyst=OWNER, data=2).request
    assert bill(key="x" * 200).request is not None
    assert bill(key="\ud800 ü\n").request is not None
    assert bill(key=mine).request is mine
    assert bill().request is None
    others = [bill(key="tips", **more).request for more in ({"analyst": "a"}, {"analyst": "b"})]
    assert len({mine.name, *(each.name for each in others if each is not None)}) == 3
    for more in ({"plan": "q"}, {"loss": Pure(2)}, {"blocks": BlockNames("s", ((1, 1),))}):
        other = bill(key="tips", **more).request
        assert other is not None
        assert (other.name, other.request == mine.request) == (mine.name, False)


WAYS: dict[str, Any] = {
    "array": lambda way, share: way.release(np.zeros((2, 2), dtype=np.int64), ONE, share),
    "list": lambda way, share: way.release([1, 2**70], ONE, share),
    "choice": lambda way, share: way.choose(np.array([1, 10**6]), 1, share),
    "choices": lambda way, share: way.choose_each([[1, 2], [3, 4]], ONE, 1, share),
    "choice among copies": lambda way, share: way.choose_among(np.array([1, 10**6]), (2, 3), 1, share),
    "part": lambda way, share: way.part(share),
    "best of some": lambda way, share: way.best_of_some([lambda _: (1, "a"), lambda _: (2, "b")], share),
}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_no_way_out_gives_more_than_the_cost(name: str, cost: Cost) -> None:
    exit_ = Exit(cost, SYSTEM)
    WAYS[name](exit_, HALF)
    with pytest.raises(RuntimeError, match="more than was charged"):
        WAYS[name](exit_, HALF + Fraction(1, 10**9))
    WAYS[name](exit_, HALF)
    with pytest.raises(RuntimeError, match="more than was charged"):
        WAYS[name](exit_, Fraction(1, 10**6))


@pytest.mark.parametrize("name", WAYS)
def test_all_ways_share_one_sum(name: str) -> None:
    exit_ = Exit(Cost(Pure(1)), SYSTEM)
    exit_.release([1], ONE, Fraction(2, 3))
    with pytest.raises(RuntimeError, match="more than was charged"):
        WAYS[name](exit_, HALF)


def test_delta_is_charged_too() -> None:
    cost = Cost(Concentrated(1))
    for limit, enough in ((Concentrated(1, 1e-6), True), (Concentrated(1), False), (Concentrated(1, 9e-7), False)):
        exit_ = Exit(cost, SYSTEM, limit=limit)
        if enough:
            assert exit_.select_keys({("a",): 10**6}, 1, HALF, Fraction(1, 10**6)).keys() == {("a",)}
        with pytest.raises(RuntimeError, match="more than was charged"):
            exit_.select_keys({("a",): 10**6}, 1, HALF, Fraction(1, 10**6))


def test_a_limit_below_the_cost_holds_whatever_the_shares() -> None:
    """The charge decides, not what the task says of its shares."""
    exit_ = Exit(Cost(Pure(2)), SYSTEM, limit=Pure(1))
    exit_.release([0], ONE, HALF)
    with pytest.raises(RuntimeError, match="more than was charged"):
        exit_.release([0], ONE, Fraction(1, 100))


@pytest.mark.parametrize("name", WAYS)
def test_shares_end_at_the_cost_though_more_was_charged(name: str) -> None:
    exit_ = Exit(Cost(Pure(1)), SYSTEM, limit=Pure(5))
    WAYS[name](exit_, THIRD)
    WAYS[name](exit_, 2 * THIRD)
    with pytest.raises(RuntimeError, match="more than was charged"):
        WAYS[name](exit_, Fraction(1, 10**6))


def test_concentrated_noise_does_not_leave_for_a_pure_charge() -> None:
    with pytest.raises(RuntimeError, match="more than was charged"):
        Exit(Cost(Concentrated(Fraction(1, 100))), SYSTEM, limit=Pure(100)).release([0], ONE)
    assert not Pure(1).bounds(Concentrated(0))
    assert Concentrated(1).bounds(Pure(1))


def test_negative_shares_give_nothing_back() -> None:
    exit_ = Exit(Cost(Pure(1)), SYSTEM)
    for share in (Fraction(-1), Fraction(-1, 10**30)):
        with pytest.raises(RuntimeError, match="not below 0"):
            exit_.part(share)
    with pytest.raises((RuntimeError, ValueError)):
        exit_.release([0], ONE, Fraction(-1))


def test_big_integers_stay_exact_and_shapes_stay() -> None:
    exit_ = Exit(Cost(Pure(10**9)), SYSTEM)
    assert abs(exit_.release([2**80], ONE, HALF)[0] - 2**80) < 100
    assert exit_.release(np.zeros((2, 3), dtype=np.int64), ONE, THIRD).shape == (2, 3)
    assert exit_.release([], ONE, Fraction(1, 100)) == []


def test_parallel_parts_have_the_cost_again_and_parts_a_share() -> None:
    exit_ = Exit(Cost(Pure(1)), SYSTEM)
    part = exit_.part(Fraction(1))
    part.release([0], ONE)
    other = exit_.parallel()
    other.release([0], ONE)
    for each in (exit_, part, other):
        with pytest.raises(RuntimeError, match="more than was charged"):
            each.release([0], ONE, THIRD)


@pytest.mark.parametrize("failing", [False, True])
def test_with_its_charge_an_exit_ends_and_so_do_its_parts(failing: bool) -> None:
    till, kept = Till(SYSTEM), []
    try:
        with opened(till.charge(Pure(1), why="a test"), Cost(Pure(1))) as exit_:
            kept += [exit_, exit_.part(THIRD), exit_.parallel()]
            if failing:
                raise ValueError("a row")
    except ValueError:
        pass
    for each in kept:
        acts: list[Callable[[Exit], object]] = [
            lambda way: way.release([0], ONE, THIRD),
            lambda way: way.part(THIRD),
            lambda way: way.parallel(),
            lambda way: way.below(2, 1),
            lambda way: way.seed(),
        ]
        for act in acts:
            with pytest.raises(RuntimeError, match="has ended"):
                act(each)


def test_uniform_numbers_and_watched_steps_are_free() -> None:
    exit_ = Exit(Cost(Pure(1)), SYSTEM)
    assert set(exit_.below(2, 100).tolist()) == {0, 1}
    assert 0 <= exit_.seed() < 2**32
    assert list(exit_.watched([1, 2], 2, "steps")) == [1, 2]
    exit_.watch = lambda steps, total, what: [step * total + len(what) for step in steps]
    assert list(exit_.watched([1, 2], 2, "steps")) == [7, 9]
    exit_.release([0], ONE)


def test_a_choice_of_one_is_permuted_and_flipped_where_the_cost_is_pure() -> None:
    assert Cost(Pure(1)).choice(1, HALF) == Choices(PermuteAndFlip(HALF, sensitivity=1, monotone=True))
    assert Cost(Concentrated(1)).choice(1, HALF) == Choices(Exponential(rho=HALF, sensitivity=1, monotone=True))


MECHANISMS: dict[str, Any] = {
    "noise": lambda cost, share: cost.noise(ONE, share),
    "noise on cells": lambda cost, share: cost.noise(Sensitivity.cells(4, 3), share),
    "choice": lambda cost, share: cost.choice(2, share),
    "choice among copies": lambda cost, share: cost.choice_among((2, 3), 2, share),
    "choices": lambda cost, share: cost.choices(Sensitivity.cells(4, 3), 2, share),
}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("cost", [Cost(Pure(1)), Cost(Concentrated(Fraction(1, 50)))], ids=str)
def test_whatever_a_cost_is_enough_for_loses_its_share(name: str, cost: Cost) -> None:
    for share in (HALF, THIRD, Fraction(1)):
        loss = MECHANISMS[name](cost, share).loss
        assert loss.amount == cost.amount * share
        assert loss.is_pure == cost.pure


# bills


def test_a_bill_charges_what_its_exit_may_let_out() -> None:
    assert bill().allowed == Pure(1)
    assert bill(loss=Pure(3), limit=Pure(1), rows=3).allowed == Pure(1)
    assert bill(loss=Concentrated(9, 1e-6)).allowed == Concentrated(9, 1e-6)
    bill(loss=Concentrated(9), limit=Concentrated(1), rows=3)
    for wrong in (
        {"limit": Pure(2)},
        {"loss": Pure(2), "limit": Pure(1), "rows": 3},
        {"loss": Concentrated(3), "limit": Concentrated(1), "rows": 3},
        {"limit": Concentrated(Fraction(1, 10**6))},
    ):
        with pytest.raises(RuntimeError, match="charges less"):
            bill(**wrong)


# costs on arrays


def test_on_own_rows_a_ledger_is_charged_first_and_without_one_the_caller_accounts() -> None:
    with charge_for(None, Pure(1), "a test") as bits:
        assert bits is SYSTEM
    with Ledger(Memory(), Grant.of(Fraction(2), None), shares={}) as ledger:
        with charge_for(ledger, Pure(0), "nothing") as bits:
            assert bits is SYSTEM
        with charge_for(ledger, Pure(1), "a test"):
            assert ledger.balance().spent.epsilon == 1
        assert [entry.question for entry in ledger.entries()] == ["a test"]
        with pytest.raises(BudgetExhausted), charge_for(ledger, Pure(2), "too much"):
            pass


def test_a_cost_on_arrays_is_one_number() -> None:
    assert Cost.alone(epsilon=1) == Cost(Pure(1))
    assert Cost.alone(rho=1) == Cost(Concentrated(1))
    assert Cost.alone(epsilon=1, delta=1e-6).amount < HALF
    for wrong, code in (
        ({}, "cost-missing"),
        ({"delta": 1e-6}, "cost-missing"),
        ({"epsilon": 1, "rho": 1}, "cost-invalid"),
        ({"rho": 1, "delta": 1e-6}, "cost-invalid"),
    ):
        with pytest.raises(Refused, match=code):
            Cost.alone(**wrong)


def test_how_fine_a_grid_may_be() -> None:
    assert Cost(Pure(1)).fineness(ONE) == 2**20
    assert Cost(Pure(Fraction(1, 10**8))).fineness(ONE) < 2**20
    for hopeless in (Cost(Pure(Fraction(1, 10**9))), Cost(Pure(Fraction(1, 10**12)))):
        with pytest.raises(Refused, match="too large to draw"):
            hopeless.fineness(Sensitivity.cells(10**4, 10**4))
    assert Cost(Pure(1)).deviation(ONE) == pytest.approx(2**0.5)
    assert Cost(Concentrated(HALF)).deviation(ONE) == pytest.approx(1)


def test_an_exit_is_neither_copied_nor_pickled() -> None:
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="charge again"):
            way(Exit(Cost(Pure(1)), SYSTEM))


@pytest.mark.parametrize("name", WAYS)
def test_whoever_stopped_a_task_gets_nothing_more_of_it(name: str) -> None:
    exit_, stop = Exit(Cost(Pure(1)), SYSTEM), Stop()
    with stop:
        WAYS[name](exit_, HALF)
        stop.now()
        with pytest.raises(Stopped):
            WAYS[name](exit_, HALF)


def test_partition_selection_takes_its_share_in_the_currency_of_the_cost() -> None:
    half, delta = Fraction(1, 2), Fraction(1, 10**6)
    pure, both = Cost(Pure(1)).selection(3, half, delta), Cost(Concentrated(1)).selection(3, half, delta)
    assert pure == KeySelection(delta=delta, max_groups=3, epsilon=half)
    assert both == KeySelection(delta=delta, max_groups=3, rho=half)


class Clock:
    """Time that passes when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(exit_module, "time", SimpleNamespace(monotonic=lambda: self.now))


@pytest.mark.parametrize("name", WAYS)
def test_what_took_too_long_lets_nothing_more_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    exit_ = Exit(Cost(Pure(1)), SYSTEM, seconds=10)
    part = exit_.part(HALF)
    clock.now += 10
    WAYS[name](exit_, Fraction(1, 4))
    clock.now += 0.001
    for late in (exit_, part):
        with pytest.raises(Stopped):
            WAYS[name](late, Fraction(1, 4))


def test_long_loops_end_between_their_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, taken = Clock(monkeypatch), []
    exit_ = Exit(Cost(Pure(1)), SYSTEM, seconds=10)

    def run() -> None:
        for step in exit_.watched(range(100), 100, "steps"):
            taken.append(step)
            clock.now += 4

    with pytest.raises(Stopped):
        run()
    assert taken == [0, 1, 2]


def test_uniform_integers_lie_below_their_limit() -> None:
    drawn = SAMPLER.below(3, (2, 100), SYSTEM)
    assert drawn.shape == (2, 100)
    assert set(drawn.ravel().tolist()) == {0, 1, 2}, "each is missing once in 10³⁵ runs"


def test_where_rho_is_too_small_to_be_drawn_for_epsilon_alone_is_the_less_noisy() -> None:
    with pytest.raises(ValueError, match="rho"):
        Cost.alone(epsilon=1e-9, delta=1e-5)
    assert Cost.less_noisy(lambda _: 1.0, epsilon=1e-9, delta=1e-5) == Cost.alone(epsilon=1e-9)
    with pytest.raises(ValueError, match="delta"):
        Cost.less_noisy(lambda _: 1.0, epsilon=1e-9, delta=2)
