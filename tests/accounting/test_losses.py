from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import (
    Approximate,
    Concentrated,
    Loss,
    Pure,
    Sensitivity,
    compose,
    epsilon_of,
    group,
    parallel,
    rho_for,
)
from discreet.accounting.conversion import rho_of_pure
from discreet.errors import Refused
from tests.accounting.truth import meant, mp, real

law = settings(deadline=None, max_examples=50)
amounts = st.one_of(
    st.integers(0, 100), st.fractions(0, 100, max_denominator=10**9), st.floats(0, 100), st.decimals(0, 100, places=9)
)
small = st.fractions(Fraction(1, 10**30), Fraction(1, 1000), max_denominator=10**30)
pures = st.builds(Pure, amounts)
concentrates = st.builds(Concentrated, amounts, st.one_of(st.just(Fraction(0)), small))
statements = st.builds(Approximate, amounts, small)
losses: st.SearchStrategy[Loss] = st.one_of(pures, concentrates, statements)


# What a number means


@pytest.mark.parametrize(
    "tenth",
    [0.1, Fraction(1, 10), Decimal("0.1"), np.float64(0.1), np.float32(0.1), np.float16(0.1), np.longdouble("0.1")],
)
def test_a_number_means_its_shortest_decimal(tenth: Any) -> None:
    assert Pure(tenth).epsilon == Fraction(1, 10)
    assert compose(*[Pure(tenth)] * 10) == Pure(1)


@pytest.mark.parametrize("one", [1, 1.0, Fraction(1), Decimal(1), np.int8(1), np.uint64(1), np.float32(1)])
def test_numbers_of_all_types_are_the_same_loss(one: Any) -> None:
    assert Pure(one) == Pure(1)
    assert Concentrated(one) == Concentrated(1)
    assert Approximate(one, 0.1) == Approximate(1, Fraction(1, 10))


def test_losses_are_values() -> None:
    loss: Any = Pure(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        loss.epsilon = Fraction(0)
    assert len({Pure(0.5), Pure(Fraction(1, 2)), Concentrated(0.5), Concentrated(0.5, 0)}) == 2


def test_losses_show_themselves_as_numbers() -> None:
    assert repr(Pure(Fraction(1, 4))) == "Pure(epsilon=0.25)"
    assert repr(Concentrated(0.02)) == "Concentrated(rho=0.02)"
    assert repr(Concentrated(0.02, 1e-9)) == "Concentrated(rho=0.02, delta=1e-09)"
    assert repr(Approximate(1, 1e-9)) == "Approximate(epsilon=1, delta=1e-09)"


# Composition


@law
@given(pures, st.integers(1, 50))
def test_n_times_a_pure_loss_is_the_sum_of_n(loss: Pure, n: int) -> None:
    assert compose(*[loss] * n) == Pure(n * loss.epsilon)


@law
@given(st.one_of(concentrates, statements), st.integers(1, 50))
def test_n_times_a_concentrated_loss_is_the_sum_of_n(loss: Concentrated | Approximate, n: int) -> None:
    part = loss.concentrated()
    assert compose(*[loss] * n) == Concentrated(n * part.rho, n * part.delta)


@law
@given(st.lists(losses, max_size=8).flatmap(lambda some: st.tuples(st.just(some), st.permutations(some))))
def test_composition_knows_no_order(both: tuple[list[Loss], list[Loss]]) -> None:
    assert compose(*both[0]) == compose(*both[1])
    assert parallel(*both[0]) == parallel(*both[1])


@law
@given(st.lists(st.one_of(concentrates, statements), max_size=5), st.lists(concentrates, min_size=1, max_size=5))
def test_composition_in_steps_is_composition_at_once(first: list[Loss], then: list[Loss]) -> None:
    assert compose(compose(*first), *then) == compose(*first, *then)


@law
@given(st.lists(pures, max_size=5), concentrates)
def test_pure_losses_composed_before_they_are_converted_never_cost_less(first: list[Pure], then: Concentrated) -> None:
    stepwise, at_once = compose(compose(*first), then).concentrated(), compose(*first, then).concentrated()
    assert stepwise.rho >= at_once.rho * (1 - Fraction(1, 10**28))
    assert stepwise.delta == at_once.delta


@law
@given(st.lists(losses, min_size=1, max_size=8))
def test_parallel_releases_cost_the_largest_and_no_more_than_all(some: list[Loss]) -> None:
    most, total = parallel(*some), compose(*some)
    assert type(most) is type(total)
    if isinstance(most, Pure) and isinstance(total, Pure):
        assert most in some
        assert most.epsilon <= total.epsilon
    else:
        parts = [loss.concentrated() for loss in some]
        assert most == Concentrated(max(p.rho for p in parts), max(p.delta for p in parts))
        assert most.concentrated().rho <= total.concentrated().rho


@law
@given(st.lists(pures, min_size=1, max_size=8))
def test_parallel_pure_releases_cost_the_largest(some: list[Pure]) -> None:
    assert parallel(*some) == Pure(max(loss.epsilon for loss in some))


def test_nothing_costs_nothing() -> None:
    assert compose() == parallel() == Pure(0)
    assert epsilon_of(compose(), 1e-6) == 0


def test_a_mixture_is_concentrated() -> None:
    mixed = compose(Pure(1), Concentrated(0.5), Approximate(2, 1e-9))
    assert mixed == Concentrated(rho_of_pure(Fraction(1)) + Fraction(1, 2) + rho_of_pure(Fraction(2)), 1e-9)


def test_what_is_known_only_as_epsilon_and_delta_enters_as_a_pure_one_with_its_delta() -> None:
    found = Approximate(3, 1e-9).concentrated()
    assert found.delta == Fraction("1e-9")
    assert float(found.rho) == pytest.approx(3 * math.tanh(1.5), rel=1e-14)
    assert found.rho >= Fraction(3 * math.tanh(1.5)) * (1 - Fraction(1, 10**15)), "rounded up"


def test_deltas_that_add_up_to_one_promise_nothing() -> None:
    with pytest.raises(ValueError, match="delta must be below 1"):
        compose(Approximate(1, 0.5), Approximate(1, 0.5))


# Groups


@law
@given(pures, st.integers(1, 100))
def test_a_group_of_k_multiplies_epsilon_by_k(loss: Pure, k: int) -> None:
    assert group(loss, k) == Pure(k * loss.epsilon)


@law
@given(amounts, st.integers(1, 100))
def test_a_group_of_k_multiplies_rho_by_its_square(rho: Any, k: int) -> None:
    assert group(Concentrated(rho), k) == Concentrated(k**2 * Concentrated(rho).rho)


@law
@given(st.fractions(0, 2, max_denominator=10**6), small, st.integers(2, 9))
def test_a_group_of_k_grows_delta_by_k_and_e_to_the_k_epsilon(epsilon: Fraction, delta: Fraction, k: int) -> None:
    truth = k * mp.exp(k * real(epsilon)) * real(delta)
    if truth >= 1:
        with pytest.raises(ValueError, match=f"groups of {k}"):
            group(Approximate(epsilon, delta), k)
    else:
        grown = group(Approximate(epsilon, delta), k)
        assert isinstance(grown, Approximate)
        assert grown.epsilon == k * epsilon
        assert truth <= real(grown.delta) <= truth * (1 + mp.mpf("1e-28"))


@law
@given(st.fractions(0, 2, max_denominator=10**6), small, st.integers(2, 9))
def test_the_group_bound_covers_the_walk_through_k_neighbours(epsilon: Fraction, delta: Fraction, k: int) -> None:
    """One step at a time: δ·(1 + e^ε + … + e^{(k−1)ε})."""
    walked = real(delta) * mp.fsum(mp.exp(step * real(epsilon)) for step in range(k))
    if k * mp.exp(k * real(epsilon)) * real(delta) < 1:
        grown = group(Approximate(epsilon, delta), k)
        assert isinstance(grown, Approximate)
        assert walked <= real(grown.delta)


@pytest.mark.parametrize("loss", [Pure(1), Approximate(1, Fraction(1, 10)), Concentrated(1)])
def test_a_loss_about_one_unit_is_not_said_of_another(loss: Loss) -> None:
    """What protects a visit by so much protects its patient by less."""
    about = loss.per("visit")
    assert about.unit == "visit"
    assert about.per("visit") == about
    with pytest.raises(Refused, match="about one 'visit' already") as refused:
        about.per("patient")
    assert "group(loss, k, unit='patient')" in refused.value.fix


@given(st.one_of(pures, st.builds(Concentrated, amounts), statements))
def test_a_group_of_one_is_the_unit(loss: Loss) -> None:
    assert group(loss, 1) == loss


def test_a_group_whose_delta_would_sensitivity_one_is_promised_nothing() -> None:
    with pytest.raises(ValueError, match="for groups of 5 the delta would reach 1: nothing is promised to them"):
        group(Approximate(2, 1e-4), 5)


def test_a_group_of_one_keeps_its_promise_whatever_the_epsilon() -> None:
    assert group(Approximate(20, 1e-6), 1) == Approximate(20, 1e-6)


def test_a_concentrated_loss_with_delta_has_no_group_form_but_the_fix_works() -> None:
    loss, delta, k = Concentrated(0.02, 1e-9), 1e-8, 2
    with pytest.raises(ValueError, match=r"write group\(Approximate\(epsilon_of\(loss, delta\), delta\), k\)"):
        group(loss, k)
    assert isinstance(group(Approximate(epsilon_of(loss, delta), delta), k), Approximate)


# The least epsilon


@law
@given(st.fractions(Fraction(1, 10**9), 100), st.floats(1e-300, 0.4), st.floats(1.0001, 2))
def test_epsilon_falls_as_delta_grows(rho: Fraction, delta: float, factor: float) -> None:
    assert epsilon_of(Concentrated(rho), delta * factor) <= epsilon_of(Concentrated(rho), delta)


@law
@given(st.fractions(Fraction(1, 10**9), 100), st.floats(1e-300, 0.5), st.floats(1.0001, 2))
def test_epsilon_grows_with_rho(rho: Fraction, delta: float, factor: float) -> None:
    assert epsilon_of(Concentrated(rho * Fraction(factor)), delta) >= epsilon_of(Concentrated(rho), delta)


@law
@given(st.floats(1e-3, 1e9).map(lambda value: float(f"{value:.14e}")), st.floats(1e-300, 1e-3))
def test_rho_for_is_the_inverse_of_epsilon_of(epsilon: float, delta: float) -> None:
    again = epsilon_of(Concentrated(rho_for(epsilon, delta)), delta)
    assert meant(epsilon) * (1 - Fraction(1, 10**9)) < meant(again) <= meant(epsilon)


@law
@given(pures, st.floats(1e-300, 0.9))
def test_a_pure_loss_holds_at_every_delta(loss: Pure, delta: float) -> None:
    excess = meant(epsilon_of(loss, delta)) - loss.epsilon
    assert 0 <= excess <= max(loss.epsilon / 10**14, Fraction("1e-323"))


def test_a_statement_holds_from_its_own_delta_on() -> None:
    assert epsilon_of(Approximate(1, 1e-9), 1e-9) == epsilon_of(Approximate(1, 1e-9), 1e-3) == 1
    with pytest.raises(ValueError, match="at least the loss's own delta, 1e-09"):
        epsilon_of(Approximate(1, 1e-9), 1e-10)


def test_the_loss_s_own_delta_does_not_pay_for_the_conversion() -> None:
    assert epsilon_of(Concentrated(0.1, 0.25e-6), 1e-6) == epsilon_of(Concentrated(0.1), 0.75e-6)
    with pytest.raises(ValueError, match="above the loss's own delta, 1e-06"):
        epsilon_of(Concentrated(0.1, 1e-6), 1e-6)


# Sensitivity


@law
@given(st.integers(0, 1000), amounts)
def test_cells_add_up_in_both_norms(count: int, size: Any) -> None:
    most = Pure(size).epsilon
    assert Sensitivity.cells(count, size) == Sensitivity(count * most, count * most**2)


@law
@given(st.integers(0, 1000), amounts, amounts)
def test_a_total_bounds_both_norms(count: int, size: Any, total: Any) -> None:
    s, t = Pure(size).epsilon, Pure(total).epsilon
    assert Sensitivity.cells(count, size, total) == Sensitivity(min(s * count, t), min(s**2 * count, s * t))


@law
@given(st.lists(st.fractions(0, 5, max_denominator=20), min_size=1, max_size=12))
def test_no_unit_moves_the_answer_beyond_its_sensitivity(moves: list[Fraction]) -> None:
    sensitivity = Sensitivity.cells(len(moves), 5, 20)
    scale = min(Fraction(1), 20 / (sum(moves) or Fraction(1)))
    assert sum(scale * move for move in moves) <= sensitivity.l1
    assert sum((scale * move) ** 2 for move in moves) <= sensitivity.l2_squared


def test_answers_side_by_side_add_their_reaches() -> None:
    assert Sensitivity.cells(1, 3) + Sensitivity.cells(2, 5) == Sensitivity(Fraction(13), Fraction(59))


# Bad inputs

Maker = Callable[[Any], object]

AMOUNTS: dict[str, tuple[str, Maker]] = {
    "Pure": ("epsilon", Pure),
    "Concentrated": ("rho", Concentrated),
    "Concentrated delta": ("delta", lambda value: Concentrated(1, value)),
    "Approximate": ("epsilon", lambda value: Approximate(value, 0.1)),
    "cells size": ("size", lambda value: Sensitivity.cells(1, value)),
    "cells total": ("total", lambda value: Sensitivity.cells(1, 1, value)),
}
COSTS: dict[str, tuple[str, Maker]] = {"rho_for": ("epsilon", lambda value: rho_for(value, 0.1))}
PROBABILITIES: dict[str, tuple[str, Maker]] = {
    "Approximate delta": ("delta", lambda value: Approximate(1, value)),
    "epsilon_of": ("delta", lambda value: epsilon_of(Pure(1), value)),
    "rho_for delta": ("delta", lambda value: rho_for(1, value)),
}
COUNTS: dict[str, tuple[str, Maker]] = {
    "group": ("size", lambda value: group(Pure(1), value)),
    "cells": ("count", lambda value: Sensitivity.cells(value, 1)),
}
NUMBERS = AMOUNTS | COSTS | PROBABILITIES


@pytest.mark.parametrize("where", NUMBERS)
@pytest.mark.parametrize("bad", ["1", b"1", True, np.True_, 1j, [1], object()])
def test_what_is_not_a_number_is_refused_by_name(where: str, bad: object) -> None:
    name, make = NUMBERS[where]
    with pytest.raises(TypeError, match=f"^{name} must be a number, not a "):
        make(bad)


@pytest.mark.parametrize("where", [where for where in NUMBERS if where != "cells total"])
def test_none_is_refused_by_name(where: str) -> None:
    name, make = NUMBERS[where]
    with pytest.raises(TypeError, match=f"^{name} must be a number, not None"):
        make(None)


@pytest.mark.parametrize("where", NUMBERS)
@pytest.mark.parametrize(
    "bad", [float("nan"), float("inf"), -float("inf"), np.float32("nan"), Decimal("NaN"), Decimal("-Inf")]
)
def test_what_is_not_finite_is_refused_by_name(where: str, bad: Any) -> None:
    name, make = NUMBERS[where]
    with pytest.raises(ValueError, match=f"^{name} must be finite"):
        make(bad)


@pytest.mark.parametrize("where", NUMBERS)
@pytest.mark.parametrize("bad", [-1, -1e-300, Fraction(-1, 10**40)])
def test_negative_amounts_are_refused_by_name(where: str, bad: Any) -> None:
    name, make = NUMBERS[where]
    with pytest.raises(ValueError, match=f"^{name} must "):
        make(bad)


@pytest.mark.parametrize("where", COSTS)
@pytest.mark.parametrize("bad", [0, 0.0, -0.0, 9.99e-10, 1.01e9, 10**10])
def test_costs_out_of_range_are_refused_by_name(where: str, bad: Any) -> None:
    name, make = COSTS[where]
    with pytest.raises(ValueError, match=f"^{name} must "):
        make(bad)


@pytest.mark.parametrize("where", PROBABILITIES)
@pytest.mark.parametrize("bad", [0, 1, 1.5, 10**9])
def test_deltas_out_of_range_are_refused_by_name(where: str, bad: Any) -> None:
    name, make = PROBABILITIES[where]
    with pytest.raises(ValueError, match=f"^{name} must lie strictly between 0 and 1"):
        make(bad)


@pytest.mark.parametrize("bad", [1, 1.0, 2])
def test_a_concentrated_loss_whose_delta_is_not_below_one_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"^delta must be below 1"):
        Concentrated(1, bad)


@pytest.mark.parametrize("where", COUNTS)
@pytest.mark.parametrize("bad", [None, "1", True, 1.0, Fraction(1), Decimal(1)])
def test_what_is_not_an_integer_is_refused_by_name(where: str, bad: object) -> None:
    name, make = COUNTS[where]
    with pytest.raises(TypeError, match=f"^{name} must be an integer"):
        make(bad)


def test_too_few_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"^size must be at least 1"):
        group(Pure(1), 0)
    with pytest.raises(ValueError, match=r"^count must be at least 0"):
        Sensitivity.cells(-1, 1)


# what is asked of a loss, whichever it is


def test_what_adds_up_is_named_and_divided() -> None:
    pure, both = Pure(Fraction(1, 4)), Concentrated(Fraction(1, 2), Fraction(1, 10**6))
    assert (pure.amount, pure.amounts) == (Fraction(1, 4), {"epsilon": Fraction(1, 4)})
    assert (both.amount, both.amounts) == (Fraction(1, 2), {"rho": Fraction(1, 2), "delta": Fraction(1, 10**6)})
    assert pure.times(Fraction(1, 5)) == Pure(Fraction(1, 20))
    assert both.times(Fraction(1, 5)) == Concentrated(Fraction(1, 10), Fraction(1, 5 * 10**6))


def test_words_round_up_and_leave_out_what_is_zero() -> None:
    assert Pure(0.123401).words == "ε 0.1235"
    assert Concentrated(0.005).words == "ρ 0.005"
    assert Concentrated(0.005, 1e-9).words == "ρ 0.005, δ 1e-09"
    assert Approximate(0.3, 1e-6).words == "ε 0.3, δ 1e-06"


def test_a_loss_covers_another_if_it_is_no_less_in_anything_that_adds_up() -> None:
    assert Pure(1).covers(Pure(1))
    assert not Pure(1).covers(Pure(Fraction(1001, 1000)))
    least = Pure(1).concentrated()
    assert Pure(1).covers(least)
    assert not Pure(1).covers(Concentrated(2 * least.rho))
    assert not Pure(1).covers(Concentrated(least.rho, Fraction(1, 10**9)))
    both = Concentrated(Fraction(1, 2), Fraction(1, 10**6))
    assert both.covers(both)
    assert not both.covers(Concentrated(Fraction(51, 100)))
    assert not both.covers(Concentrated(Fraction(1, 4), Fraction(1, 10**5)))
    assert both.covers(Pure(Fraction(1, 2)))
    assert not both.covers(Pure(2))
