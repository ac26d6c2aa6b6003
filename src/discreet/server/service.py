"""What a server tells those who look after it: systemd (its notification protocol), and whoever asks if it is ready."""

from __future__ import annotations

import asyncio
import math
import os
import socket
import time
from contextlib import suppress
from typing import Final

from discreet.server.datasets import Datasets

VARIABLE: Final = "NOTIFY_SOCKET"
AGAIN: Final = 1.0
"""Seconds for which a look at the ledgers counts."""
READY, ALIVE, STOPPING = "READY=1", "WATCHDOG=1", "STOPPING=1"


def notify(state: str) -> bool:
    """Tell it; False where nobody listens. A manager that does not listen stops nobody."""
    address = os.environ.get(VARIABLE, "")
    if not address.startswith(("/", "@")):
        return False
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sending:
        sending.setblocking(False)
        sending.sendto(state.encode(), f"\0{address[1:]}" if address.startswith("@") else address)
        return True
    return False


class Readiness:
    """Whether the ledgers can be read: looked at once a second, however often and by how many somebody asks."""

    def __init__(self, datasets: Datasets) -> None:
        self._datasets, self._looking = datasets, asyncio.Lock()
        self._at, self._is_ready = -math.inf, False

    async def now(self) -> bool:
        async with self._looking:
            if time.monotonic() - self._at >= AGAIN:
                self._is_ready = await asyncio.to_thread(self._look)
                self._at = time.monotonic()
            return self._is_ready

    def _look(self) -> bool:
        with suppress(Exception):  # why not is told to those who ask something
            for dataset in self._datasets.values():
                dataset.curator.budget()
            return True
        return False
