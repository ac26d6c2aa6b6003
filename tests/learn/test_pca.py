"""Principal components: the sensitivity of the matrix, the noise on it, and what is read off it."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import sklearn.decomposition

from discreet.audit import estimate
from discreet.errors import Refused
from discreet.exit import Sampler
from discreet.learn import PCA, core
from discreet.mechanisms import Gaussian, Laplace
from discreet.noise import SYSTEM, Bits
from tests.learn.helpers import Till, learn, noises, repeating
from tests.learn.replaying import hard_rows, replay

COSTS: dict[str, dict[str, Any]] = {"pure": {"epsilon": 1.0}, "rho": {"rho": 0.1}, "dear": {"rho": 50.0}}


# sensitivity


@pytest.mark.parametrize("paid", list(COSTS))
def test_without_any_one_row_the_matrix_moves_at_most_its_sensitivity(
    paid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In boxes of equal and of very unequal sides; a corner moves it by all of that."""
    for halves in ([1.0], [1.0, 1.0, 1.0], [1.0, 1e-3, 0.3, 1 / 3, 1e-9]):
        half = np.array(halves)
        rows = np.vstack([hard_rows(8, len(half), len(half)), np.ones(len(half))]) * half + 5
        used = [
            replay(partial(PCA, bounds=(5 - half, 5 + half), **COSTS[paid]), rows, None, place, monkeypatch)
            for place in range(len(rows))
        ]
        assert max(share for (share,) in used) == 1


def test_the_noise_is_that_of_the_theorem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three features and a constant in a cube: ten products of at most 1. With a thin side, hardly more than three."""
    rows = np.zeros((4, 3))
    (noise,) = noises(lambda: PCA(bounds=(-1, 1), rho=0.1), monkeypatch, rows)
    assert isinstance(noise, Gaussian)
    assert float(noise.spread) / 2**30 == pytest.approx(math.sqrt(10 / 0.2), rel=1e-9)
    (noise,) = noises(lambda: PCA(bounds=(-1, 1), epsilon=0.5), monkeypatch, rows)
    assert isinstance(noise, Laplace)
    assert noise.scale / 2**30 == 20
    (noise,) = noises(lambda: PCA(bounds=([-1, -1e-6], [1, 1e-6]), epsilon=0.5), monkeypatch, rows[:, :2])
    assert float(noise.scale) / 2**30 == pytest.approx(3 / 0.5, rel=1e-3)


def test_the_noise_does_not_know_where_the_box_is(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = (
        noises(partial(PCA, bounds=(at, at + 1), rho=0.1), monkeypatch, np.full((3, 2), at + 0.5)) for at in (0, 10**6)
    )
    assert here == there


def test_shifted_and_far_out_rows() -> None:
    rows = np.random.default_rng(8).integers(-12, 13, (200, 3)) / 8
    models = [
        PCA(2, bounds=(at - 1, at + 1), rho=1, ledger=Till(repeating(1))).fit(x + at)
        for at, x in ((0, rows), (0, np.clip(rows, -1, 1)), (1024, rows))
    ]
    for other in models[1:]:
        np.testing.assert_allclose(models[0].components_, other.components_, rtol=1e-12)
        np.testing.assert_allclose(models[0].explained_variance_, other.explained_variance_, rtol=1e-12)
    np.testing.assert_allclose(models[0].mean_ + 1024, models[2].mean_, rtol=1e-12)


# the ledger


def test_refusals_cost_nothing() -> None:
    till = Till(SYSTEM)
    for wrong, error in (
        ({"bounds": None}, Refused),
        ({"bounds": "01"}, TypeError),
        ({"bounds": (1, 1)}, ValueError),
        ({"epsilon": None}, Refused),
        ({"delta": 2}, ValueError),
        ({"n_components": 3}, ValueError),
        ({"n_components": 0}, ValueError),
        ({"n_components": 0.9}, TypeError),
    ):
        with pytest.raises(error):
            PCA(bounds=(0, 1), epsilon=1, ledger=till).set_params(**wrong).fit(np.zeros((3, 2)))
    with pytest.raises(Refused, match="too large to draw"):
        PCA(bounds=(0, 1), epsilon=1e-9, ledger=till).fit(np.zeros((3, 50)))
    with pytest.raises(Refused, match="too many features"):
        PCA(bounds=(0, 1), epsilon=1, ledger=till).fit(np.zeros((2, 4097)))
    assert not till.events
    with pytest.raises(ValueError, match="one for each component"):
        PCA(1, bounds=(0, 1), epsilon=1).fit(np.zeros((3, 2))).inverse_transform([[1.0, 2.0]])


# what is learned


def test_nobody_gives_numbers_too() -> None:
    for paid in COSTS.values():
        model = learn(PCA(2, bounds=(-1, 1), **paid), np.zeros((0, 3)), None, list("abc"), SYSTEM)
        for found in (model.mean_, model.components_, model.explained_variance_, model.explained_variance_ratio_):
            assert np.isfinite(found).all()


@pytest.mark.parametrize("paid", [{"epsilon": 1e7}, {"rho": 1e9}])
def test_at_a_high_cost_it_is_scikit_learn_s(paid: Any) -> None:
    dice = np.random.default_rng(4)
    rows = dice.normal(0, 1, (5000, 4)) @ dice.normal(0, 1, (4, 4)) * [1, 3, 0.2, 1] + [5, 0, -1, 100]
    low, high = rows.min(axis=0), rows.max(axis=0)
    model = PCA(3, bounds=(low, high), **paid).fit(rows)
    exact = sklearn.decomposition.PCA(3).fit(rows)
    signs = np.sign((model.components_ * exact.components_).sum(axis=1))
    np.testing.assert_allclose(model.components_, exact.components_ * signs[:, None], atol=1e-3)
    np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=1e-3)
    np.testing.assert_allclose(model.explained_variance_ratio_, exact.explained_variance_ratio_, rtol=1e-3)
    np.testing.assert_allclose(model.mean_, exact.mean_, atol=1e-3)
    np.testing.assert_allclose(model.transform(rows), exact.transform(rows) * signs, atol=0.05)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(rows)), exact.inverse_transform(exact.transform(rows)), atol=0.05
    )
    assert model.count_ == pytest.approx(5000, abs=1)
    assert list(model.get_feature_names_out()) == ["pca0", "pca1", "pca2"]


def test_it_finds_the_main_direction_of_many_rows() -> None:
    dice = np.random.default_rng(5)
    direction = np.array([3.0, 4.0, 0.0]) / 5
    rows = dice.normal(0, 0.3, (20_000, 1)) * direction + dice.normal(0, 0.05, (20_000, 3))
    for paid in ({"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}):
        model = PCA(1, bounds=(-1, 1), **paid).fit(rows)
        assert abs(float(model.components_[0] @ direction)) > 0.99
        assert model.components_[0].max() > 0


# attack


@pytest.mark.slow
def too_little(mechanism: Any, _: Any, exact: Any, bits: Bits) -> Any:
    return Laplace(mechanism.epsilon * 20, sensitivity=mechanism.sensitivity).release(exact, bits)


def test_an_auditor_finds_no_leak_and_would_find_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """False alarms: 10⁻⁶."""

    def count(rows: Any) -> float:
        return float(learn(PCA(bounds=(-1, 1), epsilon=1), rows, None, ["x"], SYSTEM).count_)

    rows = np.ones((3, 1))
    assert not estimate(count, rows, rows[:2], claim=1, samples=1000, confidence=1 - 1e-6).violated
    monkeypatch.setattr(core, "SAMPLER", Sampler(add_noise=too_little))
    assert estimate(count, rows, rows[:2], claim=1, samples=1000, confidence=1 - 1e-6).violated
