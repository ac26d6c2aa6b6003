"""Privacy-adaptive training as a plan that is known in advance: which cost and how many blocks each attempt has.

An attempt costs `amount` on each of its blocks. It starts small; after every RETRY the amount grows by a factor until
it is the cap, then the number of blocks doubles until there are no more. The amount is ε where losses are pure, and
there it doubles; it is ρ where they are concentrated, and there it grows fourfold: both halve the noise.

Theorem  Let the amounts be cap/gᵐ, …, cap/g, cap with g ≥ 2, and the numbers of blocks b, then 2b, 4b, … and at last
         `most`, whatever it is. For every attempt, with A its amount × blocks:
         (1) all attempts up to it have Σ amount × blocks < 3·A, and < 2·A unless it is one on `most` blocks that are no
             doubling (Sage promises 4);
         (2) the line of any block is at most 2·cap + cap·(number of times that blocks were added), and below 2·amount
             before the first time.
Proof    Amounts grow by g: those before an attempt at cap/gⁱ add up to less than cap/gⁱ/(g − 1) ≤ cap/gⁱ. With b blocks
         each, (1) has less than 2·A, and a block is in each attempt at most once, so its line is below 2·cap/gⁱ: (2).
         At cap on b blocks the sum is less than 2·cap·b. Each doubling to 2ʲb adds cap·2ʲb, so the sum is less than
         cap·b·(2 + 2 + 4 + … + 2ʲ) = 2·cap·2ʲb = 2·A. A last step from B = 2ʲb to `most` > B blocks adds cap·most to
         less than 2·cap·B < 2·cap·most: less than 3·A. Each step adds at most cap to a line. Which blocks an attempt
         has does not matter, only how many; so blocks that arrive meanwhile change nothing.
Source   Lecuyer et al. 2019, Section 3.3.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from discreet.exact import positive, whole

MOST_ATTEMPTS: Final = 64
OPEN: Final = 2**20
"""So many times the first number of blocks, where nobody says how many there may be: as many as there are."""
PURE_GROWTH: Final = 2
CONCENTRATED_GROWTH: Final = 4


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: what it costs each of its blocks, and how many they are."""

    number: int
    """From 1."""
    amount: Fraction
    blocks: int

    @property
    def total(self) -> Fraction:
        """Amount × blocks."""
        return self.amount * self.blocks


@dataclass(frozen=True, slots=True)
class Schedule:
    """All attempts that there may be; see the theorem of the module."""

    first: Fraction
    """The amount of the first attempt: the cap, divided by a power of `growth`."""
    cap: Fraction
    blocks: int
    most: int
    growth: int = PURE_GROWTH

    @classmethod
    def read(
        cls, *, start: object, cap: object, blocks: object = 1, most: object = None, growth: int = PURE_GROWTH
    ) -> Schedule:
        """From what a caller says; ValueError if that is no schedule. The first amount is not above `start`."""
        least, top = positive(start, "epsilon"), positive(cap, "cap")
        if top < least:
            raise ValueError("cap must not be below the cost of the first attempt")
        first = whole(blocks, "blocks")
        last = first * OPEN if most is None else whole(most, "most_blocks")
        if last < first:
            raise ValueError("most_blocks must not be below blocks")
        amount = top
        while amount > least:
            amount /= growth
        schedule = cls(amount, top, first, last, growth)
        if len(schedule.attempts) > MOST_ATTEMPTS:
            raise ValueError(f"there would be more than {MOST_ATTEMPTS} attempts: start with more, or end with less")
        return schedule

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """All of them, in their order, if every test says RETRY."""
        attempts = [Attempt(1, self.first, self.blocks)]
        while (following := self.after(attempts[-1])) is not None:
            attempts.append(following)
        return tuple(attempts)

    def after(self, attempt: Attempt) -> Attempt | None:
        """The attempt after one that has to be done again; None if it was the last."""
        if attempt.amount < self.cap:
            return Attempt(attempt.number + 1, min(attempt.amount * self.growth, self.cap), attempt.blocks)
        if attempt.blocks < self.most:
            return Attempt(attempt.number + 1, self.cap, min(2 * attempt.blocks, self.most))
        return None

    def within(self, blocks: int) -> int:
        """How many attempts there can be with so many blocks."""
        return sum(attempt.blocks <= blocks for attempt in self.attempts)

    def additions(self, upto: int | None = None) -> int:
        """How often blocks are added, up to an attempt."""
        return sum(after.blocks > before.blocks for before, after in self._steps(upto))

    def line_bound(self, upto: int | None = None) -> Fraction:
        """What no line of a block exceeds, up to an attempt: (2) of the theorem."""
        attempts = self.attempts[:upto]
        amount = max(attempt.amount for attempt in attempts)
        return 2 * amount + amount * self.additions(upto)

    def line(self, upto: int | None = None) -> Fraction:
        """The line of a block that is in all attempts up to one: the newest, while no others arrive."""
        return sum((attempt.amount for attempt in self.attempts[:upto]), Fraction(0))

    def total(self, upto: int | None = None) -> Fraction:
        """Σ amount × blocks, up to an attempt."""
        return sum((attempt.total for attempt in self.attempts[:upto]), Fraction(0))

    def _steps(self, upto: int | None) -> Sequence[tuple[Attempt, Attempt]]:
        attempts = self.attempts[:upto]
        return list(itertools.pairwise(attempts))
