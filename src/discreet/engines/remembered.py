"""Which units a stream has seen, and what stays of one that was erased: a keyed hash of its id, and its counts.

Where all rows of a unit are protected together, a unit has a block, or so many blocks and rows, for good (`arrivals`).
Were it forgotten altogether, it could come back, be taken for somebody new, and lose twice what the stream promises. So
its id is replaced by a hash of it under the secret of the state folder: if it comes back, it is recognised.
"""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from collections.abc import Iterable
from typing import Final

SIGN: Final = "~erased~"


def tombstone(unit: str, key: str) -> str:
    """What stands in the place of an id."""
    return SIGN + hmac.new(key.encode(), f"erased {unit}".encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def bury(index: sqlite3.Connection, units: Iterable[str], key: str) -> None:
    """Forget the ids of units that were seen, inside of a transaction."""
    for unit in units:
        index.execute("UPDATE OR REPLACE seen SET unit = ? WHERE unit = ?", (tombstone(unit, key), unit))


def revive(index: sqlite3.Connection, units: Iterable[str], key: str) -> None:
    """Recognise those who come back."""
    if index.execute("SELECT 1 FROM seen WHERE unit >= ? AND unit < ? LIMIT 1", (SIGN, SIGN[:-1] + "\x7f")).fetchone():
        for unit in units:
            index.execute("UPDATE OR IGNORE seen SET unit = ? WHERE unit = ?", (unit, tombstone(unit, key)))
