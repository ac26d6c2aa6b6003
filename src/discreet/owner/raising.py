"""A larger or a smaller budget, written into the policy file and onto the record in one go.

The file is written first. If the process dies before the record is, the next opening tells: a budget above what is on
record is refused, with the command that ends what was begun; one below it is put on record then.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Final

from discreet.curator.state import lower_budget, raise_budget, recorded_grant
from discreet.errors import Refused
from discreet.exact import epsilon as positive
from discreet.ledger import Grant
from discreet.owner.editing import changing
from discreet.policy import Policy

_BUDGET: Final = re.compile(r"(?ms)^[ \t]*\[[ \t]*budget[ \t]*\][^\n]*\n(.*?)(?=^[ \t]*\[|\Z)")
_EPSILON: Final = re.compile(r"(?m)^([ \t]*epsilon[ \t]*=[ \t]*)([-+.\w]+)")
_SHORT: Final = re.compile(
    r"(?m)^([ \t]*budget[ \t]*(?:=[ \t]*\{(?:[^}\n#\"']*,)?[ \t]*|\.[ \t]*)epsilon[ \t]*=[ \t]*)([-+.\w]+)"
)
"""`budget = { epsilon = 3.0 }` and `budget.epsilon = 3.0`. The changed file is read again before it is written."""
Record = Callable[[Policy, str], Grant]
BY_HAND: Final = "write it into the policy file yourself, then run `discreet budget raise`"


def grant_more(policy: Policy, epsilon: float, reason: str) -> Grant:
    """Grant so much in all. Only the one number in the file changes; if it cannot be found, nothing does."""
    wanted, now = _wanted(epsilon), policy.budget.epsilon
    if wanted == now and recorded_grant(policy).epsilon < now:  # the file was written and the record not
        return raise_budget(policy, reason)
    if wanted <= now:
        raise Refused("not-a-raise", f"the budget is {float(now):g} already", "write a larger one, or `budget lower`")
    return _granted(policy, wanted, reason, raise_budget)


def grant_less(policy: Policy, epsilon: float, reason: str) -> Grant:
    """Grant so much in all, which is less than before and no less than what is spent already."""
    wanted, now = _wanted(epsilon), policy.budget.epsilon
    if wanted >= now:
        raise Refused("not-a-raise", f"the budget is {float(now):g} already", "write a smaller one, or `budget raise`")
    return _granted(policy, wanted, reason, lower_budget)


def _wanted(epsilon: float) -> Fraction:
    try:
        return positive(epsilon)
    except (TypeError, ValueError) as wrong:
        raise Refused("cost-invalid", str(wrong), "write a number such as 5") from None


def _granted(policy: Policy, wanted: Fraction, reason: str, record: Record) -> Grant:
    def is_meant(raised: Policy) -> bool:
        return replace(raised, budget=policy.budget) == policy and raised.budget.epsilon == wanted

    with changing(policy, lambda text: _changed(text, float(wanted)), is_meant, BY_HAND) as raised:
        return record(raised, reason)


def _changed(text: str, epsilon: float) -> str:
    section = _BUDGET.search(text)
    number = _EPSILON.search(text, section.start(1), section.end(1)) if section else _SHORT.search(text)
    if number is None:
        raise Refused("policy", "the budget is not written in a form that can be changed here", BY_HAND)
    return f"{text[: number.start(2)]}{epsilon!r}{text[number.end(2) :]}"
