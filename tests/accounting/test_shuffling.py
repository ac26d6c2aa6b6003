"""Shuffled reports: never below an enumeration, and the figures that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.accounting.shuffling import amplified_by_formula, amplify


def counted(local: float, n: int, cost: float) -> float:
    """The δ of n shuffled answers of randomised response on a bit, the others' bits all 0: by the number of Yes."""
    true = 1 / (1 + math.exp(-local))
    others = np.ones(1)
    for _ in range(n - 1):
        others = np.convolve(others, [true, 1 - true])
    yes, no = np.convolve(others, [1 - true, true]), np.convolve(others, [true, 1 - true])
    return float(max(np.maximum(a - math.exp(cost) * b, 0).sum() for a, b in ((yes, no), (no, yes))))


@pytest.mark.parametrize("local", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("n", [1, 2, 10, 200])
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_randomised_response_by_enumeration(local: float, n: int, delta: float) -> None:
    cost = amplify(local, n, delta)
    assert cost <= local
    assert counted(local, n, cost) <= delta * (1 + 1e-9)


@pytest.mark.parametrize(("local", "n", "closed", "numeric"), [(1, 10**4, 0.214, 0.053), (2, 10**4, 0.501, 0.155)])
def test_known_figures(local: float, n: int, closed: float, numeric: float) -> None:
    assert amplified_by_formula(local, n, 1e-6) == pytest.approx(closed, abs=1e-3)
    assert amplify(local, n, 1e-6) == pytest.approx(numeric, abs=1e-3)


def test_more_people_hide_more() -> None:
    found = [amplify(2, n, 1e-6) for n in (1, 100, 1000, 100_000)]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(2, abs=1e-4)
    assert math.isinf(amplified_by_formula(5, 100, 1e-6))


@pytest.mark.parametrize(
    ("local", "n", "delta"), [(0, 10, 1e-6), (1, 0, 1e-6), (1, 10, 0), (1, 2.5, 0.1), (1, 10**10, 0.1)]
)
def test_wrong_arguments(local: float, n: int, delta: float) -> None:
    with pytest.raises((TypeError, ValueError)):
        amplify(local, n, delta)
