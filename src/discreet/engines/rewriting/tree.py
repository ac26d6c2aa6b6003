"""The tree of a query, as DuckDB's own parser makes it: what is rewritten is what DuckDB would run.

A node says by itself what it is. Whoever prints one takes out of it what it understands; what is left and means
something is refused. So a clause that nobody thought of cannot be lost on the way to another engine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from discreet.composed import Sql
from discreet.engines.printed import confirmed, parsed

Json = Mapping[str, Any]

_EMPTY: Final[tuple[object, ...]] = (None, False, "", [], {})
_USUAL: Final[Mapping[str, object]] = {
    "aggregate_handling": "STANDARD_HANDLING",
    "cte_map": {"map": []},
    "exclude_clause": "NO_OTHER",
    "nearest_count": 1,
    "nearest_order_type": "ASCENDING",
    "order_bys": {"type": "ORDER_MODIFIER", "orders": []},
    "ref_type": "REGULAR",
    "start_expr": None,
}
"""What a key holds where nobody asked for anything."""
_PLACES: Final = frozenset({"query_location", "query_location_length"})


class UnknownError(Exception):
    """A query holds what this engine has no rule for. The text names the construct, and nothing of any row."""


class Node:
    """A node of the tree, of which everything has to be taken."""

    __slots__ = ("_left", "kind")

    def __init__(self, held: Json) -> None:
        self._left = {key: value for key, value in held.items() if key not in _PLACES}
        self.kind = str(self._left.pop("type", ""))
        """What it is, in DuckDB's words."""

    def take(self, key: str) -> Any:
        """What a key holds, once; None where there is nothing."""
        return self._left.pop(key, None)

    def node(self, key: str) -> Node | None:
        held = self.take(key)
        return Node(held) if held else None

    def nodes(self, key: str) -> list[Node]:
        return [Node(held) for held in self.take(key) or ()]

    def word(self, key: str) -> str:
        held = self.take(key)
        return held if isinstance(held, str) else ""

    def last_name(self) -> str:
        """What a column is called that has no other name."""
        return str(self._left["column_names"][-1]) if self.kind == "COLUMN_REF" else ""

    def done(self) -> None:
        """Raise if something is left that means something."""
        for key, value in self._left.items():
            if value not in _EMPTY and value != _USUAL.get(key):
                raise UnknownError(f"{self.kind}: {key}")


def statement(query: Sql) -> Node:
    """The one statement of a query, which DuckDB reads as it was composed."""
    confirmed(query)
    try:
        held = json.loads(parsed(query))["statements"]
    except RecursionError:
        raise UnknownError("a query that is nested this deep") from None
    if len(held) != 1:
        raise UnknownError("several statements")
    return Node(held[0]["node"])


def tables(query: Sql) -> frozenset[str]:
    """The tables that a query names, in lower case."""
    return frozenset(_named(json.loads(parsed(query))))


def _named(held: Any) -> Iterator[str]:
    left = [held]
    while left:
        here = left.pop()
        if isinstance(here, Mapping):
            if here.get("type") == "BASE_TABLE":
                yield str(here["table_name"]).lower()
            left.extend(here.values())
        elif isinstance(here, list):
            left.extend(here)
