"""Which charges a request is about, and which of them its sender may see."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Query

from discreet.errors import Refused
from discreet.ledger import ALL, OWNER, Search
from discreet.server.access import Access


@dataclass(frozen=True, slots=True)
class Seeking:
    """Which charges are looked for."""

    analyst: Annotated[str | None, Query(min_length=1, max_length=200)] = None
    text: Annotated[str, Query(max_length=1000, description="Only charges with this in their question.")] = ""
    answered: bool | None = None
    after: Annotated[int, Query(ge=0, lt=2**63, description="Only charges with a higher number.")] = 0

    def of(self, access: Access) -> Search:
        """As somebody may see it: analysts look at their own."""
        own = own_search(access)
        if own.analyst is not None and self.analyst not in (None, own.analyst):
            raise Refused("forbidden", "these are the charges of another analyst", "leave analyst out")
        return replace(
            own, analyst=own.analyst or self.analyst, text=self.text, answered=self.answered, after=self.after
        )


Sought = Annotated[Seeking, Depends()]


def own_search(access: Access) -> Search:
    """Owners and auditors see everything, analysts their own charges."""
    return ALL if access.caller.role.sees_everybody else Search(access.caller.analyst or OWNER)
