from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.noise import Bits, SystemBits
from tests.rigged import OutOfBitsError, Rigged, repeated
from tests.statistics import (
    ALARM,
    LEAST_EXPECTED,
    MOST_BINS,
    bernoulli_law,
    bins,
    fair,
    gaussian_law,
    geometric_law,
    laplace_law,
    law,
    misfit,
    strays,
)

DRAWS = 10**6


@pytest.mark.parametrize(
    "scale",
    [
        Fraction(1000),
        *(pytest.param(scale, marks=pytest.mark.long) for scale in (Fraction(1), Fraction(5, 2), Fraction(333, 10))),
    ],
)
def test_a_scale_off_by_two_percent_is_noticed(scale: Fraction) -> None:
    for wrong in (scale * Fraction(98, 100), scale * Fraction(102, 100)):
        assert misfit(noise.laplace(wrong, size=DRAWS), laplace_law(scale)) < ALARM
        assert misfit(noise.geometric(wrong, size=DRAWS), geometric_law(scale)) < ALARM


@pytest.mark.parametrize(
    "sigma",
    [Fraction(1000), *(pytest.param(sigma, marks=pytest.mark.long) for sigma in (Fraction(1), Fraction(5, 2)))],
)
def test_a_deviation_off_by_two_percent_is_noticed(sigma: Fraction) -> None:
    for wrong in (sigma * Fraction(98, 100), sigma * Fraction(102, 100)):
        assert misfit(noise.gaussian(wrong**2, size=DRAWS), gaussian_law(sigma**2)) < ALARM


def test_a_wide_scale_off_by_two_percent_is_noticed() -> None:
    sizes = np.abs(noise.laplace(10**9, size=DRAWS))
    assert strays(sizes, stats.expon(scale=1.02e9).cdf) < ALARM
    assert strays(sizes, stats.expon(scale=0.98e9).cdf) < ALARM


def test_even_noise_is_noticed_in_the_low_bits() -> None:
    even = 2 * noise.laplace(500, size=DRAWS)
    assert misfit(even % 64, laplace_law(1000).wrapped(64)) < ALARM


def test_a_draw_outside_the_law_is_noticed() -> None:
    assert misfit([2], bernoulli_law(0.5)) == 0
    assert misfit([-1], bernoulli_law(0.5)) == 0


def test_too_few_draws_are_refused() -> None:
    with pytest.raises(ValueError, match="too few draws"):
        misfit([0, 1], bernoulli_law(0.5))


def test_the_smallest_bin_raises_a_false_alarm_at_most_once_in_1e9() -> None:
    due = LEAST_EXPECTED
    counts = np.arange(3 * due)
    distances = (counts - due) ** 2 / (due * (1 - due / DRAWS))
    alarms = stats.chi2.sf(distances, 1) < ALARM
    rate = stats.binom.pmf(counts, DRAWS, due / DRAWS)[alarms].sum() + stats.binom.sf(3 * due - 1, DRAWS, due / DRAWS)
    assert rate < 1e-9


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(10), Fraction(1000)])
def test_bins_are_few_and_well_filled_and_follow_the_tails(scale: Fraction) -> None:
    due = DRAWS * laplace_law(scale).probabilities
    filled = np.add.reduceat(due, bins(due))
    assert filled.min() >= LEAST_EXPECTED
    assert filled[[0, -1]].max() < 0.02 * DRAWS
    assert filled.size < 1.5 * MOST_BINS


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5, 2), Fraction(1000)])
def test_the_laws_are_complete(scale: Fraction) -> None:
    for complete in (laplace_law(scale), geometric_law(scale), gaussian_law(scale**2), laplace_law(scale).wrapped(64)):
        assert abs(complete.probabilities.sum() - 1) < 1e-12


def test_a_fair_coin_is_told_from_a_biased_one() -> None:
    assert fair(500_000, DRAWS) > 0.99
    assert fair(505_000, DRAWS) < ALARM


def test_the_law_of_a_die() -> None:
    assert misfit(noise.below(6, size=DRAWS), law([1 / 6] * 6)) > ALARM


def test_a_rigged_source_follows_its_script_and_counts() -> None:
    bits = Rigged([1, b"\x02\x03", 2**64 - 1])
    assert bits.words(1).tolist() == [1]
    assert bits.bytes(2) == b"\x02\x03"
    assert bits.integer(64) == 2**64 - 1
    assert bits.taken == 18
    with pytest.raises(OutOfBitsError, match="1 bytes asked for, 0 left"):
        bits.bytes(1)


def test_a_rigged_source_may_go_on_with_another() -> None:
    bits = Rigged([b"\x01"], then=repeated(255))
    assert bits.bytes(3) == b"\x01\xff\xff"
    assert len(Rigged([], then=noise.SYSTEM).bytes(16)) == 16


def test_a_rigged_source_is_no_system_source() -> None:
    assert isinstance(Rigged([]), Bits)
    assert not isinstance(Rigged([]), SystemBits)
