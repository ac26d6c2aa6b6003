"""How many requests one token may send, and whose work is being done."""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from discreet.errors import Refused

MOST_KNOWN: Final = 10_000
GUESSES: Final = 60
"""Wrong tokens a minute at the page that asks for one."""
BURST: Final = 10.0
"""Seconds of requests that may come at once."""


CALLER: Final[ContextVar[str]] = ContextVar("caller", default="")
"""Whose request is being answered: the id of a token; empty for nobody's. What it needs is done in that line."""


class TooMany(Refused):
    """More requests than there may be; the next one fits after so many whole seconds."""

    def __init__(self, reason: str, seconds: float) -> None:
        self.seconds = max(1, math.ceil(seconds))
        super().__init__("rate-limited", reason, f"ask again in {self.seconds} s")


@dataclass(slots=True)
class Bucket:
    """Fills by time, up to its size; a request takes one."""

    left: float
    filled: float


class Rates:
    """A bucket for each token, and one for each address that sends tokens which nobody knows."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buckets: dict[str, Bucket] = {}
        self._guesses: dict[str, Bucket] = {}

    def admit(self, token: str, per_minute: int) -> None:
        """Count one more request, whose work is this token's from now on; raise if it does not fit now."""
        CALLER.set(token)
        self._take(self._buckets, token, per_minute)

    def guessed(self, host: str | None) -> None:
        """Count a wrong token from this host; raise if there were too many.

        Only wrong ones count, and right ones are never refused: whoever guesses behind the same proxy as others keeps
        nobody out.
        """
        self._take(self._guesses, network_of(host), GUESSES, "this address may try {} tokens a minute")

    def _take(
        self,
        buckets: dict[str, Bucket],
        key: str,
        per_minute: int,
        message: str = "a token may send {} requests a minute",
    ) -> None:
        now, size = time.monotonic(), max(1.0, per_minute * BURST / 60)
        with self._lock:
            if len(buckets) > MOST_KNOWN:
                buckets.clear()
            bucket = buckets.setdefault(key, Bucket(size, now))
            bucket.left = min(size, bucket.left + (now - bucket.filled) * per_minute / 60)
            bucket.filled = now
            if bucket.left < 1:
                raise TooMany(message.format(per_minute), (1 - bucket.left) * 60 / per_minute)
            bucket.left -= 1


def network_of(host: str | None) -> str:
    """Whom an address belongs to: of IPv6 everybody has a whole network.

    >>> network_of("192.0.2.7"), network_of("2001:db8::7"), network_of(None)
    ('192.0.2.7', '2001:db8::/64', '')
    """
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return host or ""
    return str(address) if address.version == 4 else str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))
