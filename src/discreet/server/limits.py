"""How many requests one token may send."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Final

MOST_KNOWN: Final = 10_000
BURST: Final = 10.0
"""Seconds of requests that may come at once."""


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

    def admits(self, token: str, per_minute: int) -> bool:
        """Whether one more request fits now; then it is counted."""
        now, size = time.monotonic(), max(1.0, per_minute * BURST / 60)
        with self._lock:
            if len(self._buckets) > MOST_KNOWN:
                self._buckets.clear()
            bucket = self._buckets.setdefault(token, Bucket(size, now))
            bucket.left = min(size, bucket.left + (now - bucket.filled) * per_minute / 60)
            bucket.filled = now
            if bucket.left < 1:
                return False
            bucket.left -= 1
            return True
