"""GEOMEAN: its sensitivity is half of the range of logarithms, and its interval covers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.accounting.distributions import DiscreteGaussian
from discreet.sql.formulas import GeometricMean, Mean, Part

LOW, HIGH = Fraction(1), Fraction(100)
STEP = Fraction(1, 1000)
RADIUS = 2303
"""Half of ln 100, in steps, rounded up."""
FORMULA = GeometricMean(Mean(STEP, RADIUS, 0, 2 * RADIUS), LOW, HIGH)


def noisy(values: list[float], noise: tuple[int, int] = (0, 0)) -> list[tuple[int]]:
    total = sum(round(math.log(value) * 1000) - RADIUS for value in values)
    return [(total + noise[0],), (len(values) + noise[1],)]


def parts(measures: list[tuple[int]]) -> list[Part]:
    return [Part(measure, DiscreteGaussian(Fraction(20) ** 2), Fraction(1, 40)) for measure in measures]


@pytest.mark.parametrize("values", [[1.0, 100.0], [10.0] * 50, [1.0] * 7, [100.0] * 3, [2.5, 40.0, 99.0]])
def test_without_noise_it_is_the_root_of_the_product(values: list[float]) -> None:
    exact = math.exp(math.fsum(map(math.log, values)) / len(values))
    assert FORMULA.value(noisy(values)) == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("noise", [(0, 0), (19, -1), (-40, 3), (10**6, 0), (-(10**6), 0)])
def test_value_and_interval_stay_within_the_bounds(noise: tuple[int, int]) -> None:
    measures = noisy([3.0] * 200, noise)
    ends = FORMULA.interval(parts(measures))
    assert ends is not None
    value = FORMULA.value(measures)
    assert value is not None
    assert LOW <= ends[0] <= Fraction(value) * (1 + Fraction(1, 10**9))
    assert Fraction(value) * (1 - Fraction(1, 10**9)) <= ends[1] <= HIGH


@pytest.mark.parametrize("noise", [(shift, rows) for shift in (-35, 0, 35) for rows in (-35, 0, 35)])
def test_the_interval_covers_where_the_noise_is_within_its_own(noise: tuple[int, int]) -> None:
    ends = FORMULA.interval(parts(noisy([30.0] * 400, noise)))
    assert ends is not None
    assert ends[0] <= 30 * (1 + Fraction(1, 1000))
    assert ends[1] >= 30 * (1 - Fraction(1, 1000))


def test_of_no_rows_there_is_none() -> None:
    assert FORMULA.value([(5,), (0,)]) is None
    assert FORMULA.interval(parts([(5,), (0,)])) is None
