"""What a budget that is not enough for a query is enough for: its error, and the parts that are free."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from discreet.accounting.balance import Amount
from discreet.accounting.part import Part
from discreet.accounting.record import PartName
from discreet.answers.parts import public_keys
from discreet.errors import BudgetExhausted, Edit, Refused
from discreet.exit.cost import Cost
from discreet.ledger import Charge, Ledger
from discreet.policy import Policy
from discreet.printing import at_most
from discreet.sql.cost import allocate
from discreet.sql.expected_error import errors

if TYPE_CHECKING:
    from discreet.curator.prepared import PreparedQuery

LISTED: Final = 5
"""Parts that are named in a refusal."""


def what_is_left(
    policy: Policy, ledger: Ledger, query: PreparedQuery, part: Part | None, charge: Charge, refused: BudgetExhausted
) -> BudgetExhausted:
    """What to do about a charge that does not fit, with the error that the rest is enough for in the same query."""
    analyst = charge.analyst if charge.analyst in policy.analysts else None
    if charge.blocks is not None:
        return BudgetExhausted(refused.reason, refused.fix, edit=refused.edit)
    if part is None or charge.part is None:
        left = _enough_for(policy, query, ledger.remaining(analyst))
        return BudgetExhausted(refused.reason, f"{refused.fix}{left}", edit=refused.edit)
    fix = _exhausted(policy, ledger, part, charge.part, analyst, partial(_enough_for, policy, query))
    most = float(at_most(ledger.affordable(charge.part, analyst).epsilon))
    return BudgetExhausted(refused.reason, fix, edit=Edit(arguments={"epsilon": most}) if most else None)


def _enough_for(policy: Policy, query: PreparedQuery, left: Amount) -> str:
    if query.plan.unknown:
        return ""  # it depends on what is found
    try:
        cost = Cost.read(policy, epsilon=left.epsilon) if left.rho is None else Cost.read(policy, rho=left.rho)
        rest = allocate(policy, cost, query.plan.releases)
    except Refused:
        return ""  # nothing, or next to nothing, is left
    halves = errors(query.plan, rest.noises, query.confidence)
    shown = ", ".join(f"{label} ± {half:.4g}" for label, half in halves.items())
    return f", which gives {shown}" if shown else ""


def _exhausted(
    policy: Policy,
    ledger: Ledger,
    part: Part,
    name: PartName,
    analyst: str | None,
    enough_for: Callable[[Amount], str],
) -> str:
    """What may still be asked: about this part, and about which others for nothing.

    It says what the ledger says of what was charged, as a preview does, and reads no data. Parts are named only if the
    policy declares their keys: private keys that somebody else asked about stay between them and the ledger.
    """
    most = ledger.affordable(name, analyst)
    this = (
        f"ask about this part for {_shown(most)} or less{enough_for(most)}" if _some(most) else "this part is exhausted"
    )
    keys = public_keys(policy.tables[part.table].columns[part.column])
    others = [replace(part, key=key) for key in keys or () if key != part.key]
    free = [(other.label, ledger.free(replace(name, part=other.label))) for other in others]
    options = [f"{label} up to {_shown(amount)}" for label, amount in free if _some(amount)]
    if keys is None:
        unasked = ledger.free(replace(name, part=""))  # no part has an empty label
        options = [f"parts that nobody asked about, up to {_shown(unasked)} each"] if _some(unasked) else []
    if not options:
        return f"{this}; no other part is free"
    more = f" and {len(options) - LISTED} more" if len(options) > LISTED else ""
    return f"{this}; free, because other parts cost more: {', '.join(options[:LISTED])}{more}"


def _some(amount: Amount) -> bool:
    return bool(amount.epsilon if amount.rho is None else amount.rho)


def _shown(amount: Amount) -> str:
    if amount.rho is None:
        return f"epsilon {at_most(amount.epsilon)}"
    return f"rho {at_most(amount.rho)} (epsilon {at_most(amount.epsilon)})"
