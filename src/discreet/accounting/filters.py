"""Budgets that hold while prices are chosen adaptively.

Theorem  However the analyst picks each question and price after seeing all earlier answers, if a release is made only
         when the filter admits its loss, all releases together are ε-DP (PureFilter), respectively δ-approximate
         ρ-zCDP, hence (epsilon, conversion + δ)-DP (ConcentratedFilter).
Source   Rogers, Roth, Ullman & Vadhan 2016; Feldman & Zrnic 2021; Whitehouse, Ramdas, Rogers & Wu 2023.

Amounts are integers in units of 10⁻²⁴: charges round up, totals and what remains round down, and sums are exact. A
filter is a value: `admit` gives the next one and changes nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Self

from discreet.accounting.conversion import rho_of_epsilon
from discreet.accounting.losses import Concentrated, Loss, Pure
from discreet.accounting.rounding import float_down, float_up
from discreet.errors import BudgetExhausted, Refused
from discreet.exact import Number, probability
from discreet.exact import epsilon as price

UNITS: Final = 10**24


def charged(amount: Fraction) -> int:
    """An amount to be spent, in units, rounded up."""
    return math.ceil(amount * UNITS)


def granted(amount: Fraction) -> int:
    """An amount that may be spent, in units, rounded down."""
    return math.floor(amount * UNITS)


@dataclass(frozen=True, slots=True)
class PureFilter:
    """Σε ≤ ε."""

    total: int
    spent: int = 0

    @classmethod
    def of(cls, epsilon: Number) -> PureFilter:
        return cls(granted(price(epsilon)))

    def admit(self, loss: Loss) -> Self:
        """The filter after the loss is spent; `BudgetExhausted` if it does not fit."""
        if not isinstance(loss, Pure):
            raise Refused(
                "price-invalid",
                f"{loss!r} cannot be paid from a pure budget",
                "use Laplace noise or a pure mechanism, or give the budget a delta",
            )
        spent = self.spent + charged(loss.epsilon)
        if spent > self.total:
            left = self.left
            raise BudgetExhausted(
                f"the price is epsilon {float_up(loss.epsilon):g} and {_shown(left)} is left",
                _offer(left, f"ask for epsilon {_shown(left)} or less"),
            )
        return replace(self, spent=spent)

    @property
    def units(self) -> tuple[int, ...]:
        """What is spent, as the ledger writes it down."""
        return (self.spent,)

    @property
    def left(self) -> int:
        return self.total - self.spent

    @property
    def remaining(self) -> Pure:
        return Pure(Fraction(self.total - self.spent, UNITS))


@dataclass(frozen=True, slots=True)
class ConcentratedFilter:
    """Σρ ≤ ρ and Σδ ≤ δ."""

    rho: int
    delta: int
    spent_rho: int = 0
    spent_delta: int = 0

    @classmethod
    def of(cls, epsilon: Number, delta: Number) -> ConcentratedFilter:
        """The budget that guarantees (ε, δ)-DP: half of δ pays for the conversion, half is there for key selection."""
        half = probability(delta, "delta") / 2
        return cls(granted(rho_of_epsilon(price(epsilon), half)), granted(half))

    def admit(self, loss: Loss) -> Self:
        """The filter after the loss is spent; `BudgetExhausted` if it does not fit."""
        part = loss.concentrated()
        rho = self.spent_rho + charged(part.rho)
        delta = self.spent_delta + charged(part.delta)
        if rho > self.rho:
            left = self.left
            most = math.isqrt(2 * left * UNITS)
            raise BudgetExhausted(
                f"the price is rho {float_up(part.rho):g} and {_shown(left)} is left",
                _offer(left, f"ask for rho {_shown(left)} (epsilon {_shown(most)}) or less"),
            )
        if delta > self.delta:
            left = self.delta - self.spent_delta
            raise BudgetExhausted(
                f"the price is delta {float_up(part.delta):g} and {_shown(left)} is left",
                "group by declared keys, which cost no delta" + (f", or use {_shown(left)} or less" if left else ""),
            )
        return replace(self, spent_rho=rho, spent_delta=delta)

    @property
    def units(self) -> tuple[int, ...]:
        """What is spent, as the ledger writes it down."""
        return (self.spent_rho, self.spent_delta)

    @property
    def left(self) -> int:
        return self.rho - self.spent_rho

    @property
    def remaining(self) -> Concentrated:
        return Concentrated(Fraction(self.rho - self.spent_rho, UNITS), Fraction(self.delta - self.spent_delta, UNITS))


Filter = PureFilter | ConcentratedFilter


def _shown(units: int) -> str:
    """Six digits, rounded down: what a refusal offers is always there."""
    return f"{float_down(Fraction(units, UNITS), 6):g}"


def _offer(left: int, offer: str) -> str:
    return offer if left else "only the owner can grant a larger budget"
