"""Intervals of coefficients: they hold, they are not idle, and they are infinite where noise hides everything."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.accounting.distributions import DiscreteGaussian, DiscreteLaplace
from discreet.learn import LinearRegression
from discreet.learn.codec import decode, encode
from discreet.learn.sent import own
from discreet.learn.slopes import intervals

SCALE = 2**10
NOISES: dict[str, Any] = {
    "laplace": DiscreteLaplace(Fraction(SCALE)),
    "gaussian": DiscreteGaussian(Fraction(SCALE) ** 2),
}


def noisy(name: str, side: int, dice: Any) -> tuple[Any, Any]:
    """A symmetric matrix and a vector of independent noise; rounding is nothing at this scale."""
    draw = dice.laplace if name == "laplace" else dice.normal
    upper = np.triu(draw(0, SCALE, (side, side)))
    return upper + np.triu(upper, 1).T, draw(0, SCALE, side)


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("rows", [10, 40, 400])
def test_all_coefficients_are_within_as_often_as_is_said(name: str, rows: int) -> None:
    """400 draws each. Were 5 of 100 missed, more than 45 would be with 10⁻⁷; near singular matrices among them."""
    dice = np.random.default_rng()
    exact = rows * SCALE * (np.eye(4) + 0.3 * np.diag([1.0, 1, 1], 1) + 0.3 * np.diag([1.0, 1, 1], -1))
    truth = np.array([1.0, -0.5, 0.0, 2.0])
    missed = finite = 0
    for _ in range(400):
        more, beside = noisy(name, 4, dice)
        ends = intervals(exact + more, exact @ truth + beside, NOISES[name], 1.0)
        missed += not ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).all()
        finite += bool(np.isfinite(ends).all())
    assert missed <= 45
    assert (finite == 400) if rows == 400 else (finite < 400) if rows == 10 else True


def test_they_shrink_in_proportion_to_the_noise() -> None:
    """About 7 scales of Laplace noise over the sum of squares, for a coefficient of 0 beside others of 0."""
    matrix = np.eye(3) * 1000 * SCALE
    ends = intervals(matrix, np.zeros(3), NOISES["laplace"], 1.0)
    assert ends[0, 1] == -ends[0, 0] == pytest.approx(0.007, rel=0.1)
    np.testing.assert_allclose(intervals(100 * matrix, np.zeros(3), NOISES["laplace"], 1.0), ends / 100, rtol=0.02)
    np.testing.assert_allclose(intervals(matrix * 7, np.zeros(3), NOISES["laplace"], 7.0), ends / 49, rtol=0.02)


def test_what_noise_hides_has_no_ends() -> None:
    for matrix in np.zeros((2, 2)), np.eye(2) * SCALE, np.full((2, 2), 1e9):
        assert np.isinf(intervals(matrix, np.ones(2), NOISES["gaussian"], 1.0)).all()


@pytest.mark.parametrize("cost", [{"epsilon": 1000}, {"rho": 1000}])
@pytest.mark.parametrize("constant", [True, False])
def test_a_fit_has_them_in_the_units_of_its_coefficients(cost: Any, constant: bool) -> None:
    """They hold what is found at so high a cost, far from 0, and travel with the model."""
    dice = np.random.default_rng(1)
    rows = dice.uniform([10, -3], [14, 5], (20_000, 2))
    targets = rows @ [2.0, -1.5] + dice.normal(0, 0.1, len(rows))
    model = LinearRegression(bounds=([10, -3], [14, 5]), y_bounds=(0, 60), fit_intercept=constant, **cost)
    ends = model.fit(rows, targets).coef_interval_
    assert ends.shape == (2, 2)
    assert ((ends[:, 0] <= model.coef_) & (model.coef_ <= ends[:, 1])).all()
    assert (ends[:, 1] - ends[:, 0] < 0.2).all()
    again = decode(encode(model))
    assert again is not None
    np.testing.assert_array_equal(again.coef_interval_, ends)
    value, low, high = model.card().document()["coefficients"]["x1"]
    assert [value, low, high] == [model.coef_[1], *ends[1]]
    assert f"x1 {value:.4g} ({low:.4g} to {high:.4g})" in str(model.card())


def test_a_model_that_is_a_mean_says_nothing_of_coefficients() -> None:
    model = LinearRegression(bounds=(-1, 1), y_bounds=(-1, 1), epsilon=0.01).fit(np.zeros((50, 3)), np.zeros(50))
    assert np.isinf(model.coef_interval_).all()
    assert model.card().document()["coefficients"]["x0"] == [0, None, None]
    assert "x0 0, x1 0, x2 0" in str(model.card())
    assert decode(encode(model)) is not None
    np.testing.assert_array_equal(own(model).predict(np.zeros((2, 3))), model.predict(np.zeros((2, 3))))
