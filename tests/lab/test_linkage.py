"""Linkage and sparse ratings: the attack beats guessing on what was released, and the bound of ε on what we release."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from discreet.lab import linkage, ratings
from discreet.lab.mondrian import Wanted
from discreet.policy.read import read

RATE = 1e-7
"""How often each test of a rate may fail by chance."""


@pytest.mark.parametrize("seed", [1, 2])
def test_the_city_is_the_lectures_for_every_seed(seed: int) -> None:
    people = linkage.city(seed)
    assert [many for _, many in linkage.EVERYTHING.narrowed(people)] == [54_000, 6, 3, 1]
    assert len(np.unique(people.zip)) == 7
    assert people.columns()["born"][linkage.GOVERNOR] == np.datetime64(date(1945, 5, 17))
    assert linkage.city(seed) is people


def test_seeds_make_different_cities() -> None:
    assert not np.array_equal(linkage.city(1).born, linkage.city(2).born)


def test_the_voter_roll_names_most_until_classes_are_large() -> None:
    """Before: about as many are alone as Sweeney estimated. After: nobody is; yet a class still tells something."""
    before, after = (linkage.joined(linkage.city(), wanted) for wanted in (None, Wanted(k=5, l=2)))
    assert before.alone / 54_000 == pytest.approx(math.exp(-54_000 / (29_220 * 14)), abs=0.01)
    assert before.alone / 54_000 == pytest.approx(linkage.SWEENEY, abs=0.02)
    assert before.governor == ("depression",)
    assert before.known > before.alone
    assert (after.alone, after.known) == (0, 0)
    assert after.smallest >= 5
    assert "depression" in after.governor
    assert len(after.governor) >= 2
    assert after.lost is not None
    assert 0 < after.lost.certainty < 0.01
    assert after.hits.skewness.ratio > math.exp(1)  # more than ε = 1 would ever allow


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_a_guess_from_a_noisy_count_stays_within_the_bound(epsilon: float) -> None:
    """The guess is the best one: its rate is the bound, and the bounds here are passed once in ten million runs."""
    tries, most = 20_000, linkage.bound(epsilon)
    right = linkage.guessed(epsilon, tries) * tries
    assert stats.binom.ppf(RATE, tries, most) <= right <= stats.binom.isf(RATE, tries, most)


def test_what_is_believed_moves_by_a_factor() -> None:
    low, high = linkage.believed(math.log(3), np.array([0.02, 0.4, 0.5]))
    assert high == pytest.approx([3 * 0.02 / (1 + 2 * 0.02), 3 * 0.4 / (1 + 2 * 0.4), 0.75])
    assert low == pytest.approx([0.02 / (3 - 2 * 0.02), 0.4 / (3 - 2 * 0.4), 0.25])
    assert linkage.bound(math.log(3)) == pytest.approx(0.75)


def test_the_curator_answers_about_the_city_and_never_shows_a_row() -> None:
    """Counts are off by noise of scale 4 at most: beyond 90 once in a billion runs."""
    got = linkage.questioned(epsilon=1.0, residents=500)
    truths = [truth for _, truth, _, _ in got.answers]
    assert truths[:2] == [1, 1]
    assert truths[2] == np.count_nonzero(linkage.city().diagnosis[:500] == linkage.DIAGNOSES.index("depression"))
    assert all(abs(noisy - truth) < 90 for _, truth, noisy, _ in got.answers)
    assert [half for _, _, _, half in got.answers] == [12, 12, 6]
    assert "never shown" in got.refused


def test_the_citys_files_are_their_owners_alone(tmp_path: Path) -> None:
    path = linkage.build(tmp_path / "city", residents=10)
    assert [file.stat().st_mode & 0o077 for file in (path, path.parent / "patients.parquet")] == [0, 0]
    assert read(path).budget.epsilon == 1


def test_few_ratings_name_people() -> None:
    """By chance one in 8,000 would be named; more that is known names more; what stands out is seldom somebody else."""
    given = ratings.ratings()
    found = [ratings.named(given, ratings.Known(many), tries=60) for many in (2, 8)]
    assert [each.tried for each in found] == [60, 60]
    assert found[0].share > 100 / ratings.PEOPLE
    assert found[1].share > max(0.8, found[0].share)
    assert found[1].wrong <= 3
    assert found[1] == ratings.named(given, ratings.Known(8), tries=60)


def test_ratings_have_a_long_tail() -> None:
    given = ratings.ratings()
    assert (np.diff(given.film) >= 0).all()
    assert given.seen.sum() == given.person.size
    assert given.seen[:75].sum() > given.seen[-750:].sum()  # a twentieth of the films against half of them
    assert set(np.unique(given.stars)) == {1, 2, 3, 4, 5}
    assert given.day.min() >= 0
    assert given.day.max() < ratings.DAYS
    assert np.unique(given.film * ratings.PEOPLE + given.person).size == given.person.size


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_counts_of_ratings_name_nobody(epsilon: float) -> None:
    got = ratings.counted(ratings.ratings(), epsilon=epsilon, films=4, tries=4_000)
    assert got.guessed * 4_000 <= stats.binom.isf(RATE, 4_000, got.bound)
    assert got.bound == pytest.approx(linkage.bound(epsilon))
    assert 0 <= got.top <= 20
