"""How a budget stands, as plain values: what was granted, is spent and remains. The ledger makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from discreet.accounting.losses import Concentrated, Pure
from discreet.printing import at_least, printable

MEANING: Final = (
    "each of these is a guarantee about its own unit; what is spent is their sum, and a guarantee to nobody"
)


@dataclass(frozen=True, slots=True)
class Amount:
    """ε, and where they apply ρ and δ."""

    epsilon: float
    rho: float | None = None
    delta: float | None = None

    def affords(self, loss: Pure | Concentrated) -> bool:
        """Whether it is enough for a loss. It may be more than any loss can be, and a server may say anything."""
        if self.rho is None:
            return loss.is_pure and loss.amount <= Fraction(repr(self.epsilon))
        spent = loss.concentrated()
        return spent.rho <= Fraction(repr(self.rho)) and spent.delta <= Fraction(repr(self.delta or 0.0))


@dataclass(frozen=True, slots=True)
class Balance:
    """What was granted, what is spent (rounded up) and what remains (rounded down).

    In a budget with δ every ε is by the same measure, `epsilon_of` at δ/2: what is spent is a guarantee, with the δ of
    its selections beside it, and what remains is the largest `epsilon=` that the next release may have. Where charges
    were about several units, `units` has what was spent about each: these are guarantees, and what is spent is no more
    than their sum, which the budget counts.
    """

    total: Amount
    spent: Amount
    remaining: Amount
    units: Mapping[str, Amount] = field(default_factory=dict, kw_only=True)

    def _repr_html_(self) -> str:
        from discreet.accounting.balance_html import balance_html

        return balance_html(self)


def unit_lines(balance: Balance) -> list[str]:
    """In words what was spent about each unit; nothing where all is about one."""
    if not balance.units:
        return []
    spent = [f"about {printable(unit)}: ε {at_least(amount.epsilon)}" for unit, amount in balance.units.items()]
    return [*spent, MEANING]
