"""A line of the log for every command, where the environment asks for a log: timers and units run them unseen."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from discreet.cli.failures import End, Failure

DESTINATION: Final = "DISCREET_LOG"
"""As `discreet.logs` has it, which is imported only where it is set."""
STEP: Final = 100
"""Milliseconds: what a command took is rounded up to this times a power of two, as padded answers are."""


@contextmanager
def logged(command: Callable[[], str]) -> Iterator[list[End]]:
    """Write one line when the command ends: its name, its exit code, the code of what went wrong, and how long it took.

    What it was given is not in it. A log that cannot be opened ends the command before it begins.
    """
    ends: list[End] = []
    if not os.environ.get(DESTINATION):
        yield ends
        return
    from discreet.logs import commands_log, note

    try:
        log = commands_log()
        log.__enter__()
    except OSError as wrong:
        failure = Failure(3, "cannot-log", f"{DESTINATION}: {wrong.strerror}", "name a file that can be written, or -")
        failure.tell(json=False)
        raise SystemExit(failure.exit) from None
    began = time.monotonic()
    try:
        yield ends
    finally:
        end = ends[0] if ends else End(1)
        ms = padded_ms(time.monotonic() - began)
        note("command", command=command(), exit=end.code, code=end.why, ms=ms)
        with suppress(OSError):  # a full disk
            log.__exit__(None, None, None)


def padded_ms(seconds: float) -> int:
    """Rounded up to 100, 200, 400, … milliseconds.

    >>> padded_ms(0.0), padded_ms(0.101), padded_ms(1.0)
    (100, 200, 1600)
    """
    step = STEP
    while step < seconds * 1000:
        step *= 2
    return step
