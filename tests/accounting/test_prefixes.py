"""How far ranks of a tree of noisy counts stray: by enumeration of small trees, and by drawing large ones."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import noise as sampler
from discreet.accounting.distributions import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.accounting.prefixes import _sum_beyond, highest_rank
from tests.mechanisms.helpers import too_many

NOISES: list[Noise] = [DiscreteLaplace(Fraction(1)), DiscreteLaplace(Fraction(3)), DiscreteGaussian(Fraction(6))]


def law(noise: Noise, cut: float) -> dict[int, float]:
    found: dict[int, float] = {}
    z = 0
    while (mass := float(noise.tail(z)[0] - noise.tail(z + 1)[0])) > cut:
        found[z] = found[-z] = mass
        z += 1
    return found


def largest(noise: Noise, branch: int, levels: int) -> dict[int, float]:
    """The distribution of the largest error of a rank: every noise of every node, one node after the other."""
    inside = {0: 1.0}
    for _ in range(levels):
        node = inside
        for _ in range(branch - 1):
            more: dict[int, float] = {}
            for (m, p), (z, q), (t, r) in itertools.product(inside.items(), law(noise, 1e-3).items(), node.items()):
                more[max(m, z + t)] = more.get(max(m, z + t), 0.0) + p * q * r
            node = {value: mass for value, mass in more.items() if mass > 1e-6}
        inside = node
    return inside


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize(("branch", "levels"), [(2, 1), (3, 1), (2, 2)])
def test_small_trees_stray_as_far_as_they_do(noise: Noise, branch: int, levels: int) -> None:
    exact = largest(noise, branch, levels)
    for miss in (0.3, 0.05):
        bound = highest_rank(noise, branch, levels, miss)
        assert math.fsum(mass for value, mass in exact.items() if value > bound) <= miss
        tighter = bound - (1.5 + 2 * levels * (branch - 1) if isinstance(noise, DiscreteGaussian) else 2)
        assert math.fsum(mass for value, mass in exact.items() if value > tighter) > 0.5 * miss


@pytest.mark.parametrize("scale", [4, 400])
def test_large_trees_stray_no_further(scale: int) -> None:
    """200 trees of 16 + 16² + 16³ counts, both sides; false alarm ≤ FALSE_ALARM."""
    bound = highest_rank(DiscreteLaplace(Fraction(scale)), 16, 3, 0.1)
    over = 0
    for _ in range(200):
        ranks = np.zeros(16**3)
        for level in range(1, 4):
            counts = sampler.laplace(Fraction(scale), 16**level).reshape(-1, 16)
            ranks += np.repeat((np.cumsum(counts, axis=1) - counts).ravel(), 16 ** (3 - level))
        over += bool(ranks.max() > bound)
    assert not too_many(over, 200, 0.1)


def test_a_rank_of_a_tree_of_one_cell_is_exact() -> None:
    assert highest_rank(NOISES[0], 1, 3, 0.05) == 0


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_what_floats_cannot_tell_is_bounded_by_all_sums(noise: Noise) -> None:
    """By the exact distribution of a sum of 60, the power of the noise's Fourier transform; and it goes on growing."""
    length = 2**14
    masses = np.zeros(length)
    for z, mass in law(noise, 1e-40).items():
        masses[z % length] = mass
    sums = np.fft.irfft(np.fft.rfft(masses) ** 60, length)
    outside = np.concatenate([sums[: length // 2], np.zeros(1)])
    for miss in (1e-3, 1e-6):
        bound = _sum_beyond(noise, 60, miss)
        assert outside[math.ceil(bound) :].sum() <= miss * (1 + 1e-6)
        assert outside[math.ceil(bound / math.sqrt(2)) :].sum() > miss
    errors = [highest_rank(noise, 16, 4, miss) for miss in (0.1, 1e-4, 1e-7, 1e-12, 1e-30)]
    assert errors == sorted(errors)
    assert all(map(math.isfinite, errors))
