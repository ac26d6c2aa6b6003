"""Optimised local hashing: each report brings a hash function of its own, and names a hash."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.local.chances import WHOLE, chance_of_odds, exp_below, odds
from discreet.local.core import FrequencyMechanism
from discreet.local.reports import Booleans, Bytes, Integers, packed, unpacked
from discreet.noise import Bits

Words = NDArray[np.uint64]
MOST_BITS: Final = 16
"""Of a hash."""
BLOCK: Final = 2**14


def hash_bits(epsilon: Fraction) -> int:
    """The number of bits of hashes with the least variance: about e^ε + 1 hashes, here a power of two.

    The variance of rare values is (e^ε + g − 1)²/((e^ε − 1)²·(g − 1)), least at g = e^ε + 1. A power of two costs 8 %
    of it at most (at ε = 0.55; 3 % where ε is large), and gives hashes that are exactly independent in pairs.
    """
    grown = math.exp(epsilon)
    return min(range(1, MOST_BITS + 1), key=lambda b: (grown + 2**b - 1) ** 2 / (2**b - 1))


class Hashed:
    """A response that is a hash of `width` bits: the value's own by a coin, else another.

    Theorem  The hash h(x) = ⌊((a·x + b) mod 2⁶⁴)/2^(64 − width)⌋ of a random a and b is uniform, and for two values
             x, y < 2^(65 − width) the pair (h(x), h(y)) is too. So a report speaks for other values with probability
             exactly 2^−width.
    Source   Dietzfelbinger 1996 (multiply, add, shift).
    """

    def __init__(self, epsilon: Fraction) -> None:
        self.width = hash_bits(epsilon)
        self.chance = chance_of_odds(exp_below(epsilon) / (2**self.width - 1))

    @property
    def truth(self) -> Fraction:
        return Fraction(self.chance, WHOLE)

    @property
    def lie(self) -> Fraction:
        return Fraction(1, 2**self.width)

    @property
    def ratio(self) -> Fraction:
        return odds(self.chance) * (int(2**self.width) - 1)

    @property
    def payload_bytes(self) -> int:
        """a and b, 8 bytes each, and the hash in 4."""
        return 20

    def randomised(self, exact: Words, bits: Bits) -> Bytes:
        seeds = bits.words(2 * exact.size).reshape(exact.size, 2)
        hashes = ((seeds[:, 0] * exact + seeds[:, 1]) >> np.uint64(64 - self.width)).astype(np.int64)
        honest = noise.coins(self.chance, exact.size, bits=bits)
        shifts = 1 + noise.below(2**self.width - 1, exact.size, bits=bits)
        named = np.where(honest, hashes, (hashes + shifts) % 2**self.width)
        return np.hstack([seeds.astype("<u8").view(np.uint8).reshape(exact.size, 16), packed(named)])

    def is_valid(self, payloads: Bytes) -> Booleans:
        return unpacked(payloads, 16) < np.uint64(2**self.width)

    def counts(self, payloads: Bytes, values: Words) -> Integers:
        """How many of the payloads speak for each value."""
        counts = np.zeros(len(values), dtype=np.int64)
        for start in range(0, len(payloads), BLOCK):
            factors, offsets = self._lines(payloads[start : start + BLOCK])
            sums, hits = np.empty_like(factors), np.empty(len(factors), dtype=np.bool_)
            for index, value in enumerate(values):
                np.multiply(factors, value, out=sums)
                np.add(sums, offsets, out=sums)
                np.less(sums, self._limit, out=hits)
                counts[index] += np.count_nonzero(hits)
        return counts

    def supports(self, payloads: Bytes, values: Words) -> Booleans:
        factors, offsets = self._lines(payloads)
        return factors[:, None] * values + offsets[:, None] < self._limit

    @property
    def _limit(self) -> np.uint64:
        return np.uint64(2 ** (64 - self.width))

    def _lines(self, payloads: Bytes) -> tuple[Words, Words]:
        """a, and b less the hash that was named: the hash of x is that where a·x + b' lies below 2^(64 − width)."""
        named = unpacked(payloads, 16) << np.uint64(64 - self.width)
        return unpacked(payloads, 0, 8), unpacked(payloads, 8, 8) - named


class LocalHashing(FrequencyMechanism):
    """As exact as unary encoding, in 30 bytes for any domain; the collector's work grows with people times values.

    Theorem  A report speaks for the values that its function hashes to what it names. ratio = p·(g − 1)/(1 − p).
    Proof    a and b are drawn without looking at the value; given them, the hash that is named is k-ary randomised
             response of g = 2^width values.
    Source   Wang, Blocki, Li & Jha 2017.
    """

    name: ClassVar = "local-hashing"
    code: ClassVar = 5

    @cached_property
    def hashed(self) -> Hashed:
        return Hashed(self.epsilon)

    @property
    def truth(self) -> Fraction:
        return self.hashed.truth

    @property
    def lie(self) -> Fraction:
        return self.hashed.lie

    @property
    def ratio(self) -> Fraction:
        return self.hashed.ratio

    @property
    def payload_bytes(self) -> int:
        return self.hashed.payload_bytes

    @property
    def chances(self) -> dict[str, int]:
        return {"chance": self.hashed.chance, "width": self.hashed.width}

    def _randomised(self, exact: Integers, bits: Bits) -> Bytes:
        return self.hashed.randomised(exact.astype(np.uint64), bits)

    def _is_valid(self, payloads: Bytes) -> Booleans:
        return self.hashed.is_valid(payloads)

    def supports(self, payloads: Bytes) -> Booleans:
        return self.hashed.supports(payloads, np.arange(self.size, dtype=np.uint64))

    def _sums(self, payloads: Bytes) -> Integers:
        return self.hashed.counts(payloads, np.arange(self.size, dtype=np.uint64))
