"""What follows the noise: a SELECT over public values, and which of its columns have provable intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.policy.layout import TYPES
from discreet.policy.model import Kind
from discreet.quoting import literal, name
from discreet.sql.domain import NUMERIC, Domain
from discreet.sql.expression import Expr

RELEASED = {**TYPES, Kind.INTEGER: "HUGEINT"}
PLACE = name("_discreet_place")
INTERVAL = "DP_INTERVAL"
"""How the functions begin that give the ends of intervals."""


def item_name(place: int) -> str:
    """What an item is called in the engine: no column below may have this name, or ORDER BY would take the item."""
    return name(f"_discreet_item_{place}")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of public values: a name, what is known of it, and the public table and column that it is, if any."""

    name: str
    expr: Expr
    listed: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """One key of ORDER BY."""

    expr: Expr
    words: str

    def sql(self) -> str:
        return f"{self.expr.sql}{self.words}"


@dataclass(frozen=True, slots=True)
class After:
    """Which rows and columns of public values are shown, computed from values that are public already: no price."""

    items: tuple[tuple[str, Expr], ...]
    condition: Expr | None = None
    grouping: tuple[Expr, ...] | None = None
    having: Expr | None = None
    orders: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int | None = None
    distinct: bool = False

    @property
    def columns(self) -> list[str]:
        return [label for label, _ in self.items]

    @property
    def plain(self) -> bool:
        """Whether nothing is computed: every item is a column and every row is shown."""
        chosen = (self.condition, self.grouping, self.having, self.limit, self.offset)
        simple = all(part is None for part in chosen) and not self.orders and not self.distinct
        return simple and all(expr.function is None for _, expr in self.items)

    @property
    def keeps_rows(self) -> bool:
        """Whether each row shown is one row of the values below."""
        return self.grouping is None and not self.distinct

    @property
    def open(self) -> bool:
        """Whether it only chooses and computes, row by row: a SELECT around it can do its work as well."""
        closed = (self.condition, self.grouping, self.limit, self.offset)
        ends = any(expr.function is not None and expr.function.name.startswith(INTERVAL) for _, expr in self.items)
        return all(part is None for part in closed) and not (self.orders or self.distinct or ends)

    def sql(self, relation: str) -> str:
        """The SELECT over a relation, with the place of each row below it where rows are kept."""
        items = [f"{expr.sql} AS {item_name(place)}" for place, (_, expr) in enumerate(self.items)]
        if self.keeps_rows:
            items.append(PLACE)
        parts = [f"SELECT {'DISTINCT ' if self.distinct else ''}{', '.join(items)} FROM {relation}"]
        if self.condition is not None:
            parts.append(f"WHERE {self.condition.sql}")
        if self.grouping:
            parts.append(f"GROUP BY {', '.join(expr.sql for expr in self.grouping)}")
        if self.having is not None:
            parts.append(f"{'WHERE' if self.keeps_rows else 'HAVING'} {self.having.sql}")
        orders = [order.sql() for order in self.orders] + ([PLACE] if self.keeps_rows else [])
        if orders:
            parts.append(f"ORDER BY {', '.join(orders)}")
        if self.limit is not None:
            parts.append(f"LIMIT {self.limit}")
        if self.offset is not None:
            parts.append(f"OFFSET {self.offset}")
        return " ".join(parts)

    def interval(self, item: int, facts: Mapping[str, Domain]) -> Domain:
        """Where the exact value of an item lies, if those of the columns lie where the facts say."""
        return self.items[item][1].under(facts)


def values(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> str:
    """Rows as a relation that an engine can read, each with its place."""
    kinds = [RELEASED[column.expr.domain.kind or Kind.TEXT] for column in columns]
    casts = [f"CAST({name(f'c{place}')} AS {kind}) AS {column.expr.sql}"
             for place, (column, kind) in enumerate(zip(columns, kinds, strict=True))]  # fmt: skip
    lines = [f"({', '.join([str(place), *map(_written, row)])})" for place, row in enumerate(rows)]
    named = ", ".join([PLACE, *(name(f"c{place}") for place in range(len(columns)))])
    if not lines:
        empty = ", ".join(["0", *("NULL" for _ in columns)])
        return f"(SELECT {', '.join([PLACE, *casts])} FROM (VALUES ({empty})) AS t({named}) WHERE FALSE)"
    return f"(SELECT {', '.join([PLACE, *casts])} FROM (VALUES {', '.join(lines)}) AS t({named}))"


def _written(value: Any) -> str:
    """A value as a literal; lists are only passed on, never computed with."""
    return "NULL" if isinstance(value, list) else literal(value)


def shown(value: Any, domain: Domain) -> Any:
    """A computed value in the Python type of its kind."""
    if value is None or domain.kind not in NUMERIC:
        return value
    if domain.kind is Kind.INTEGER and abs(value) < 2**63:
        return int(value)
    return float(value) if domain.kind is Kind.NUMBER else value
