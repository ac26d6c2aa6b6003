"""What follows from a plan alone and is computed once, however often the plan is asked for.

A plan is that of one text under one policy and data version, so that nothing of another policy is ever found here; and
nothing that a ledger or private rows decide is put here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

MAX_VALUES: Final = 64
"""Values that are held for a plan: whoever asks for ever new costs fills no memory."""
T = TypeVar("T")


class Memo:
    """Values by their keys. Threads may compute one twice; they compute the same."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}
        self.last: tuple[Hashable, Any] | None = None
        """What was shown last, by what it is known."""
        self.described: tuple[object, Hashable, Any] | None = None
        """What was told of noise and ranks last: for which allocation, and by what else it is known."""
        self.intervals: tuple[Hashable, dict[int, Any]] | None = None
        """How intervals of what is shown were computed last, without the values: by which noises and confidence."""

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What was computed for this key before, or is now. What fails, or has no hash, is computed again."""
        known = self._known
        try:
            hash(key)
        except TypeError:  # a signalling NaN
            return compute()
        if key in known:
            value: T = known[key]
            return value
        value = compute()
        if len(known) >= MAX_VALUES:
            known = self._known = {}
        known[key] = value
        return value
