"""Mechanisms that break their claim, each in a way that real systems have. For the auditor's tests only.

They draw with `discreet.noise` where the noise itself is not what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from tests.attacks.auditor import Claim, Floats, Sampler

EPSILON: Final = 1.0
NO: Final = 0.0
NOT_ASKED: Final = -1.0


class Specimen(NamedTuple):
    """A broken mechanism with the neighbours that show it, and the samples that suffice."""

    name: str
    mechanism: Sampler
    d: Any
    d1: Any
    claim: Claim
    samples: int


def scaled(factor: float) -> Sampler:
    """Laplace noise of the wrong scale."""
    return lambda exact, n: exact + noise.laplace(factor / EPSILON, size=n)


def naive_float(exact: float, n: int) -> Floats:
    """Continuous Laplace noise in float64: the sum keeps the grain of the exact value (Mironov 2012)."""
    return np.asarray(exact + np.random.default_rng().laplace(0, 1 / EPSILON, n))


def sparse_vector(level: float, each: float | None, *, cutoff: int | None, values: bool = False) -> Sampler:
    """Sparse vectors with noise of scale `level` on the threshold 0 and of scale `each` on the numbers."""

    def answers(stream: Sequence[int], n: int) -> Floats:
        out = np.full((n, len(stream)), NOT_ASKED)
        threshold, found = noise.laplace(level, size=n), np.zeros(n, dtype=np.int64)
        for place, exact in enumerate(stream):
            asked = np.ones(n, dtype=bool) if cutoff is None else found < cutoff
            noisy = exact + (noise.laplace(each, size=n) if each else np.zeros(n, dtype=np.int64))
            above = noisy >= threshold
            yes = noisy + 1000.0 if values else 1.0
            out[:, place] = np.where(asked, np.where(above, yes, NO), NOT_ASKED)
            found += above & asked
        return out

    return answers


def noisy_max(scores: Sequence[int], n: int) -> NDArray[np.int64]:
    """Noise of scale 1/ε, though scores may move either way."""
    noisy = np.array(scores) + noise.laplace(1 / EPSILON, size=(n, len(scores)))
    return np.asarray(np.argmax(noisy + np.random.default_rng().random(noisy.shape), axis=1))


def noisy_max_value(scores: Sequence[int], n: int) -> NDArray[np.int64]:
    """The largest noisy score itself."""
    return np.asarray((np.array(scores) + noise.laplace(1 / EPSILON, size=(n, len(scores)))).max(axis=1))


def gaussian_without_root(exact: Sequence[int], n: int) -> NDArray[np.int64]:
    """σ = 3.73 is right for one cell at (1, 10⁻⁵); sixteen cells that move together need four times as much."""
    return np.asarray(np.array(exact) + noise.gaussian(3.73**2, size=(n, len(exact))))


def unclamped_sum(values: Sequence[int], n: int) -> NDArray[np.int64]:
    """Noise for values between 0 and 1, but nobody clamps them."""
    return np.asarray(sum(values) + noise.laplace(1 / EPSILON, size=n))


def key_leak(values: Sequence[str], n: int) -> NDArray[np.int64]:
    """A count for every key that is present: the shape of the answer says who is."""
    keys = sorted(set(values))
    counts = np.array([values.count(key) for key in keys]) + noise.laplace(1 / EPSILON, size=(n, len(keys)))
    return np.column_stack([np.full(n, len(keys)), counts[:, 0]])


def nan_leak(values: Sequence[float], n: int) -> Floats:
    """The mean of no numbers is NaN, with or without noise."""
    with np.errstate(invalid="ignore"):
        mean = np.float64(sum(values)) / len(values)
    return np.asarray(mean + noise.laplace(1 / EPSILON, size=n))


def overflowing_sum(values: Sequence[int], n: int) -> NDArray[np.int64]:
    """Summed in 32 bits, which wrap around."""
    exact = np.array(values, dtype=np.int32).sum(dtype=np.int32)
    return np.asarray(int(exact) + noise.laplace(1 / EPSILON, size=n))


ZEROS, MIXED = [0] * 10, [1] * 5 + [-1] * 5
PURE = Claim(EPSILON)

ZOO: Final = [
    Specimen("half the scale", scaled(0.5), 0, 1, PURE, 20_000),
    Specimen("scale 10 % too small", scaled(0.9), 0, 1, PURE, 200_000),
    Specimen("naive float Laplace", naive_float, 0.0, 1.0, PURE, 20_000),
    Specimen(
        "sparse vector 3: releases the numbers",
        sparse_vector(2, 2, cutoff=1, values=True),
        [-1] * 12 + [1],
        [0] * 13,
        PURE,
        200_000,
    ),
    Specimen(
        "sparse vector 4: noise does not grow with the cutoff",
        sparse_vector(4, 4 / 3, cutoff=5),
        ZEROS,
        MIXED,
        PURE,
        200_000,
    ),
    Specimen(
        "sparse vector 5: no noise on the numbers", sparse_vector(2, None, cutoff=None), ZEROS, MIXED, PURE, 20_000
    ),
    Specimen("sparse vector 6: no cutoff", sparse_vector(2, 2, cutoff=None), ZEROS, MIXED, PURE, 200_000),
    Specimen("noisy max with noise of scale 1/ε", noisy_max, [0] * 5, [1, -1, -1, -1, -1], PURE, 200_000),
    Specimen("noisy max that releases the value", noisy_max_value, [0] * 5, [1] * 5, PURE, 20_000),
    Specimen(
        "Gaussian on 16 cells without the root", gaussian_without_root, [0] * 16, [1] * 16, Claim(1, 1e-5), 200_000
    ),
    Specimen("unclamped sum", unclamped_sum, [1, 1], [1, 1, 5], PURE, 20_000),
    Specimen("key leak", key_leak, ["a", "a"], ["a", "a", "b"], PURE, 20_000),
    Specimen("NaN leak", nan_leak, [], [1.0], PURE, 20_000),
    Specimen("32-bit overflow", overflowing_sum, [2**31 - 1], [2**31 - 1, 1], PURE, 20_000),
]
