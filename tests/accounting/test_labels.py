"""What a label means: figures from the theory, the guarantee of a whole release, and what budgets make of it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.accounting import Concentrated, ConcentratedFilter, DiscreteGaussian, Pure, delta_of, epsilon_of, rho_for
from discreet.accounting.conversion import epsilon_of_rho
from discreet.accounting.labels import (
    label_of,
    label_of_rho,
    labelled,
    part_of,
    read,
    rho_of_label,
    selection_delta,
    usual,
)
from discreet.accounting.rounding import UNITS, float_down, float_up, granted
from discreet.accounting.spectrum import noise_losses
from discreet.errors import BudgetExhausted
from discreet.exact import LEAST_EPSILON
from discreet.mechanisms import KeySelection
from discreet.printing import at_least
from tests.accounting.truth import mp, real

UNIT = Fraction(1, UNITS)
LABELS = [
    (Fraction(epsilon), Fraction(delta))
    for epsilon in ("0.01", "0.1", "0.5", "1", "3", "20")
    for delta in ("1e-3", "1e-6", "1e-9")
]
labels = st.fractions(Fraction(1, 1000), 50, max_denominator=10**6)
deltas = st.fractions(Fraction(1, 10**12), Fraction(1, 100), max_denominator=10**12)
law = settings(deadline=None, max_examples=30)


def best(rho: Fraction, delta: Fraction) -> mp.mpf:
    """The least ε over all orders, found without the code: the derivative in x is ρ − (ln(1/δ) − ln(1 + x))/x²."""
    low, high = mp.mpf(10) ** -40, 1 / real(delta)
    for _ in range(120):
        middle = mp.sqrt(low * high)
        if real(rho) * middle**2 < mp.log(1 / real(delta)) - mp.log1p(middle):
            low = middle
        else:
            high = middle
    x = low
    return (1 + x) * real(rho) + (mp.log(1 / real(delta)) + x * mp.log(x) - (1 + x) * mp.log1p(x)) / x


@pytest.mark.parametrize(("epsilon", "delta"), LABELS)
def test_the_rho_of_a_label_is_the_largest_and_never_above(epsilon: Fraction, delta: Fraction) -> None:
    found = rho_of_label(epsilon, delta / 2)
    assert found == read(epsilon, delta).rho
    assert (found * UNITS).denominator == 1, "what the ledger writes down is the label's rho itself"
    assert float_up(found) == float_down(found) == rho_for(epsilon, delta / 2), "and its float says the same"
    assert best(found, delta / 2) <= real(epsilon) < best(found * (1 + Fraction(1, 10**14)) + UNIT, delta / 2)
    assert epsilon_of_rho(found, delta / 2) <= epsilon


def test_the_figures_of_the_usual_budget() -> None:
    """At δ = 10⁻⁶ a count for ε = 0.1 has σ = 41, where ρ = ε²/2 would have had 10."""
    sigmas = [1 / math.sqrt(2 * rho_of_label(Fraction(e), Fraction("5e-7"))) for e in ("0.1", "0.5", "1", "3")]
    for sigma, epsilon in zip(sigmas, (0.1, 0.5, 1, 3), strict=True):
        assert float(best(Fraction(1 / (2 * sigma**2)), Fraction("5e-7"))) == pytest.approx(epsilon, rel=1e-12)
    assert [round(sigma, 1) for sigma in sigmas] == [41.0, 9.0, 4.7, 1.7]


def test_a_delta_of_its_own_is_halved_for_private_keys_alone() -> None:
    epsilon, own, budget = Fraction(1), Fraction("1e-8"), Fraction("1e-6")
    assert read(epsilon, budget, own).rho == rho_of_label(epsilon, own)
    assert read(epsilon, budget, own, private_keys=True) == (rho_of_label(epsilon, own / 2), own / 2)
    assert read(epsilon, budget, private_keys=True) == read(epsilon, budget)


# a whole release is what its label says


@pytest.mark.parametrize("own", [None, Fraction("1e-4")])
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(2), Fraction(4)])
def test_a_release_with_its_selection_is_what_it_says_by_the_exact_delta_of_its_noise(
    epsilon: Fraction, own: Fraction | None
) -> None:
    """Half of ρ selects keys and half counts; privacy losses add up (their distributions convolve), and so do δs."""
    whole, delta = Fraction(4), Fraction("1e-3")
    meaning = read(epsilon, delta, own, private_keys=True)
    selection = KeySelection(
        delta=meaning.delta or selection_delta(meaning.rho, whole, delta), max_groups=1, rho=meaning.rho / 2
    )
    noise = selection.mechanism.noise(Fraction(1), 1)
    assert noise == DiscreteGaussian(1 / meaning.rho)
    one = noise_losses(noise, 1)
    losses = np.add.outer(one.losses, one.losses).ravel()
    masses = np.multiply.outer(one.masses, one.masses).ravel()
    reached = float((masses * -np.expm1(np.minimum(float(epsilon) - losses, 0.0))).sum()) + float(selection.delta)
    assert reached <= float(own or delta)
    assert reached > float(selection.delta)


@pytest.mark.parametrize(("epsilon", "delta"), LABELS)
def test_a_count_for_the_whole_label_is_within_it_by_its_exact_delta(epsilon: Fraction, delta: Fraction) -> None:
    for c in (delta / 2, delta):
        assert delta_of(DiscreteGaussian(1 / (2 * rho_of_label(epsilon, c))), 1, epsilon) <= c


# what budgets make of labels


@law
@given(st.lists(labels, min_size=2, max_size=2).map(sorted), deltas)
def test_an_empty_budget_is_charged_no_more_than_the_label(pair: list[Fraction], delta: Fraction) -> None:
    epsilon, whole = pair
    rho = read(epsilon, delta).rho
    spent = ConcentratedFilter.of(whole, delta).admit(Concentrated(rho, selection_delta(rho, whole, delta)))
    assert epsilon_of_rho(Fraction(spent.spent_rho, UNITS), delta / 2) <= epsilon
    assert spent.spent_delta <= granted(delta / 2)


@law
@given(labels, deltas)
def test_one_release_for_the_whole_budget_fits_and_nothing_after_it(epsilon: Fraction, delta: Fraction) -> None:
    budget = ConcentratedFilter.of(epsilon, delta)
    spent = budget.admit(Concentrated(read(epsilon, delta).rho))
    with pytest.raises(BudgetExhausted):
        spent.admit(Concentrated(read(Fraction(1, 1000), delta).rho))


@law
@given(labels, deltas, st.lists(st.integers(1, 1000), min_size=1, max_size=40))
def test_selections_never_end_before_the_budget(whole: Fraction, delta: Fraction, weights: list[int]) -> None:
    """However the ρ of a budget is cut, the δ of all selections fits too."""
    budget = ConcentratedFilter.of(whole, delta)
    total = rho_of_label(whole, delta / 2)
    for weight in weights:
        rho = Fraction(granted(total * weight / sum(weights)), UNITS)
        part = selection_delta(rho, whole, delta)
        assert part <= delta / 2
        budget = budget.admit(Concentrated(rho, part))
    assert budget.spent_delta >= granted(delta / 2 * Fraction(999, 1000)), "and hardly any of it is lost"


def test_the_delta_of_selections_is_rounded_down_to_whole_units() -> None:
    delta = 3 * UNIT
    assert selection_delta(rho_of_label(Fraction(1), delta / 2), Fraction(1), delta) == UNIT, "of one and a half"


def test_totals_grow_more_slowly_than_the_sum() -> None:
    half, rho = Fraction("5e-7"), read(Fraction(1, 10), Fraction("1e-6")).rho
    assert epsilon_of(Concentrated(100 * rho), half) == pytest.approx(1.15, abs=0.05)


@law
@given(labels, deltas)
def test_what_remains_is_told_as_the_largest_label(epsilon: Fraction, delta: Fraction) -> None:
    short = Fraction(f"{float(epsilon):.6g}")
    rho = rho_of_label(short, delta)
    assert label_of_rho(rho, delta) == float(short)
    for left in (rho, rho * Fraction(2, 3), rho + UNIT):
        most = Fraction(repr(label_of_rho(left, delta)))
        assert not most or rho_of_label(most, delta) <= left
        assert rho_of_label(most * (1 + Fraction(1, 10**9)) + Fraction(1, 10**9), delta) > left


@pytest.mark.parametrize("off", [0.0, 1 - 1e-11, 1 + 1e-11, 2.0, 1e-3])
def test_a_wrong_guess_never_lets_more_be_spent(off: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is too large is not believed; one that is too small tells of less than there is."""
    for number, (epsilon, delta) in enumerate(LABELS):
        rho = rho_of_label(epsilon, delta) + number * UNIT
        right = label_of_rho.__wrapped__(rho, delta)
        with monkeypatch.context() as patch:
            patch.setattr("discreet.accounting.labels.epsilon_nearby", lambda *_, right=right: right * off)
            told = label_of_rho.__wrapped__(rho, delta)
        assert rho_of_label(Fraction(repr(told)), delta) <= rho
        assert told <= right if 0 < off < 1 else told == right


def test_where_nothing_is_left_no_label_is() -> None:
    assert label_of_rho(Fraction(0), Fraction("5e-7")) == 0


def test_losses_in_words() -> None:
    delta, loss = Fraction("1e-6"), Concentrated(read(Fraction(1, 10), Fraction("1e-6")).rho)
    assert labelled(loss, delta).startswith("ε 0.1 (ρ 0.000297")
    assert labelled(loss, None) == loss.words
    assert part_of(loss, Fraction(1, 10), delta) == 1
    assert float_up(part_of(loss, Fraction(3), delta)) == pytest.approx(41**-2 / (1.6867**-2), rel=1e-2)


@law
@example(Fraction(1, 1000), Fraction(420269517, 10**12))
@example(Fraction(1, 1000), Fraction(13133487, 31250000000))
@example(Fraction(1, 250), Fraction(323920063, 156250000000))
@example(Fraction(1, 750), Fraction(280148189, 500000000000))
@given(labels, deltas)
def test_ten_usual_releases_fit_a_budget_and_hardly_thirty_do(epsilon: Fraction, delta: Fraction) -> None:
    pure, both = (Fraction(repr(usual(epsilon, each))) for each in (None, delta))
    assert 10 * pure <= epsilon < 30 * pure
    tenth = label_of_rho(rho_of_label(epsilon, delta / 2) / 10, delta / 2)
    if not tenth:  # δ/2 alone covers a tenth: there is no ε for it, and the budget is not shared
        assert both == Fraction(repr(float_down(epsilon)))  # as floats say it, rounded down
        return
    if both > LEAST_EPSILON:  # where ε is far below δ, even the least one is more than a tenth
        assert 10 * rho_of_label(both, delta / 2) <= rho_of_label(epsilon, delta / 2)
    assert rho_of_label(epsilon, delta / 2) < 10 * rho_of_label(Fraction(5, 2) * both, delta / 2) + 10 * UNIT
    assert {f"{float(each):e}"[0] for each in (pure, both)} <= set("125")


def test_the_label_of_a_loss_is_its_epsilon_by_itself() -> None:
    assert label_of(Pure(0.25), None) == 0.25
    delta = Fraction("1e-6")
    assert labelled(Concentrated(0.005), delta).startswith(f"ε {at_least(label_of(Concentrated(0.005), delta))} ")
