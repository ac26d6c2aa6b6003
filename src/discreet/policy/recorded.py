"""A policy as a ledger has it on record: the document that its owner wrote, and what changed since the one before.

The document is what TOML says, without comments; dates are written as {"$date": "2024-01-31"}. It holds nothing secret:
a policy never does (`databases`). What a key means is what `read` says, so that an earlier policy can be read again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any, Final

Document = Mapping[str, Any]
BUDGET: Final = ("budget.epsilon", "budget.delta")
"""Not part of a change: the ledger has budgets on record by themselves."""
_DATES: Final = {"$date": date.fromisoformat, "$timestamp": datetime.fromisoformat}


def written(value: Any) -> Any:
    """A value of TOML as JSON has it."""
    if isinstance(value, dict):
        return {key: written(each) for key, each in value.items()}
    if isinstance(value, list):
        return [written(each) for each in value]
    if isinstance(value, datetime):
        return {"$timestamp": value.isoformat()}
    return {"$date": value.isoformat()} if isinstance(value, date) else value


def unwritten(value: Any) -> Any:
    """What `written` was given."""
    if isinstance(value, list):
        return [unwritten(each) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, each),) = value.items()
        if key in _DATES and isinstance(each, str):
            return _DATES[key](each)
    return {key: unwritten(each) for key, each in value.items()}


def digest_of(document: Document) -> str:
    """The same for documents between which nothing changed: order means nothing, and budgets are not part of it."""
    form = json.dumps(flattened(document), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(form.encode("ascii")).hexdigest()


def flattened(document: Document) -> dict[str, Any]:
    """Each value under its path: `tables.visits.max_rows`. Names with dots are quoted, as in TOML."""
    flat = dict(_leaves(document, ""))
    return {path: value for path, value in flat.items() if path not in BUDGET}


def _leaves(value: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for name, each in value.items():
        here = path + (name if name.replace("_", "").replace("-", "").isalnum() else json.dumps(name))
        if isinstance(each, Mapping) and each and not (len(each) == 1 and _DATES.keys() & each.keys()):
            yield from _leaves(each, f"{here}.")
        else:
            yield here, each


def changes(before: Document, after: Document) -> dict[str, list[Any]]:
    """For each path whose value is another one: that before and that after, null where there is none."""
    old, new = flattened(before), flattened(after)
    paths = sorted(old.keys() | new.keys())
    return {path: [old.get(path), new.get(path)] for path in paths if old.get(path) != new.get(path)}
