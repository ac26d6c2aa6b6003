"""Invented data: numbers from a hash of a seed and of what they are for, alike on every machine and never secret.

Noise is not made here: that comes from `discreet.noise`, which has no seed.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SEED: Final = 1
"""Of experiments, where nobody chose one."""


def uniform(purpose: str, count: int) -> Floats:
    """Numbers above 0 and below 1 that depend on nothing but what they are for.

    >>> uniform("an example", 2).round(3).tolist()
    [0.722, 0.108]
    """
    stream = hashlib.shake_256(purpose.encode()).digest(8 * count)
    return ((np.frombuffer(stream, dtype="<u8") >> np.uint64(12)).astype(np.float64) + 0.5) / 2**52


def below(purpose: str, limit: int, count: int) -> Integers:
    """Integers from 0 to limit − 1, all as likely."""
    return (uniform(purpose, count) * limit).astype(np.int64)


def order(purpose: str, count: int) -> Integers:
    """0 to count − 1 in some order, all as likely."""
    return np.argsort(uniform(purpose, count), kind="stable").astype(np.int64)


def chosen(purpose: str, weights: Floats) -> Integers:
    """For each row of weights the number of one of them, as likely as it is heavy."""
    heaps = np.cumsum(weights, axis=1)
    goal = uniform(purpose, len(weights)) * heaps[:, -1]
    return np.asarray((heaps <= goal[:, None]).sum(axis=1), dtype=np.int64)
