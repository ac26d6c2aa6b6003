"""What was searched for, remembered: strategies follow from public facts, and some take seconds to find."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

Found = TypeVar("Found")
MOST_REMEMBERED: Final = 16
"""Of the largest matrices these are a hundred megabytes."""


class Remembered(Generic[Found]):
    """The newest that were looked for, by all threads."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, Found] = OrderedDict()

    def get(self, key: Hashable, search: Callable[[], Found]) -> Found:
        """What is known; else what the search finds, beside the lock."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        strategy = search()
        with self._lock:
            self._known[key] = strategy
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return strategy

    def clear(self) -> None:
        with self._lock:
            self._known.clear()
