"""Names that callers give to their requests, so that one that is sent twice is charged once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from discreet.errors import Refused
from discreet.ledger.codec import Record, decode
from discreet.ledger.store import Store

REMEMBERED: Final = 100_000
"""Records that are looked through for keys when a ledger is opened; older keys are forgotten."""


@dataclass(frozen=True, slots=True)
class Key:
    """What a caller calls a request, and the digest of what it asks. Both are written down with the charge."""

    name: str
    request: str

    def fields(self) -> Record:
        return {"key": self.name, "request": self.request}


class Repeated(Exception):  # noqa: N818  (nothing is wrong with it)
    """A charge with this key stands already. It says which one: nothing was charged again."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass(slots=True)
class Keys:
    """The keys of recent charges, read from the journal as it grows."""

    _seen: int = 0
    _charges: dict[str, tuple[int, str]] = field(default_factory=dict)

    def find(self, key: Key, store: Store, head: int) -> Repeated | Refused | None:
        """What stands in the way of a charge with this key: one that has it, for the same request or another."""
        for number, line, _ in store.rows(max(self._seen, head - REMEMBERED) + 1, head):
            record = decode(number, line)
            if isinstance(record.get("key"), str):
                self._charges.setdefault(record["key"], (number, str(record.get("request"))))
        self._seen = max(self._seen, head)
        if key.name not in self._charges:
            return None
        number, request = self._charges[key.name]
        if request == key.request:
            return Repeated(number)
        return Refused("key-reused", "this key was used for another request", "use a new key for a new question")
