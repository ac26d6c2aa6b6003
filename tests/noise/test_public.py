from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import noise
from discreet.exact import not_below
from discreet.noise import LEAST_SCALE, MOST_SCALE, samplers
from tests.rigged import Rigged
from tests.statistics import ALARM, gaussian_law, geometric_law, laplace_law, misfit

SCALED: dict[str, Callable[..., Any]] = {
    "laplace": noise.laplace,
    "geometric": noise.geometric,
    "gaussian": noise.gaussian,
}
NAMES = {"laplace": "scale", "geometric": "scale", "gaussian": "variance"}
TALKATIVE: dict[str, Callable[..., Any]] = {
    "laplace": lambda bits: noise.laplace(1, bits=bits),
    "gaussian": lambda bits: noise.gaussian(1, size=3, bits=bits),
    "geometric": lambda bits: noise.geometric(1, bits=bits),
    "bernoulli_exp": lambda bits: noise.bernoulli_exp(1, bits=bits),
    "bernoulli_exp of several": lambda bits: noise.bernoulli_exp([1, 2], bits=bits),
    "below": lambda bits: noise.below(6, bits=bits),
    "below in an array": lambda bits: noise.below(6, size=3, bits=bits),
    "shuffle": lambda bits: noise.shuffle(3, bits=bits),
    "untruths": lambda bits: noise.untruths(Fraction(1), 1, 3, bits=bits),
}

scaled = pytest.mark.parametrize("name", SCALED)


@scaled
@pytest.mark.parametrize("scale", [1, 10, 2.5, Fraction(1, 3), Decimal("0.7"), np.int64(7), np.float64(0.3), 10**12])
def test_one_draw_is_a_python_int(name: str, scale: Any) -> None:
    assert type(SCALED[name](scale)) is int


@scaled
@pytest.mark.parametrize("size", [0, 1, 5, np.int64(4), (), (3,), (2, 3), (0, 4), (2, 0), (40, 1000)])
def test_several_draws_are_an_array_of_that_shape(name: str, size: Any) -> None:
    drawn = SCALED[name](7, size=size)
    assert isinstance(drawn, np.ndarray)
    assert drawn.dtype == np.int64
    assert drawn.shape == (size if isinstance(size, tuple) else (size,))


def test_trials_are_booleans() -> None:
    assert type(noise.bernoulli_exp(0.5)) is bool
    assert noise.bernoulli_exp(0.5, size=(2, 3)).shape == (2, 3)
    assert noise.bernoulli_exp(0.5, size=0).shape == (0,)
    assert noise.bernoulli_exp(0.5, size=4).dtype == np.bool_
    assert noise.bernoulli_exp([]).shape == (0,)
    assert noise.bernoulli_exp(np.array([0.0, 0.5])).shape == (2,)  # type: ignore[call-overload]
    assert noise.untruths(Fraction(1), 3, 4).dtype == np.bool_
    assert noise.untruths(Fraction(1), 3, 0).shape == (0,)


def test_a_rate_of_zero_always_succeeds_and_a_huge_one_never() -> None:
    assert noise.bernoulli_exp(0) is True
    assert noise.bernoulli_exp(0.0, size=1000).all()
    assert not noise.bernoulli_exp(1e300, size=1000).any()


def test_uniform_draws_are_integers() -> None:
    assert type(noise.below(6)) is int
    assert noise.below(1) == 0
    assert 0 <= noise.below(10**40) < 10**40
    assert noise.below(6, size=(2, 3)).shape == (2, 3)
    assert noise.below(6, size=0).shape == (0,)
    assert noise.below(np.array([1, 2, 3]), size=3).dtype == np.int64
    assert noise.below(np.array([[1], [5]]), size=(2, 4))[0].tolist() == [0] * 4
    assert noise.below(np.array([3], dtype=np.uint8), size=1).dtype == np.int64


@scaled
@pytest.mark.parametrize("exponent", range(-6, 13))
def test_every_scale_from_a_millionth_to_a_million_millions_works(name: str, exponent: int) -> None:
    scale = Fraction(10) ** exponent
    parameter = scale**2 if name == "gaussian" else scale
    drawn = SCALED[name](parameter, size=1000)
    # |noise| > 60·scale has a probability below 10⁻²⁵
    assert np.abs(drawn).max() <= 60 * scale
    assert exponent < 1 or len(set(drawn.tolist())) > 1


@scaled
def test_tiny_scales_are_rounded_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    least = LEAST_SCALE**2 if name == "gaussian" else LEAST_SCALE
    assert seen(name, Fraction(1, 10**30), monkeypatch) == least
    assert seen(name, 5e-324, monkeypatch) == least
    assert seen(name, least, monkeypatch) == least
    assert seen(name, 2 * least, monkeypatch) == 2 * least


def seen(name: str, parameter: Any, monkeypatch: pytest.MonkeyPatch) -> Fraction:
    """The fraction that reaches the sampler."""
    reached: list[Fraction] = []

    def sampler(_: object, count: int, scale: Fraction) -> np.ndarray[Any, Any]:
        reached.append(scale)
        return np.zeros(count, dtype=np.int64)

    with monkeypatch.context() as patch:
        patch.setattr(samplers, name, sampler)
        SCALED[name](parameter)
    return reached[0]


@scaled
def test_a_float_scale_reaches_the_sampler_no_smaller(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (0.1, 0.2, 0.3, 1 / 3, 123.456, 1e9 + 0.1):
        assert seen(name, value, monkeypatch) >= max(Fraction(value), Fraction(str(value)))
    assert seen(name, Fraction(1, 3), monkeypatch) == Fraction(1, 3)
    assert seen(name, Decimal("0.1"), monkeypatch) == Fraction(1, 10)
    assert seen(name, 3, monkeypatch) == 3


@given(st.floats(min_value=5e-324, allow_infinity=False, allow_nan=False))
@settings(deadline=None, max_examples=500)
def test_a_float_becomes_a_fraction_that_is_never_smaller(value: float) -> None:
    for number in (value, np.float64(value)):
        exact = not_below(number, "scale")
        assert exact >= Fraction(value)
        assert exact >= Fraction(repr(value))
        assert exact in (Fraction(value), Fraction(repr(value)))


def test_random_floats_become_fractions_that_are_never_smaller() -> None:
    for value in np.abs(np.frombuffer(noise.SYSTEM.bytes(8 * 20_000), dtype=np.float64)).tolist():
        if 0 < value < math.inf:
            assert not_below(value, "scale") >= max(Fraction(value), Fraction(repr(value)))


def test_float_scales_have_the_distribution_of_their_fraction() -> None:
    assert misfit(noise.laplace(2.5, size=300_000), laplace_law(Fraction(5, 2))) > ALARM
    assert misfit(noise.geometric(Decimal("2.5"), size=300_000), geometric_law(Fraction(5, 2))) > ALARM
    assert misfit(noise.gaussian(6.25, size=300_000), gaussian_law(Fraction(25, 4))) > ALARM


def test_scalar_draws_have_the_same_distribution() -> None:
    assert misfit([noise.laplace(2) for _ in range(4000)], laplace_law(2)) > ALARM
    assert misfit([noise.gaussian(4) for _ in range(4000)], gaussian_law(4)) > ALARM
    assert misfit([noise.geometric(2) for _ in range(4000)], geometric_law(2)) > ALARM


@scaled
@pytest.mark.parametrize("excess", [Fraction(1, 10**9), 1, 10**300])
def test_scales_too_wide_are_refused(name: str, excess: Fraction | int) -> None:
    most = MOST_SCALE**2 if name == "gaussian" else MOST_SCALE
    SCALED[name](most)
    with pytest.raises(
        ValueError, match=rf"{NAMES[name]} must be at most 1e\+{'24' if name == 'gaussian' else '12'}, not"
    ):
        SCALED[name](most + excess)


NO_NUMBERS: list[Any] = [
    None,
    "1",
    b"1",
    "",
    [1],
    (),
    {},
    1j,
    True,
    False,
    np.bool_(True),
    object,
    np.array([1.0, 2.0]),
]
NO_SCALES: list[Any] = [
    math.nan,
    math.inf,
    -math.inf,
    np.float64("nan"),
    np.float32("inf"),
    Decimal("NaN"),
    Decimal("Infinity"),
]
TOO_SMALL: list[Any] = [
    0,
    -1,
    -0.0,
    0.0,
    -1e-300,
    Fraction(-1, 3),
    Decimal("-0.5"),
    np.float64(-1),
    np.int64(0),
    -(10**400),
]


@scaled
@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_is_no_scale(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"{NAMES[name]} must be a number"):
        SCALED[name](value)
    with pytest.raises(TypeError, match=f"{NAMES[name]} must be a number"):
        SCALED[name](value, size=3)


@scaled
@pytest.mark.parametrize("value", NO_SCALES, ids=repr)
def test_what_is_not_finite_is_no_scale(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{NAMES[name]} must be finite"):
        SCALED[name](value)


@scaled
@pytest.mark.parametrize("value", TOO_SMALL, ids=lambda value: str(value)[:10])
def test_what_is_not_positive_is_no_scale(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{NAMES[name]} must be above 0"):
        SCALED[name](value)


@pytest.mark.parametrize("value", [None, "a", True, np.bool_(False), 1j, object, {}], ids=repr)
def test_what_is_no_number_is_no_gamma(value: Any) -> None:
    for gamma in (value, [1, value]):
        with pytest.raises(TypeError, match="gamma must be a number"):
            noise.bernoulli_exp(gamma)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1, -1e-300, Fraction(-1, 3)], ids=repr)
def test_gammas_are_finite_and_not_negative(value: Any) -> None:
    for gamma in (value, [1, value]):
        with pytest.raises(ValueError, match=r"gamma must be (finite|at least 0), not"):
            noise.bernoulli_exp(gamma)


def test_several_gammas_take_no_size() -> None:
    with pytest.raises(TypeError, match="size must be left out when gamma is a sequence"):
        noise.bernoulli_exp([1, 2], size=2)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "value", [None, 1.0, "6", True, np.bool_(True), math.nan, Fraction(3), np.array([6])], ids=repr
)
def test_what_is_no_integer_is_no_limit(value: Any) -> None:
    with pytest.raises(TypeError, match="limit must be an integer"):
        noise.below(value)
    if not isinstance(value, np.ndarray):
        with pytest.raises(TypeError, match="limit must be an integer or an array of integers"):
            noise.below(value, size=2)
        with pytest.raises(TypeError, match="count must be an integer"):
            noise.shuffle(value)


def test_limits_have_a_range() -> None:
    for limit in (0, -1, -(10**30)):
        with pytest.raises(ValueError, match="limit must be at least 1"):
            noise.below(limit)
    for limits in ([3, 0], [3, -1], np.array([2**63], dtype=np.uint64), np.array([2**64 - 1], dtype=np.uint64)):
        with pytest.raises(ValueError, match="limit must be at least 1, and below"):
            noise.below(np.array(limits), size=np.shape(limits))
    with pytest.raises(TypeError, match="array of integers below"):
        noise.below(2**64, size=1)
    with pytest.raises(ValueError, match="count must be at least 0"):
        noise.shuffle(-1)


@pytest.mark.parametrize("size", [-1, (2, -1), 1.0, "3", True, [2, 3], (2, None), np.bool_(True), math.nan], ids=repr)
def test_sizes_are_whole_and_not_negative(size: Any) -> None:
    for draw in (noise.laplace, noise.gaussian, noise.geometric, noise.bernoulli_exp, noise.below):
        with pytest.raises((TypeError, ValueError), match=r"size must be (an integer|at least 0)"):
            draw(5, size=size)
    with pytest.raises((TypeError, ValueError), match=r"size must be (an integer|at least 0)"):
        noise.untruths(Fraction(1), 1, size)


@pytest.mark.parametrize("epsilon", [None, "1", True, math.nan, math.inf], ids=repr)
def test_untruths_need_a_finite_epsilon(epsilon: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="epsilon must be"):
        noise.untruths(epsilon, 1, 3)


@pytest.mark.parametrize("others", [0, -1, None, 1.5, True], ids=repr)
def test_untruths_need_another_answer(others: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="others must be"):
        noise.untruths(Fraction(1), others, 3)


@pytest.mark.parametrize("draw", TALKATIVE.values(), ids=TALKATIVE)
@pytest.mark.parametrize(
    "seed", [0, 42, "seed", b"seed", np.random.default_rng(), random.Random(7)], ids=lambda seed: type(seed).__name__
)
def test_no_function_takes_a_seed_or_a_generator(draw: Callable[..., Any], seed: Any) -> None:
    with pytest.raises(TypeError, match=r"bits must be a Bits object, not .*seeds and generators are not accepted"):
        draw(seed)


@pytest.mark.parametrize("draw", TALKATIVE.values(), ids=TALKATIVE)
def test_every_function_draws_from_the_source_it_is_given(draw: Callable[..., Any]) -> None:
    first, second = (Rigged([b"\x5a\x17\xc3\x88\x01\xe4\x7b\x2d\x96" * 1000]) for _ in range(2))
    assert np.array_equal(draw(first), draw(second))
    assert first.taken == second.taken > 0
