"""k-means: what it finds, and what it gives away."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import sklearn.cluster
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.audit import estimate
from discreet.learn import KMeans
from discreet.learn.kmeans.cells import Shape, clearly, counted, cut, outer_points, shaped
from discreet.learn.kmeans.directions import Directions
from discreet.learn.sizing import ONE
from discreet.noise import SYSTEM
from tests.learn.helpers import learn, recorder, repeating
from tests.learn.replaying import hard_rows, replay


def blobs(rows: int, width: int, clusters: int, seed: int) -> Any:
    dice = np.random.default_rng(seed)
    centres = dice.uniform(-0.8, 0.8, (clusters, width))
    return np.clip(centres[dice.integers(clusters, size=rows)] + dice.normal(0, 0.04, (rows, width)), -1, 1)


def ratio(model: KMeans, rows: Any) -> float:
    """The cost beside that of k-means without privacy."""
    best = sklearn.cluster.KMeans(model.n_clusters, n_init=5, random_state=0).fit(rows).inertia_
    return -model.fit(rows).score(rows) / float(best)


@pytest.mark.parametrize(
    ("rows", "width", "clusters", "most"), [(5_000, 2, 15, 2.0), (30_000, 2, 8, 1.5), (20_000, 4, 8, 2.0)]
)
def test_the_default_finds_blobs(rows: int, width: int, clusters: int, most: float) -> None:
    """None of forty fits each was above; the worst had 1.18, 1.12 and 1.01. Five would have to be."""
    found = blobs(rows, width, clusters, 1)
    assert any(ratio(KMeans(clusters, bounds=(-1, 1), epsilon=1, n_init=40), found) < most for _ in range(5))


def test_the_lecture_s_method_is_for_teaching() -> None:
    """Its noise moves centres of 333 rows by about four widths of a blob."""
    assert ratio(KMeans(15, bounds=(-1, 1), epsilon=1, method="lloyd"), blobs(5_000, 2, 15, 1)) > 2


def test_many_features_are_seen_along_few_directions() -> None:
    """1.01 to 1.02 in 40 fits; a blob that is missed costs more than ten times as much."""
    found = blobs(20_000, 15, 6, 2)
    model = KMeans(6, bounds=(-1, 1), epsilon=1)
    assert any(ratio(model, found) < 1.5 for _ in range(4))
    assert model.n_iter_ == 2


def test_bounds_thirty_times_too_wide_cost_little() -> None:
    """1.00 of the cost without privacy in all of 40 fits."""
    found = blobs(20_000, 4, 6, 2) + 5
    assert any(ratio(KMeans(6, bounds=(0, 60), epsilon=1), found) < 1.5 for _ in range(6))


def test_noise_in_empty_cells_makes_no_clusters() -> None:
    """A far corner holds a tenth of the rows, other corners nobody: no centre is there (1.00 to 1.10 in 40 fits)."""
    dice = np.random.default_rng(9)
    rows = dice.normal(-0.5, 0.05, (12_000, 5))
    rows[:1200] += 1
    assert any(ratio(KMeans(2, bounds=(-1, 1), epsilon=1), rows) < 2 for _ in range(4))


def test_a_small_cluster_far_from_all_others_is_found() -> None:
    """Three per cent of the rows lie where bounds that are found for the others would cut them off.

    Without a centre there the ratio is above 10; of 60 fits each, the worst had 2.0 and 2.4.
    """
    dice = np.random.default_rng(7)
    rows = dice.normal(-0.5, 0.05, (20_000, 5))
    rows[:10_000, 0] += 0.4
    rows[:600] = dice.normal(0.7, 0.05, (600, 5))
    for wide in (1, 30):
        assert any(ratio(KMeans(3, bounds=(-wide, wide), epsilon=1), rows) < 5 for _ in range(6))


def far_out(rings: bool) -> Shape:
    """Two directions of unequal length; the box goes on beyond the grid, or ends with it."""
    low, high = np.array([-1.0, 2.0]), np.array([1.0, 2.5])
    ends = (np.array([-9.0, 2.0]), np.array([1.0, 7.0])) if rings else (low, high)
    return shaped(Directions(np.zeros(2), np.eye(2), low, high, ends, 0.0), 1000, 8, 1.0)


@pytest.mark.parametrize("rings", [True, False])
def test_every_row_is_in_one_cell_whatever_it_is(rings: bool) -> None:
    """Also at the ends, beyond them, and where there is no number: a row moves the histograms by 1."""
    shape = far_out(rings)
    ends = [-np.inf, -1e300, -9.0, -2.0, -1.0, np.nextafter(-1.0, -2.0), 0.0, 1.0, 2.0, 2.25, 2.5, 7.0, 1e300, np.nan]
    rows = np.array([[x, y] for x in ends for y in ends])
    with np.errstate(all="ignore"):
        whole = [counts.ravel() for counts in counted(rows, shape)]
        for place in range(len(rows)):
            alone = [counts.ravel() for counts in counted(rows[place : place + 1], shape)]
            less = [counts.ravel() for counts in counted(np.delete(rows, place, axis=0), shape)]
            assert sum(int(counts.sum()) for counts in alone) == 1
            for before, after, one in zip(whole, less, alone, strict=True):
                np.testing.assert_array_equal(before - after, one)


def test_cells_around_the_grid_double_and_are_read_where_they_were_counted() -> None:
    shape = far_out(True)
    assert (shape.below.tolist(), shape.above.tolist()) == ([4, 0], [0, 5])
    for x, y, cell, sides in (
        (-1.5, 2.1, (-1.5, 2.25), (1.0, 0.5)),
        (-8.5, 2.1, (-8.5, 2.25), (1.0, 0.5)),
        (0.0, 2.6, (0.0, 2.625), (2.0, 0.25)),
        (-3.0, 6.9, (-3.0, 6.625), (2.0, 0.75)),
    ):
        _, outside = counted(np.array([[x, y]]), shape)
        points, lengths = outer_points(shape, np.flatnonzero(outside))
        assert points.tolist() == [list(cell)]
        assert lengths.tolist() == [list(sides)]


@pytest.mark.parametrize("pure", [True, False])
def test_noise_alone_is_no_cluster_around_the_grid(pure: bool) -> None:
    """What is above it has rows; what noise reaches once in ten thousand fits has none."""
    paid: dict[str, Any] = {"epsilon": 1} if pure else {"rho": 0.5}
    cost = KMeans(2, bounds=(0, 1), **paid)._cost(2)
    deviation = cost.deviation(ONE, Fraction(1, 2))
    seldom = 1e-4 / 1000
    least = deviation / math.sqrt(2) * math.log(1 / seldom) if pure else deviation * math.sqrt(2 * math.log(1 / seldom))
    noisy = np.zeros(1000)
    noisy[:3] = least * 0.999, least * 1.001, -9999
    assert clearly(noisy, cost, deviation).nonzero()[0].tolist() == [1]


@pytest.mark.parametrize("paid", [{"epsilon": 1.0}, {"rho": 0.5}])
def test_rows_far_from_all_others_move_no_more_than_their_sensitivity(
    paid: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounds are narrowed, directions found and centres moved; rows in outer cells are left out one after the other."""
    dice = np.random.default_rng(2)
    rows = np.vstack([dice.normal(0, 0.01, (200, 3)), hard_rows(6, 3, 1) * 50])
    make = partial(KMeans, 3, bounds=(-50, 50), expected_n=10**5, n_init=1, **paid)
    for place in (0, 200, 201, 202, 203, 204, 205):
        assert len(replay(make, rows, None, place, monkeypatch)) == 9  # bounds, covariances, cells, rounds


@pytest.mark.parametrize("paid", [{"epsilon": 2.0}, {"rho": 0.02}])
def test_few_rows_of_many_features_show_their_mean(paid: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of rows, their means, and cells along random directions; no row moves more than its sensitivity."""
    rows = np.vstack([np.random.default_rng(4).normal(0.4, 0.1, (30, 25)), hard_rows(3, 25, 2)])
    make = partial(KMeans, 2, bounds=(-1, 1), expected_n=300, n_init=1, **paid)
    for place in (0, 30, 31, 32):
        assert len(replay(make, rows, None, place, monkeypatch)) == 3


def test_centres_of_few_rows_are_about_their_mean_where_nothing_else_is_seen() -> None:
    """0.26 to 0.33 in 40 fits; in the middle of the bounds, where they would be otherwise, it is above 4."""
    rows = np.random.default_rng(4).normal(0.4, 0.1, (1500, 25))
    model = KMeans(2, bounds=(-1, 1), epsilon=1).fit(rows)
    assert -model.score(rows) / len(rows) < 1


def test_many_rows_buy_directions_and_rounds_of_lloyd() -> None:
    few, many = (
        learn(
            KMeans(4, bounds=(-1, 1), epsilon=1, expected_n=rows), blobs(500, 4, 4, 3), None, list("abcd"), repeating(1)
        )
        for rows in (100, 10**6)
    )
    assert (few.n_iter_, many.n_iter_) == (0, 4)


def test_an_expected_size_saves_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    found = recorder(monkeypatch)
    KMeans(2, bounds=(0, 1), epsilon=1).fit([[0.5]] * 9)
    first = found.releases[0]
    assert first.exact.tolist() == [9]
    assert first.mechanism.scale == 50
    found.releases.clear()
    KMeans(2, bounds=(0, 1), epsilon=1, expected_n=10).fit([[0.5]] * 9)
    assert [release.mechanism.scale for release in found.releases] == [2, 2]
    coarse, fine = (release.exact for release in found.releases)
    *within, around = coarse.tolist()
    assert within == fine.reshape(len(within), -1).sum(axis=1).tolist()
    assert around == 0  # bounds end with the grid: the one cell around it is nobody's


@given(
    st.lists(st.floats(0.01, 10), min_size=1, max_size=12),
    st.floats(1, 1e5),
)
@example([1.0], float(np.nextafter(24995.0, 0)))
def test_a_box_is_cut_into_cells_that_are_about_cubes(extents: list[float], most: float) -> None:
    parts = cut(np.array(extents), most)
    sides = np.array(extents) / parts
    assert 1 <= parts.prod() <= most
    longest = int(sides.argmax())
    assert parts.prod() * (parts[longest] + 1) / parts[longest] > most  # there is no room for one more


def test_centres_lie_in_the_box_however_wild_the_rows_are() -> None:
    rows = np.array([[1e300, -1e300], [5.0, 5.0], [-7.0, 1e-300]])
    for method in ("grid", "lloyd", "laplace-lloyd"):
        model = KMeans(4, bounds=([0, 10], [1, 1000]), epsilon=0.5, method=method).fit(rows)
        assert (model.cluster_centers_ >= [0, 10]).all()
        assert (model.cluster_centers_ <= [1, 1000]).all()
        assert model.predict(rows).shape == (3,)
        assert np.isfinite(model.counts_).all()


def test_distances_are_those_of_the_features_as_they_are() -> None:
    """The box is stretched for noise only: in metres or millimetres the clusters are the same."""
    rows = np.vstack([np.tile([0.0, 0.0], (3000, 1)), np.tile([100.0, 0.0], (3000, 1))])
    model = KMeans(2, bounds=([-10, -1], [110, 1]), epsilon=5).fit(rows)
    assert sorted(model.cluster_centers_[:, 0].round(-1).tolist()) == [0, 100]
    np.testing.assert_allclose(model.transform(rows).min(axis=1), 0, atol=5)
    assert model.fit_predict(rows).tolist().count(0) in range(2500, 3500)


def test_one_cluster_and_one_feature() -> None:
    model = KMeans(1, bounds=(0, 10), epsilon=5).fit(np.full((2000, 1), 7.0))
    assert model.cluster_centers_[0, 0] == pytest.approx(7, abs=1)
    assert model.get_feature_names_out().tolist() == ["kmeans0"]


@pytest.mark.slow
def test_an_auditor_finds_no_more_than_epsilon_in_a_round_of_lloyd() -> None:
    """Cluster counts and centres after one round, on 0 and 1 rows at a corner; false alarms: 10⁻⁶."""

    def outputs(rows: Any) -> Any:
        model = KMeans(1, bounds=(0, 1), epsilon=1, method="lloyd", max_iter=1)
        learn(model, rows, None, ["x"], SYSTEM)
        return [float(model.counts_[0]), float(model.cluster_centers_[0, 0])]

    found = estimate(outputs, np.ones((4, 1)), np.ones((3, 1)), claim=1, samples=3_000, confidence=1 - 1e-6)
    assert not found.violated
    assert found.epsilon > 0.1  # it does see something
