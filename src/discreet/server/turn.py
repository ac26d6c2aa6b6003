"""The event loop and what is free take turns at Python, by whole pieces of work.

Python's lock lets one thread run at a time, and a thread gives it up whenever it asks a database or a file: some thirty
times for a cached answer. Where two threads are busy each of these times is a change of threads, so that an answer
among those of many took twice the processor time that it takes alone. Whoever has the turn meets nobody who wants the
lock; the others sleep.

A turn is lent. Whoever still has it after a moment, because a disk is slow or a question lasts, loses it: from then on
it shares Python with the others, as if there were no turns. So nobody waits longer than that for anybody.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
from typing import Final

LEASE: Final = 0.002
"""Seconds for which a turn is lent at least: several times as long as a cached answer takes."""


class Turn:
    """One thread has it at a time; those who want it get it one after the other."""

    def __init__(self, lease: float = LEASE) -> None:
        self._lease = lease
        self._first = threading.Lock()
        """Held by whoever is next: one who has just given the turn back does not come before."""
        self._lent = threading.Lock()

    def take(self) -> threading.Lock:
        """Wait for the turn. It is given back by releasing what this returns, also by one who has lost it meanwhile."""
        with self._first:
            lent = self._lent
            if not lent.acquire(timeout=self._lease):
                lent = self._lent = threading.Lock()
                lent.acquire()
            return lent


TURN: Final = Turn()
"""That of this process."""


class Selector(selectors.DefaultSelector):
    """What an event loop waits at: between two waits it has the turn."""

    def __init__(self, turn: Turn = TURN) -> None:
        super().__init__()
        self._turn = turn
        self._lent: threading.Lock | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._give_back()
        ready = super().select(timeout)
        self._lent = self._turn.take()
        return ready

    def close(self) -> None:
        self._give_back()
        super().close()

    def _give_back(self) -> None:
        if self._lent is not None:
            self._lent.release()
            self._lent = None


def event_loop() -> asyncio.AbstractEventLoop:
    """The event loop of a server."""
    return asyncio.SelectorEventLoop(Selector())
