"""CURRENT_DATE and its like: a parameter of the query, fixed when it is asked and recorded beside its charge.

Theorem  Cost and answer follow from the text and the recorded moment alone.
Proof    Every word for the present becomes a literal before anything is planned. So the moment is part of what is
         drawn, and of the plan's fingerprint wherever it stands below the noise: the same text on another day is
         another query, and on the same day the same one, which is shown from the cache.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Refused
from discreet.sql.places import about
from discreet.sql.syntax import Moment

_DAYS: Final = r"CURRENT_DATE|TODAY\s*\("
_TIMES: Final = r"CURRENT_TIMESTAMP|CURRENT_DATETIME|LOCALTIMESTAMP|GET_CURRENT_TIMESTAMP|GETDATE|SYSDATE|NOW\s*\("
_WORDS: Final = re.compile(rf"\b(?:(?P<day>{_DAYS})|(?P<time>{_TIMES}))", re.IGNORECASE)
_KINDS: Final[dict[type[exp.Expression], str]] = {
    exp.CurrentDate: "CURRENT_DATE",
    exp.CurrentDatetime: "CURRENT_DATETIME",
    exp.CurrentTimestamp: "CURRENT_TIMESTAMP",
    exp.Localtimestamp: "LOCALTIMESTAMP",
}
_NAMES: Final = frozenset({"NOW", "GET_CURRENT_TIMESTAMP", "GETDATE", "SYSDATE"})


def present(text: object) -> datetime | None:
    """The present as a text means it: the day, or the minute if it asks for the time; None if it asks for neither."""
    if not isinstance(text, str):
        return None
    kinds = {match.lastgroup for match in _WORDS.finditer(text)}
    if not kinds:
        return None
    now = datetime.now(UTC).replace(second=0, microsecond=0, tzinfo=None)
    return now if "time" in kinds else now.replace(hour=0, minute=0)


def fixed(tree: exp.Query, now: datetime | None) -> tuple[str, ...]:
    """Put the moment in the place of every word for it, and say which moment that is."""
    notes: dict[str, None] = {}
    nodes: list[Any] = list(tree.walk())
    for node in reversed(nodes):
        word = _KINDS.get(type(node)) or (_name(node) if isinstance(node, exp.Anonymous) else None)
        if word is None:
            continue
        if now is None:
            reason = f"{word} is fixed when a query is asked, and this is none"
            raise about(Refused("function-not-allowed", reason, "write the date itself: DATE '2026-01-31'"), node)
        if any(node.args.get(name) is not None for name in ("this", "sysdate") if not isinstance(node, exp.Anonymous)):
            raise about(Refused("function-not-allowed", f"{word} is that of UTC", f"write {word} alone"), node)
        moment: date = now.date() if word == "CURRENT_DATE" else now
        notes[f"{word} is {moment} (UTC), fixed when this was asked"] = None
        node.replace(Moment(this=moment, word=word))
    return tuple(reversed(notes))


def _name(node: exp.Anonymous) -> str | None:
    word = str(node.this).upper()
    return word if word in _NAMES and not node.expressions else None
