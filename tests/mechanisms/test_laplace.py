from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import Concentrated, DiscreteLaplace, Pure, Sensitivity
from discreet.mechanisms import Laplace
from discreet.mechanisms.grid import FARTHEST
from tests.mechanisms.helpers import STEADY, farthest, loss_between, noiseless, probability_of, recorded, released_with
from tests.rigged import Rigged
from tests.statistics import ALARM, laplace_law, misfit

EPSILONS = [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(8)]
REAL_STEPS = [Fraction(1, 4), Fraction(1), Fraction(1, 100), Fraction(3, 10)]
EIGHTHS = [k / 8 + nudge for k in range(-20, 21) for nudge in (-1e-9, 0.0)]


def worst_ratio(scale: Fraction, distance: int) -> Decimal:
    """The largest P(x + Z = o)/P(x' + Z = o), by enumeration of the outputs o around integers so far apart."""
    law = DiscreteLaplace(scale)
    sensitivity = distance + 3
    return max(probability_of(law, o) / probability_of(law, o - distance) for o in range(-sensitivity, sensitivity + 1))


def allowed(epsilon: Fraction) -> Decimal:
    return (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()


# What is promised


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sensitivity", [1, 2, 5])
def test_neighbours_are_at_most_epsilon_apart_and_some_are(epsilon: Fraction, sensitivity: int) -> None:
    mechanism = Laplace(epsilon, sensitivity=sensitivity)
    (draw,) = recorded(mechanism, 0)
    ratios = [worst_ratio(draw.spread, distance) for distance in range(sensitivity + 1)]
    assert max(ratios) <= allowed(epsilon) * (1 + Decimal("1e-20"))
    assert max(ratios) >= allowed(epsilon) * (1 - Decimal("1e-9"))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
@pytest.mark.parametrize("step", REAL_STEPS)
@pytest.mark.parametrize("sensitivity", [Fraction(1, 4), Fraction(3, 10), Fraction(2)])
def test_all_pairs_of_reals_within_the_sensitivity_are_at_most_epsilon_apart(
    epsilon: Fraction, step: Fraction, sensitivity: Fraction
) -> None:
    mechanism = Laplace(epsilon, sensitivity=sensitivity, step=step)
    worst = farthest(mechanism, EIGHTHS)
    assert worst <= epsilon
    (draw,) = recorded(mechanism, 0.0)
    assert worst_ratio(draw.spread, int(worst * draw.spread)) <= allowed(epsilon) * (1 + Decimal("1e-20"))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    ("step", "sensitivity", "pair"),
    [
        (Fraction(1, 4), Fraction(3, 10), (0.1, 0.39)),
        (Fraction(1), Fraction(1), (0.5, 1.5)),
        (Fraction(1, 100), Fraction(1, 100), (10.235, 10.245)),
    ],
)
def test_reals_at_the_edges_of_their_cells_sensitivity_epsilon(
    epsilon: Fraction, step: Fraction, sensitivity: Fraction, pair: tuple[float, float]
) -> None:
    mechanism = Laplace(epsilon, sensitivity=sensitivity, step=step)
    one, other = (recorded(mechanism, value) for value in pair)
    assert abs(Fraction(pair[0]) - Fraction(pair[1])) <= sensitivity
    assert loss_between(one, other) == epsilon


@STEADY
@given(
    epsilon=st.fractions(Fraction(1, 100), Fraction(10)),
    sensitivity=st.fractions(Fraction(1, 100), Fraction(100)),
    start=st.floats(-1e6, 1e6),
    share=st.floats(-1, 1),
)
def test_reals_on_the_grid_of_its_own_choice_are_at_most_epsilon_apart(
    epsilon: Fraction, sensitivity: Fraction, start: float, share: float
) -> None:
    mechanism = Laplace(epsilon, sensitivity=sensitivity)
    other = start + share * float(sensitivity)
    if abs(Fraction(start) - Fraction(other)) <= sensitivity:
        runs = [recorded(mechanism, value) for value in (start, other)]
        assert loss_between(*runs) <= epsilon


@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 4), Fraction(1, 10)])
@pytest.mark.parametrize("length", [2, 3, 10, 1000])
def test_a_vector_whose_every_number_rounds_the_other_way_is_covered(step: Fraction, length: int) -> None:
    tiny = float(step) * 1e-6
    exact = np.full(length, 0.5 * float(step) - tiny)
    moved = exact + 2 * tiny
    mechanism = Laplace(1, sensitivity=float(np.abs(moved - exact).sum()) * 1.01, step=step)
    runs = [recorded(mechanism, vector) for vector in (exact, moved)]
    assert runs[0][0].exact == (0,) * length
    assert runs[1][0].exact == (1,) * length
    assert loss_between(*runs) <= 1


@STEADY
@given(
    st.lists(st.tuples(st.floats(-100, 100), st.floats(-3, 3)), min_size=1, max_size=8),
    st.sampled_from([None, Fraction(1), Fraction(1, 4), Fraction(1, 10), Fraction(1, 3)]),
)
def test_vectors_within_the_sensitivity_are_at_most_epsilon_apart(
    pairs: list[tuple[float, float]], step: Fraction | None
) -> None:
    exact = [start for start, _ in pairs]
    moved = [start + shift for start, shift in pairs]
    distance = sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(exact, moved, strict=True))
    if distance > Fraction(1, 1000):
        mechanism = Laplace(2, sensitivity=distance, step=step)
        assert loss_between(recorded(mechanism, exact), recorded(mechanism, moved)) <= 2


def test_the_loss_is_epsilon() -> None:
    mechanism = Laplace(0.3, sensitivity=3)
    assert mechanism.loss == Pure(0.3) == mechanism.loss_for(Sensitivity.cells(1, 3))
    assert mechanism.loss_for(Sensitivity.cells(2, 1)) == Pure(Fraction(2, 10))
    assert mechanism.loss_for(Sensitivity.cells(0, 1)) == Pure(0)


@pytest.mark.parametrize("options", [{"sensitivity": 1, "step": 1}, {"sensitivity": 0.5}])
def test_on_a_grid_a_shorter_sensitivity_has_no_cheaper_loss(options: dict[str, Any]) -> None:
    """Two reals a hair apart may land a whole step apart."""
    with pytest.raises(ValueError, match="step"):
        Laplace(1, **options).loss_for(Sensitivity.cells(1, 0.001))


# What the lectures say


@pytest.mark.parametrize("population", [10, 1000, 10**9])
def test_blue_eyes_get_noise_of_scale_10_whatever_the_population(population: int) -> None:
    mechanism = Laplace(epsilon=0.1, sensitivity=1)
    (draw,) = recorded(mechanism, population // 3)
    assert mechanism.scale == draw.spread == 10


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_five_complaints_each_get_noise_of_scale_5_over_epsilon(epsilon: Fraction) -> None:
    (draw,) = recorded(Laplace(epsilon, sensitivity=5), 1234)
    assert draw.spread == 5 / epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_the_mean_squared_error_is_that_of_the_pmf_and_below_the_lecture_s(epsilon: Fraction, sensitivity: int) -> None:
    mechanism = Laplace(epsilon, sensitivity=sensitivity)
    law = laplace_law(mechanism.scale)
    sizes = law.first + np.arange(law.probabilities.size)
    assert mechanism.variance() == pytest.approx(float((sizes**2 * law.probabilities).sum()), rel=1e-9)
    assert mechanism.variance() <= 2 * float(mechanism.scale) ** 2


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(10), Fraction(77, 5)])
def test_the_tail_is_the_one_of_the_docstring(scale: Fraction) -> None:
    law, q = laplace_law(scale), math.exp(-1 / scale)
    for t in (0, 1, 2, 7, 30):
        beyond = np.abs(law.first + np.arange(law.probabilities.size)) > t
        formula = 2 * q ** (t + 1) / (1 + q)
        assert float(law.probabilities[beyond].sum()) == pytest.approx(formula, rel=1e-9)
        assert 2 * float(DiscreteLaplace(scale).tail(t + 1)[1]) == pytest.approx(formula, rel=1e-12)
        assert formula <= math.exp(-t / scale)


def test_between_integers_the_continuous_bound_can_fail() -> None:
    """Why intervals come from the exact tail: Pr[error > Δ/ε·ln(1/ρ)] ≤ ρ is the continuous Laplace's."""
    level = 0.38
    width = math.log(1 / level)
    assert width < 1
    assert 2 * float(DiscreteLaplace(Fraction(1)).tail(1)[0]) > level


# What it promises about its error


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.9, 0.95, 0.99, 0.999999])
def test_the_error_is_the_least_width_that_holds_with_the_confidence(epsilon: Fraction, confidence: float) -> None:
    mechanism = Laplace(epsilon, sensitivity=2)
    width = mechanism.error(confidence)
    law = laplace_law(mechanism.scale)
    sizes = np.abs(law.first + np.arange(law.probabilities.size))
    assert isinstance(width, int)
    assert law.probabilities[sizes <= width].sum() >= confidence - 1e-12
    assert law.probabilities[sizes < width].sum() < confidence


@pytest.mark.parametrize("like", [0.0, [0.0, 0.0], np.zeros(100)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(10)])
@pytest.mark.parametrize("step", [None, Fraction(1, 2), Fraction(1, 100)])
def test_the_error_of_reals_holds_with_the_confidence(like: Any, epsilon: Fraction, step: Fraction | None) -> None:
    mechanism = Laplace(epsilon, sensitivity=1, step=step)
    (draw,) = recorded(mechanism, like)
    grid = mechanism.grid(np.size(like))
    width = round(Fraction(mechanism.error(0.95, like=like)) / grid.step - Fraction(1, 2))
    assert mechanism.error(0.95, like=like) == pytest.approx((width + 0.5) * float(grid.step), rel=1e-12)
    q = math.exp(-1 / draw.spread)
    assert 2 * q ** (width + 1) / (1 + q) <= 0.05 < 2 * q**width / (1 + q)


def test_the_error_of_reals_is_not_that_of_integers() -> None:
    mechanism = Laplace(10, sensitivity=1)
    assert mechanism.error(0.95) == 0
    assert mechanism.error(0.95, like=1.5) == pytest.approx(0.3, rel=0.01)


@pytest.mark.parametrize("confidence", [0.5, 0.95])
@STEADY
@given(
    epsilon=st.fractions(Fraction(1, 1000), Fraction(1000)), sensitivity=st.fractions(Fraction(1, 1000), Fraction(1000))
)
def test_its_own_grid_adds_less_than_a_hundredth_to_the_error(
    confidence: float, epsilon: Fraction, sensitivity: Fraction
) -> None:
    continuous = float(sensitivity / epsilon) * math.log(1 / (1 - confidence))
    error = Laplace(epsilon, sensitivity=sensitivity).error(confidence, like=0.0)
    assert 0.99 * continuous < error < 1.01 * continuous


@pytest.mark.parametrize("length", [2, 100, 10**5])
@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
def test_for_vectors_too(length: int, epsilon: float) -> None:
    error = Laplace(epsilon, sensitivity=0.7).error(0.95, like=np.zeros(length))
    assert error < 1.01 * 0.7 / epsilon * math.log(20)


# What comes out


@pytest.mark.parametrize("exact", [42, -7, 0, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 10**40, np.int64(5), np.uint8(5)])
def test_an_integer_stays_an_integer(exact: int) -> None:
    released = Laplace(1, sensitivity=1).release(exact)
    assert type(released) is int
    assert abs(released - int(exact)) < 100
    assert noiseless(Laplace(1, sensitivity=1), exact) == int(exact)


@pytest.mark.parametrize("exact", [1.5, 0.0, -1e-300, np.float32(0.1), Fraction(1, 3), Decimal("0.1")])
def test_a_real_stays_a_real(exact: Any) -> None:
    mechanism = Laplace(1, sensitivity=1)
    assert type(mechanism.release(exact)) is float
    assert abs(noiseless(mechanism, exact) - float(exact)) <= mechanism.grid(1).step / 2


@pytest.mark.parametrize("options", [{"sensitivity": 0.5}, {"sensitivity": 3, "step": 1}])
def test_integers_become_reals_on_a_grid(options: dict[str, Any]) -> None:
    assert type(Laplace(1, **options).release(3)) is float
    assert Laplace(1, **options).release([3, 4]).dtype == np.float64


@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3), (1, 1, 1), (4, 1, 2)])
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16, np.float64, np.float32])
def test_arrays_keep_their_shape_and_kind(shape: tuple[int, ...], dtype: type[np.number[Any]]) -> None:
    exact = np.arange(math.prod(shape)).astype(dtype).reshape(shape)
    released = Laplace(1, sensitivity=1).release(exact)
    assert released.shape == shape
    assert released.dtype == (np.float64 if np.issubdtype(dtype, np.floating) else np.int64)
    assert np.array_equal(noiseless(Laplace(1, sensitivity=1), exact), exact)


def test_lists_become_arrays() -> None:
    assert Laplace(1, sensitivity=1).release([[1, 2], [3, 4]]).shape == (2, 2)


@pytest.mark.parametrize("step", [Fraction(1, 8), Fraction(1, 100), Fraction(3), Fraction(1, 3), Fraction(22, 7)])
def test_what_is_released_is_a_whole_number_of_steps(step: Fraction) -> None:
    mechanism = Laplace(0.01, sensitivity=2, step=step)
    released = mechanism.release(np.linspace(-1000, 1000, 501)).tolist()
    released += [mechanism.release(x) for x in (0.123456789, -1e9, 7)]
    assert all(value == float(round(Fraction(value) / step) * step) for value in released)


@STEADY
@given(sensitivity=st.fractions(Fraction(1, 10**6), Fraction(10**6)), exact=st.floats(-1e3, 1e3))
def test_what_is_released_on_its_own_grid_is_a_whole_number_of_steps(sensitivity: Fraction, exact: float) -> None:
    mechanism = Laplace(1, sensitivity=sensitivity)
    assert (Fraction(mechanism.release(exact)) / mechanism.grid(1).step).denominator == 1


def test_whether_the_array_is_of_64_bits_depends_on_what_is_released_only() -> None:
    mechanism = Laplace(1, sensitivity=1)
    for exact, noise in (([2**63 - 1, 0], -1), ([2**63, 0], -2), ([2**63 - 2, 0], 0)):
        released, _ = released_with(noise, mechanism, exact)
        assert released.dtype == np.int64
        assert released[0] == 2**63 - 2
    for exact, noise in (([2**63 - 1, 0], 1), ([2**63, 0], 0)):
        released, _ = released_with(noise, mechanism, exact)
        assert released.dtype == object
        assert released[0] == 2**63


def test_no_noise_lifts_a_sum_around_the_end_of_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pair of numbers at either end with every pair of noises, against Python's integers."""
    mechanism = Laplace(1, sensitivity=1)
    drawn: list[int] = []
    monkeypatch.setattr(Laplace, "draw", lambda *_: np.array(drawn, dtype=np.int64))
    ends = (2**63 - 1, 2**63 - 2, 5, -(2**63) + 1, -(2**63))
    for exact, drawn[:] in product(product(ends, repeat=2), product((-2, 0, 1), repeat=2)):
        wanted = [number + noise for number, noise in zip(exact, drawn, strict=True)]
        released = mechanism.release(list(exact))
        assert released.tolist() == wanted
        assert (released.dtype == np.int64) == all(-(2**63) <= each < 2**63 for each in wanted)


@pytest.mark.parametrize("side", [-1, 1])
def test_sums_near_the_end_of_64_bits_never_wrap(side: int) -> None:
    exact = [side * (2**63 - 1), side * (2**63 - 5), 0]
    released = Laplace(1e-3, sensitivity=1).release(exact)
    assert all(abs(int(value) - wanted) < 10**6 for value, wanted in zip(released, exact, strict=True))


def test_reals_too_large_for_their_steps_are_refused() -> None:
    mechanism = Laplace(1, sensitivity=1, step=0.5)
    assert math.isfinite(mechanism.release(0.49 * FARTHEST))
    with pytest.raises(OverflowError, match=r"^exact is too large for steps of 0\.5"):
        mechanism.release(0.5 * FARTHEST)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(2)])
def test_integers_are_released_with_the_exact_distribution_around_them(epsilon: Fraction) -> None:
    """A verdict of `tests.statistics`: false alarm below 10⁻⁹."""
    released = Laplace(epsilon, sensitivity=1).release(np.full(200_000, 42))
    assert misfit(released - 42, laplace_law(1 / epsilon)) > ALARM


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(4)])
def test_single_integers_too(epsilon: Fraction) -> None:
    mechanism = Laplace(epsilon, sensitivity=2)
    assert misfit([mechanism.release(-7) + 7 for _ in range(3000)], laplace_law(2 / epsilon)) > ALARM


@pytest.mark.long
@pytest.mark.parametrize(("step", "slack"), [(Fraction(1, 4), 1), (Fraction(1, 10), 2)])
def test_reals_are_released_with_the_exact_distribution_around_them(step: Fraction, slack: int) -> None:
    mechanism = Laplace(1, sensitivity=2, step=step)
    middle = round(Fraction(3, 10) / step)
    single = np.array([mechanism.release(0.3) for _ in range(5000)])
    assert misfit(np.round(single / float(step)) - middle, laplace_law(math.ceil(2 / step) + slack - 1)) > ALARM
    vectors = np.array([mechanism.release(np.full(20, 0.3)) for _ in range(2000)])
    assert misfit(np.round(vectors / float(step)) - middle, laplace_law(2 / step + 20 * slack)) > ALARM


def test_a_single_number_takes_a_single_word() -> None:
    bits = Rigged([2**63 + 2**62] * 4)
    assert isinstance(Laplace(1, sensitivity=1).release(5, bits), int)
    assert bits.taken == 8


@pytest.mark.parametrize(("step", "each"), [(Fraction(1, 4), 1), (Fraction(1, 10), 2)])
def test_rounding_costs_each_number_a_step_and_one_more_where_division_is_not_exact(step: Fraction, each: int) -> None:
    mechanism = Laplace(1, sensitivity=2, step=step)
    assert mechanism._moved(mechanism.grid(5), 5) == 2 / step + each * mechanism.slack(5)
    assert mechanism._moved(mechanism.grid(1), 1) == 2 / step + each - 1


def test_the_grid_of_a_single_number_is_no_finer_than_it_needs() -> None:
    mechanism = Laplace(0.1, sensitivity=0.5)
    assert mechanism._own_grid == mechanism.grid(1) != mechanism.grid(2)


def test_a_truth_value_is_no_number() -> None:
    with pytest.raises(TypeError, match="not booleans"):
        Laplace(1, sensitivity=1).release(True)


# For a ρ


@pytest.mark.parametrize("sensitivity", [1, 3, 1000])
def test_laplace_noise_for_a_rho_costs_it(sensitivity: int) -> None:
    mechanism = Laplace(rho=2, sensitivity=sensitivity)
    assert mechanism.loss == mechanism.promise == Concentrated(2)
    again = mechanism.loss_for(Sensitivity.cells(1, sensitivity))
    assert isinstance(again, Concentrated)
    assert Fraction("1.9999") < again.rho <= 2
    assert Laplace(mechanism.epsilon, sensitivity=sensitivity).noise(mechanism.sensitivity, 1) == mechanism.noise(
        mechanism.sensitivity, 1
    )
    assert mechanism.loss_for(Sensitivity(Fraction(1, 2), Fraction(1, 4))) == Pure(Fraction(1, 2) / mechanism.scale)


@pytest.mark.parametrize("arguments", [{}, {"epsilon": 1, "rho": 1}])
def test_laplace_noise_has_one_cost(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="either epsilon or rho"):
        Laplace(sensitivity=1, **arguments)


@pytest.mark.parametrize("arguments", [{"sensitivity": 0.5}, {"sensitivity": 2, "step": 1}])
def test_laplace_noise_for_a_rho_is_for_integers(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="rho is for integers"):
        Laplace(rho=1, **arguments)
