"""The tree of a query, as DuckDB's own parser makes it: what is rewritten is what DuckDB would run.

A node says by itself what it is. Whoever prints one takes out of it what it understands; what is left and means
something is refused. So a clause that nobody thought of cannot be lost on the way to another engine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
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


def statement(query: Sql) -> Json:
    """The one statement of a query, which DuckDB reads as it was composed."""
    confirmed(query)
    held = _read(query)["statements"]
    if len(held) != 1:
        raise UnknownError("several statements")
    node: Json = held[0]["node"]
    return node


@lru_cache(maxsize=32)
def _read(query: Sql) -> Json:
    """The whole tree, which nobody changes: the same query is looked at before its charge and after."""
    try:
        held: Json = json.loads(parsed(query))
    except RecursionError:
        raise UnknownError("a query that is nested this deep") from None
    return held


def tables(query: Sql) -> frozenset[str]:
    """The tables that a query names, in lower case."""
    held = _inside(_read(query))
    return frozenset(str(node["table_name"]).lower() for node in held if node.get("type") == "BASE_TABLE")


def calls(held: Any) -> Iterator[str]:
    """The functions that expressions call by themselves, not in a window and not in a subquery."""
    for node in _inside(held, frozenset({"WINDOW", "SUBQUERY"})):
        if node.get("class") == "FUNCTION":
            yield str(node["function_name"]).lower()


def _inside(held: Any, without: frozenset[str] = frozenset()) -> Iterator[Json]:
    """All nodes, but those inside of some classes."""
    left = [held]
    while left:
        here = left.pop()
        if isinstance(here, Mapping):
            if here.get("class") in without:
                continue
            yield here
            left.extend(here.values())
        elif isinstance(here, list):
            left.extend(here)
