"""Attribute inference: rows without names give illnesses away; our synthetic rows not more than ε allows.

What is without noise follows from the seed; the margins held for 50 other seeds.
"""

from __future__ import annotations

import numpy as np
import pytest

from discreet.lab.attributes import (
    ILLNESSES,
    LEVELS,
    SECRET,
    coins_for,
    copied,
    guessed,
    inferred,
    people,
    resampled,
    synthetic,
)

ALARM = 1e-7
"""Of each bound on ε."""
ROWS, COINS = people(1, "in", 300), coins_for(1, 300, 6)


def test_rows_without_names_give_illnesses_away() -> None:
    done = inferred(copied, ROWS, COINS)
    assert done.inside > 0.8
    assert done.gap > done.most_gap(1.0)
    assert done.epsilon(ALARM) > 1
    others = guessed(people(1, "others", 150), ROWS) == ROWS[:, SECRET]
    assert done.inside > others.mean() + 0.3
    assert abs(done.outside - others.mean()) < 0.15  # inference: those who are not in it are others' equals


def test_rows_drawn_again_leak_too() -> None:
    done = inferred(resampled(1), ROWS, COINS)
    assert done.gap > 0.2
    assert done.epsilon(ALARM) > 0.3


def test_ours_tells_of_those_in_it_no_more_than_is_promised() -> None:
    made = synthetic(1.0)(ROWS, "one table")
    assert made.shape[1] == len(LEVELS)
    assert (made >= 0).all()
    assert (made.max(axis=0) < list(LEVELS.values())).all()
    assert inferred(synthetic(1.0), ROWS, COINS).epsilon(ALARM) <= 1


def test_a_guess_is_the_commonest_illness_of_the_nearest_rows() -> None:
    table, known = people(2, "table", 60), people(2, "known", 30)
    common = np.bincount(table[:, SECRET], minlength=ILLNESSES)
    for person, guess in zip(known, guessed(table, known), strict=True):
        agree = [sum(a == b for a, b in zip(row[:SECRET], person[:SECRET], strict=True)) for row in table]
        votes = [row[SECRET] for row, many in zip(table, agree, strict=True) if many == max(agree)]
        ranks = [(votes.count(illness), common[illness]) for illness in range(ILLNESSES)]
        assert ranks[guess] == max(ranks)
    assert not guessed(table[:0], known).any()


def test_data_follow_from_the_seed_alone() -> None:
    assert (people(1, "in", 300) == ROWS).all()
    assert (people(3, "in", 300) != ROWS).any(axis=1).mean() > 0.9
    assert COINS.mean() == pytest.approx(0.5, abs=0.1)
