"""How a budget stands after a journal: what is left for everybody, for one analyst, and for one part of a partition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from operator import gt
from typing import Final

from discreet.accounting.balance import Amount, Balance, Used
from discreet.accounting.filters import Filter
from discreet.accounting.record import PartName
from discreet.errors import Refused
from discreet.exact import largest
from discreet.ledger.codec import Amounts, less, plus
from discreet.ledger.grant import Grant
from discreet.ledger.state import State
from discreet.ledger.units import by_unit
from discreet.policy import Share

MANY: Final = 10**36
"""Charges that nobody makes: as many of what is free."""


def part_of(cost: Amounts, left: Amounts) -> Fraction | None:
    """The largest part that any of these amounts is of what is left; None if one is more."""
    if any(less(cost, left)):
        return None
    return max((Fraction(each, rest) for each, rest in zip(cost, left, strict=True) if each), default=Fraction(0))


@dataclass(frozen=True, slots=True)
class Standing:
    """Of everybody; or of an analyst, who has a share inside of what everybody may spend."""

    state: State
    analyst: str | None = None
    share: Share | None = None

    @property
    def grant(self) -> Grant:
        return self.state.grant

    @property
    def limits(self) -> Amounts:
        return self.grant.limits if self.share is None else self.grant.share_limits(self.share)

    @property
    def spent(self) -> Amounts:
        """In the window that is open."""
        return self.state.used(self.analyst)

    @property
    def everybody(self) -> Standing:
        return Standing(self.state)

    @property
    def filters(self) -> list[Filter]:
        """What a charge must pass: the budget, and an analyst's share. The tighter one speaks first."""
        filters = [self.grant.filter(self.state.used())]
        if self.share is not None:
            filters.append(self.grant.share(self.share, self.spent))
        return sorted(filters, key=lambda each: each.left)

    def admits(self, loss: Amounts) -> bool:
        """Whether all filters admit a loss: its sum with what is spent is at most the limit, of each currency."""
        spent = plus(self.state.used(), loss)
        if any(map(gt, spent, self.grant.limits)):
            return False
        return self.share is None or not any(less(loss, less(self.limits, self.spent)))

    def balance(self) -> Balance:
        grant, own = self.grant, less(self.limits, self.spent)
        if self.share is None:
            balance = grant.balance(self.limits, self.spent, grant.epsilon, by_unit(self.state))
            window = self.state.window
            return (
                balance if window.number == 1 else replace(balance, lifetime=grant.lifetime(window, self.state.spent))
            )
        limit = None if own == self._left else self.remaining()
        return grant.balance(self.limits, self.spent, grant.share_epsilon(self.share), of="share", limit=limit)

    def used(self) -> Used:
        return self.grant.used(self.limits, self.spent, "budget" if self.share is None else "share")

    def remaining(self) -> Amount:
        return self.grant.remaining(self._left)

    def affordable_count(self, cost: Amounts, part: PartName | None) -> int | None:
        """How many more charges of this cost fit; None if all of them do.

        Where no part is meant, `count` of them add count · cost: the scarcest currency says how many fit.
        """
        left = self._left
        if part is None:
            most = min((rest // each for each, rest in zip(cost, left, strict=True) if each), default=MANY)
            return None if most >= MANY else most

        def fits(count: int) -> bool:
            return not any(less(self.increase(part, tuple(count * each for each in cost)), left))

        return largest(fits, MANY)

    def part_of_rest(self, cost: Amounts, part: PartName | None) -> Fraction | None:
        """Which part of what is left a charge would use, of the currency that is scarcer; None if it does not fit."""
        return part_of(self.increase(part, cost), self._left)

    def affordable(self, part: PartName) -> Amount:
        """The largest cost that a query about a part may have: what is free, and what remains of the budget."""
        return self.grant.remaining(plus(self._left, self._free(part)))

    def free(self, part: PartName) -> Amount:
        """What may be asked of a part, by anybody, before the maximum grows."""
        return self.grant.remaining(self._free(part))

    def increase(self, part: PartName | None, cost: Amounts) -> Amounts:
        """What a query of this cost adds to what is spent; refused about parts that cannot be."""
        try:
            return self.state.increase(part, cost)
        except ValueError as wrong:
            raise Refused("unknown-part", str(wrong), "ask about its parts as it was made") from None

    @property
    def _left(self) -> Amounts:
        """What neither the budget nor the share forbids."""
        own = less(self.limits, self.spent)
        return own if self.share is None else tuple(map(min, own, self.everybody._left))

    def _free(self, part: PartName) -> Amounts:
        return self.state.partition(part).free(part.part, len(self.grant.limits))
