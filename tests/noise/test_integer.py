from __future__ import annotations

import ast
import inspect
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.noise import SYSTEM, Bits, integer
from discreet.noise.uniform import Integers
from tests.rigged import Rigged
from tests.statistics import ALARM, bernoulli_law, gaussian_law, geometric_law, laplace_law, misfit

DRAWS = 300_000
MORE = pytest.mark.parametrize("draws", [DRAWS, pytest.param(3 * DRAWS, marks=pytest.mark.slow)])
SCALES = [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(333, 10), Fraction(1000)]


class Decisions:
    """Stands in for `below`: the first `successes` trials succeed, the next fails; knows the chance of all that."""

    def __init__(self, top: int, successes: int) -> None:
        self.top = top
        self.left = successes
        self.probability = Fraction(1)

    def __call__(self, _: Bits, limits: Integers) -> Integers:
        (limit,) = limits.tolist()
        success = Fraction(self.top, limit)
        if self.left:
            self.left -= 1
            self.probability *= success
            return np.array([0])
        self.probability *= 1 - success
        return np.array([limit - 1])


@pytest.mark.parametrize(("top", "bottom"), [(1, 3), (1, 1), (2, 5), (999, 1000), (1, 10**6)])
def test_small_trials_have_exactly_their_probability(monkeypatch: pytest.MonkeyPatch, top: int, bottom: int) -> None:
    """All runs of up to 29 successes, each with its exact probability: what lies beyond is below 1/30!."""
    true = decided = Fraction(0)
    for successes in range(30):
        script = Decisions(top, successes)
        if top == bottom and successes == 0:
            continue  # a trial that cannot fail
        monkeypatch.setattr(integer, "below", script)
        (outcome,) = integer._bernoulli_exp_small(SYSTEM, np.array([top]), bottom)
        decided += script.probability
        true += script.probability if outcome else 0
    with mpmath.workdps(300):
        exact = mpmath.exp(-mpmath.mpf(top) / bottom)
        low, high = (mpmath.mpf(bound.numerator) / bound.denominator for bound in (true, true + 1 - decided))
        assert low <= exact <= high
    assert 1 - decided <= Fraction(1, math.factorial(30))


def test_a_rate_of_zero_always_succeeds() -> None:
    assert integer.bernoulli_exp(SYSTEM, np.zeros(1000, dtype=np.int64), 7).all()
    assert integer.bernoulli_exp(SYSTEM, np.empty(0, dtype=np.int64), 7).shape == (0,)


def test_a_large_rate_stops_at_the_first_failure() -> None:
    # γ = 10⁹: the first whole unit fails, and the others are not tried
    bits = Rigged([0, 0, 1])
    assert integer.bernoulli_exp(bits, np.array([10**9]), 1).tolist() == [False]
    assert bits.taken == 8 * 3


def test_trials_have_their_probability() -> None:
    tops = np.tile([1, 3, 7, 30], 250_000)
    drawn = integer.bernoulli_exp(SYSTEM, tops, 3)
    for place, top in enumerate((1, 3, 7, 30)):
        if top < 30:
            assert misfit(drawn[place::4], bernoulli_law(math.exp(-top / 3))) > ALARM
        else:
            # about 11 of 250,000 are expected: more than 50 happen at a rate below 10⁻¹⁰
            assert drawn[place::4].sum() <= 50


def test_the_integer_construction_agrees_with_the_laws() -> None:
    scale, draws = Fraction(5, 2), 200_000
    assert misfit(integer.laplace(SYSTEM, draws, scale), laplace_law(scale)) > ALARM
    assert misfit(integer.gaussian(SYSTEM, draws, scale**2), gaussian_law(scale**2)) > ALARM
    assert misfit(integer.geometric(SYSTEM, draws, scale), geometric_law(scale)) > ALARM


@MORE
@pytest.mark.parametrize("scale", SCALES)
def test_integer_laplace_has_its_distribution(scale: Fraction, draws: int) -> None:
    drawn = integer.laplace(SYSTEM, draws, scale)
    assert misfit(drawn, laplace_law(scale)) > ALARM
    assert misfit(drawn % 64, laplace_law(scale).wrapped(64)) > ALARM


@MORE
@pytest.mark.parametrize("sigma", SCALES)
def test_integer_gaussian_has_its_distribution(sigma: Fraction, draws: int) -> None:
    drawn = integer.gaussian(SYSTEM, draws // 2, sigma**2)
    assert misfit(drawn, gaussian_law(sigma**2)) > ALARM
    assert misfit(drawn % 64, gaussian_law(sigma**2).wrapped(64)) > ALARM


@MORE
@pytest.mark.parametrize("scale", SCALES)
def test_integer_geometric_has_its_distribution(scale: Fraction, draws: int) -> None:
    drawn = integer.geometric(SYSTEM, 2 * draws, scale)
    assert misfit(drawn, geometric_law(scale)) > ALARM


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_as_many_as_asked_for(count: int) -> None:
    for drawn in (integer.laplace(SYSTEM, count, Fraction(3)), integer.gaussian(SYSTEM, count, Fraction(9))):
        assert drawn.shape == (count,)
        assert drawn.dtype == np.int64


def test_a_scale_too_wide_for_64_bits_is_refused_before_it_wraps() -> None:
    with pytest.raises(OverflowError, match="too fine or too wide"):
        integer.laplace(SYSTEM, 100, Fraction(2**61))
    with pytest.raises(OverflowError, match="too fine or too wide"):
        integer.gaussian(SYSTEM, 1000, Fraction(10**14))
    with pytest.raises(OverflowError, match="too fine or too wide"):
        # the smallest of so many gaps would fit, the largest does not
        integer.gaussian(SYSTEM, 1000, Fraction(10**10))
    with pytest.raises(OverflowError, match="too fine or too wide"):
        integer.gaussian(SYSTEM, 1000, Fraction(10**9, 10**9 + 7))


def test_products_end_where_one_more_addition_could_wrap() -> None:
    assert integer._product(3, np.empty(0, dtype=np.int64)).shape == (0,)
    assert integer._product(2**62, np.zeros(2, dtype=np.int64)).tolist() == [0, 0]
    assert integer._product(1, np.array([2**62 - 1, 5])).tolist() == [2**62 - 1, 5]
    for factor, largest in ((1, 2**62), (2**31, 2**31)):
        with pytest.raises(OverflowError, match="too fine or too wide"):
            integer._product(factor, np.array([0, largest]))


def test_the_integer_construction_names_no_float() -> None:
    tree = ast.walk(ast.parse(inspect.getsource(integer)))
    names = {node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in tree}
    assert not names & {"float", "float64", "log", "exp", "expm1", "log1p", "sqrt", "floors", "exceeds", "Exponentials"}
