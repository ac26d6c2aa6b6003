"""Budget windows: the owner opens one, on the record, and the budget may be spent again; what is spent keeps adding up.

Theorem  An adversary who sees all answers asks in window 1; then the owner opens window 2, for whatever reason, and so
         on, `most` windows at most. If the limits of window w are L_w (ε, or ρ and δ each), the view after window k
         differs between neighbours by at most L_1 + … + L_k: Σε-DP, or Σδ-approximate Σρ-zCDP, which is
         (epsilon_of(Σρ, Σδ), 2·Σδ)-DP. What `most` windows mean is known before the first of them is used up.
Proof    Within a window every charge passes the filter of that window, so the sum of its losses is at most L_w on every
         path: the interaction of one window is a mechanism of loss L_w (the theorem of `accounting.filters`). Losses
         of mechanisms that are chosen one after the other, each after the outputs of those before, add up. That the
         owner opens a window, and when, is a function of the outputs and of what is not in the data: it chooses the
         next mechanism, and costs nothing. No clock opens one. Lines of parts and of blocks go on: a maximum over
         parts (`partitions`) and a capacity (`streams`) bound the whole of what was asked, in whichever window.
Source   Feldman & Zrnic 2021; Whitehouse et al. 2023 (filters under fully adaptive composition).

What a window leaves unspent is not carried over: the next begins with its own limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.ledger.codec import Amounts, Record, less, parsed, plus, written

if TYPE_CHECKING:
    from discreet.ledger.grant import Grant


@dataclass(frozen=True, slots=True)
class Window:
    """The window that is open: its number, and what was granted and spent before it. The first has nothing before."""

    number: int = 1
    most: int = 1
    granted: Amounts = ()
    """The limits of all windows before this one, added up."""
    spent: Amounts = ()
    shares: Mapping[str, Amounts] = field(default_factory=dict)

    def since(self, spent: Amounts) -> Amounts:
        """Of what is spent in all, what was spent in this window."""
        return less(spent, self.spent) if self.spent else spent

    def share_since(self, analyst: str, spent: Amounts) -> Amounts:
        return less(spent, self.shares[analyst]) if analyst in self.shares else spent

    def allowed(self, limits: Amounts) -> Amounts:
        """What all windows up to this one may spend together."""
        return plus(self.granted, limits) if self.granted else limits

    def next(self, most: int, limits: Amounts, spent: Amounts, shares: Mapping[str, Amounts]) -> Window:
        """The window after this one; ValueError where the policy allows no more."""
        if type(most) is not int or not self.number < most:
            raise ValueError("there are no more windows than the policy says")
        return Window(self.number + 1, most, self.allowed(limits), spent, dict(shares))

    def converted(self, grant: Grant) -> Window:
        """In the currency of another budget, in which all that is spent can be counted."""
        if not self.spent:
            return self
        shares = {analyst: grant.converted(amounts) or amounts for analyst, amounts in self.shares.items()}
        granted, spent = (grant.converted(amounts) or amounts for amounts in (self.granted, self.spent))
        return Window(self.number, self.most, granted, spent, shares)

    def fields(self) -> Record:
        """As a record has it."""
        return {
            "number": self.number,
            "most": self.most,
            "granted": written(self.granted),
            "spent": written(self.spent),
            "shares": {analyst: written(amounts) for analyst, amounts in self.shares.items()},
        }


FIRST = Window()


def window_read(record: Record) -> Window:
    number, most = record["number"], record["most"]
    if type(number) is not int or type(most) is not int or not 1 < number <= most:
        raise ValueError("windows are numbered from 1 to as many as the policy allows")
    shares = {str(analyst): parsed(amounts) for analyst, amounts in record["shares"].items()}
    return Window(number, most, parsed(record["granted"]), parsed(record["spent"]), shares)
