"""What is asked, and at what cost: from text and policy alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from discreet.accounting import Concentrated, Pure
from discreet.accounting.part import Part
from discreet.answers.call import Call, written
from discreet.curator.parts import why
from discreet.errors import Edit, Refused
from discreet.exact import number, probability
from discreet.policy import Policy
from discreet.sql.accuracy import Wanted
from discreet.sql.cache import Drawn
from discreet.sql.cost import Cost, Offer, buy, free, rank_notes
from discreet.sql.plan import Plan

Loss = Pure | Concentrated
COSTS: Final = ("epsilon", "rho", "error")
"""Of these one says what a question costs."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its plan and its cost: nothing was read for it."""

    text: str
    version: int
    """Of the data that it is about."""
    plan: Plan
    offer: Offer
    confidence: Fraction
    wanted: Wanted | None = None
    """The errors that were asked for instead of a cost."""
    part: Part | None = None
    told: dict[str, Any] = field(default_factory=dict)
    """How it was asked beside its text, for the record."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the answer assumes, and what is known of ranks."""
        assumed = () if self.wanted is None else self.wanted.notes(self.offer.bought)
        ranks = rank_notes(self.plan.releases, self.offer.bought, self.confidence)
        return (*self.plan.notes, *assumed, *ranks)

    @property
    def loss(self) -> Loss:
        return self.offer.loss

    @property
    def why(self) -> str:
        """What the ledger records."""
        return why(self.text, self.part)

    def satisfied(self, drawn: Drawn, paid: Loss) -> bool:
        """Whether what was drawn for a cost is as good as what is asked for."""
        if self.wanted is None:
            return covers(paid, self.loss)
        return paid == self.loss or self.wanted.met(drawn.noises)


def costed(policy: Policy, call: Call, plan: Plan, version: int) -> Question:
    """A question with its cost, or a refusal."""
    given = {name for name in COSTS if getattr(call, name) is not None}
    in_text = {name for name in COSTS if getattr(plan.options, name) is not None}
    if given and in_text and given != in_text:
        raise _twice("a cost")
    epsilon, rho, delta, error = (
        _agreed(name, getattr(call, name), getattr(plan.options, name)) for name in ("epsilon", "rho", "delta", "error")
    )
    sure = _confidence(call.confidence if plan.options.confidence is None else plan.options.confidence)
    wanted = None
    if not plan.releases:
        offer = free(policy)
    elif error is None:
        offer = buy(policy, Cost.read(policy, epsilon=epsilon, rho=rho, delta=delta), plan.releases)
    elif epsilon is not None or rho is not None:
        raise Refused("cost-invalid", "a cost and a wanted error are two costs", "give one of them")
    else:
        wanted = Wanted.read(plan, error, sure)
        offer = wanted.offer(policy, delta)
    return Question(str(call.sql), version, plan, offer, sure, wanted, call.part, written(call))


def _confidence(given: object) -> Fraction:
    try:
        return probability(given, "confidence")
    except (TypeError, ValueError) as wrong:
        raise Refused("cost-invalid", str(wrong), "give a confidence such as 0.95") from None


def _agreed(name: str, given: object, written: Fraction | None) -> object:
    """What the call and the text say of the cost: one of them, or both the same."""
    if given is None or written is None:
        return written if given is None else given
    try:
        same = number(given, name) == written
    except (TypeError, ValueError):
        same = False
    if not same:
        raise _twice(name)
    return given


def _twice(what: str) -> Refused:
    reason = f"the text and the call say different things about {what}"
    return Refused("cost-twice", reason, "say it once", edit=Edit(arguments=dict.fromkeys(COSTS)))


def covers(paid: Loss, wanted: Loss) -> bool:
    """Whether what was paid is at least what is wanted."""
    a, b = paid.concentrated(), wanted.concentrated()
    if isinstance(paid, Pure) and isinstance(wanted, Pure):
        return paid.epsilon >= wanted.epsilon
    return a.rho >= b.rho and a.delta >= b.delta
