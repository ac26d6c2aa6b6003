"""Ending a question early, from another thread."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from typing import Final

AGAIN: Final = 0.02
"""Seconds between interruptions: one that comes before the engine has begun is not noticed."""


class Stopped(Exception):  # noqa: N818  (it was asked for)
    """The question was stopped before this query began."""


class Stop:
    """A way to end what runs inside of `with stop:` in another thread: `stop.now()`."""

    def __init__(self) -> None:
        self._requested = False
        self._lock = threading.Lock()
        self._interrupt: Callable[[], object] | None = None

    @property
    def is_requested(self) -> bool:
        return self._requested

    def now(self) -> None:
        """Let no query begin, and interrupt the one that runs until it ends."""
        self._requested = True
        threading.Thread(target=self._insist, daemon=True, name="discreet-stop").start()

    def _insist(self) -> None:
        while True:
            with self._lock:
                if self._interrupt is None:
                    return
                self._interrupt()
            threading.Event().wait(AGAIN)

    @contextmanager
    def over(self, interrupt: Callable[[], object]) -> Iterator[None]:
        """While a query runs that can be interrupted."""
        with self._lock:
            if self.is_requested:
                raise Stopped
            self._interrupt = interrupt
        try:
            yield
        finally:
            with self._lock:
                self._interrupt = None

    def __enter__(self) -> Stop:
        self._token = CURRENT.set(self)
        return self

    def __exit__(self, *failure: object) -> None:
        CURRENT.reset(self._token)


@contextmanager
def beside(work: Callable[[], object], first: float, then: float) -> Iterator[None]:
    """Do something after so many seconds, and again and again, in another thread until the block ends."""
    done = threading.Event()

    def repeat() -> None:
        left = first
        while not done.wait(left):
            work()
            left = then

    worker = threading.Thread(target=repeat, daemon=True, name="discreet-beside")
    worker.start()
    try:
        yield
    finally:
        done.set()
        worker.join()


class Alarm:
    """Something to do when time is up, unless it was called off before."""

    def __init__(self, work: Callable[[], object], again: float) -> None:
        self._work: Callable[[], object] | None = work
        self._lock = threading.Lock()
        self.again = again

    def ring(self) -> None:
        """Do it. What goes wrong with one must not keep the clock from the others."""
        with self._lock, suppress(Exception):
            if self._work is not None:
                self._work()

    def end(self) -> None:
        """From here on it is not done, and not being done."""
        with self._lock:
            self._work = None


class Clock:
    """One thread for all limits of time of a process: to start one for each query takes as long as a small query does.

    It sleeps until the first alarm, also if that was called off meanwhile: who sets a later one need not wake it.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._due: dict[Alarm, float] = {}
        self._wakes = math.inf
        threading.Thread(target=self._watch, daemon=True, name="discreet-clock").start()

    @contextmanager
    def limit(self, work: Callable[[], object], seconds: float, again: float) -> Iterator[None]:
        """Do something after so many seconds, and again and again, until the block ends. It must not take long."""
        alarm, due = Alarm(work, again), time.monotonic() + seconds
        with self._changed:
            self._due[alarm] = due
            if due < self._wakes:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                del self._due[alarm]
            alarm.end()

    def _watch(self) -> None:
        while True:
            for alarm in self._late():
                alarm.ring()

    def _late(self) -> list[Alarm]:
        """Those whose time is up, which are due again later; if there are none, after a while."""
        with self._changed:
            now = time.monotonic()
            late = [alarm for alarm, due in self._due.items() if due <= now]
            self._due |= {alarm: now + alarm.again for alarm in late}
            if not late:
                self._wakes = min(self._due.values(), default=math.inf)
                self._changed.wait(min(self._wakes - now, threading.TIMEOUT_MAX))
        return late


@lru_cache(maxsize=1)
def _clock(process: int) -> Clock:  # noqa: ARG001  (a fork has no threads, and starts its own)
    return Clock()


def clock() -> Clock:
    """That of this process."""
    return _clock(os.getpid())


CURRENT: Final[ContextVar[Stop | None]] = ContextVar("stop", default=None)
"""What can stop the question that this thread is answering."""


def demand_running() -> None:
    """Raise if the question that this thread is answering was stopped: in loops of public work that may last."""
    if is_stopped():
        raise Stopped


def is_stopped() -> bool:
    """Whether the question that this thread is answering was stopped."""
    stop = CURRENT.get()
    return stop is not None and stop.is_requested
