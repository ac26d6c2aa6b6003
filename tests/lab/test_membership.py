"""Membership inference: a model without noise is beaten, ours stays within its bound, and a broken promise is noticed.

Data are the same for every seed and models without noise too, so what is asserted of them cannot fail by chance; the
margins held for 50 other seeds. What is asserted of ours fails with the probability that the theorem allows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.lab import membership
from discreet.lab.membership import RATIO, Attacked, attack, canaries, forest, people, private

ALARM = 1e-7
"""Of each bound on ε; there are fewer than ten."""
POOL = people(1, size=200, shadows=24, targets=8)


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


def test_the_likelihood_ratio_is_that_of_two_normals() -> None:
    """By hand, for a model whose confidence is 0.9 for those in it and 0.6 for others, more or less."""
    rng = np.random.default_rng(1)  # what follows is arithmetic, not chance
    pool = people(1, size=40, shadows=30, targets=2)

    class Sure:
        def __init__(self, rows: Any) -> None:
            held = {tuple(row) for row in rows}
            self.inside = np.array([tuple(row) in held for row in pool.rows])
            self.sure = np.where(self.inside, 0.9, 0.6) + rng.uniform(-0.05, 0.05, 40)

        def predict_proba(self, _: Any) -> Any:
            return np.where(np.arange(2) == pool.labels[:, None], self.sure[:, None], 1 - self.sure[:, None])

        def predict(self, rows: Any) -> Any:
            return np.zeros(len(rows))

    models: list[Sure] = []

    def train(rows: Any, _: Any) -> Sure:
        models.append(Sure(rows))
        return models[-1]

    done = attack(train, pool).attacks
    assert done[RATIO].caught(0.01) == 1
    assert done["calibrated"].members.min() > done["calibrated"].others.max()
    scores = np.array([np.log(model.sure / (1 - model.sure)) for model in models])
    assert np.sort(done["threshold"].members) == pytest.approx(np.sort(scores[30:][pool.coins[30:]]))
    others = [scores[:30][~pool.coins[:30][:, person], person].mean() for person in range(40)]
    calibrated = (scores[30:] - others)[pool.coins[30:]]
    assert np.sort(done["calibrated"].members) == pytest.approx(np.sort(calibrated))


def test_data_follow_from_the_seed_alone() -> None:
    again, other = people(1, size=200, shadows=24, targets=8), people(2, size=200, shadows=24, targets=8)
    assert (again.coins == POOL.coins).all()
    assert (again.labels == POOL.labels).all()
    assert (other.coins != POOL.coins).mean() > 0.4
    assert 0.4 < POOL.coins.mean() < 0.6
    assert math.isfinite(membership.EPSILON)
