"""Hadamard response: the index of a column where the value's row of Hadamard's matrix is +1."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet import noise
from discreet.local.chances import WHOLE, chance_of_odds, exp_below, odds
from discreet.local.core import FrequencyMechanism
from discreet.local.reports import Booleans, Bytes, Integers, packed, unpacked
from discreet.noise import Bits


class HadamardResponse(FrequencyMechanism):
    """14 bytes for any domain, and a collector who works for milliseconds; more variance than hashing where ε is large.

    Value v has row v + 1 of the matrix of K = 2^⌈log₂(k + 1)⌉ rows: column j is +1 where (v + 1) & j has an even number
    of bits. A coin of odds e^ε says whether a uniform column with +1 or one with −1 is named.

    Theorem  A report speaks for the values whose rows have +1 in its column. ratio = p/(1 − p), and q = ½ exactly.
    Proof    Half of the columns of every row but the first are +1, so a column is named with probability 2p/K or
             2(1 − p)/K. Two such rows agree in half of the columns, so another's is +1 in half of those named.
    Source   Acharya, Sun & Zhang 2019.
    """

    name: ClassVar = "hadamard"
    code: ClassVar = 6

    @cached_property
    def chance(self) -> int:
        return chance_of_odds(exp_below(self.epsilon))

    @property
    def width(self) -> int:
        """log₂ K."""
        return self.size.bit_length()

    @property
    def truth(self) -> Fraction:
        return Fraction(self.chance, WHOLE)

    @property
    def lie(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def ratio(self) -> Fraction:
        return odds(self.chance)

    @property
    def payload_bytes(self) -> int:
        return 4

    @property
    def chances(self) -> dict[str, int]:
        return {"chance": self.chance, "width": self.width}

    def _randomised(self, exact: Integers, bits: Bits) -> Bytes:
        columns = noise.below(2**self.width, exact.size, bits=bits)
        wanted = noise.coins(self.chance, exact.size, bits=bits)
        rows = exact + 1
        even = np.bitwise_count(rows & columns) % 2 == 0
        # flipping the lowest bit of the row's number leads from the columns with +1 to those with −1, one to one
        return packed(np.where(even == wanted, columns, columns ^ (rows & -rows)))

    def _is_valid(self, payloads: Bytes) -> Booleans:
        return unpacked(payloads) < np.uint64(2**self.width)

    def supports(self, payloads: Bytes) -> Booleans:
        columns = unpacked(payloads).astype(np.int64)
        odd: Booleans = (np.bitwise_count(columns[:, None] & np.arange(1, self.size + 1)) & 1).view(np.bool_)
        return ~odd

    def _sums(self, payloads: Bytes) -> Integers:
        """By the fast Walsh–Hadamard transform: Σ ± = 2C − n."""
        named = np.bincount(unpacked(payloads).astype(np.int64), minlength=2**self.width)
        sums = _transformed(named)[1 : self.size + 1]
        return (len(payloads) + sums) // 2


def _transformed(values: Integers) -> Integers:
    half = 1
    while half < len(values):
        pairs = values.reshape(-1, 2, half)
        values = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return values
