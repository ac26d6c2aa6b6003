from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

from discreet import noise
from discreet.accounting import Concentrated
from discreet.accounting.conversion import rho_of_pure
from discreet.exact import Number
from discreet.mechanisms import Gaussian, KeySelection, clopper_pearson
from tests.budget import later
from tests.rigged import Rigged, repeated

DELTAS = [1e-3, 1e-6, 1e-9, 1e-15]
GROUPS = [1, 2, 7, 50]

DIGITS = 60


def tail(least: int, *, groups: int, epsilon: Number | None = None, rho: Number | None = None) -> Any:
    """P(Z ≥ least) for the noise that the cost buys, summed directly, to 60 digits."""
    if epsilon is not None:
        ratio = mpmath.exp(-mpmath.mpf(str(epsilon)) / groups)
        return ratio**least / (1 + ratio) if least >= 0 else 1 - ratio ** (1 - least) / (1 + ratio)
    spread = groups / (2 * mpmath.mpf(str(rho)))
    above = gaussian_sum(spread, abs(least) + (least <= 0))
    share = above / (1 + 2 * gaussian_sum(spread, 1))
    return share if least > 0 else 1 - share


@cache
def gaussian_sum(spread: Any, least: int) -> Any:
    """Σ exp(−z²/2σ²) over z ≥ least, until nothing changes."""
    total, z = mpmath.mpf(0), least
    while (term := mpmath.exp(-mpmath.mpf(z * z) / (2 * spread))) > total * mpmath.mpf(10) ** -(DIGITS - 5):
        total += term
        z += 1
    return total


def appears(least: int, *, groups: int, **cost: Number) -> Any:
    """With which probability some key of a unit that alone holds so many shows."""
    return 1 - (1 - tail(least - 1, groups=groups, **cost)) ** groups


# The threshold


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("cost", [{"epsilon": 0.1}, {"epsilon": 1}, {"epsilon": 8}, {"rho": 0.01}, {"rho": 0.5}])
def test_the_threshold_is_the_least_that_hides_what_only_one_unit_holds(
    cost: dict[str, Number], delta: float, groups: int
) -> None:
    found = KeySelection(delta=delta, max_groups=groups, **cost).threshold
    with mpmath.workdps(DIGITS):
        limit = mpmath.mpf(str(delta))
        assert appears(found, groups=groups, **cost) <= limit
        assert appears(found - 1, groups=groups, **cost) > limit


def test_the_threshold_turns_where_delta_meets_the_tail() -> None:
    """P(Z ≥ 5) as δ, a little more and a little less: the threshold is 1 + 5, or one more."""
    with mpmath.workdps(DIGITS):
        met = Fraction(mpmath.nstr(tail(5, groups=1, epsilon=1), 50))
    little = met / 10**20
    assert KeySelection(delta=met + little, epsilon=1).threshold == 6
    assert KeySelection(delta=met - little, epsilon=1).threshold == 7


@pytest.mark.parametrize("zeros", [300, 400])
@pytest.mark.parametrize("groups", GROUPS)
def test_the_threshold_of_a_delta_with_hundreds_of_zeros(groups: int, zeros: int) -> None:
    """1 − (1 − δ)^(1/groups) takes as many digits more, also where no float is so small."""
    found = KeySelection(delta=Fraction(1, 10**zeros), max_groups=groups, epsilon=1).threshold
    with mpmath.workdps(900):
        limit = mpmath.mpf(10) ** -zeros
        assert appears(found, groups=groups, epsilon=1) <= limit < appears(found - 1, groups=groups, epsilon=1)


@pytest.mark.parametrize("groups", GROUPS)
def test_all_unique_keys_of_a_unit_together_show_with_probability_delta_at_most(groups: int) -> None:
    mechanism = KeySelection(delta=1e-6, epsilon=1, max_groups=groups)
    assert 1 - (1 - mechanism.chance(1)) ** groups <= 1e-6


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": 0.1}])
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("units", later([15_000, 60_000]))
def test_a_unique_key_shows_as_seldom_as_promised(cost: dict[str, float], groups: int, units: int) -> None:
    """Of so many units, each the only one to hold `groups` keys; Clopper–Pearson at 1 − 10⁻⁹."""
    mechanism = KeySelection(delta=0.01, max_groups=groups, **cost)
    shown = mechanism.select({(unit, key): 1 for unit in range(units) for key in range(groups)})
    seen = len({unit for unit, _ in shown})
    least, _ = clopper_pearson(seen, units, 1 - 1e-9)
    assert least <= 0.01


# What is released


def test_a_key_shows_as_often_as_its_chance_says() -> None:
    """Clopper–Pearson at 1 − 10⁻⁹ for each number of units."""
    mechanism, keys = KeySelection(delta=0.01, epsilon=1), 40_000
    for units in (1, mechanism.threshold, mechanism.threshold + 2):
        shown = mechanism.select(dict.fromkeys(range(keys), units))
        low, high = clopper_pearson(len(shown), keys, 1 - 1e-9)
        assert low <= mechanism.chance(units) <= high


def test_keys_come_with_noisy_numbers_at_or_above_the_threshold() -> None:
    mechanism = KeySelection(delta=1e-6, epsilon=1)
    shown = mechanism.select({"Bern": 10**6, "Uri": 1, ("a", 1): 10**5})
    assert set(shown) == {"Bern", ("a", 1)}
    assert all(type(value) is int and value >= mechanism.threshold for value in shown.values())
    assert abs(shown["Bern"] - 10**6) < 50


def test_a_key_at_the_threshold_shows_and_one_below_it_does_not() -> None:
    """Words of ones draw the noise 0."""
    mechanism = KeySelection(delta=1e-6, epsilon=1)
    counts = {"at": mechanism.threshold, "below": mechanism.threshold - 1}
    assert mechanism.select(counts, repeated(255)) == {"at": mechanism.threshold}


def test_noise_is_drawn_for_the_keys_present_and_for_no_others() -> None:
    bits = Rigged([], then=noise.SYSTEM)
    KeySelection(delta=1e-6, epsilon=1).select({"a": 1, "b": 2, "c": 3}, bits)
    assert bits.taken == 3 * 8


def test_no_keys_give_no_keys_and_draw_nothing() -> None:
    bits = Rigged([])
    assert KeySelection(delta=1e-6, rho=1).select({}, bits) == {}
    assert bits.taken == 0


@pytest.mark.parametrize("counts", [[1, 2], {"a": 1.5}, {"a": None}, {"a": True}, {"a": "1"}, None])
def test_what_is_no_count_of_units_is_refused(counts: object) -> None:
    with pytest.raises(TypeError, match="counts must"):
        KeySelection(delta=1e-6, epsilon=1).select(counts)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, -3])
def test_a_key_that_nobody_holds_is_not_present(count: int) -> None:
    with pytest.raises(ValueError, match="counts must be at least 1"):
        KeySelection(delta=1e-6, epsilon=1).select({"a": count})


# The cost


def test_the_loss_has_the_rho_of_the_noise_and_the_delta_of_the_keys() -> None:
    by_epsilon = KeySelection(delta=1e-6, epsilon=0.5, max_groups=3).loss
    assert by_epsilon == Concentrated(rho_of_pure(Fraction(1, 2)), 1e-6)
    assert float(by_epsilon.rho) == pytest.approx(0.5 * math.tanh(0.25))
    assert KeySelection(delta=1e-9, rho=0.1).loss == Concentrated(0.1, 1e-9)


@pytest.mark.parametrize("groups", GROUPS)
def test_several_keys_of_a_unit_cost_no_more_than_one(groups: int) -> None:
    """The noise grows with the keys of a unit, so that the cost stays: σ² ≥ groups/(2ρ)."""
    mechanism = KeySelection(delta=1e-9, rho=0.1, max_groups=groups)
    assert mechanism.loss.rho == Fraction(1, 10)
    assert isinstance(mechanism.mechanism, Gaussian)
    assert mechanism.mechanism.noise(mechanism.mechanism.sensitivity, 1).spread >= groups / (2 * Fraction(1, 10))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"delta": 1e-6}, TypeError, "either epsilon"),
        ({"delta": 1e-6, "epsilon": 1, "rho": 1}, TypeError, "either epsilon"),
        ({"delta": 0, "epsilon": 1}, ValueError, "strictly between"),
        ({"delta": 1, "epsilon": 1}, ValueError, "strictly between"),
        ({"delta": math.nan, "epsilon": 1}, ValueError, "finite"),
        ({"delta": 1e-6, "epsilon": 0}, ValueError, "above 0"),
        ({"delta": 1e-6, "epsilon": 1, "max_groups": 0}, ValueError, "at least 1"),
        ({"delta": 1e-6, "epsilon": 1, "max_groups": 1.5}, TypeError, "integer"),
    ],
)
def test_costs_that_promise_nothing_are_refused(
    arguments: dict[str, float], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        KeySelection(**arguments)  # type: ignore[arg-type]


# Usefulness


@pytest.mark.parametrize("cost", [{"epsilon": 0.5}, {"rho": 0.05}])
@pytest.mark.parametrize("groups", [1, 4])
def test_the_chance_of_a_key_is_the_tail_of_the_noise(cost: dict[str, Number], groups: int) -> None:
    mechanism = KeySelection(delta=1e-4, max_groups=groups, **cost)
    for units in (1, 2, mechanism.threshold - 1, mechanism.threshold, mechanism.threshold + 1, 3 * mechanism.threshold):
        with mpmath.workdps(DIGITS):
            expected = float(tail(mechanism.threshold - units, groups=groups, **cost))
        assert mechanism.chance(units) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("cost", [{"epsilon": 0.5}, {"epsilon": 20}, {"rho": 0.05}])
@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.95, 0.999999])
def test_the_error_is_the_least_number_of_units_that_shows_as_often(cost: dict[str, Number], confidence: float) -> None:
    mechanism = KeySelection(delta=1e-3, **cost)  # type: ignore[arg-type]
    found = next(units for units in itertools.count(1) if mechanism.chance(units) >= confidence)
    assert mechanism.error(confidence) == found


def test_a_unit_of_its_own_is_enough_when_delta_allows_it() -> None:
    assert KeySelection(delta=0.4, epsilon=1).error(0.1) == 1


def test_release_is_select() -> None:
    assert list(KeySelection(delta=1e-6, epsilon=1).release({"a": 1000, "b": 1})) == ["a"]


def test_counts_may_be_numpy_integers() -> None:
    counts: dict[str, Any] = {"a": np.int64(1000), "b": np.uint8(200)}
    assert set(KeySelection(delta=1e-6, epsilon=1).select(counts)) == {"a", "b"}


@pytest.mark.parametrize("rho", [0.001, 0.02, 0.3, 1, 3, 8, 20])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_optimal_selection_has_no_lower_threshold_at_equal_cost(rho: float, delta: float) -> None:
    """It shows keys whose count with noise within ±k is above k = ⌈ln((e^ε + 2δ − 1)/(δ(e^ε + 1)))/ε⌉ (Desfontaines,
    Voss, Gipson & Mandayam 2022), and enters a ledger at ε·tanh(ε/2): so it is not used."""
    low, high = 0.0, 1.2 * rho + 5
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * math.tanh(middle / 2) <= rho else (low, middle)
    k = math.ceil(math.log((math.expm1(low) + 2 * delta) / (delta * (math.exp(low) + 1))) / low)
    assert KeySelection(delta=delta, rho=rho).threshold <= k + 1
