"""When the end of what reads private rows may be noticed: padding against the timing side channel."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from discreet.engines.stopping import CURRENT, Stopped


def padded(seconds: float) -> AbstractContextManager[None]:
    """End 1, 2, 4, 8, … times so many seconds after the beginning, whatever happened inside; 0 ends at once.

    Theorem  Within any time T there are at most 1 + ⌈log₂(T/seconds)⌉ moments at which it can end, so the moment tells
             at most the logarithm of that many: about three bits for a minute in steps from 0.1 s.
    Proof    They are the powers of two times `seconds`; success, failure and a question that is stopped end alike.

    It does not make time private: a unit whose work crosses one of the moments is seen. How much work one unit can make
    is for the plan to bound; the longer a question takes, the farther apart the moments lie.
    It ends before the answer is stored, because that can be seen from outside.
    Whoever stops the question meanwhile learns nothing by it: it ends as stopped, whether its work was done or not.
    """
    return _padded(seconds) if seconds else UNPADDED


UNPADDED: Final = nullcontext()


@contextmanager
def _padded(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    try:
        yield
    finally:
        passed = time.monotonic() - began
        time.sleep(max(0.0, step(passed, seconds) - passed))
    stop = CURRENT.get()
    if stop is not None and stop.is_requested:
        raise Stopped


def step(passed: float, first: float) -> float:
    """The first of first, 2·first, 4·first, … that is not below what has passed.

    >>> step(0.0, 0.1), step(0.1, 0.1), step(0.11, 0.1), step(0.5, 0.1)
    (0.1, 0.1, 0.2, 0.8)
    """
    end = first
    while end < passed:
        end *= 2
    return end
