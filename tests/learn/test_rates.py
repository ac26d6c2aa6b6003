"""Rates of counts: exact sums in each cell, their noise, and what is made of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.errors import Refused
from discreet.exit import Sampler
from discreet.learn import PoissonCount, core, private_score
from discreet.mechanisms import Gaussian
from tests.learn.helpers import learn, noises, recorder, repeating
from tests.learn.test_tables import curator

FACTS: dict[str, Any] = {"categories": [["F", "M"], 2], "y_bounds": (0, 8)}
ROWS = np.array([["F", 0], ["F", 0], ["F", 1], ["M", 1], ["M", 1], ["X", 1], ["F", 7]], dtype=object)
EXACT = Sampler(add_noise=lambda _, __, exact, ___: exact)
COUNTS = np.array([1.0, 3.0, 8.0, 99.0, -4.0, 5.0, 5.0])


def test_the_rate_is_the_mean_of_clamped_counts_in_each_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody declared is not counted, and is predicted to be as all others."""
    monkeypatch.setattr(core, "SAMPLER", EXACT)
    model = PoissonCount(**FACTS, epsilon=1e6).fit(ROWS, COUNTS)
    np.testing.assert_allclose(model.rates_, [2, 8, 4, 4], atol=1e-3)  # nobody is (M, 0): the rate of all
    np.testing.assert_allclose(model.counts_, [2, 1, 0, 2], atol=1e-3)
    np.testing.assert_allclose(model.predict(ROWS), [2, 2, 8, 4, 4, 4, 4], atol=1e-3)
    assert model.rate_ == pytest.approx(20 / 5, abs=1e-3)


def test_the_noise_is_that_of_the_theorem_whatever_the_number_of_features(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twentieth of the cost is for where counts lie, the rest for sums that a row moves by one."""
    _, pure = noises(lambda: PoissonCount(**FACTS, epsilon=Fraction(1, 2)), monkeypatch, ROWS, COUNTS)
    assert pure.scale == 2 / Fraction(19, 20) * 2**20
    _, gaussian = noises(lambda: PoissonCount(**FACTS, rho=0.1), monkeypatch, ROWS, COUNTS)
    assert isinstance(gaussian, Gaussian)
    assert float(gaussian.spread) / 2**20 == pytest.approx(np.sqrt(1 / 0.2 / 0.95))


@pytest.mark.parametrize("count", [0.0, 8.0, -np.inf, 1e300, np.nan])
def test_the_sensitivity_is_attained_at_the_bounds_and_never_passed(
    count: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = recorder(monkeypatch)
    learn(PoissonCount(**FACTS, rho=0.1), ROWS[:1], np.array([count]), ["a", "b"], repeating(1))
    _, release = found.releases
    assert (release.exact >= 0).all()
    assert release.exact.sum() == release.sensitivity.l1
    squares = int((release.exact.astype(object) ** 2).sum())
    assert squares <= release.sensitivity.l2_squared
    assert np.isnan(count) or squares == release.sensitivity.l2_squared, "at the bounds"


def test_bounds_that_are_far_too_wide_hardly_matter() -> None:
    """Rates of 2 and 4, in bounds of 0 to 200: without looking where counts lie, noise of scale 100 would be on sums of
    20,000 and 40,000, and it is a seventieth of that."""
    dice = np.random.default_rng(2)
    places = dice.integers(0, 2, (20_000, 1)).astype(np.float64)
    counts = dice.poisson(2 + 2 * places[:, 0]).astype(np.float64)
    model = PoissonCount(categories=2, y_bounds=(0, 200), epsilon=0.2).fit(places, counts)
    np.testing.assert_allclose(model.rates_, [2, 4], atol=0.15)


def test_where_noise_would_hide_a_cell_its_rate_is_nearly_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    places, counts = np.zeros((20_000, 1)), np.full(20_000, 3.0)
    places[:2], counts[:2] = 1, 20
    model = PoissonCount(categories=2, y_bounds=(0, 20), epsilon=0.2).fit(places, counts)
    assert model.rates_[0] == pytest.approx(3, abs=0.2)  # noise of scale 10·10 on a sum of 60 000: 40 times that
    monkeypatch.setattr(core, "SAMPLER", EXACT)
    assert model.fit(places, counts).rates_[1] == pytest.approx(3, abs=0.1)
    model.set_params(epsilon=1000)
    assert model.fit(places, counts).rates_[1] == pytest.approx(20, abs=0.1)


def test_a_curator_fits_it_keeps_it_and_recalls_it() -> None:
    with curator() as world:
        ask: dict[str, Any] = {"sql": "SELECT sex, age FROM people", "target": "age", "epsilon": 1}
        preview = world.preview(PoissonCount().task(**ask))
        first = world.fit(PoissonCount(), **ask)
        again = world.fit(PoissonCount(), **ask)
        recalled = world.recall(int(first.receipt_.partition(":")[0]))
        assert (first.cached_, again.cached_, len(world.entries())) == (False, True, 1)
        assert preview.loss == first.loss_
        people = pd.DataFrame({"sex": ["F", "M", "?"]}, dtype=object)
        for model in (again, recalled):
            np.testing.assert_array_equal(model.predict(people), first.predict(people))
        assert first.predict(people)[2] == first.rate_


def test_a_curator_refuses_what_no_policy_declares() -> None:
    with curator() as world:
        for text, target, code in (
            ("SELECT age, pay FROM people", "pay", "undeclared-values"),
            ("SELECT sex, free FROM people", "free", "undeclared-bounds"),
            ("SELECT sex, age - 50 AS lower FROM people", "lower", "fit-invalid"),
        ):
            with pytest.raises(Refused, match=code):
                world.fit(PoissonCount(), text, target=target, epsilon=1)
        assert not world.entries()


def test_it_is_scored_as_other_regressors_are() -> None:
    places = np.tile([[0.0], [1.0]], (500, 1))
    counts = np.tile([1.0, 7.0], 500)
    model = PoissonCount(categories=2, y_bounds=(0, 8), epsilon=10).fit(places, counts)
    assert model.score(places, counts) > 0.9
    assert private_score(model, places, counts, epsilon=10).value < 0.5
