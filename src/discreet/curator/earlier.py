"""Answers that were computed under an earlier policy: shown as that policy meant them, with a banner; nothing is read.

What is cached are noisy numbers; what they mean, the plan says, and the plan is made from the policy. The ledger has
every policy on record, so that the plan of then is made again and proves itself by its fingerprint. A new query has a
plan under the policy of now, with another fingerprint: such an answer is never an answer to it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, NoReturn, TypeVar

from discreet.answers import Answer
from discreet.composed import Sql
from discreet.curator.curator import Curator
from discreet.errors import QueryFailed
from discreet.ledger import Ledger
from discreet.policy import Policy, PolicyError, fingerprint
from discreet.policy.read import parsed
from discreet.policy.recorded import unwritten

LOOKED_AT: Final = 100
"""Events that are read at once, back from a charge to its policy."""
BANNER: Final = "computed under an earlier policy: it is what was asked then, and no answer to the same query now"

Shown = TypeVar("Shown")


class Past(Curator):
    """A curator of an earlier policy over the ledger of now. It shows what is cached, and reads nothing."""

    def __init__(self, present: Curator, policy: Policy) -> None:
        super().__init__(policy, present._ledger, recalls=present._recalls, makers=present._makers)
        self._present = present

    def _engine(self, version: int) -> NoReturn:  # noqa: ARG002
        raise QueryFailed("the tables of an earlier policy are not read", "ask again under the policy of now")

    def _compute(self, query: Sql, version: int | None) -> list[tuple[Any, ...]]:
        return self._present._compute(query, None) if version is None else self._engine(version)


def past(present: Curator, number: int) -> Past | None:
    """The curator of the policy under which a charge was made; None if that is the one of now, or is not on record."""
    policy = policy_at(present._ledger, present.policy, number)
    if policy is None or fingerprint(policy) == fingerprint(present.policy):
        return None
    return Past(present, policy)


def policy_at(ledger: Ledger, now: Policy, number: int) -> Policy | None:
    """The policy on record when the charge of this number was made, at the place where it lies now."""
    events = ledger.events(before=number, newest_first=True, limit=LOOKED_AT)
    while events:
        for event in events:
            if "policy" in event.fields:
                with suppress(PolicyError, TypeError, ValueError):
                    return replace(parsed(unwritten(event.fields["policy"]), now.path), state=now.state)
                return None  # this discreet reads it otherwise
        events = ledger.events(before=events[-1].number, newest_first=True, limit=LOOKED_AT)
    return None


def marked(shown: Shown) -> Shown:
    """With the banner: an answer, or the answers of a batch."""
    if isinstance(shown, Answer):
        return replace(shown, earlier=True, notes=(BANNER, *shown.notes))
    return type(shown)(map(marked, shown)) if isinstance(shown, list) else shown
