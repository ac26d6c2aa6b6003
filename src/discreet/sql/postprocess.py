"""What follows the noise: a SELECT over public values, and which of its columns have provable intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from discreet.composed import Sql, joined, keyword, lines, listed, literal, name, sql
from discreet.policy.layout import TYPES
from discreet.policy.model import Kind
from discreet.quoting import Value
from discreet.sql.domain import NUMERIC, Domain
from discreet.sql.expression import Expr

RELEASED = {**TYPES, Kind.INTEGER: "HUGEINT"}
ROW_NUMBER = name("_discreet_place")
WINDOW = "OVER"
"""The function that a window is."""


def item_name(index: int) -> Sql:
    """What an item is called in the engine: no column below may have this name, or ORDER BY would take the item."""
    return name(f"_discreet_item_{index}")


def direction(part: exp.Expression) -> Sql:
    """Up or down, and where NULL stands."""
    nulls = "NULLS FIRST" if part.args.get("nulls_first") else "NULLS LAST"
    return keyword(f"DESC {nulls}" if part.args.get("desc") else nulls)


@dataclass(frozen=True, slots=True)
class KeySource:
    """A column of rows that only public tables are read for: all its values can be looked up while a query is planned.

    `chosen` says whether a subquery chose among them: then they are the keys, whatever the policy says of the column.
    """

    rows: Sql
    column: Sql
    chosen: bool


@dataclass(frozen=True, slots=True)
class Column:
    """A column of public values: a name, what is known of it, and where its values can be looked up, if anywhere."""

    name: str
    expr: Expr
    listed: KeySource | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """One key of ORDER BY."""

    expr: Expr
    direction: Sql

    def sql(self) -> Sql:
        return sql("{} {}", self.expr.key, self.direction)


@dataclass(frozen=True, slots=True)
class After:
    """Which rows and columns of public values are shown, computed from values that are public already: no cost."""

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

    def single(self, below: bool) -> bool:
        """Whether there is at most one row, where `below` says whether there is at most one below."""
        counted = self.grouping is not None and not self.grouping
        return counted or below or (self.limit is not None and self.limit <= 1)

    @property
    def open(self) -> bool:
        """Whether it only chooses and computes, row by row: a SELECT around it can do its work as well."""
        closed = (self.condition, self.grouping, self.limit, self.offset)
        ends = any(expr.is_interval_end for _, expr in self.items)
        windows = any(expr.uses(WINDOW) for _, expr in self.items)
        return all(part is None for part in closed) and not (self.orders or self.distinct or ends or windows)

    def sql(self, relation: Sql) -> Sql:
        """The SELECT over a relation, with the place of each row below it where rows are kept."""
        items = [sql("{} AS {}", expr.sql, item_name(index)) for index, (_, expr) in enumerate(self.items)]
        if self.keeps_rows:
            items.append(ROW_NUMBER)
        select = keyword("SELECT DISTINCT" if self.distinct else "SELECT")
        parts = [sql("{} {} FROM {}", select, joined(", ", items), relation)]
        if self.condition is not None:
            parts.append(sql("WHERE {}", self.condition.sql))
        if self.grouping:
            parts.append(sql("GROUP BY {}", joined(", ", (expr.key for expr in self.grouping))))
        if self.having is not None:
            parts.append(sql("{} {}", keyword("WHERE" if self.keeps_rows else "HAVING"), self.having.sql))
        orders = [order.sql() for order in self.orders] + ([ROW_NUMBER] if self.keeps_rows else [])
        if orders:
            parts.append(sql("ORDER BY {}", joined(", ", orders)))
        if self.limit is not None:
            parts.append(sql("LIMIT {}", literal(self.limit)))
        if self.offset is not None:
            parts.append(sql("OFFSET {}", literal(self.offset)))
        return joined(" ", parts)

    def interval(self, item: int, facts: Mapping[Sql, Domain]) -> Domain:
        """Where the exact value of an item lies, if those of the columns lie where the facts say."""
        return self.items[item][1].under(facts)


def values(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> Sql:
    """Rows as a relation that an engine can read, each with its place."""
    kinds = [keyword(RELEASED[column.expr.domain.kind or Kind.TEXT]) for column in columns]
    casts = [
        sql("CAST({} AS {}) AS {}", name(f"c{index}"), kind, column.expr.sql)
        for index, (column, kind) in enumerate(zip(columns, kinds, strict=True))
    ]
    named = joined(", ", [ROW_NUMBER, *(name(f"c{index}") for index in range(len(columns)))])
    shown = joined(", ", [ROW_NUMBER, *casts])
    if not rows:
        return sql(
            "(SELECT {} FROM (VALUES ({})) AS t({}) WHERE FALSE)", shown, listed([0, *(None for _ in columns)]), named
        )
    held = lines([index, *map(_plain, row)] for index, row in enumerate(rows))
    return sql("(SELECT {} FROM (VALUES {}) AS t({}))", shown, held, named)


def _plain(value: Any) -> Value:
    """A value that can be written; lists are only passed on, never computed with."""
    return None if isinstance(value, list) else value


def shown(value: Any, domain: Domain) -> Any:
    """A computed value in the Python type of its kind."""
    if value is None or domain.kind not in NUMERIC:
        return value
    if domain.kind is Kind.INTEGER and abs(value) < 2**63:
        return int(value)
    return float(value) if domain.kind is Kind.NUMBER else value
