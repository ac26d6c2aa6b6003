"""Names that callers give to their requests, so that one that is sent twice is charged once."""

from __future__ import annotations

from discreet.accounting.record import Key
from discreet.errors import Refused
from discreet.ledger.codec import decode
from discreet.ledger.store import Store


class Repeated(Exception):  # noqa: N818  (nothing is wrong with it)
    """A charge with this key stands already. It says which one: nothing was charged again."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def charge_of(key: Key, store: Store) -> Repeated | Refused | None:
    """What stands in the way of a charge with this key: one that has it, for the same request or another.

    It is looked up in the journal, so that keys are known whatever their age.
    """
    for number, line in store.keyed(key.name):
        record = decode(number, line)
        if record["kind"] == "charge" and record.get("key") == key.name:
            if str(record.get("request")) == key.request:
                return Repeated(number)
            return Refused("key-reused", "this key was used for another request", "use a new key for a new question")
    return None
