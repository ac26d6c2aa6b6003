"""How the rows of a copy lie in PostgreSQL: what the database is told of them, so that it need not look at all of them.

Theorem  Whatever is told holds of every row. Proof: it is a CHECK of the table, which PostgreSQL itself enforces.

Where groups are chosen after a filter, only units that have more groups than they may count in are put together, and of
their rows only those of late groups are looked up (`sql.late`). Units that have not lie in a part of their own, which
is not read for that; and so do rows of late groups, so that those of all others are read by themselves. Rows of crowded
units have an index by unit: they lie in that order, and are put together as they come.

Theorem  No row makes a statement fail. Proof: in which part a row lies is a CASE over comparisons, and has an ELSE. An
         index of PostgreSQL refuses what is longer than a third of a page, of which the smallest has 1024 bytes: units
         with longer names than `NAME_BYTES` lie in a part that has none, and only their own rows take longer for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from discreet.engines.rewriting.postgres import DIALECT, identifier
from discreet.engines.rewriting.statements import ranked_rows
from discreet.engines.rewriting.terms import WHOLE
from discreet.policy import Table
from discreet.policy.layout import UNIT, seen_count, seen_keys, seen_rank

FEW: Final = "_few"
"""How the part is called with units that have as many groups as they may, of each key."""
EARLY: Final = "_early"
"""Other units, where no key of a row comes too late."""
LATE: Final = "_late"
LONG: Final = "_long"
"""Units of all kinds, with names that no index takes."""
PARTS: Final = (FEW, EARLY, LATE, LONG)
NAME_BYTES: Final = 256
"""Bytes of a name that an index takes."""


def created(table: str, rows: str, held: Table) -> list[str]:
    """Statements that make a table of the copy out of a query of its rows."""
    name, unit, checked = identifier(table), identifier(UNIT), _checked(ranked_rows(held, DIALECT))
    keys = seen_keys(held)
    if not keys:
        return [f"CREATE TABLE {name} AS {rows}", *(f"ALTER TABLE {name} ADD {test}" for test in checked)]
    few, early, late, long = parts = [identifier(table + part) for part in PARTS]
    most = _number(held.max_groups)
    counts, ranks = ([identifier(stored(key)) for key in keys] for stored in (seen_count, seen_rank))
    many, beyond = (" OR ".join(f"{each} > {most}" for each in columns) for columns in (counts, ranks))
    within = [f"({rank} <= {most})" for rank in ranks]
    checks = {
        few: [f"({count} <= {most})" for count in counts] + within,
        early: within,
        late: [f"({beyond})"],
        long: [],
    }
    tests = {3: f"octet_length({unit}::text) > {NAME_BYTES}", 2: beyond, 1: many}
    numbered = " ".join(f"WHEN {test} THEN {number}" for number, test in tests.items())
    return [
        f"CREATE TABLE {few} AS {rows} WITH NO DATA",
        *(f"CREATE TABLE {part} (LIKE {few})" for part in parts[1:]),
        f"CREATE TABLE {name} (LIKE {few}) PARTITION BY LIST ((CASE {numbered} ELSE 0 END))",
        *(f"ALTER TABLE {part} ADD {test}" for part in parts for test in (*checked, *_checked(checks[part]))),
        *(f"ALTER TABLE {name} ATTACH PARTITION {part} FOR VALUES IN ({number})" for number, part in enumerate(parts)),
        f"INSERT INTO {name} {rows}",
        *(f"CREATE INDEX ON {part} ({unit})" for part in (early, late)),
    ]


def _checked(tests: Iterable[str]) -> list[str]:
    return [f"CHECK ({test})" for test in sorted(tests)]


def _number(value: int) -> str:
    return DIALECT.literal(WHOLE, str(value))
