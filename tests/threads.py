"""Threads that do the same at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def at_once(count: int, act: Callable[[], object]) -> list[Any]:
    """What each of so many threads gets, or what was raised in it."""
    found: list[object] = []

    def run() -> None:
        try:
            found.append(act())
        except BaseException as raised:
            found.append(raised)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
