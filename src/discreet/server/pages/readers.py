"""Those who read what everybody may read, signed in or not: they are counted together, and take turns."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from fastapi import Request

from discreet.errors import Refused
from discreet.server.access import app_state
from discreet.server.limits import TooMany

AT_ONCE: Final = 1
"""Of the threads for what reads no private data: those who read are one caller, and previews and cached answers always
find a thread."""


@dataclass(frozen=True, slots=True)
class Readers:
    """Of some pages. Whoever reads needs no token that could be counted: there are so many requests in all."""

    name: str
    pages: str
    """As in "the pages answer"."""
    per_minute: int

    def admit(self, request: Request) -> None:
        """Count one more request; refuse it if there were too many."""
        try:
            app_state(request).rates.admit(self.name, self.per_minute)
        except TooMany as many:
            reason = f"{self.pages} {self.per_minute} requests a minute in all"
            raise Refused("rate-limited", reason, f"open it again in {many.seconds} s") from None

    def turn(self, request: Request) -> asyncio.Semaphore:
        """To be held while a page is made."""
        state = request.app.state
        if not hasattr(state, "turns"):
            state.turns = {}
        turns: dict[str, asyncio.Semaphore] = state.turns
        return turns.setdefault(self.name, asyncio.Semaphore(AT_ONCE))
