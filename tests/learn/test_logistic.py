"""Logistic regression: what one row may move at each step, the noise on it, and what is learned."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import sklearn.linear_model
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_classification

from discreet.accounting import Pure, compose
from discreet.errors import Refused
from discreet.learn import LogisticRegression, logistic
from discreet.learn.box import Box
from discreet.learn.rulers import BLOCK
from discreet.learn.scaling import Scaling
from discreet.mechanisms import Gaussian, Laplace
from discreet.noise import SYSTEM
from tests.learn.helpers import Till, learn, noises, recorder, repeating
from tests.learn.replaying import hard_rows, replay

TWO: dict[str, Any] = {"bounds": (-1, 1), "classes": [0, 1]}
FOUR: dict[str, Any] = {"bounds": (-1, 1), "classes": ["a", "b", "c", "d"]}
COSTS: dict[str, dict[str, Any]] = {"pure": {"epsilon": 1.0}, "rho": {"rho": 0.1}, "dear": {"rho": 5000.0}}


# sensitivity


@pytest.mark.parametrize("facts", [TWO, FOUR], ids=["two", "four"])
@pytest.mark.parametrize("paid", list(COSTS))
def test_without_any_one_row_every_step_moves_at_most_its_sensitivity(
    paid: str, facts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = np.random.default_rng(1)
    used: list[float] = []
    steps = set()
    for width, constant in ((1, True), (4, False), (12, True)):
        rows = hard_rows(8, width, width)
        labels = dice.choice(np.array([*facts["classes"], facts["classes"][0], 7][: len(facts["classes"]) + 1]), 8)
        for place in range(len(rows)):
            shares = replay(
                partial(LogisticRegression, **facts, **COSTS[paid], fit_intercept=constant),
                rows,
                labels,
                place,
                monkeypatch,
            )
            used += shares[1:]
            steps.add(len(shares))
    assert max(used) > 0.99, "rows of which some gradient is as long as it may be"
    assert paid != "dear" or max(steps) == 20, "counts, bounds, spread, curvature, and the steps"


@pytest.mark.parametrize("paid", [{"epsilon": 3}, {"rho": 0.5}], ids=["pure", "rho"])
@pytest.mark.parametrize("bounds", [(-1, 1), (0, 1)], ids=["middle", "zero"])
def test_many_rows_in_units_of_their_spread_too(paid: Any, bounds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Across the blocks in which rows are summed: a row's place must not matter to the others."""
    rows = np.random.default_rng(2).uniform(bounds[0], bounds[1], (BLOCK + 3, 2)) ** 5
    labels = (rows[:, 0] > 0.1).astype(np.int64)
    rows[[0, BLOCK + 2]] = [[1, 0], [1, 1]]
    for place in (0, BLOCK - 1, BLOCK + 2):
        shares = replay(
            lambda: LogisticRegression(bounds=bounds, classes=[0, 1], max_iter=3, **paid),
            rows,
            labels,
            place,
            monkeypatch,
        )
        assert len(shares) == 7


# noise


@pytest.mark.parametrize("paid", list(COSTS))
def test_all_releases_together_cost_the_loss(paid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(7)
    for rows in (dice.uniform(-1, 1, (40, 3)), dice.uniform(-1, 1, (20_000, 3))):
        found = recorder(monkeypatch)
        model = LogisticRegression(**TWO, **COSTS[paid]).fit(rows, dice.integers(0, 2, len(rows)))
        total = compose(*(release.mechanism.loss_for(release.sensitivity) for release in found.releases))
        spent = total.epsilon if isinstance(total, Pure) else total.concentrated().rho
        declared = Fraction(str(next(iter(COSTS[paid].values()))))
        assert declared * Fraction(99, 100) <= spent <= declared * (1 + Fraction(1, 10**12))
        others = len(found.releases) - model.n_iter_
        assert others == 4 or len(rows) == 40, "counts; with rows enough, bounds, spread and curvature"


def test_the_noise_is_that_of_the_theorem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three features and a constant: the longest gradient is 2 in L2 and 4 in L1, twice that for several classes."""
    rows, labels = np.zeros((5, 3)), np.array([0, 1, 0, 1, 0])
    settings: dict[str, Any] = {"bounds": (-1, 1), "clip": 0.5, "max_iter": 7, "ledger": Till(repeating(1))}
    count, *steps = noises(lambda: LogisticRegression(classes=[0, 1], rho=0.1, **settings), monkeypatch, rows, labels)
    assert float(count.spread) ** 2 == pytest.approx(1 / (2 * 0.1 / 20))
    assert len(steps) == 7
    for noise in steps:
        assert isinstance(noise, Gaussian)
        assert float(noise.spread) / 2**30 == pytest.approx(1 * math.sqrt(7 / (2 * 0.1 * 0.95)), rel=1e-6)
    count, *steps = noises(
        lambda: LogisticRegression(classes=[0, 1, 2], epsilon=1, **settings), monkeypatch, rows, labels
    )
    assert count.scale == 20
    for noise in steps:
        assert isinstance(noise, Laplace)
        assert float(noise.scale) / 2**30 == pytest.approx(4 * 7 / 0.95, rel=1e-6)


def test_the_noise_of_measured_rows_is_that_of_the_theorem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of usual length 3 in L1, or √3 in L2, of numbers up to 10; long ones are 2.8 times so long, or 2.4 times."""
    rows, labels = np.zeros((40_000, 2)), np.arange(40_000) % 2
    scaling = Scaling(Box.read((-1, 1), 2), np.zeros(2), np.ones(2), 10, Fraction(3))
    monkeypatch.setattr(logistic, "measured", lambda *_: scaling)
    settings: dict[str, Any] = {**TWO, "clip": 0.5, "max_iter": 7}
    _, _, curved, *steps = noises(lambda: LogisticRegression(rho=0.1, **settings), monkeypatch, rows, labels)
    assert float(curved.spread) / 2**22 == pytest.approx(math.sqrt((9 + 9) / 2 / (2 * 0.1 * 0.1)), rel=1e-3)
    assert len(steps) == 7
    for noise in steps:
        assert isinstance(noise, Gaussian)
        assert float(noise.spread) / 2**22 == pytest.approx(1.2 * math.sqrt(3 * 7 / (2 * 0.1 * 0.6875)), rel=1e-6)
    _, _, curved, *steps = noises(lambda: LogisticRegression(epsilon=1, **settings), monkeypatch, rows, labels)
    assert float(curved.spread) / 2**22 == pytest.approx((9 + 9) / 2 / 0.1, rel=1e-3)
    for noise in steps:
        assert isinstance(noise, Laplace)
        assert float(noise.scale) / 2**22 == pytest.approx(1.4 * 3 * 7 / 0.6875, rel=1e-6)


def test_the_noise_does_not_know_where_the_box_is(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = np.full((3, 2), 0.5), [0, 1, 1]
    here, there = (
        noises(
            partial(LogisticRegression, bounds=(at, at + 1), classes=[0, 1], rho=0.1, max_iter=3),
            monkeypatch,
            rows + at,
            labels,
        )
        for at in (0, 10**6)
    )
    assert here == there


def test_shifted_and_far_out_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Same bits, same steps: what lies beyond a bound counts as the bound, and the box may be anywhere.

    Without a search for narrower bounds, whose cells around zero are others elsewhere and take other bits.
    """
    monkeypatch.setattr(logistic, "share_for", lambda *_: Fraction(0))
    rows = np.random.default_rng(8).integers(-12, 13, (200, 2)) / 8
    labels = (rows[:, 0] > 0).astype(np.int64)
    models = [
        LogisticRegression(bounds=(at - 1, at + 1), classes=[0, 1], rho=1, ledger=Till(repeating(1))).fit(
            x + at, labels
        )
        for at, x in ((0, rows), (0, np.clip(rows, -1, 1)), (1024, rows))
    ]
    for other in models[1:]:
        np.testing.assert_allclose(models[0].coef_, other.coef_, rtol=1e-12)
    np.testing.assert_allclose(
        models[0].decision_function(rows), models[2].decision_function(rows + 1024), rtol=1e-6, atol=1e-9
    )


# the ledger


def test_refusals_cost_nothing() -> None:
    till = Till(SYSTEM)
    for wrong, error in (
        ({"bounds": None}, Refused),
        ({"classes": None}, Refused),
        ({"classes": [1]}, ValueError),
        ({"classes": [1, 1]}, ValueError),
        ({"classes": "no"}, TypeError),
        ({"epsilon": None}, Refused),
        ({"C": 0}, ValueError),
        ({"C": "1"}, TypeError),
        ({"clip": 2}, ValueError),
        ({"clip": 0}, ValueError),
        ({"max_iter": 0}, ValueError),
        ({"max_iter": 2.5}, TypeError),
        ({"fit_intercept": 1}, TypeError),
    ):
        with pytest.raises(error):
            LogisticRegression(**{**TWO, "epsilon": 1, "ledger": till, **wrong}).fit(np.zeros((3, 2)), [0, 1, 0])
    for epsilon in (1e-9, 3e-8):
        with pytest.raises(Refused, match="too large to draw"):
            LogisticRegression(**TWO, epsilon=epsilon, ledger=till).fit(np.zeros((3, 50)), [0, 1, 0])
    with pytest.raises(Refused, match="too many features"):
        LogisticRegression(**TWO, epsilon=1, ledger=till).fit(np.zeros((2, 65536)), [0, 1])
    assert not till.events


# what is learned


def test_nobody_gives_numbers_too() -> None:
    for facts in (TWO, FOUR):
        for paid in COSTS.values():
            empty = np.array([], dtype=np.asarray(facts["classes"]).dtype)
            model = learn(LogisticRegression(**facts, **paid), np.zeros((0, 3)), empty, list("abc"), SYSTEM)
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.intercept_).all()


def test_other_labels_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.ones((4, 2))
    found = recorder(monkeypatch)
    LogisticRegression(**TWO, epsilon=1).fit(rows, [2, 3, 2, 3])
    assert not any(release.exact.any() for release in found.releases)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("paid", [{"epsilon": 1e6}, {"rho": 1e6}])
def test_at_a_high_cost_it_is_scikit_learn_s(paid: Any, classes: int) -> None:
    rows, labels = make_classification(
        4000,
        5,
        n_informative=4,
        n_redundant=0,
        n_classes=classes,
        n_clusters_per_class=1,
        random_state=3,
        class_sep=0.7,
    )
    rows = np.clip(rows / 4, -1, 1)
    model = LogisticRegression(bounds=(-1, 1), classes=range(classes), clip=1, max_iter=60, **paid).fit(rows, labels)
    scaled = rows / rows.std(axis=0)  # in such units weights are penalised
    exact = sklearn.linear_model.LogisticRegression().fit(scaled, labels)
    np.testing.assert_allclose(model.predict_proba(rows), exact.predict_proba(scaled), atol=0.03)
    assert model.coef_.shape == exact.coef_.shape
    assert model.intercept_.shape == exact.intercept_.shape
    assert model.decision_function(rows).shape == exact.decision_function(scaled).shape
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1)


def test_indicators_cost_what_rows_have_of_them() -> None:
    """Forty indicators of which a row has two: the first of each twenty decides. Twenty fits had 0.94 ± 0.01."""
    dice = np.random.default_rng(9)
    places = dice.integers(0, 20, (8000, 2))
    rows = np.hstack([np.eye(20)[column] for column in places.T])
    labels = ((places % 2).sum(axis=1) + (dice.random(8000) < 0.05) > 0.5).astype(np.int64)
    model = LogisticRegression(bounds=(0, 1), classes=[0, 1], epsilon=1)
    best = sklearn.linear_model.LogisticRegression().fit(rows, labels).score(rows, labels)
    assert np.mean([model.fit(rows, labels).score(rows, labels) for _ in "123"]) > best - 0.05


def test_a_strong_penalty_keeps_weights_small() -> None:
    rows = np.random.default_rng(3).uniform(-1, 1, (3000, 4))
    labels = (rows[:, 0] > 0).astype(np.int64)
    for size in (20, 3000):
        model = LogisticRegression(**TWO, C=1e-6, epsilon=5).fit(rows[:size], labels[:size])
        assert np.abs(model.coef_).max() < 0.01


def test_breast_cancer_and_digits() -> None:
    """Non-private ones have 0.98 and 0.97; means of twenty fits on held-out rows were 0.94 ± 0.02 and 0.87 ± 0.01."""
    for load, bounds, least in ((load_breast_cancer, None, 0.85), (load_digits, (0, 16), 0.65)):
        rows, labels = load(return_X_y=True)
        box = bounds or (rows.min(axis=0), rows.max(axis=0))
        model = LogisticRegression(bounds=box, classes=np.unique(labels), epsilon=1, delta=1e-5)
        assert np.mean([clone(model).fit(rows, labels).score(rows, labels) for _ in "123"]) > least
