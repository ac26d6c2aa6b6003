"""What a fit costs, and the one place where exact numbers become private ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NoReturn, TypeVar

import numpy as np

from discreet import noise
from discreet.accounting import Concentrated, Pure, rho_for
from discreet.accounting.losses import Sensitivity
from discreet.accounting.turns import Turns
from discreet.errors import Refused
from discreet.exact import Number
from discreet.exact import epsilon as amount
from discreet.learn.progress import Watch
from discreet.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip
from discreet.mechanisms.arrays import Integers
from discreet.noise import SYSTEM, Bits
from discreet.sql.cost import most_accurate

Loss = Pure | Concentrated
Additive = Laplace | Gaussian
Step = TypeVar("Step")
WHOLE: Final = Fraction(1)
FINEST: Final = 20
"""Coordinates are at most so many bits fine: 2³² rows of them still add up exactly in float64."""
WIDEST: Final = 38
"""Noise is at most so many bits wide, well within what the samplers draw."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a fit is bought for: ε of Laplace noise, or ρ of whichever noise is more accurate."""

    loss: Loss

    @classmethod
    def read(cls, *, epsilon: Number | None = None, delta: Number | None = None, rho: Number | None = None) -> Cost:
        """ε alone is pure; ε with δ is the largest ρ that implies (ε, δ)-DP; or ρ itself."""
        if epsilon is None and rho is None:
            raise Refused("cost-missing", "the fit has no cost", "give epsilon, epsilon with delta, or rho")
        if rho is not None and (epsilon is not None or delta is not None):
            raise Refused("cost-invalid", "rho is a cost of its own", "give rho alone, or epsilon (with delta)")
        if rho is not None:
            return cls(Concentrated(amount(rho, "rho")))
        if delta is None:
            return cls(Pure(amount(epsilon)))
        return cls(Concentrated(amount(rho_for(amount(epsilon), delta), "the rho of epsilon and delta")))

    @property
    def pure(self) -> bool:
        return isinstance(self.loss, Pure)

    def part(self, share: Fraction) -> Cost:
        """A share of it."""
        if isinstance(self.loss, Pure):
            return Cost(Pure(self.loss.epsilon * share))
        return Cost(Concentrated(self.loss.rho * share))

    def noise(self, sensitivity: Sensitivity, share: Fraction = WHOLE) -> Additive:
        """The noise that a share of the cost buys for a vector of this sensitivity."""
        if isinstance(self.loss, Pure):
            return Laplace(self.loss.epsilon * share, sensitivity=sensitivity.l1)
        return most_accurate(sensitivity, self.loss.rho * share)

    def deviation(self, sensitivity: Sensitivity, share: Fraction = WHOLE) -> float:
        """About the standard deviation of that noise, where the vector is in units."""
        mechanism = self.noise(sensitivity, share)
        return float(mechanism.spread) * (math.sqrt(2) if isinstance(mechanism, Laplace) else 1)

    def fineness(self, sensitivity: Sensitivity, share: Fraction = WHOLE) -> int:
        """How many steps a unit has: so many that rounding disappears, yet not so many that the noise gets too wide.

        `sensitivity` is that of the vector in units.
        """
        try:
            width = math.ceil(math.log2(float(self.noise(sensitivity, share).spread)))
        except ValueError:  # a share of the cost is below all that is accepted
            width = WIDEST
        if width >= WIDEST:
            raise Refused("cost-invalid", "the noise would be too large to draw", "pay more for the fit")
        return int(2 ** min(FINEST, WIDEST - width))


class Allowance:
    """What one fit may spend, and the bits that its charge gave: nothing else in a fit is random.

    Theorem  All releases of a fit together cost at most its cost, whatever each of them does with earlier ones.
    Assumes  That shares are paid one after the other: there is a lock for threads, and neither copy nor fork pays.
    Proof    Shares of ε add up, and so do shares of ρ, adaptively (Rogers et al. 2016; Feldman & Zrnic 2021); what
             would make their sum exceed 1 is not released.
    """

    def __init__(self, cost: Cost, bits: Bits, watch: Watch | None = None) -> None:
        self.cost = cost
        self._bits = bits
        self._left = WHOLE
        self._watch = watch
        self._turns = Turns("what a fit may spend")

    def release(self, exact: Integers, sensitivity: Sensitivity, share: Fraction = WHOLE) -> Integers:
        """The integers, as one vector that a row can move by `sensitivity`, plus fresh noise."""
        self._pay(share)
        values = blur(self.cost.noise(sensitivity, share), sensitivity, exact.ravel(), self._bits)
        return values.reshape(exact.shape)

    def choose(self, exact: Integers, most: int, share: Fraction = WHOLE) -> int:
        """The place of about the largest score; a row raises each of them by `most` at most, and lowers none."""
        self._pay(share)
        loss = self.cost.loss
        if isinstance(loss, Pure):
            return pick(PermuteAndFlip(loss.epsilon * share, sensitivity=most, monotone=True), exact, self._bits)
        return pick(Exponential(rho=loss.rho * share, sensitivity=most, monotone=True), exact, self._bits)

    def part(self, share: Fraction) -> Allowance:
        """A share of the cost, for a fit within this one."""
        self._pay(share)
        return Allowance(self.cost.part(share), self._bits)

    def beside(self) -> Allowance:
        """As much again, for rows that this allowance never sees: the larger of the two losses is that of both."""
        return Allowance(self.cost, self._bits)

    def _pay(self, share: Fraction) -> None:
        if share < 0:
            raise RuntimeError("a share of a cost is not below 0")
        with self._turns:
            if share > self._left:
                raise RuntimeError("the releases of this fit cost more than its cost: their shares must add up to 1")
            self._left -= share

    def __reduce__(self) -> NoReturn:
        raise TypeError("what a fit may spend cannot be copied or pickled")

    def watched(self, steps: Iterable[Step], total: int, what: str) -> Iterable[Step]:
        """The same steps, shown to who wants to see how far a fit is; how many they are must not be private."""
        return steps if self._watch is None else self._watch(steps, total, what)

    def below(self, limit: int, size: int | tuple[int, ...]) -> Integers:
        """Uniform integers, for what depends on released values only."""
        return noise.below(limit, size, bits=self._bits)

    def seed(self) -> int:
        """A seed for libraries that post-process released values: nothing private may be drawn from it."""
        return noise.below(2**32, bits=self._bits)


def blur(mechanism: Additive, sensitivity: Sensitivity, exact: Integers, bits: Bits) -> Integers:  # noqa: ARG001
    """The exact integers plus fresh noise, as one vector."""
    return np.asarray(mechanism.release(exact, bits), dtype=np.int64)


def pick(mechanism: PermuteAndFlip | Exponential, exact: Integers, bits: Bits) -> int:
    """The place of about the largest score."""
    return mechanism.choose(exact, bits)


@contextmanager
def charged(ledger: Any, loss: Loss, why: str) -> Iterator[Bits]:
    """The bits of a charge that is on disk; without a ledger, the operating system's."""
    if ledger is None or loss == type(loss)(0):
        yield SYSTEM
        return
    with ledger.charge(loss, why=why) as bits:
        yield bits


class LostLedger:
    """Stands for the ledger of an estimator that was pickled: fitting it again must not be free by accident."""

    def charge(self, *_: object, **__: object) -> NoReturn:
        raise Refused(
            "ledger-lost",
            "the estimator was pickled, and its ledger stayed behind",
            "write set_params(ledger=…), or ledger=None if you account for it yourself",
        )

    def __repr__(self) -> str:
        return "LostLedger()"
