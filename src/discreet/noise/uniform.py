"""Uniform integers and permutations, exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.noise.bits import Bits, Words

Integers = NDArray[np.int64]


def below(bits: Bits, limits: Integers) -> Integers:
    """For each limit n ≥ 1 an integer uniform on 0 … n − 1.

    Proof   Words masked to the bit length of n − 1 are uniform below a power of two; those ≥ n are thrown away and
            drawn again, which leaves the rest uniform. More than half are kept.
    """
    masks = _masks((limits - 1).view(np.uint64))
    out = np.empty(limits.shape, dtype=np.int64)
    todo = np.arange(limits.size)
    while todo.size:
        drawn = (bits.words(todo.size) & masks[todo]).view(np.int64)
        accepted = drawn < limits[todo]
        out[todo[accepted]] = drawn[accepted]
        todo = todo[~accepted]
    return out


def below_scalar(bits: Bits, limit: int) -> int:
    """An integer uniform on 0 … limit − 1, for a limit of any size."""
    width = (limit - 1).bit_length()
    while True:
        drawn = bits.integer(width)
        if drawn < limit:
            return drawn


def permutation(bits: Bits, count: int) -> Integers:
    """A uniform permutation of 0 … count − 1.

    Proof   Given that `count` independent words are distinct, each order of them is equally likely; the order is read
            off by sorting. Words that are not all distinct are thrown away (seldom: about count²/2⁶⁵).
    """
    while True:
        keys = bits.words(count)
        order = np.argsort(keys)
        ranked = keys[order]
        if not np.any(ranked[1:] == ranked[:-1]):
            return order.astype(np.int64)


def _masks(values: Words) -> Words:
    """The smallest 2ᵏ − 1 that covers each value, by integer operations only."""
    for shift in (1, 2, 4, 8, 16, 32):
        values = values | (values >> np.uint64(shift))
    return values
