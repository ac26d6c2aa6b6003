"""How much one task may cost: limits that keep a budget from being used up by mistake.

Neither is needed for the guarantee, which is the ledger's. Both follow from the bill and the ledger alone, come before
the charge, and cost nothing: so they tell nothing about rows, and no more about others than a preview does.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from discreet.accounting.balance import percent
from discreet.accounting.labels import labelled
from discreet.accounting.rounding import float_up
from discreet.errors import Edit, Refused
from discreet.exit.bill import Bill
from discreet.ledger import Ledger
from discreet.printing import at_most

TENTH: Final = Fraction(1, 10)


def demand_within(ledger: Ledger, bill: Bill) -> None:
    """Refuse an analyst's task that costs more than a tenth of the budget, of ρ (or ε) or of δ.

    This is the policy's `max_cost` where it names none. Owners are not limited by it, nor tasks about blocks of a
    stream, whose capacities the owner granted one by one.
    """
    if bill.analyst is None or bill.blocks is not None or bill.loss.is_zero:
        return
    part = ledger.part_of_budget(bill.loss)
    if part is not None and part <= TENTH:
        return
    most = float(at_most(ledger.grant.tenth.epsilon))
    larger = ", or want a larger error" if bill.by_error else ""
    raise Refused(
        "cost-too-high",
        f"the cost is {_percent(part)} of the budget, and an analyst's query may cost a tenth of it",
        f"use epsilon {most:g} or less, without a delta of its own{larger}; or ask the owner to set max_cost",
        edit=Edit(arguments={"epsilon": most, "rho": None, "delta": None, "error": None, "group_size": None}),
    )


def demand_confirmed(ledger: Ledger, bill: Bill) -> None:
    """Refuse a cost that nobody named and nobody confirmed, if it is more than a tenth of what is left.

    What does not fit at all is refused by the charge, which says what does.
    """
    much = unconfirmed(ledger, bill)
    if much is not None:
        raise Refused(
            "confirm-cost",
            f"it would use {much} of what is left: {labelled(bill.loss, ledger.grant.delta)}",
            "say confirm=True, want a larger error, or give epsilon",
            edit=Edit(arguments={"confirm": True}),
        )


def unconfirmed(ledger: Ledger, bill: Bill) -> str | None:
    """How much of what is left a bill would use, if somebody has to agree to that first."""
    if bill.confirmed or not bill.by_error:
        return None
    part = ledger.part_of_rest(bill.loss, bill.analyst, bill.blocks if bill.part is None else bill.part())
    return None if part is None or part <= TENTH else _percent(part)


def _percent(part: Fraction | None) -> str:
    return "more than all" if part is None else percent(float_up(part))
