"""The nearest counts that are not negative and add up."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.mechanisms.simplex import projected


@pytest.mark.parametrize("total", [0.0, 1.0, 7.5])
def test_no_other_point_of_the_simplex_is_nearer(total: float) -> None:
    dice = np.random.default_rng(0)
    noisy = dice.normal(0, 3, (20, 6))
    nearest = projected(noisy, np.full(20, total))
    assert nearest.min() >= 0
    assert np.allclose(nearest.sum(axis=1), total)
    others = dice.dirichlet(np.ones(6), 200) * total
    for point, row in zip(nearest, noisy, strict=True):
        assert ((others - row) ** 2).sum(axis=1).min() >= ((point - row) ** 2).sum() - 1e-9


def test_points_of_the_simplex_stay_where_they_are() -> None:
    assert np.allclose(projected(np.array([[1.0, 2.0, 0.0]]), np.array([3.0])), [[1, 2, 0]])
