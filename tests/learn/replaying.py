"""Rows that are hard to bound, and fits replayed without one of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet.accounting.losses import Sensitivity
from tests.learn.helpers import learn, recorder, repeating, without

EXTREMES = (0.0, 1.0, -1.0, 1e300, -1e300, np.inf, -np.inf, 5e-324, 0.999999999, -0.3)


def hard_rows(rows: int, width: int, seed: int) -> Any:
    """Corners, the middle, values far outside, and some in between."""
    dice = np.random.default_rng(seed)
    found = dice.choice(np.array(EXTREMES), (rows, width))
    return np.where(dice.random((rows, width)) < 0.4, dice.uniform(-1.3, 1.3, (rows, width)), found)


def check_moved(difference: Any, sensitivity: Sensitivity) -> float:
    """Within the sensitivity in both norms; returns what share of a bound it used at most."""
    l1 = sum(abs(int(step)) for step in difference)
    l2_squared = sum(int(step) ** 2 for step in difference)
    assert l1 <= sensitivity.l1
    assert l2_squared <= sensitivity.l2_squared
    return max(float(l1 / sensitivity.l1), math.sqrt(l2_squared / sensitivity.l2_squared))


def replay(make: Callable[[], Any], rows: Any, labels: Any, place: int, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Fit with and without a row, given the same released values;
    shares of the sensitivity that it used at each release.
    """
    names = [f"x{column}" for column in range(rows.shape[1])]
    found = recorder(monkeypatch)
    learn(make(), rows, labels, names, repeating(place))
    found.again()
    learn(make(), without(rows, place), None if labels is None else without(labels, place), names, repeating(place))
    assert len(found.releases) == len(found.earlier)
    return [
        check_moved(here.exact.astype(object) - there.exact.astype(object), there.sensitivity)
        for here, there in zip(found.releases, found.earlier, strict=True)
    ]
