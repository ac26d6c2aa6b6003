"""Subset selection: a set of values that holds the true one more often than any other."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet import noise
from discreet.local.chances import WHOLE, chance_of_odds, exp_below, odds
from discreet.local.core import FrequencyMechanism, bits_of, is_ended
from discreet.local.reports import Booleans, Bytes, Integers
from discreet.noise import Bits


class SubsetSelection(FrequencyMechanism):
    """ω ≈ k/(e^ε + 1) values, the true one among them by a coin, the others uniform: the least error there is.

    Theorem  A report speaks for the values in its set. ratio = p(k − ω)/((1 − p)ω).
    Proof    A set with the value has probability p/C(k−1, ω−1), one without it (1 − p)/C(k−1, ω), and
             C(k−1, ω)/C(k−1, ω−1) = (k − ω)/ω.
    Source   Ye & Barg 2018; Wang et al. 2016.
    """

    name: ClassVar = "subset-selection"
    code: ClassVar = 7

    @property
    def chosen(self) -> int:
        """ω."""
        return max(1, round(self.size / (math.exp(self.epsilon) + 1)))

    @cached_property
    def chance(self) -> int:
        return chance_of_odds(exp_below(self.epsilon) * self.chosen / (self.size - self.chosen))

    @property
    def truth(self) -> Fraction:
        return Fraction(self.chance, WHOLE)

    @property
    def lie(self) -> Fraction:
        return (self.chosen - self.truth) / (self.size - 1)

    @property
    def ratio(self) -> Fraction:
        return odds(self.chance) * (self.size - self.chosen) / self.chosen

    @property
    def payload_bytes(self) -> int:
        return -(-self.size // 8)

    @property
    def chances(self) -> dict[str, int]:
        return {"chance": self.chance, "chosen": self.chosen}

    def _randomised(self, exact: Integers, bits: Bits) -> Bytes:
        within = noise.coins(self.chance, exact.size, bits=bits)
        cells = np.empty((exact.size, self.size), dtype=np.bool_)
        for side in (True, False):
            rows = np.flatnonzero(within == side)
            cells[rows, :-1] = noise.subsets(self.size - 1, self.chosen - side, rows.size, bits=bits)
        # the others stand in the columns but the last; who has the true one's column goes there instead
        everyone = np.arange(exact.size)
        cells[:, -1] = cells[everyone, exact]
        cells[everyone, exact] = within
        return np.packbits(cells, axis=1, bitorder="little")

    def _is_valid(self, payloads: Bytes) -> Booleans:
        full: Booleans = np.bitwise_count(payloads).sum(axis=1, dtype=np.int64) == self.chosen
        return is_ended(payloads, self.size) & full

    def supports(self, payloads: Bytes) -> Booleans:
        return bits_of(payloads, self.size)
