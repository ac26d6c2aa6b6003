"""k-means: what it finds, and what it gives away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.cluster
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit import estimate
from discreet.learn import KMeans
from discreet.learn.kmeans.grid import _cut
from discreet.noise import SYSTEM
from tests.learn.helpers import learn, recorder, repeating


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
    """Of twenty fits each, two of these have none above, and the third one: five would have to be."""
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
    """1.00 of the cost without privacy in the median of 40 fits, and above 1.5 in two of them."""
    found = blobs(20_000, 4, 6, 2) + 5
    assert any(ratio(KMeans(6, bounds=(0, 60), epsilon=1), found) < 1.5 for _ in range(6))


def test_noise_in_empty_cells_makes_no_clusters() -> None:
    """A far corner holds a tenth of the rows, other corners nobody: no centre is there (1.00 to 1.10 in 40 fits)."""
    dice = np.random.default_rng(9)
    rows = dice.normal(-0.5, 0.05, (12_000, 5))
    rows[:1200] += 1
    assert any(ratio(KMeans(2, bounds=(-1, 1), epsilon=1), rows) < 2 for _ in range(4))


def test_many_rows_buy_directions_and_rounds_of_lloyd() -> None:
    few, many = (
        learn(
            KMeans(4, bounds=(-1, 1), epsilon=1, expected_n=rows), blobs(500, 4, 4, 3), None, list("abcd"), repeating(1)
        )
        for rows in (100, 10**6)
    )
    assert (few.n_iter_, many.n_iter_) == (0, 2)


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
    assert coarse.tolist() == fine.reshape(len(coarse), -1).sum(axis=1).tolist()


@given(
    st.lists(st.floats(0.01, 10), min_size=1, max_size=12),
    st.floats(1, 1e5),
)
def test_a_box_is_cut_into_cells_that_are_about_cubes(extents: list[float], most: float) -> None:
    parts = _cut(np.array(extents), most)
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
    """Cluster counts and centres after one round, on 0 and 1 rows at a corner; false alarms at rate 0.001 % at most."""

    def outputs(rows: Any) -> Any:
        model = KMeans(1, bounds=(0, 1), epsilon=1, method="lloyd", max_iter=1)
        learn(model, rows, None, ["x"], SYSTEM)
        return [float(model.counts_[0]), float(model.cluster_centers_[0, 0])]

    found = estimate(outputs, np.ones((4, 1)), np.ones((3, 1)), claim=1, samples=3_000, confidence=0.99999)
    assert not found.violated
    assert found.epsilon > 0.1  # it does see something
