"""Ending a question early, from another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

AGAIN: Final = 0.02
"""Seconds between interruptions: one that comes before the engine has begun is not noticed."""


class Stopped(Exception):  # noqa: N818  (it was asked for)
    """The question was stopped before this query began."""


class Stop:
    """A way to end what runs inside of `with stop:` in another thread: `stop.now()`."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._lock = threading.Lock()
        self._interrupt: Callable[[], object] | None = None

    @property
    def is_requested(self) -> bool:
        return self._requested.is_set()

    def now(self) -> None:
        """Let no query begin, and interrupt the one that runs until it ends."""
        self._requested.set()
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
