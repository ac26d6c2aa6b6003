from __future__ import annotations

import numpy as np
import pytest

from discreet.mechanisms.simplex import projected


def test_the_projection_adds_up_and_is_the_nearest() -> None:
    dice = np.random.default_rng(0)
    for _ in range(50):
        noisy, total = dice.normal(0, 5, (1, 6)), np.array([float(dice.uniform(0.5, 30))])
        found = projected(noisy, total)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(total[0])
        for _ in range(30):
            other = dice.dirichlet(np.ones(6)) * total[0]
            assert ((found - noisy) ** 2).sum() <= ((other - noisy) ** 2).sum() + 1e-9
