"""Model inversion: a forest without noise tells more of those in it than of others; ours not more than ε allows.

What is without noise follows from the seed; the margins held for 50 other seeds.
"""

from __future__ import annotations

import numpy as np
import pytest

from discreet.lab import inversion
from discreet.lab.inversion import GENES, coins_for, forest, guessed, imputed, inverted, patients, private

ALARM = 1e-7
"""Of each bound on ε."""
PEOPLE, COINS = patients(1, "trained", 300), coins_for(1, 300, 8)


def test_a_forest_without_noise_gives_genes_away() -> None:
    done = inverted(forest, PEOPLE, COINS)
    assert done.gap > done.most_gap(1.0)
    assert done.epsilon(ALARM) > 0.7  # after no more than 2,400 guesses; the gap itself is beyond ε = 1
    assert done.inside > imputed(patients(1, "others", 150), PEOPLE)


@pytest.mark.parametrize("number", [0, 1])
def test_ours_tells_of_those_in_it_no_more_than_is_promised(number: int) -> None:
    train = list(private(1.0).values())[number]
    assert inverted(train, PEOPLE, COINS).epsilon(ALARM) <= 1


def test_most_of_what_an_attack_gets_right_is_inference() -> None:
    """Simple models without noise: better than the commonest variant, and about as good for others."""
    prior = (PEOPLE.gene == GENES.argmax()).mean()
    done = inverted(inversion.plain_logistic, PEOPLE, COINS)
    assert done.outside > prior
    assert done.gap < 0.1
    assert imputed(patients(1, "others", 150), PEOPLE) > done.outside


def test_a_guess_is_the_likeliest_variant() -> None:
    """Against Bayes' rule, written out, for a model that is a table."""
    rng = np.random.default_rng()
    table = rng.dirichlet(np.ones(inversion.DOSES), GENES.size)
    guesses = guessed(lambda rows: table[rows[:, -1]], PEOPLE)
    for dose, guess in zip(PEOPLE.dose, guesses, strict=True):
        weights = GENES * table[:, dose]
        assert weights[guess] == pytest.approx(weights.max())


def test_doses_that_nobody_had_are_impossible_to_plain_models() -> None:
    few = PEOPLE.of(PEOPLE.dose > 0)
    for train in inversion.UNSAFE.values():
        likely = train(few)(PEOPLE.rows)
        assert likely.shape == (300, inversion.DOSES)
        assert not likely[:, 0].any()
        assert likely.sum(axis=1) == pytest.approx(1)
