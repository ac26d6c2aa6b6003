"""How many requests one token may send."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from typing import Final

from discreet.errors import Refused

MOST_KNOWN: Final = 10_000
BURST: Final = 10.0
"""Seconds of requests that may come at once."""


class TooMany(Refused):
    """A token sent more requests than it may; the next one fits after so many whole seconds."""

    def __init__(self, per_minute: int, seconds: float) -> None:
        self.seconds = max(1, math.ceil(seconds))
        told = f"ask again in {self.seconds} s"
        super().__init__("rate-limited", f"a token may send {per_minute} requests a minute", told)


@dataclass(slots=True)
class Bucket:
    """Fills by time, up to its size; a request takes one."""

    left: float
    filled: float


class Rates:
    """A bucket for each token."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buckets: dict[str, Bucket] = {}

    def admit(self, token: str, per_minute: int) -> None:
        """Count one more request; raise if it does not fit now."""
        now, size = time.monotonic(), max(1.0, per_minute * BURST / 60)
        with self._lock:
            if len(self._buckets) > MOST_KNOWN:
                self._buckets.clear()
            bucket = self._buckets.setdefault(token, Bucket(size, now))
            bucket.left = min(size, bucket.left + (now - bucket.filled) * per_minute / 60)
            bucket.filled = now
            if bucket.left < 1:
                raise TooMany(per_minute, (1 - bucket.left) * 60 / per_minute)
            bucket.left -= 1
