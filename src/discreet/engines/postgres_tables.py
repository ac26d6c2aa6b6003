"""How the rows of a copy lie in PostgreSQL: what the database is told of them, so that it need not look at all of them.

Theorem  Whatever is told holds of every row. Proof: it is a CHECK of the table, which PostgreSQL itself enforces.

Where groups are chosen after a filter, only units that have more groups than they may count in are put together
(`sql.bounding`). Their rows lie in a part of their own: the other part is not read for that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from discreet.engines.rewriting.postgres import DIALECT, identifier
from discreet.engines.rewriting.terms import WHOLE
from discreet.policy import Table
from discreet.policy.layout import ROW, seen_count, seen_keys

FEW: Final = "_few"
"""How the part is called with units that have as many groups as they may, of each key."""
MANY: Final = "_many"


def created(table: str, rows: str, held: Table) -> list[str]:
    """Statements that make a table of the copy out of a query of its rows."""
    name, checked = identifier(table), _checked(holds(held))
    keys = seen_keys(held)
    if not keys:
        return [f"CREATE TABLE {name} AS {rows}", *(f"ALTER TABLE {name} ADD {test}" for test in checked)]
    few, many = identifier(table + FEW), identifier(table + MANY)
    counts = [identifier(seen_count(key)) for key in keys]
    some = " OR ".join(f"{count} > {_number(held.max_groups)}" for count in counts)
    bounds = _checked(f"({count} <= {_number(held.max_groups)})" for count in counts)
    return [
        f"CREATE TABLE {few} AS {rows} WITH NO DATA",
        f"CREATE TABLE {many} (LIKE {few})",
        f"CREATE TABLE {name} (LIKE {few}) PARTITION BY LIST (({some}))",
        *(f"ALTER TABLE {part} ADD {test}" for part in (few, many) for test in checked),
        *(f"ALTER TABLE {few} ADD {test}" for test in bounds),
        f"ALTER TABLE {name} ATTACH PARTITION {few} FOR VALUES IN (false)",
        f"ALTER TABLE {name} ATTACH PARTITION {many} FOR VALUES IN (true)",
        f"INSERT INTO {name} {rows}",
    ]


def holds(table: Table) -> frozenset[str]:
    """What all rows of a table meet, as queries ask it."""
    if table.owner is None or table.owner.column is None:
        return frozenset()
    return frozenset({f"({identifier(ROW)} <= {_number(table.max_rows)})"})


def _checked(tests: Iterable[str]) -> list[str]:
    return [f"CHECK ({test})" for test in sorted(tests)]


def _number(value: int) -> str:
    return DIALECT.literal(WHOLE, str(value))
