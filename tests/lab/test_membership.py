"""Membership inference: a model without noise is beaten, ours stays within its bound, and a broken promise is noticed.

Data are the same for every seed and models without noise too, so what is asserted of them cannot fail by chance; the
margins held for 200 other seeds. What is asserted of ours fails with the probability that the theorem allows.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.lab import membership
from discreet.lab.membership import RATIO, Attacked, attack, canaries, forest, people, private

ALARM = 1e-7
"""Of each bound on ε; there are fewer than ten."""
POOL = people(1, size=300, shadows=40, targets=8)


def test_a_forest_without_noise_gives_its_members_away() -> None:
    leak = attack(forest, POOL)
    likelihood = leak.attacks[RATIO]
    assert likelihood.area > 0.95
    assert likelihood.caught(0.01) > 0.5  # guessing: 0.01; ε = 1 allows 0.0272
    assert likelihood.epsilon(alpha=ALARM) > 2
    assert leak.attacks["calibrated"].epsilon(alpha=ALARM) > 2
    assert leak.accuracy > 0.7


def test_attacks_on_ours_prove_no_more_than_is_promised() -> None:
    leak = attack(private(1.0), POOL)
    for name, done in leak.attacks.items():
        for share in (0.05, 0.2, 0.5):
            assert done.epsilon(share=share, alpha=ALARM) <= 1, name


def test_canaries_prove_nearly_what_is_promised_and_no_more() -> None:
    """Half of them have a noisy count above 0, and of these e/(1 + e) were there: 2,000 guesses, right to 73.1 %.

    For a bound above 0.5 at α = 0.001, 66 % right are enough, seven standard deviations below: 10⁻¹² or less.
    """
    ours = canaries(1, 1.0)
    assert ours.epsilon(ALARM) <= 1
    assert ours.epsilon() > 0.5
    exposed = canaries(1, None)
    assert exposed.wrong == 0
    assert exposed.epsilon(ALARM) > 4


def test_canaries_notice_a_broken_promise() -> None:
    """Noise for ε = 3 where 1 is promised: 95 % right, and 80 % would be enough."""
    assert canaries(1, 3.0).epsilon(ALARM) > 1


def test_rates_are_what_they_say() -> None:
    rng = np.random.default_rng()
    members, others = rng.integers(0, 9, 50).astype(float), rng.integers(0, 6, 40).astype(float)
    done = Attacked(members, others)
    for rate in (0.0, 0.01, 0.1, 0.5, 0.99):
        cuts = [cut for cut in np.unique([*members, *others, -1.0]) if (others > cut).mean() <= rate]
        assert done.caught(rate) == max((members > cut).mean() for cut in cuts)
    pairs = [(m > o) + (m == o) / 2 for m in members for o in others]
    assert done.area == pytest.approx(np.mean(pairs))
    right, wrong = done.guesses(0.5)
    assert right + wrong >= 45
    assert Attacked(np.ones(5), np.ones(5)).caught(0.1) == 0
    assert Attacked(np.ones(5), np.ones(5)).epsilon() == 0


def test_data_follow_from_the_seed_alone() -> None:
    again, other = people(1, size=300, shadows=40, targets=8), people(2, size=300, shadows=40, targets=8)
    assert (again.coins == POOL.coins).all()
    assert (again.labels == POOL.labels).all()
    assert (other.coins != POOL.coins).mean() > 0.4
    assert 0.4 < POOL.coins.mean() < 0.6
    assert math.isfinite(membership.EPSILON)
