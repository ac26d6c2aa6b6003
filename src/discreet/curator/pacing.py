"""When the end of what reads private rows may be noticed: at times that tell little about how long it took."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.engines.stopping import CURRENT, Stopped


@contextmanager
def on_grid(seconds: float) -> Iterator[None]:
    """End at a multiple of so many seconds after the beginning, whatever happened inside; 0 ends at once.

    It ends before the answer is kept, because that can be seen from outside.
    Whoever stops the question meanwhile learns nothing by it: it ends as stopped, whether its work was done or not.
    """
    if not seconds:
        yield
        return
    began = time.monotonic()
    try:
        yield
    finally:
        passed = time.monotonic() - began
        time.sleep(max(0.0, math.ceil(passed / seconds) * seconds - passed))
    stop = CURRENT.get()
    if stop is not None and stop.asked:
        raise Stopped
