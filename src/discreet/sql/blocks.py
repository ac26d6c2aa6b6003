"""Which blocks of a stream a query reads: what may stand beside them, and their condition.

Theorem  A query that is planned for blocks S of a stream reads no private row but those of S.
Proof    Private tables are read by `Scan` alone, and `demand_readable` stands before each: it lets pass the stream with
         its blocks chosen, whose rows have the block in S as a condition, and no other private table.
"""

from __future__ import annotations

from discreet.composed import Sql, joined, literal, name, sql
from discreet.errors import Edit, Refused
from discreet.policy.layout import BLOCK
from discreet.policy.model import Policy, Table


def demand_readable(policy: Policy, table: Table) -> None:
    """Refuse a private table that a query about these blocks, or about none, may not read."""
    chosen = next((other.name for other in policy.streams.values() if other.blocks is not None), None)
    if chosen is not None and chosen != table.name:
        raise Refused(
            "blocks-apart",
            f"a query about blocks of {chosen} is charged to them alone, and {table.name} is another private table",
            f"ask about {chosen} and public tables, and about {table.name} in a query of its own",
        )
    if table.stream is not None and table.blocks is None:
        raise Refused(
            "blocks-missing",
            f"{table.name} is a stream: a query says which of its blocks it reads",
            'add blocks="newest 1"',
            edit=Edit(arguments={"blocks": "newest 1"}),
        )


def condition(table: Table) -> list[Sql]:
    """What a row in the chosen blocks fulfils; tables that are no streams have no blocks."""
    if table.blocks is None:
        return []
    block = name(BLOCK)
    tests = [sql("{} BETWEEN {} AND {}", block, literal(first), literal(last)) for first, last in table.blocks]
    return [sql("({})", joined(" OR ", tests or [literal(False)]))]
