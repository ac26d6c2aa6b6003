"""What spends takes turns: one thread at a time, in the process that made it, and never a copy.

Composition theorems are about releases that come one after the other, where each knows what all before it spent. State
that two threads read before either writes, or that a fork or a pickle doubles, is spent twice.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import NoReturn

from discreet.errors import Refused

_forks = 0
"""How often this process's line was forked: in another PID namespace a child may have its parent's number."""


def _count() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count)


def _here() -> tuple[int, int]:
    return os.getpid(), _forks


class Turns:
    """`with turns:` one thread at a time; `Refused` in any process but the one that made it."""

    __slots__ = ("_lock", "_process", "_what")

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._process = _here()

    def __enter__(self) -> None:
        if self._process != _here():  # first: a fork may have copied the lock while it was taken
            raise Refused(
                "forked",
                f"{self._what} was made before a fork, and what the other process spends is not seen here",
                "fork first, and start one in each process, at its cost",
            )
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self._what} cannot be copied or pickled: start another, at its cost")
