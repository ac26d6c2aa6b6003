"""Intervals against SciPy's, and how often they hold, exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet import local
from discreet.local.intervals import clopper_pearson_all, normal_quantile


@pytest.mark.parametrize("trials", [1, 2, 7, 100, 5_000, 1_000_000])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 1e-9])
def test_they_are_clopper_and_pearsons(trials: int, confidence: float) -> None:
    counts = np.unique(np.linspace(0, trials, 41).astype(np.int64))
    counts = np.unique([*counts, min(3, trials), max(trials - 2, 0), trials // 7])
    side = (1 - confidence) / (2 * len(counts))
    low, high = clopper_pearson_all(counts, trials, confidence)
    lower = np.where(counts == 0, 0, stats.beta.ppf(side, np.maximum(counts, 1), trials - counts + 1))
    upper = np.where(counts == trials, 1, stats.beta.isf(side, counts + 1, np.maximum(trials - counts, 1)))
    assert low == pytest.approx(lower, rel=1e-6, abs=1e-15)
    assert 1 - high == pytest.approx(1 - upper, rel=1e-6, abs=1e-12)
    assert (low <= lower * (1 + 1e-8)).all()
    assert (high >= upper * (1 - 1e-8)).all()


def test_equal_counts_have_equal_intervals() -> None:
    low, high = clopper_pearson_all(np.array([5, 0, 5, 10]), 10, 0.9)
    assert low[0] == low[2]
    assert high[0] == high[2]
    assert (low[1], high[3]) == (0, 1)


@pytest.mark.parametrize("mechanism", [local.TwoCoins(), local.HadamardResponse(2, 1), local.OptimizedUnary(2, 0.5)])
@pytest.mark.parametrize("share", [0, 0.02, 0.5, 1])
def test_an_interval_holds_as_often_as_it_says(mechanism: local.FrequencyMechanism, share: float) -> None:
    """Exactly: over all counts of 60 people, each with its probability."""
    people = 60
    rate = float(mechanism.lie) + share * float(mechanism.truth - mechanism.lie)
    likely = stats.binom.pmf(np.arange(people + 1), people, rate)
    held = 0.0
    for count, weight in enumerate(likely):
        tally = local.Tally(mechanism.header, np.array([people - count, count]), people)
        estimates = mechanism.estimate(tally, 0.9)
        held += weight * bool(estimates.low[1] <= share <= estimates.high[1])
    assert held >= 0.95  # two values share what may fail
    assert held < 0.999


def test_normal_quantiles() -> None:
    assert normal_quantile(0.95) == pytest.approx(1.959964, rel=1e-6)
    assert normal_quantile(0.95, 1024) == pytest.approx(stats.norm.isf(0.05 / 2048), rel=1e-9)
