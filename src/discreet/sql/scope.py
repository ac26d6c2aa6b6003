"""The names that an expression can use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from discreet.errors import Refused
from discreet.policy import suggest
from discreet.policy.model import Kind
from discreet.sql.bind import Binder
from discreet.sql.expression import Expr
from discreet.sql.nodes import Field


@dataclass(frozen=True, slots=True)
class Scope:
    """Columns by name, each under the alias of its table."""

    fields: tuple[tuple[str, Field], ...]
    owners: frozenset[str] = frozenset()
    """Names of the unit: they may stand in few places, and never as a value."""

    @classmethod
    def over(cls, source: Any, alias: str) -> Scope:
        """Of one relation, private or public."""
        if hasattr(source, "fields"):
            return cls(tuple((alias.lower(), field) for field in source.fields), source.owner.names)
        return cls(tuple((alias.lower(), Field(column.name, column.expr)) for column in source.columns))

    def find(self, column: exp.Column) -> Field | None:
        """The field that a column names; None if there is none."""
        if column.args.get("db") or column.args.get("catalog"):
            return None
        wanted, table = column.name.lower(), column.table.lower()
        found = [f for alias, f in self.fields if f.name.lower() == wanted and table in ("", alias)]
        if len(found) > 1:
            raise Refused("unknown-column", "a column name is ambiguous", "write the table before it: t.x")
        return found[0] if found else None

    def resolve(self, column: exp.Column) -> Expr:
        if isinstance(column.this, exp.Star):
            raise Refused("not-an-aggregate", "* cannot stand here", "name the columns")
        field = self.find(column)
        if field is not None:
            return field.expr
        if self.is_owner(column):
            raise Refused(
                "not-an-aggregate",
                "the unit cannot be used as a value",
                f"count it: COUNT(DISTINCT {column.name})",
            )
        names = [field.name for _, field in self.fields]
        raise Refused(
            "unknown-column", "there is no such column", suggest(column.name, names) or f"columns: {', '.join(names)}"
        )

    def is_owner(self, node: exp.Expression) -> bool:
        """Whether an expression is just the unit's name."""
        while isinstance(node, exp.Paren):
            node = node.this
        if not isinstance(node, exp.Column) or node.args.get("db"):
            return False
        aliases = {alias for alias, _ in self.fields}
        return node.name.lower() in self.owners and node.table.lower() in ("", *aliases)

    @property
    def bind(self) -> Binder:
        return Binder(self.resolve)

    def condition(self, node: exp.Expression, clause: str) -> Expr:
        return truth(self.bind(node), clause)


def truth(expr: Expr, clause: str) -> Expr:
    if expr.domain.kind not in (Kind.BOOLEAN, None):
        raise Refused("function-not-allowed", f"{clause} takes a condition", f"write {clause} x > 1")
    return expr


def labels(nodes: Sequence[exp.Expression]) -> list[str]:
    """The name of each item: its alias, the column's name, or its text; never twice the same."""
    found: list[str] = []
    for node in nodes:
        label = node.alias or (node.name if isinstance(node, exp.Column) else node.sql(dialect="duckdb"))
        taken, number = label, 2
        while taken.lower() in {name.lower() for name in found}:
            taken, number = f"{label}_{number}", number + 1
        found.append(taken)
    return found


def aliases(nodes: Sequence[exp.Expression], bound: Sequence[Expr]) -> Mapping[str, Expr]:
    return {node.alias.lower(): expr for node, expr in zip(nodes, bound, strict=False) if node.alias}
