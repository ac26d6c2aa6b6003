"""Unary encoding: a bit for each value, of which one is set, and each of them randomised."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet import noise
from discreet.local.chances import WHOLE, chance_of_odds, exp_below, odds
from discreet.local.core import FrequencyMechanism, bits_of, is_ended
from discreet.local.reports import Booleans, Bytes, Integers
from discreet.noise import Bits


class _Unary(FrequencyMechanism):
    """Bit v is set with chance `one`, each other with chance `zero`.

    Theorem  A report speaks for the values whose bits are set. ratio = p(1 − q)/(q(1 − p)).
    Proof    P(report | v)/Π over all bits of P(bit | 0) is p/q if bit v is set and (1 − p)/(1 − q) if not: the first is
             p(1 − q)/(q(1 − p)) times the second.
    """

    @property
    @abstractmethod
    def one(self) -> int:
        """The chance of the value's own bit."""

    @property
    @abstractmethod
    def zero(self) -> int:
        """The chance of every other bit."""

    @property
    def truth(self) -> Fraction:
        return Fraction(self.one, WHOLE)

    @property
    def lie(self) -> Fraction:
        return Fraction(self.zero, WHOLE)

    @property
    def ratio(self) -> Fraction:
        return odds(self.one) / odds(self.zero)

    @property
    def payload_bytes(self) -> int:
        return -(-self.size // 8)

    @property
    def chances(self) -> dict[str, int]:
        return {"one": self.one, "zero": self.zero}

    def _randomised(self, exact: Integers, bits: Bits) -> Bytes:
        cells = noise.coins(self.zero, (exact.size, self.size), bits=bits)
        cells[np.arange(exact.size), exact] = noise.coins(self.one, exact.size, bits=bits)
        return np.packbits(cells, axis=1, bitorder="little")

    def _is_valid(self, payloads: Bytes) -> Booleans:
        return is_ended(payloads, self.size)

    def supports(self, payloads: Bytes) -> Booleans:
        return bits_of(payloads, self.size)


class SymmetricUnary(_Unary):
    """Each bit tells the truth with odds e^(ε/2) (basic RAPPOR).

    Source   Erlingsson, Pihur & Korolova 2014.
    """

    name: ClassVar = "symmetric-unary"
    code: ClassVar = 3

    @cached_property
    def one(self) -> int:
        return chance_of_odds(exp_below(self.epsilon / 2))

    @property
    def zero(self) -> int:
        return WHOLE - self.one


class OptimizedUnary(_Unary):
    """The one is set by a fair coin, each zero with probability 1/(e^ε + 1): the least variance of rare values.

    Source   Wang, Blocki, Li & Jha 2017.
    """

    name: ClassVar = "optimized-unary"
    code: ClassVar = 4

    @property
    def one(self) -> int:
        return WHOLE // 2

    @cached_property
    def zero(self) -> int:
        return WHOLE - chance_of_odds(exp_below(self.epsilon))
