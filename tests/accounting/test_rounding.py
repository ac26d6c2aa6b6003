from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import (
    Approximate,
    Concentrated,
    ConcentratedFilter,
    DiscreteGaussian,
    DiscreteLaplace,
    Pure,
    compose,
    delta_of,
    epsilon_of,
    gaussian_spread,
    group,
    rho_for,
)
from discreet.accounting.distributions import _root_two_pi, _sum_from
from discreet.accounting.rounding import UNITS, charged, down, float_down, float_up, granted, is_less, total, up
from discreet.accounting.rounding import decimal as as_decimal
from tests.accounting.truth import meant, mp, real

law = settings(deadline=None, max_examples=200)
positive = st.one_of(
    st.fractions(Fraction(1, 10**40), 10**40),
    st.floats(1e-300, 1e300).map(Fraction),
    st.integers(1, 10**300).map(Fraction),
)


@law
@given(positive)
def test_floats_enclose_the_number_within_fifteen_digits(value: Fraction) -> None:
    low, high = meant(float_down(value)), meant(float_up(value))
    assert low <= value <= high
    assert high - low <= value / 10**14


@law
@given(st.integers(1, 2**54))
def test_the_smallest_floats_are_still_rounded_up(steps: int) -> None:
    """Subnormal floats have fewer digits, so that to print fifteen does not bring back the same number."""
    value = Fraction(steps, 3) * Fraction(5e-324)
    assert value <= Fraction(float_up(value)) <= value * (1 + Fraction(1, 10**14)) + 2 * Fraction(5e-324)


def test_a_float_of_fifteen_digits_is_its_own_bound() -> None:
    assert float_up(Fraction(1, 10)) == float_down(Fraction(1, 10)) == 0.1
    assert float_up(Decimal("0.1")) == float_down(Decimal("0.1")) == 0.1
    assert float_up(Fraction(0)) == float_down(Fraction(0)) == 0


def test_numbers_beyond_all_floats_round_up_to_infinity() -> None:
    assert float_up(Fraction(10**400)) == math.inf
    assert float_up(Fraction(1, 10**400)) > 0


def test_fewer_digits_can_be_asked_for() -> None:
    assert float_down(Fraction(2, 3), 6) == 0.666666


@law
@given(positive)
def test_fractions_enclose_the_number_within_thirty_digits(value: Fraction) -> None:
    low, high = down(as_decimal(value)), up(as_decimal(value))
    assert low < value < high
    assert high - low <= value / 10**28 + Fraction(1, 10**99)


def test_the_constant_is_right_at_any_precision() -> None:
    for digits in (20, 60, 75, 99):
        root = _root_two_pi(digits)
        assert abs(real(root) - mp.sqrt(2 * mp.pi)) < mp.mpf(10) ** -(digits - 1)


# The ambient decimal context


@contextmanager
def ambient(prec: int, rounding: str) -> Iterator[None]:
    with decimal.localcontext() as context:
        context.prec, context.rounding = prec, rounding
        context.Emax, context.Emin = 9, -9
        context.traps[decimal.Inexact] = context.traps[decimal.FloatOperation] = context.traps[decimal.Rounded] = True
        yield


FIGURES: dict[str, Callable[[], object]] = {
    "Pure": lambda: Pure(Decimal("0.123456789")).epsilon,
    "concentrated": lambda: Pure(0.7).concentrated(),
    "compose": lambda: compose(Pure(0.123456), Concentrated(0.1, 1e-9), Approximate(Decimal("0.333333"), 1e-9)),
    "group": lambda: group(Approximate(0.3, 1e-9), 7),
    "epsilon_of": lambda: epsilon_of(Concentrated(0.02), 1e-6),
    "rho_for": lambda: rho_for(1, 1e-6),
    "laplace tail": lambda: DiscreteLaplace(Fraction(7, 3)).tail(11),
    "laplace width": lambda: DiscreteLaplace(Fraction(7, 3)).width(Decimal("0.9512345")),
    "summed tail": lambda: DiscreteGaussian(Fraction(101, 3)).tail(-11),
    "smooth tail": lambda: DiscreteGaussian(Fraction(10**6 + 1)).tail(3001),
    "far tail": lambda: DiscreteGaussian(Fraction(10**6 + 1)).tail(70_001),
    "least": lambda: DiscreteGaussian(Fraction(10**5)).least(Decimal("1e-20")),
    "delta_of": lambda: (
        delta_of(DiscreteGaussian(Fraction(30)), 3, 0.5),
        delta_of(DiscreteLaplace(Fraction(30)), 3, 0.01),
    ),
    "gaussian_spread": lambda: gaussian_spread(1, Decimal("1e-6"), 3),
    "filter": lambda: ConcentratedFilter.of(1, 1e-6).admit(Pure(0.123)).remaining,
}


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("rounding", [decimal.ROUND_UP, decimal.ROUND_FLOOR, decimal.ROUND_05UP])
def test_no_figure_depends_on_the_callers_decimal_context(figure: str, rounding: str) -> None:
    expected = FIGURES[figure]()
    _forget()
    with ambient(3, rounding):
        assert FIGURES[figure]() == expected
    _forget()


def _forget() -> None:
    """What was computed under another context must not be remembered for this test."""
    _root_two_pi.cache_clear()
    _sum_from.cache_clear()


def test_what_is_charged_rounds_up_and_what_is_granted_down() -> None:
    third = Fraction(4, 3 * UNITS)
    assert (charged(third), granted(third)) == (2, 1)
    assert charged(Fraction(1)) == granted(Fraction(1)) == UNITS


@given(st.fractions(), st.fractions(), st.lists(st.fractions(), max_size=4))
def test_integers_say_what_fractions_say(a: Fraction, b: Fraction, amounts: list[Fraction]) -> None:
    assert is_less(a, b) == (a < b)
    assert total(amounts) == sum(amounts)
    assert charged(a) == math.ceil(a * UNITS)
    assert granted(a) == math.floor(a * UNITS)
