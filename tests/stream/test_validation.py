"""Tests of models: how often they accept what they should not, by enumeration and convolution; nothing is sampled."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from benchmarks.validation import GOAL, LOSSES, accepted, sage, uncorrected
from scipy.stats import binom

from discreet.accounting.distributions import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.stream.validation import Draws, Pair, miss_of

NARROW = DiscreteLaplace(Fraction(1, 2))
BELL = DiscreteGaussian(Fraction(2))


# draws


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.9])
def test_sums_of_coins_are_as_small_as_this_no_more_often_than_said(share: float) -> None:
    for rows in (1, 2, 7, 30, 101):
        sums = np.arange(rows + 1)
        exact = binom.cdf(sums, rows, share)
        by = share * rows - sums
        for binary in (True, False):
            assert (exact <= Draws(share, rows, 1, binary)(by) * (1 + 1e-12)).all()
    assert Draws(share, 1000, 1, True)(np.array([3 * math.sqrt(1000 * share * (1 - share))])) < 0.01


def test_so_are_sums_of_other_losses_and_of_units_with_several_rows() -> None:
    for chances in ([0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.0, 0.9, 0.1], [0.45, 0.1, 0.45]):
        share = chances[1] / 2 + chances[2]
        total = np.ones(1)
        for rows in range(1, 40):
            total = np.convolve(total, chances).astype(np.float64)
            exact = np.cumsum(total)
            by = share * rows - np.arange(len(total)) / 2
            assert (exact <= Draws(share, rows, 1, False)(by) * (1 + 1e-12)).all()
    for each in (2, 5):  # all rows of a unit have the same loss
        for units in (1, 4, 20):
            sums = each * np.arange(units + 1)
            exact = binom.cdf(sums / each, units, 0.3)
            distance = 0.3 * each * units - sums
            for binary in (True, False):
                assert (exact <= Draws(0.3, each * units, each, binary)(distance) * (1 + 1e-12)).all()


def test_the_sharp_bound_of_coins_is_for_units_of_one_row() -> None:
    by = np.linspace(0, 30, 31)
    np.testing.assert_array_equal(Draws(0.3, 100, 2, True)(by), Draws(0.3, 100, 2, False)(by))
    assert (Draws(0.3, 100, 1, True)(by) <= Draws(0.3, 100, 1, False)(by)).all()


def test_the_chance_falls_with_the_distance_and_rises_with_rows() -> None:
    by = np.linspace(-3, 40, 200)
    for binary in (True, False):
        chances = np.array([Draws(0.3, rows, 1, binary)(by) for rows in (1, 5, 20, 100, 400)])
        assert (np.diff(chances, axis=1) <= 1e-15).all()
        assert (np.diff(chances, axis=0) >= -1e-15).all()


# draws and noise


@cache
def most_lost(total: int, noise: Noise, share: Fraction, miss: Fraction) -> int:
    """The largest noisy sum that is accepted of so many noisy rows; all smaller ones are."""
    low, high = -60, total + 60
    while high - low > 1:
        middle = (low + high) // 2
        fits = Pair(middle, total - middle, 1, noise, binary=True).is_below(share, miss)
        low, high = (middle, high) if fits else (low, middle)
    return low


def masses(noise: Noise) -> dict[int, float]:
    wide = noise.width(1 - Fraction(1, 10**9))
    return {z: float(noise.tail(z)[0] - noise.tail(z + 1)[0]) for z in range(-wide, wide + 1)}


def chance_to_accept(rows: int, loss: float, noise: Noise, share: Fraction, miss: Fraction) -> float:
    """Exactly, over all sums of losses and all noises but 10⁻⁸ of them."""
    total = 0.0
    noises = masses(noise)
    for y, first in noises.items():
        for z, second in noises.items():
            lost = most_lost(rows + y + z, noise, share, miss) - y
            total += first * second * float(binom.cdf(lost, rows, loss))
    return total


@pytest.mark.parametrize("noise", [NARROW, BELL])
def test_what_is_no_better_than_the_goal_is_accepted_with_the_probability_that_was_said(noise: Noise) -> None:
    share, miss = Fraction(3, 10), Fraction(1, 10)
    for rows in (0, 1, 4, 12, 24):
        assert chance_to_accept(rows, 0.3, noise, share, miss) <= miss
    assert chance_to_accept(24, 0.02, noise, share, miss) > 0.4


@pytest.mark.slow
@pytest.mark.parametrize("noise", [DiscreteLaplace(Fraction(2)), DiscreteGaussian(Fraction(9))])
@pytest.mark.parametrize(("share", "miss"), [("1/10", "1/20"), ("1/2", "1/20"), ("9/10", "1/5")])
def test_that_holds_for_other_goals_and_noises(noise: Noise, share: str, miss: str) -> None:
    goal = Fraction(share)
    for rows in (1, 9, 30):
        assert chance_to_accept(rows, float(goal), noise, goal, Fraction(miss)) <= Fraction(miss)


def test_the_table_of_the_design_and_what_our_test_makes_of_it() -> None:
    """Sage's own figures were drawn: 0, 0.012, 0.31, 0.953 against 0.50, 0.98, 1, 1 without corrections."""
    assert [sage(loss) for loss in LOSSES] == pytest.approx([0.0, 0.008, 0.326, 0.953], abs=0.002)
    assert [uncorrected(loss) for loss in LOSSES] == pytest.approx([0.50, 0.98, 1.0, 1.0], abs=0.005)
    of_losses = [accepted(loss, binary=False) for loss in LOSSES]
    assert of_losses == pytest.approx([0.015, 0.595, 0.997, 1.0], abs=0.003)
    of_classes = [accepted(loss, binary=True) for loss in LOSSES]
    assert of_classes[0] <= 0.05
    assert of_classes == pytest.approx([0.044, 0.762, 0.999, 1.0], abs=0.003)


# what else must hold


def test_a_mirrored_pair_is_tested_the_other_way() -> None:
    pair = Pair(700, 300, 1, NARROW, binary=True)
    assert pair.is_above(Fraction(6, 10), Fraction(1, 20))
    assert not pair.is_above(Fraction(7, 10), Fraction(1, 20))
    assert pair.mirrored.is_below(Fraction(4, 10), Fraction(1, 20))
    assert not pair.is_below(GOAL, Fraction(1, 20))


def test_rows_that_were_rounded_are_given_the_benefit_of_a_step() -> None:
    exact, rounded = (Pair(100, 900, 1, NARROW, binary=binary).doubt(GOAL, Fraction(1, 20)) for binary in (True, False))
    assert exact < 0.01
    assert rounded == 1.0


def test_of_units_with_several_rows_more_is_asked() -> None:
    for each, sure in ((1, True), (10, False)):
        pair = Pair(1000, 9000, 1, NARROW, rows=each, binary=True)
        assert pair.is_below(Fraction(12, 100), Fraction(1, 1000)) is sure


@pytest.mark.parametrize("pair", [(0, 0), (-5, -7), (-50, 20), (10**30, -(10**30)), (3, -3)])
def test_whatever_noise_makes_of_few_rows_is_no_reason_to_accept(pair: tuple[int, int]) -> None:
    test = Pair(*pair, 1, DiscreteLaplace(Fraction(10)), binary=True)
    assert not test.is_below(Fraction(1, 100), Fraction(1, 20))
    assert 0 <= test.mean <= 1
    assert 0 < test.error(Fraction(1, 20)) <= 1


def test_an_error_has_noise_draws_and_rounding() -> None:
    many = Pair(2 * 10**6, 8 * 10**6, 1, NARROW, binary=True)
    assert many.error(Fraction(1, 20)) == pytest.approx(math.sqrt(math.log(160) / 2e7), rel=0.01)
    assert Pair(200, 800, 1, NARROW, rows=3, binary=True).error(GOAL) > 2.9 * Pair(200, 800, 1, NARROW).error(GOAL) - 3


def test_attempts_share_what_may_be_missed() -> None:
    assert sum(miss_of(0.05, attempt) for attempt in range(1, 60)) <= Fraction(1, 20)
    for wrong in (0, 1, -0.1, 2, float("nan")):
        with pytest.raises(ValueError, match="eta"):
            miss_of(wrong, 1)
