"""Two counts that differ by Alice: her secret where they are exact, and hardly a guess where they are noisy."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binom

from discreet.errors import BudgetExhausted
from discreet.lab import differencing
from discreet.lab.averaging import PEOPLE, QUESTION, ROOMS, people
from discreet.lab.curators import SMOKERS_POLICY, curator_over
from discreet.lab.differencing import HERS, WITHOUT, attacks, chance, run, through_curator
from discreet.lab.posterior import told_right
from tests.statistics import laplace_law

MISS = 1e-9


@pytest.mark.parametrize("scale", [1, 2, 10])
def test_the_chance_of_a_right_guess_is_that_of_the_noise(scale: int) -> None:
    """P(Z ≥ Z') of two independent noises, added up."""
    chances = laplace_law(scale).probabilities
    above = chances[::-1].cumsum()[::-1]
    assert chance(1 / scale) == pytest.approx(float((chances * above).sum()), rel=1e-9)
    assert 0.5 < chance(1 / scale) < told_right(1 / scale) < told_right(2 / scale)


def test_small_counts_do_not_matter_and_noise_does() -> None:
    """Rates are within binomial bounds that hold but with probability 10⁻⁹ each."""
    trials = 20_000
    exact, hidden, noisy, known = attacks(1.0, trials=trials)
    assert exact.right == hidden.right == 1.0
    for found, rate in ((noisy, chance(1.0)), (known, told_right(1.0))):
        low, high = binom.isf([1 - MISS, MISS], trials, rate) / trials
        assert low <= found.right <= high
    # better than coins, within the theorem
    assert binom.isf(MISS, trials, 0.5) / trials < noisy.right <= noisy.bound == told_right(2.0)
    assert known.right <= binom.isf(MISS, trials, known.bound) / trials


def test_a_curator_charges_for_both_and_refuses_the_third() -> None:
    rows = [*people(), {"person": PEOPLE, "smokes": "yes", "room": HERS}]
    with curator_over(SMOKERS_POLICY.format(rooms=ROOMS, budget=2), {"people": rows}) as curator:
        for text in (QUESTION, WITHOUT):
            curator.query(text, epsilon=1)
        with pytest.raises(BudgetExhausted):
            curator.query(f"{WITHOUT} AND room < 5000", epsilon=1)


def test_the_difference_of_exact_counts_is_the_secret() -> None:
    """For this ε noise is 0, but with probability e^−10000."""
    for secret in (0, 1):
        first, second = through_curator(10_000, secret)
        assert first - second == secret


def test_the_experiment_shows_both_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differencing, "TRIALS", 1_000)
    monkeypatch.setattr(differencing, "TIMES", 1)
    outcome = run(seed=2)
    assert outcome.tables[0].rows[0][1].startswith("100 %")
    assert [row[2] for row in outcome.tables[0].rows] == ["100 %", "100 %", "88.1 %", "73.1 %"]
    drawn = outcome.pictures[0].chart().to_dict()
    assert len(next(iter(drawn["datasets"].values())) if "datasets" in drawn else drawn["data"]["values"]) == 34
    assert math.isclose(told_right(2), 0.8807970779778823)
