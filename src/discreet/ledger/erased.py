"""Records that were written anew without what was too old (`retention`), and who vouches for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from discreet.ledger.codec import Record, digest_of_line

ERASABLE: Final = ("question", "salt")
"""What a charge no longer says whose text was erased."""
Unproven = tuple[int, str, Any]
"""Number and digest of an erased line, and those before it; None at the end."""


def may_be_erased(line: object) -> bool:
    """Whether a line may be another one than its hash is of: what it says is looked at afterwards."""
    return isinstance(line, str) and '"erased":[' in line


def noted(number: int, line: str, before: Unproven | None) -> Unproven:
    """One more line that nothing has vouched for yet."""
    return number, digest_of_line(line), before


def vouched(unproven: Unproven | None, record: Record) -> Unproven | None:
    """What is left after a record that has digests. Of a line that was erased twice, an earlier one has another."""
    if not (isinstance(record["reason"], str) and isinstance(record["at"], str)):
        raise ValueError("records are erased for a reason")
    records: Mapping[str, str] = record["records"]
    left: Unproven | None = None
    while unproven is not None:
        number, digest, unproven = unproven
        if records.get(str(number)) != digest:
            left = number, digest, left
    return left


def demand_charge(record: Record, fields: Mapping[str, type]) -> bool:
    """Whether the text of a charge was erased; ValueError unless it says all else that a charge says."""
    erased = bool(record["v"] == 3)
    if erased != ("erased" in record) or (erased and any(name in record for name in ERASABLE)):
        raise ValueError("a charge whose text was erased has none")
    needed = {name: kind for name, kind in fields.items() if not (erased and name in ERASABLE)}
    if not all(isinstance(record[name], kind) for name, kind in needed.items()):
        raise ValueError("a charge says when, who, what and of which data")
    return erased


def is_erased_answer(record: Record, head: int) -> bool:
    """Whether an answer was erased; ValueError if it says so wrongly."""
    if ("erased" in record) != (record["v"] == 3):
        raise ValueError("an answer that was erased says so")
    if record["v"] == 3 and (record["of"] not in range(1, head + 1) or len(record) != 4):
        raise ValueError("an answer follows its charge")
    return bool(record["v"] == 3)
