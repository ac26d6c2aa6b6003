"""Hierarchies: least squares against dense algebra, whole numbers that add up, invariants, and what they void."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.accounting.losses import Sensitivity
from discreet.errors import Refused
from discreet.exit import Cost
from discreet.release import Hierarchy
from discreet.release.hierarchy import _errors
from discreet.release.tree import Places

PLACES = Places((("a", 1, "p"), ("a", 1, "q"), ("a", 2, "r"), ("b", 3, "s"), ("b", 3, "t"), ("b", 3, "u")))


def matrix_of(places: Places) -> Any:
    """Which leaves each node of each level adds up."""
    leaves = np.eye(len(places.paths), dtype=np.int64)
    columns = [np.concatenate(places.added(leaf)) for leaf in leaves]
    return np.stack(columns, axis=1)


def variances(seed: int) -> list[Any]:
    dice = np.random.default_rng(seed)
    return [dice.uniform(0.5, 4, len(nodes)) for nodes in PLACES.nodes]


@pytest.mark.parametrize("seed", range(4))
def test_up_and_down_is_least_squares(seed: int) -> None:
    matrix, spreads = matrix_of(PLACES), variances(seed)
    noisy = np.random.default_rng(seed).normal(0, 9, len(matrix))
    weights = np.diag(1 / np.concatenate(spreads))
    inverse = np.linalg.inv(matrix.T @ weights @ matrix)
    cuts = np.cumsum([len(nodes) for nodes in PLACES.nodes])[:-1]
    expected = matrix @ inverse @ matrix.T @ weights @ noisy
    assert np.allclose(np.concatenate(PLACES.smoothed(np.split(noisy, cuts), spreads)), expected)
    assert np.allclose(np.concatenate(PLACES.spreads(spreads)), np.diag(matrix @ inverse @ matrix.T))


def test_known_counts_are_kept_and_others_give_way() -> None:
    spreads = variances(0)
    noisy = [values * 10 for values in variances(1)]
    noisy[0][0], spreads[0][0], noisy[2][1], spreads[2][1] = 100, 0, 7, 0
    final = PLACES.smoothed(noisy, spreads)
    assert math.isclose(final[0][0], 100)
    assert math.isclose(final[2][1], 7)
    for level in range(3):
        assert np.allclose(np.bincount(PLACES.parents[level], weights=final[level + 1]), final[level])
    assert PLACES.spreads(spreads)[0][0] == 0


@pytest.mark.parametrize("seed", range(6))
def test_whole_numbers_are_not_negative_and_add_up(seed: int) -> None:
    dice = np.random.default_rng(seed)
    estimates = [dice.normal(3, 6, len(nodes)) for nodes in PLACES.nodes]
    known: list[dict[int, int]] = [{}, {0: 9} if seed % 2 else {}, {}, {2: 1} if seed % 3 else {}]
    final = PLACES.whole(estimates, known)
    for level in range(3):
        assert (np.bincount(PLACES.parents[level], weights=final[level + 1]) == final[level]).all() or any(known)
    assert all(values.min() >= 0 for values in final)


def hierarchy(**facts: Any) -> Hierarchy:
    return Hierarchy.of(("region", "county", "zip"), PLACES.paths, **facts)


@pytest.mark.parametrize("cost", [Cost.alone(epsilon=1), Cost.alone(rho=Fraction(1, 2))], ids=["laplace", "gaussian"])
def test_shares_of_levels_are_better_than_equal_ones_and_errors_are_as_said(cost: Cost) -> None:
    publication = hierarchy()
    shares = publication.level_shares(pure=cost.pure)
    assert sum(shares) == 1
    each = [2 / float(share) ** 2 if cost.pure else 1 / float(share) for share in shares]
    alike = [2 * 16.0 if cost.pure else 4.0] * 4
    nothing: list[dict[int, int]] = [{} for _ in range(4)]
    assert sum(_errors(PLACES, each, nothing)) <= sum(_errors(PLACES, alike, nothing))
    assert "against equal shares" in publication.expected(cost, 1).notes[0]


def test_counts_of_rows_and_sums_of_values() -> None:
    data = {"zip": ["p", "p", "q", "s", "x", None], "income": [10.0, 20.0, None, 1e9, 5.0, 5.0]}
    published = hierarchy(value="income", bounds=(0, 100), step=1).release(data, rho=10**8)
    assert (published.count(), published.count("a"), published.count("a", 1, "p")) == (4, 3, 2)
    assert round(published.mean("a", 1, "p"), 2) == 15
    assert round(float(published.totals[0][0])) == 130  # clamped
    assert math.isnan(published.mean("b", 3, "u")) or published.count("b", 3, "u") == 0
    with pytest.raises(Refused, match="no such place"):
        published.count("c")


def test_places_with_the_same_name_are_told_apart_by_those_above() -> None:
    publication = Hierarchy.of(("state", "town"), [("WY", "Cody"), ("NE", "Cody"), ("NE", "Omaha")])
    assert publication.columns == ("state", "town")
    published = publication.release({"state": ["WY", "NE", "NE"], "town": ["Cody", "Cody", "Paris"]}, rho=10**8)
    assert (published.count("WY", "Cody"), published.count("NE", "Cody"), published.count()) == (1, 1, 2)


def test_invariants_are_what_the_owner_says_and_nothing_is_read_for_them() -> None:
    published = hierarchy(invariants={("a",): 40, (): 100}).release({"zip": ["p"] * 3}, epsilon=1)
    assert (published.count(), published.count("a"), published.count("b")) == (100, 40, 60)
    assert math.isclose(published.estimates[0][0], 100)
    assert published.error["all"] == 0
    notes = hierarchy(invariants={("a",): 40}).expected(Cost.alone(epsilon=1), 1).notes
    assert "does not cover" in notes[-1]


def test_an_attacker_who_knows_all_others_learns_the_last_one_from_an_invariant() -> None:
    """What invariants void: the count of everything, declared public with and without one person, differs for sure."""
    for people in (3, 4):
        published = hierarchy(invariants={(): people}).release({"zip": ["p"] * people}, epsilon=Fraction(1, 1000))
        assert published.count() == people


@pytest.mark.parametrize(
    "facts",
    [
        {"invariants": {("c",): 1}},
        {"invariants": {("a",): -1}},
        {"invariants": {("a",): 5, ("a", 1): 6}},
        {"invariants": {(): 9, ("a",): 5, ("b",): 5}},
        {"shares": (Fraction(1, 2), Fraction(1, 2))},
        {"shares": (Fraction(1, 2),) * 4},
    ],
)
def test_what_does_not_add_up_is_an_error(facts: Any) -> None:
    with pytest.raises((ValueError, KeyError)):
        hierarchy(**facts)


def test_a_value_needs_bounds() -> None:
    with pytest.raises(Refused, match="undeclared-bounds"):
        hierarchy(value="income").release({"zip": [], "income": []}, epsilon=1)
    for paths in ([], [("a",), ("a",)], [("a",), ("a", "b")]):
        with pytest.raises(ValueError, match="path"):
            Hierarchy.of(("x",), paths)


def test_the_noise_of_a_mean_does_not_grow_with_the_distance_from_zero() -> None:
    near, far = (
        Hierarchy.of(("zip",), [("a",), ("b",)], value="x", bounds=bounds, step=1)
        for bounds in ((-50, 50), (10_000, 10_100))
    )
    assert near._moved(3) == far._moved(3) == (Sensitivity.cells(1, 3), Sensitivity.cells(1, 150))
    rows = {"zip": ["a", "a", "a", "b"], "x": [10_010, 99_999, None, 10_020]}
    table = far.release(rows, rho=10**9)
    assert table.mean("a") == pytest.approx((10_010 + 10_100 + 10_000) / 3)  # what is missing is clamped 0
    assert table.totals[2 - 1][1] == pytest.approx(10_020)
    assert sum(table.totals[1]) == pytest.approx(table.totals[0][0])


def test_errors_of_sums_and_means_are_as_said() -> None:
    """400 draws of two places: the square of a sum's error is as predicted, within six deviations of its mean."""
    places = Hierarchy.of(("zip",), [("a",), ("b",)], value="x", bounds=(0, 100), step=1, shares=(1 / Fraction(2),) * 2)
    cost = Cost.alone(rho=Fraction(1, 2))
    predicted = (places.declared(None).expected(cost, 1).error["sum of x by zip"] / 1.96) ** 2
    rows = {"zip": ["a", "b"] * 5, "x": [0, 100] * 5}
    draws = [places.release(rows, rho=Fraction(1, 2)).totals[1] for _ in range(400)]
    squares = (np.array(draws) - [0, 500]) ** 2 / predicted
    assert abs(squares.mean() - 1) < 6 * squares.std() / math.sqrt(squares.size / 2)
