"""The time of a draw must say nothing about its value.

Times of a busy machine drift and jump, but whatever they do, they do it independently of the noise unless the sampler
leaks: under independence every matching of values to times is equally likely, so a rank correlation exceeds 4/√n with
probability 6·10⁻⁵, and the larger of two with at most twice that. A series that exceeds it is repeated, at most twice;
a test fails if all three series exceed it, which has a false-alarm rate below 10⁻¹¹. A leak shows in every series.
Ranks make it needless to discard outliers.

Sizes are looked at, and signs: a masked negation took 20 ns longer where it negated, a correlation of −0.08.

CPython keeps the ints from −5 to 256 ready, and fetching one from cold memory takes some 70 ns longer than making a new
one: at scales where about half of the draws fall into that range it showed as a correlation of up to 0.04. A scalar
draw therefore touches all of them first. What is left at scale 10 is that one is fetched where another is made, some
ten nanoseconds in twenty-five microseconds, a correlation of 0.01: below what this many draws show.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet import noise

DRAWS = 40_000
SERIES = 3
Draw = Callable[[], Any]


def correlation(draw: Draw, count: int) -> float:
    """Spearman's rank correlation of time with |value| or with value, the larger, over `count` draws of one value."""
    values: list[Any] = []
    times = np.empty(count)
    gc.disable()
    try:
        for i in range(count):
            start = time.perf_counter_ns()
            value = draw()
            times[i] = time.perf_counter_ns() - start
            values.append(value)
    finally:
        gc.enable()
    drawn = np.array(values, dtype=np.int64).ravel()
    return max(abs(float(stats.spearmanr(each, times).statistic)) for each in (np.abs(drawn), drawn))


def leaks(draw: Draw, *, count: int = DRAWS) -> bool:
    return all(correlation(draw, count) > 4 / math.sqrt(count) for _ in range(SERIES))


@pytest.mark.slow
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10), Fraction(10**5), Fraction(10**9)])
def test_the_time_of_a_laplace_draw_is_independent_of_its_value(scale: Fraction) -> None:
    assert not leaks(lambda: noise.laplace(scale))


@pytest.mark.slow
@pytest.mark.parametrize("variance", [Fraction(1), Fraction(100), Fraction(10**10), Fraction(10**18)])
def test_the_time_of_a_gaussian_draw_is_independent_of_its_value(variance: Fraction) -> None:
    assert not leaks(lambda: noise.gaussian(variance))


@pytest.mark.slow
def test_the_time_of_a_draw_into_an_array_is_independent_of_its_value() -> None:
    assert not leaks(lambda: noise.laplace(Fraction(1000), size=1))
    assert not leaks(lambda: noise.gaussian(Fraction(10**6), size=1))
    assert not leaks(lambda: noise.geometric(Fraction(1000), size=1))


@pytest.mark.slow
def test_the_store_of_small_integers_does_not_show() -> None:
    assert not leaks(lambda: noise.laplace(Fraction(1000)))
    assert not leaks(lambda: noise.geometric(Fraction(1000)))


def counted() -> int:
    """A geometric variable by counting successes, as naive samplers do: each step takes time."""
    successes = 0
    while noise.below(20):
        successes += 1
    return successes


def almost_constant() -> int:
    """A good draw followed by work that grows with its value: twenty steps of a bare loop for each unit."""
    value = noise.laplace(10)
    for _ in range(20 * abs(value)):
        pass
    return value


def test_a_sampler_that_counts_is_noticed() -> None:
    assert leaks(counted, count=3000)


@pytest.mark.slow
def test_a_small_leak_is_noticed() -> None:
    assert leaks(almost_constant)
