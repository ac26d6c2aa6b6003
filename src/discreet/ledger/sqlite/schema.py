"""The journal in SQLite: one table, and indexes over what its lines say.

The indexes are over expressions of the line, so that SQLite itself keeps them in step with it, whoever writes, and
`PRAGMA integrity_check` finds any difference. Nothing that counts is read from them: they say where to look.
"""

from __future__ import annotations

from typing import Final

FORMAT: Final = 3
APPLICATION: Final = 0x44495343  # "DISC"
DIGITS: Final = 50
"""Of the largest amount in units of 10⁻²⁴; a loss has less than 40."""


def field(key: str, table: str = "journal") -> str:
    """What a line says under a key; NULL for one that is no JSON: an index must not fail over damage."""
    return f"CASE WHEN json_valid({table}.line) THEN json_extract({table}.line, '$.{key}') END"


def cost(index: int) -> str:
    """An amount that an answer cost, with leading zeros; of a part it stands beside the loss."""
    amount = ", ".join(f"json_extract(journal.line, '$.{key}[{index}]')" for key in ("price", "loss"))
    return f"CASE WHEN json_valid(journal.line) THEN substr('{'0' * DIGITS}' || coalesce({amount}, '0'), -{DIGITS}) END"


def padded(amount: int) -> str:
    """An amount as `cost` writes it: texts of one length are in the order of what they say."""
    return f"{amount:0{DIGITS}}"


def _index(name: str, *expressions: str, where: str) -> str:
    plain = [text.replace("journal.", "") for text in (*expressions, where)]
    return f"CREATE INDEX {name} ON journal ({', '.join(plain[:-1])}) WHERE {plain[-1]}"


CHARGES: Final = f"{field('kind')} = 'charge'"
ANSWERS: Final = f"{field('kind')} = 'answer'"
WITHDRAWN: Final = f"{field('withdrawn')} IS NOT NULL"
EVENTS: Final = f"{field('kind')} NOT IN ('charge', 'totals') AND ({field('kind')} <> 'answer' OR {WITHDRAWN})"
OLD: Final = {
    "journal": "CREATE TABLE journal (number INTEGER PRIMARY KEY, line TEXT NOT NULL, hash TEXT NOT NULL, plan TEXT, "
    "kept BLOB)",
    "plans": "CREATE INDEX plans ON journal (plan) WHERE plan IS NOT NULL",
}
ADDED: Final = {
    "charges": _index("charges", field("analyst"), where=CHARGES),
    "numbers": _index("numbers", "number", where=CHARGES),
    "answers": _index("answers", field("charge"), where=ANSWERS),
    "keys": _index("keys", field("key"), where=f"{field('key')} IS NOT NULL"),
    "cached": _index("cached", field("plan"), field("data"), cost(0), where=CHARGES),
}
STORY: Final = {"events": _index("events", "number", where=EVENTS)}
SCHEMA: Final = OLD | ADDED | STORY
LAYOUTS: Final = {1: OLD, 2: OLD | ADDED, FORMAT: SCHEMA}
