"""Randomised response: the value itself, or another one."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from discreet import noise
from discreet.exact import Number
from discreet.local.chances import MICRO, WHOLE, chance_of_odds, exp_below, ln_above
from discreet.local.core import FrequencyMechanism
from discreet.local.reports import Booleans, Bytes, Integers, packed, unpacked
from discreet.noise import Bits


class _Response(FrequencyMechanism):
    """The truth by a coin, else one of the others, each as likely.

    Theorem  A report speaks for the value that it names. ratio = p/q with q = (1 − p)/(k − 1).
    """

    @property
    @abstractmethod
    def chance(self) -> int:
        """Of the truth, in 2⁻⁵³."""

    @property
    def truth(self) -> Fraction:
        return Fraction(self.chance, WHOLE)

    @property
    def lie(self) -> Fraction:
        return (1 - self.truth) / (self.size - 1)

    @property
    def ratio(self) -> Fraction:
        return self.truth / self.lie

    @property
    def payload_bytes(self) -> int:
        return 4

    @property
    def chances(self) -> dict[str, int]:
        return {"chance": self.chance}

    def _randomised(self, exact: Integers, bits: Bits) -> Bytes:
        honest = noise.coins(self.chance, exact.size, bits=bits)
        shifts = 1 + noise.below(self.size - 1, exact.size, bits=bits)
        return packed(np.where(honest, exact, (exact + shifts) % self.size))

    def _is_valid(self, payloads: Bytes) -> Booleans:
        return unpacked(payloads) < np.uint64(self.size)

    def supports(self, payloads: Bytes) -> Booleans:
        named: Booleans = unpacked(payloads)[:, None] == np.arange(self.size, dtype=np.uint64)
        return named

    def _sums(self, payloads: Bytes) -> Integers:
        return np.bincount(unpacked(payloads).astype(np.int64), minlength=self.size)


class TwoCoins(_Response):
    """The survey of the lecture: heads, the truth; tails, what a second coin says. Exactly ln 3.

    The header has ln 3 rounded up to millionths.

    >>> TwoCoins().ratio
    Fraction(3, 1)
    """

    name: ClassVar = "two-coins"
    code: ClassVar = 1

    def __init__(self) -> None:
        above = ln_above(Fraction(3))
        super().__init__(2, Fraction(math.ceil(above * MICRO), MICRO))

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:  # noqa: ARG003  (there are none to choose)
        return cls()

    @property
    def chance(self) -> int:
        return 3 * WHOLE // 4

    def __repr__(self) -> str:
        return "TwoCoins()"


class KaryResponse(_Response):
    """k-ary randomised response: the truth with probability e^ε/(e^ε + k − 1). Best where k < 3·e^ε + 2.

    Source   Warner 1965; Kairouz, Oh & Viswanath 2014.
    """

    name: ClassVar = "k-ary"
    code: ClassVar = 2

    @cached_property
    def chance(self) -> int:
        return chance_of_odds(exp_below(self.epsilon) / (self.size - 1))


def warner(epsilon: Number) -> KaryResponse:
    """The bit with the least variance that is ε-DP: k-ary response of two values."""
    return KaryResponse(2, epsilon)
