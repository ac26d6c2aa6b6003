"""Discrete noise costs what continuous noise costs: the lemma in numbers, and exact divergences against the bound."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.accounting import epsilon_for_training
from discreet.federated.smoothing import BLUR, LEAST_SHARE, drawn_variance, slack

SPAN = np.arange(-400, 401)


def discrete(variance: float, centre: float = 0.0) -> Any:
    masses = np.exp(-((SPAN - centre) ** 2) / (2 * variance))
    return masses / masses.sum()


def normal(variance: float) -> Any:
    return np.exp(-(SPAN**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


@pytest.mark.parametrize("shares", [[8], [8, 8], [8, 9, 30], [8] * 12])
def test_sums_of_discrete_gaussians_have_the_normal_density_at_whole_numbers(shares: list[int]) -> None:
    law = discrete(shares[0])
    for share in shares[1:]:
        law = np.convolve(law, discrete(share))[400:1201]
    density = normal(sum(shares))
    near = density > 1e-40
    assert np.abs(law[near] / density[near] - 1).max() < 1e-11


def test_rounding_a_gaussian_by_a_discrete_one_is_discrete_gaussian() -> None:
    """Step (iii): integrate over the continuous part."""
    rest, step = 20.0, 0.01
    points = np.arange(-60, 60, step)
    weights = np.exp(-(points**2) / (2 * rest)) / math.sqrt(2 * math.pi * rest) * step
    law = sum(weight * discrete(BLUR, point) for weight, point in zip(weights, points, strict=True))
    expected = discrete(rest + BLUR)
    near = expected > 1e-12
    assert np.abs(law[near] / expected[near] - 1).max() < 1e-9


def mixed(with_unit: Any, without: Any, rate: float) -> Any:
    return rate * with_unit + (1 - rate) * without


@pytest.mark.parametrize("rate", [1.0, 0.1])
@pytest.mark.parametrize(("moved", "sigma"), [(3, 2.0), (10, 0.8), (7, 5.0)])
def test_the_exact_divergence_of_what_is_drawn_is_below_that_of_the_gaussian(
    moved: int, sigma: float, rate: float
) -> None:
    """One coordinate, enumerated: δ at the ε that the accountant names is at most δ, in both directions."""
    variance = drawn_variance(Fraction(sigma) ** 2 * moved**2)
    base, shifted = discrete(variance), discrete(variance, moved)
    sampled = mixed(shifted, base, rate)
    for delta in (1e-2, 1e-5, 1e-9):
        epsilon = epsilon_for_training(sigma, rate, 1, delta)
        for p, q in ((sampled, base), (base, sampled)):
            assert np.maximum(p - math.exp(epsilon) * q, 0).sum() <= delta * (1 + 1e-6)


def test_without_the_blur_it_would_not_hold() -> None:
    """The test above can fail: noise of the continuous variance alone is too little somewhere."""
    moved, sigma = 1, 0.5
    base, shifted = discrete(sigma**2 * moved**2), discrete(sigma**2 * moved**2, moved)
    excess = []
    for delta in (1e-1, 1e-2, 1e-3, 1e-4):
        epsilon = epsilon_for_training(sigma, 1, 1, delta)
        excess.append(np.maximum(shifted - math.exp(epsilon) * base, 0).sum() > delta)
    assert any(excess)


def test_the_slack_is_negligible_and_grows_with_everything() -> None:
    assert 0 < slack(1, 1, 1) < slack(2, 1, 1) < slack(2, 3, 1) < slack(2, 3, 4) < 1e-30
    assert slack(10**6, 10**7, 10**5) < 1e-12 * 1e6
    assert drawn_variance(Fraction(0)) == LEAST_SHARE
    assert drawn_variance(Fraction(2001, 2)) == 1005
