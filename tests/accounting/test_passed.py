"""Intervals of what was seen because it passed hold as often as they say: exactly, for every number there may be."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.accounting.distributions import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.accounting.passed import interval

MISS = Fraction(1, 20)
CASES: list[tuple[Noise, int]] = [
    (DiscreteLaplace(Fraction(1, 30)), 2),
    (DiscreteLaplace(Fraction(1, 3)), 4),
    (DiscreteLaplace(Fraction(2)), 20),
    (DiscreteLaplace(Fraction(5)), 70),
    (DiscreteGaussian(Fraction(1, 4)), 3),
    (DiscreteGaussian(Fraction(4)), 12),
    (DiscreteGaussian(Fraction(90)), 55),
]


def masses(noise: Noise, least: int) -> dict[int, float]:
    """The probabilities of noise from a value on, given that it is no less."""
    if isinstance(noise, DiscreteLaplace):
        law = {z: math.exp(-abs(z) / float(noise.scale)) for z in range(least, max(least, 0) + 200)}
    else:
        square = 2 * float(noise.spread)  # what the first of them has is 1: far out nothing is left otherwise
        nearest = max(least, 0)
        law = {z: math.exp((nearest**2 - z * z) / square) for z in range(least, nearest + 200)}
    whole = math.fsum(law.values())
    return {z: mass / whole for z, mass in law.items()}


@pytest.mark.parametrize("miss", [MISS, Fraction(1, 1000)])
@pytest.mark.parametrize(("noise", "threshold"), CASES, ids=str)
def test_whoever_passes_is_missed_no_more_often_than_asked(noise: Noise, threshold: int, miss: Fraction) -> None:
    """Numbers that pass by luck alone, numbers at the threshold, and numbers far above it."""
    known: dict[int, tuple[int, int]] = {}
    for n in (*range(1, 2 * threshold, 1 + threshold // 12), 3 * threshold, 5 * threshold):
        missed = 0.0
        for z, mass in masses(noise, threshold - n).items():
            if mass > 1e-9:
                low, high = known.setdefault(n + z, interval(n + z, threshold, noise, miss))
                missed += mass * (not low <= n <= high)
        assert missed <= miss, n


@pytest.mark.parametrize(("noise", "threshold"), CASES, ids=str)
def test_near_the_threshold_it_reaches_down_and_far_above_it_is_the_usual_one(noise: Noise, threshold: int) -> None:
    at = [interval(value, threshold, noise, MISS) for value in range(threshold, 9 * threshold)]
    lows, highs = zip(*at, strict=True)
    assert lows[0] == 1
    usual = noise.width(1 - MISS)
    for value, (low, high) in zip(range(threshold, 9 * threshold), at, strict=True):
        assert 1 <= low <= value <= high <= value + usual + 1
    assert 9 * threshold - 1 - lows[-1] in (usual, usual + 1)
    assert highs[-1] - 9 * threshold + 1 in (usual, usual + 1)


def test_what_did_not_pass_is_as_little_known_as_what_just_did() -> None:
    """Where an owner switches the noise off, counts below the threshold are shown as well."""
    noise = DiscreteGaussian(Fraction(4))
    assert interval(3, 12, noise, MISS)[0] == 1
    assert interval(3, 12, noise, MISS)[1] >= 3
