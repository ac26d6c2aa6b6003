from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.accounting import Concentrated, DiscreteGaussian, Sensitivity, delta_of, epsilon_of
from discreet.mechanisms import Gaussian
from tests.mechanisms.helpers import GAUSSIAN, STEADY, farthest, loss_between, noiseless, recorded, released_with
from tests.statistics import ALARM, gaussian_law, misfit

RHOS = [Fraction(1, 200), Fraction(1, 50), Fraction(1, 2), Fraction(5)]
PROMISES = [(0.1, 1e-6), (0.5, 1e-3), (1, 1e-6), (2, 1e-9), (4, 1e-5), (8, 1e-6), (8, 0.1)]
REAL_STEPS = [Fraction(1, 4), Fraction(1), Fraction(1, 100), Fraction(3, 10)]
EIGHTHS = [k / 8 + nudge for k in range(-20, 21) for nudge in (-1e-9, 0.0)]


def brute_delta(variance: Fraction, distance: int, epsilon: float) -> float:
    """Σ max(P(z) − e^ε·P(z − distance), 0) over the pmf."""
    law = gaussian_law(variance)
    shifted = np.zeros_like(law.probabilities)
    shifted[distance:] = law.probabilities[:-distance]
    return float(np.maximum(law.probabilities - math.exp(epsilon) * shifted, 0).sum())


# What is promised


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("sensitivity", [1, Fraction(3, 2), 7])
def test_integers_get_the_variance_of_rho(rho: Fraction, sensitivity: Fraction) -> None:
    mechanism = Gaussian(rho=rho, sensitivity=sensitivity)
    for exact in (5, [5, 6, 7]):
        (draw,) = recorded(mechanism, exact)
        assert draw.kind == GAUSSIAN
        assert draw.spread == Fraction(sensitivity) ** 2 / (2 * rho)
    assert mechanism.sigma == pytest.approx(math.sqrt(draw.spread), rel=1e-12)
    assert mechanism.loss == Concentrated(rho)


@pytest.mark.parametrize("step", REAL_STEPS)
@pytest.mark.parametrize("sensitivity", [Fraction(1, 4), Fraction(3, 10), Fraction(2)])
def test_all_pairs_of_reals_within_the_sensitivity_cost_at_most_rho(step: Fraction, sensitivity: Fraction) -> None:
    mechanism = Gaussian(rho=Fraction(1, 2), sensitivity=sensitivity, step=step)
    assert farthest(mechanism, EIGHTHS) <= Fraction(1, 2)


@pytest.mark.parametrize(
    ("step", "sensitivity", "pair"),
    [
        (Fraction(1, 4), Fraction(3, 10), (0.1, 0.39)),
        (Fraction(1), Fraction(1), (0.5, 1.5)),
        (Fraction(1, 100), Fraction(1, 100), (10.235, 10.245)),
    ],
)
def test_reals_at_the_edges_of_their_cells_cost_rho(
    step: Fraction, sensitivity: Fraction, pair: tuple[float, float]
) -> None:
    mechanism = Gaussian(rho=0.02, sensitivity=sensitivity, step=step)
    assert loss_between(recorded(mechanism, pair[0]), recorded(mechanism, pair[1])) == Fraction(2, 100)


@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 4), Fraction(1, 10)])
@pytest.mark.parametrize("length", [2, 3, 10, 1000])
def test_a_vector_whose_every_number_rounds_the_other_way_is_covered(step: Fraction, length: int) -> None:
    tiny = float(step) * 1e-6
    exact = np.full(length, 0.5 * float(step) - tiny)
    moved = exact + 2 * tiny
    mechanism = Gaussian(rho=1, sensitivity=1.01 * float(np.linalg.norm(moved - exact)), step=step)
    runs = recorded(mechanism, exact), recorded(mechanism, moved)
    assert runs[0][0].exact == (0,) * length
    assert runs[1][0].exact == (1,) * length
    assert loss_between(*runs) <= 1


@STEADY
@given(
    st.lists(st.tuples(st.floats(-100, 100), st.floats(-3, 3)), min_size=1, max_size=8),
    st.sampled_from([None, Fraction(1), Fraction(1, 4), Fraction(1, 10), Fraction(1, 3)]),
)
def test_vectors_within_the_sensitivity_cost_at_most_rho(
    pairs: list[tuple[float, float]], step: Fraction | None
) -> None:
    exact = [start for start, _ in pairs]
    moved = [start + shift for start, shift in pairs]
    square = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(exact, moved, strict=True))
    if square > Fraction(1, 1000):
        mechanism = Gaussian(rho=2, sensitivity=Fraction(math.nextafter(math.sqrt(square), math.inf)), step=step)
        assert loss_between(recorded(mechanism, exact), recorded(mechanism, moved)) <= 2


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
@pytest.mark.parametrize("sensitivity", [1, 2, 5])
def test_one_integer_gets_the_least_noise_that_its_exact_delta_allows(
    epsilon: float, delta: float, sensitivity: int
) -> None:
    (draw,) = recorded(Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity), 42)
    assert delta_of(DiscreteGaussian(draw.spread), sensitivity, epsilon) <= delta
    assert delta_of(DiscreteGaussian(draw.spread * Fraction("0.999") ** 2), sensitivity, epsilon) > delta
    assert brute_delta(draw.spread, sensitivity, epsilon) == pytest.approx(delta, rel=1e-3)
    for nearer in range(1, sensitivity):
        assert brute_delta(draw.spread, nearer, epsilon) < delta


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
@pytest.mark.parametrize("step", [None, Fraction(1, 4), Fraction(1, 10)])
def test_one_real_gets_the_least_noise_that_its_exact_delta_allows(
    epsilon: float, delta: float, step: Fraction | None
) -> None:
    mechanism = Gaussian(epsilon=epsilon, delta=delta, sensitivity=1, step=step)
    grid = mechanism.grid(1)
    (draw,) = recorded(mechanism, 0.3)
    distance = math.ceil(1 / grid.step) + (not grid.dyadic)
    assert delta_of(DiscreteGaussian(draw.spread), distance, epsilon) <= delta
    assert delta_of(DiscreteGaussian(draw.spread * Fraction("0.999") ** 2), distance, epsilon) > delta


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
@pytest.mark.parametrize(("exact", "sensitivity"), [([1, 2], 2), ([0.5, 0.25, 0.125], 1)])
def test_vectors_keep_the_promise_through_zcdp(epsilon: float, delta: float, exact: Any, sensitivity: int) -> None:
    mechanism = Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    (draw,) = recorded(mechanism, exact)
    assert moved(mechanism, exact) ** 2 / (2 * draw.spread) == mechanism.rho
    assert epsilon_of(Concentrated(mechanism.rho), delta) <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
@pytest.mark.parametrize("sensitivity", [1, 1.4, Fraction(1414213, 10**6)])
def test_integers_of_which_one_moves_by_one_have_the_noise_of_a_single_number(
    epsilon: float, delta: float, sensitivity: Any
) -> None:
    """The squares add up to less than 2. By enumeration, no other integers do; and of √2 on they may."""
    few = [x for x in product(range(-2, 3), repeat=3) if sum(v * v for v in x) <= sensitivity**2]
    assert {tuple(sorted(map(abs, x))) for x in few} == {(0, 0, 0), (0, 0, 1)}
    (one,) = recorded(Gaussian(epsilon=epsilon, delta=delta, sensitivity=1), 0)
    (many,) = recorded(Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity), [3, 0, 7])
    assert many.spread == one.spread
    assert delta_of(DiscreteGaussian(many.spread), 1, epsilon) <= delta
    (two,) = recorded(Gaussian(epsilon=epsilon, delta=delta, sensitivity=1.5), [3, 0, 7])
    assert two.spread == Fraction(9, 4) / (2 * Gaussian(epsilon=epsilon, delta=delta, sensitivity=1).rho)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0.1), (3, 0.01)])
def test_a_vector_of_two_is_private_by_enumeration(epsilon: float, delta: float) -> None:
    """The δ of both cells together, over all outcomes: that of one cell."""
    (draw,) = recorded(Gaussian(epsilon=epsilon, delta=delta, sensitivity=1), [0, 0])
    z = np.arange(-60, 61)
    law = np.exp(-(z**2) / (2 * float(draw.spread)))
    here = np.outer(law, law) / law.sum() ** 2
    for there in (np.roll(here, 1, axis=0), np.roll(here, -1, axis=1)):
        assert np.maximum(here - math.exp(epsilon) * there, 0).sum() <= delta + 1e-12


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
@pytest.mark.parametrize("options", [{}, {"sensitivity": 1.5}, {"sensitivity": 0.3}, {"step": 0.25}, {"step": 0.1}])
def test_the_loss_covers_whatever_is_released(epsilon: float, delta: float, options: dict[str, Any]) -> None:
    mechanism = Gaussian(**{"epsilon": epsilon, "delta": delta, "sensitivity": 1, **options})
    for exact in (0, 0.0, [0, 0], [0.0, 0.0]):
        (draw,) = recorded(mechanism, exact)
        assert moved(mechanism, exact) ** 2 / (2 * draw.spread) <= mechanism.loss.rho


def moved(mechanism: Gaussian, exact: Any) -> Fraction:
    """How many steps one unit can move it, by the theorem of the grid."""
    if mechanism.step is None and mechanism.sensitivity >= 1 and np.asarray(exact).dtype.kind == "i":
        return Fraction(math.floor(mechanism.sensitivity))
    length = np.size(exact)
    grid = mechanism.grid(length)
    if length == 1:
        return grid.distance(mechanism.sensitivity)
    return mechanism.sensitivity / grid.step + math.ceil(math.sqrt(length)) * (1 if grid.dyadic else 2)


def test_a_promise_of_epsilon_and_delta_is_not_that_of_the_continuous_gaussian() -> None:
    """At ε = 8 the σ of the continuous analytic formula exceeds δ when the noise is discrete."""
    (draw,) = recorded(Gaussian(epsilon=8, delta=1e-6, sensitivity=1), 0)
    continuous = 0.652936
    exceeded = stats.norm.sf(8 * continuous - 0.5 / continuous) - math.exp(8) * stats.norm.sf(
        8 * continuous + 0.5 / continuous
    )
    assert exceeded == pytest.approx(1e-6, rel=0.01)
    assert brute_delta(Fraction(continuous) ** 2, 1, 8) > 1.2e-6
    assert draw.spread > Fraction(continuous) ** 2


def test_the_loss_of_another_sensitivity() -> None:
    by_rho = Gaussian(rho=0.5, sensitivity=2)
    assert by_rho.loss_for(Sensitivity.cells(1, 2)) == Concentrated(0.5)
    assert by_rho.loss_for(Sensitivity.cells(1, 1)) == Concentrated(0.125)
    assert by_rho.loss_for(Sensitivity.cells(0, 1)) == Concentrated(0)


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
@pytest.mark.parametrize("sensitivity", [1, Fraction(3, 2), 3])
def test_the_loss_of_another_sensitivity_covers_numbers_and_vectors(
    epsilon: float, delta: float, sensitivity: Fraction
) -> None:
    mechanism = Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    for count, size in ((1, 1), (1, 2), (3, 1)):
        other = Sensitivity.cells(count, size)
        for exact in (0, [0, 0, 0]):
            (draw,) = recorded(mechanism, exact)
            assert other.l2_squared / (2 * draw.spread) <= mechanism.loss_for(other).rho


@pytest.mark.parametrize("options", [{"sensitivity": 1, "step": 1}, {"sensitivity": 0.5}])
def test_on_a_grid_a_shorter_sensitivity_has_no_cheaper_loss(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="step"):
        Gaussian(rho=1, **options).loss_for(Sensitivity.cells(1, 0.001))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"epsilon": 1},
        {"delta": 1e-6},
        {"rho": 1, "epsilon": 1},
        {"rho": 1, "delta": 1e-6},
        {"rho": 1, "epsilon": 1, "delta": 1e-6},
    ],
)
def test_the_cost_is_either_rho_or_epsilon_and_delta(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="give either rho, or epsilon and delta"):
        Gaussian(sensitivity=1, **options)


# What it promises about its error


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.9, 0.95, 0.99, 0.999999])
def test_the_error_is_the_least_width_that_holds_with_the_confidence(rho: Fraction, confidence: float) -> None:
    mechanism = Gaussian(rho=rho, sensitivity=2)
    width = mechanism.error(confidence)
    law = gaussian_law(4 / (2 * rho))
    sizes = np.abs(law.first + np.arange(law.probabilities.size))
    assert isinstance(width, int)
    assert law.probabilities[sizes <= width].sum() >= confidence - 1e-12
    assert law.probabilities[sizes < width].sum() < confidence
    assert width <= stats.norm.ppf((1 + confidence) / 2) * mechanism.sigma + 1


@pytest.mark.parametrize("like", [0, [0, 0], 0.0, [0.0, 0.0], np.zeros(100)])
@pytest.mark.parametrize("promise", [{"rho": 0.02}, {"rho": 20}, {"epsilon": 1, "delta": 1e-6}])
def test_the_error_is_that_of_the_noise_that_is_drawn(like: Any, promise: dict[str, Any]) -> None:
    mechanism = Gaussian(sensitivity=1, **promise)
    (draw,) = recorded(mechanism, like)
    law = DiscreteGaussian(draw.spread)
    real = np.asarray(like).dtype.kind == "f"
    step = float(mechanism.grid(np.size(like)).step) if real else 1.0
    width = round(mechanism.error(0.9, like=like) / step - 0.5 * real)
    assert 2 * law.tail(width + 1)[1] <= 0.1 < 2 * law.tail(width)[0] or width == 0
    assert mechanism.error(0.9, like=like) == pytest.approx((width + 0.5 * real) * step, rel=1e-12)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@STEADY
@given(
    rho=st.fractions(Fraction(1, 10**5), Fraction(1000)), sensitivity=st.fractions(Fraction(1, 1000), Fraction(1000))
)
def test_its_own_grid_adds_less_than_a_hundredth_to_the_error(
    confidence: float, rho: Fraction, sensitivity: Fraction
) -> None:
    continuous = float(sensitivity) / math.sqrt(2 * rho) * stats.norm.ppf((1 + confidence) / 2)
    error = Gaussian(rho=rho, sensitivity=sensitivity).error(confidence, like=0.0)
    assert 0.99 * continuous < error < 1.01 * continuous


@pytest.mark.parametrize("length", [2, 100, 10**5])
def test_for_vectors_too(length: int) -> None:
    error = Gaussian(rho=0.1, sensitivity=0.7).error(0.95, like=np.zeros(length))
    assert error < 1.01 * 0.7 / math.sqrt(0.2) * 1.96


# What comes out


@pytest.mark.parametrize("exact", [42, -7, 2**53 + 1, 2**63 - 1, -(2**63), 10**40, np.int64(5)])
def test_an_integer_stays_an_integer(exact: int) -> None:
    mechanism = Gaussian(rho=1, sensitivity=1)
    assert type(mechanism.release(exact)) is int
    assert noiseless(mechanism, exact) == int(exact)


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3)])
@pytest.mark.parametrize("promise", [{"rho": 0.5}, {"epsilon": 1, "delta": 1e-6}])
def test_reals_stay_reals_of_the_same_shape(shape: tuple[int, ...], promise: dict[str, Any]) -> None:
    mechanism = Gaussian(sensitivity=1, **promise)
    exact = np.linspace(-1, 1, math.prod(shape)).reshape(shape)
    released = mechanism.release(exact)
    assert np.shape(released) == shape
    assert np.asarray(released).dtype == np.float64
    assert (type(released) is float) == (shape == ())
    assert np.abs(noiseless(mechanism, exact) - exact).max() <= mechanism.grid(exact.size).step / 2


@pytest.mark.parametrize("step", [Fraction(1, 8), Fraction(1, 100), Fraction(3), Fraction(1, 3)])
def test_what_is_released_is_a_whole_number_of_steps(step: Fraction) -> None:
    released = Gaussian(rho=1e-3, sensitivity=2, step=step).release(np.linspace(-1000, 1000, 501)).tolist()
    assert all(value == float(round(Fraction(value) / step) * step) for value in released)


def test_sums_near_the_end_of_64_bits_never_wrap() -> None:
    released, _ = released_with(9, Gaussian(rho=1, sensitivity=1), [2**63 - 1, 0])
    assert released.tolist() == [2**63 + 8, 9]


@pytest.mark.parametrize("rho", [Fraction(1, 800), Fraction(1, 2)])
def test_integers_are_released_with_the_exact_distribution_around_them(rho: Fraction) -> None:
    """A verdict of `tests.statistics`: false alarm below 10⁻⁹."""
    released = Gaussian(rho=rho, sensitivity=1).release(np.full(100_000, 42))
    assert misfit(released - 42, gaussian_law(1 / (2 * rho))) > ALARM


@pytest.mark.parametrize("epsilon", [0.5, 4])
def test_single_integers_by_epsilon_and_delta_too(epsilon: float) -> None:
    mechanism = Gaussian(epsilon=epsilon, delta=1e-6, sensitivity=1)
    released = [mechanism.release(-7) + 7 for _ in range(2000)]
    assert misfit(released, gaussian_law(Fraction(mechanism.sigma) ** 2)) > ALARM


@pytest.mark.long
@pytest.mark.parametrize(("step", "factor"), [(Fraction(1, 4), 1), (Fraction(1, 10), 2)])
def test_reals_are_released_with_the_exact_distribution_around_them(step: Fraction, factor: int) -> None:
    mechanism = Gaussian(rho=0.5, sensitivity=2, step=step)
    middle = round(Fraction(3, 10) / step)
    single = np.array([mechanism.release(0.3) for _ in range(4000)])
    assert (
        misfit(np.round(single / float(step)) - middle, gaussian_law((math.ceil(2 / step) + factor - 1) ** 2)) > ALARM
    )
    vectors = np.array([mechanism.release(np.full(20, 0.3)) for _ in range(1000)])
    assert misfit(np.round(vectors / float(step)) - middle, gaussian_law((2 / step + 5 * factor) ** 2)) > ALARM


def test_the_spread_is_sigma_in_units_of_the_values() -> None:
    assert float(Gaussian(rho=0.02, sensitivity=3).spread) == pytest.approx(15, rel=1e-15)
    assert float(Gaussian(rho=2, sensitivity=0.1).spread) == pytest.approx(0.05, rel=1e-15)


def test_rounding_lengthens_a_vector_by_the_root_of_its_length() -> None:
    mechanism = Gaussian(rho=1, sensitivity=1)
    assert [mechanism.slack(length) for length in (1, 2, 4, 5, 9, 10, 10**6)] == [1, 2, 2, 3, 3, 4, 1000]


def test_sigma_is_in_the_units_of_the_number_on_any_grid() -> None:
    """σ = Δ/√(2ρ), and hardly more for rounding."""
    for step in (Fraction(1, 8), Fraction(1, 1000)):
        assert Gaussian(rho=Fraction(1, 2), sensitivity=1, step=step).sigma == pytest.approx(1, rel=0.2)


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
@pytest.mark.parametrize(("exact", "sensitivity", "step"), [(7, 3, None), (0.5, 1, Fraction(1, 8))])
def test_sigma_is_that_of_a_single_number_whatever_the_promise(
    epsilon: float, delta: float, exact: float, sensitivity: int, step: Fraction | None
) -> None:
    """A vector of two needs more noise for the same promise."""
    mechanism = Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity, step=step)
    (draw,) = recorded(mechanism, exact)
    assert mechanism.sigma == pytest.approx(math.sqrt(draw.spread) * float(step or 1), rel=1e-12)
