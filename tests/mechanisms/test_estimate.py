from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from discreet.mechanisms import Estimate, clopper_pearson
from discreet.mechanisms.estimate import _beta_cdf
from tests.mechanisms.helpers import STEADY


def reference(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    side = (1 - confidence) / 2
    low = stats.beta.ppf(side, successes, trials - successes + 1) if successes else 0.0
    high = stats.beta.isf(side, successes + 1, trials - successes) if successes < trials else 1.0
    return float(low), float(high)


@pytest.mark.parametrize("trials", [1, 2, 10, 97, 1000])
@pytest.mark.parametrize("share", [0, 0.01, 0.3, 0.5, 0.9, 1])
@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.95, 0.999999])
def test_the_interval_is_that_of_the_beta_quantiles(trials: int, share: float, confidence: float) -> None:
    successes = round(share * trials)
    assert clopper_pearson(successes, trials, confidence) == pytest.approx(
        reference(successes, trials, confidence), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize(
    ("successes", "trials"), [(0, 10**6), (1, 10**6), (500_000, 10**6), (10**6, 10**6), (3, 10**9)]
)
def test_for_many_trials_too(successes: int, trials: int) -> None:
    assert clopper_pearson(successes, trials) == pytest.approx(reference(successes, trials, 0.95), rel=1e-6, abs=1e-12)


@pytest.mark.long
def test_for_so_many_trials_that_the_fraction_is_cut_short() -> None:
    low, high = clopper_pearson(5 * 10**11, 10**12)
    assert low == pytest.approx(0.5 - 1.96 / (2 * 10**6), abs=1e-7)
    assert high == pytest.approx(0.5 + 1.96 / (2 * 10**6), abs=1e-7)


@STEADY
@given(st.integers(1, 20), st.floats(1e-9, 1), st.sampled_from([0.5, 0.9, 0.99]))
def test_whatever_the_probability_the_interval_holds_it_as_often_as_it_says(
    n: int, p: float, confidence: float
) -> None:
    """Exactly: the sum of the binomial pmf over all counts whose interval holds p."""
    held = [low - 1e-9 <= p <= high + 1e-9 for low, high in (clopper_pearson(k, n, confidence) for k in range(n + 1))]
    assert sum(stats.binom.pmf(k, n, p) for k in range(n + 1) if held[k]) >= confidence - 1e-9


def test_no_doubt_is_left_at_the_ends() -> None:
    assert clopper_pearson(0, 5)[0] == 0
    assert clopper_pearson(5, 5)[1] == 1
    low, high = clopper_pearson(0, 5, 0.9)
    assert low == 0
    assert high == pytest.approx(1 - 0.05 ** (1 / 5))


@pytest.mark.parametrize("digits", [9, 15, 20, 60])
def test_a_confidence_next_to_one_is_taken_at_its_word(digits: int) -> None:
    low, high = clopper_pearson(5, 10, 1 - Fraction(1, 10**digits))
    assert low == pytest.approx(float(stats.beta.ppf(0.5 * 10.0**-digits, 5, 6)), rel=1e-3)
    assert 1 - high == pytest.approx(low, rel=1e-3)


@STEADY
@given(st.integers(1, 300), st.integers(1, 300), st.floats(0, 1))
def test_the_incomplete_beta_function_is_scipy_s(a: int, b: int, x: float) -> None:
    assert _beta_cdf(x, a, b) == pytest.approx(float(special.betainc(a, b, x)), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("successes", "trials", "confidence", "named"),
    [
        (-1, 5, 0.9, "successes"),
        (6, 5, 0.9, "successes"),
        (0, 0, 0.9, "trials"),
        (1, 5, 0, "confidence"),
        (1, 5, 1, "confidence"),
        (1, 5, math.nan, "confidence"),
    ],
)
def test_impossible_counts_and_confidences_are_refused(
    successes: int, trials: int, confidence: float, named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        clopper_pearson(successes, trials, confidence)


@pytest.mark.parametrize(
    ("successes", "trials", "named"), [(1.0, 5, "successes"), (True, 5, "successes"), (1, "5", "trials")]
)
def test_counts_are_integers(successes: int, trials: int, named: str) -> None:
    with pytest.raises(TypeError, match=named):
        clopper_pearson(successes, trials)


def test_an_estimate_is_a_value_and_its_interval() -> None:
    value, (low, high) = Estimate(1.5, (1.0, 2.0))
    assert (value, low, high) == (1.5, 1.0, 2.0)
