"""The names that an expression can use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Edit, Refused
from discreet.policy import suggest
from discreet.policy.model import Kind
from discreet.sql.apply import apply
from discreet.sql.bind import Binder, Special, written
from discreet.sql.expression import Expr
from discreet.sql.nodes import Field
from discreet.sql.nodes.join import HIDDEN
from discreet.sql.syntax import Unit

_NULL: Final = exp.Null()


@dataclass(frozen=True)
class Scope:
    """Columns by name, each under the alias of its table; names of the unit, likewise; and what takes subqueries."""

    fields: tuple[tuple[str, Field], ...]
    owners: tuple[tuple[str, str], ...] = ()
    """(alias, name): they may stand in few places, and never as a value."""
    special: Special = lambda *_: None
    merged: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """(name, indices): columns that USING made one: without the name of a table it is the first of them that is there.
    """
    missing: tuple[tuple[str, str, int], ...] = ()
    """(alias, name, index): names of the unit that are NULL where an outer join found no row, and which field says
    whether it did."""

    @classmethod
    def of(cls, alias: str, fields: Iterable[Field], owners: Iterable[str], special: Special) -> Scope:
        """Of one relation."""
        label = alias.lower()
        return cls(tuple((label, field) for field in fields), tuple((label, name) for name in owners), special)

    def renamed(self, alias: str) -> Scope:
        """The same columns, all under one name: (a JOIN b ON …) AS t."""
        label = alias.lower()
        owners = dict.fromkeys((label, name) for _, name in self.owners)
        missing = tuple((label, name, index) for _, name, index in self.missing if (label, name) not in owners)
        fields = tuple((label, field) for _, field in self.fields)
        return replace(self, fields=fields, owners=tuple(owners), missing=missing)

    @property
    def _lacked(self) -> list[tuple[str, str]]:
        return [(alias, name) for alias, name, _ in self.missing]

    def holders(self, label: str) -> set[str]:
        """The tables that have a column or unit of this name."""
        columns = {alias for alias, field in self.fields if field.name.lower() == label}
        return columns | {alias for alias, name in (*self.owners, *self._lacked) if name == label}

    @property
    def aliases(self) -> set[str]:
        return {alias for alias, _ in (*self.fields, *self.owners, *self._lacked)}

    def find(self, column: exp.Column) -> Field | None:
        """The field that a column names; None if there is none."""
        if column.args.get("db") or column.args.get("catalog"):
            return None
        wanted, table = column.name.lower(), column.table.lower()
        if not table and wanted in self._made_one:
            return self._made_one[wanted]
        fields = [field for alias, field in self._named.get(wanted, ()) if table in ("", alias)]
        if len(fields) > 1:
            raise Refused("unknown-column", "a column name is ambiguous", "write the table before it: t.x")
        return fields[0] if fields else None

    def knows(self, column: exp.Column) -> bool:
        """Whether a name is that of a column, or of the unit."""
        return self.find(column) is not None or self.is_owner(column) or self.is_missing(column)

    def resolve(self, column: exp.Column) -> Expr:
        if isinstance(column.this, exp.Star):
            raise Refused("not-an-aggregate", "* cannot stand here", "name the columns")
        field = self.find(column)
        if field is not None:
            return field.expr
        if self.is_owner(column):
            raise Refused(
                "not-an-aggregate", "the unit cannot be used as a value", f"count it: COUNT(DISTINCT {column.name})"
            )
        if self.is_missing(column):
            raise Refused(
                "not-an-aggregate",
                "the unit is NULL here where the join found no row, and cannot be used as a value",
                f"use COALESCE of the units of both tables, or ask whether there is one: {written(column)} IS NULL",
            )
        names = list(dict.fromkeys(field.name for _, field in self.fields if not field.name.startswith(HIDDEN)))
        near = suggest(column.name, names)
        fix = f"did you mean {near}?" if near else f"columns: {', '.join(names)}"
        raise Refused("unknown-column", "there is no such column", fix, edit=Edit(column.name, near or ""))

    def is_star(self, node: exp.Expression) -> bool:
        """Whether it stands for all columns of a table: t.*"""
        return isinstance(node, exp.Column) and isinstance(node.this, exp.Star)

    def starred(self, node: exp.Expression) -> list[tuple[str, Field, Any]]:
        """The columns that * or t.* stands for, without those of EXCLUDE: each with its table, and with what stands in
        its place by REPLACE, or None. Two may have one name, as long as nobody uses it."""
        table = node.table.lower() if isinstance(node, exp.Column) else ""
        star: Any = node.this if isinstance(node, exp.Column) else node
        if table and table not in self.aliases:
            raise Refused("unknown-table", "there is no such table here", f"tables: {', '.join(sorted(self.aliases))}")
        shown = [(alias, field) for alias, field in self.fields if not field.name.startswith(HIDDEN)]
        fields = [(alias, field) for alias, field in shown if table in ("", alias)]
        if not table and self.merged:  # what USING made one stands there once, and first
            one = [("", field) for field in self._made_one.values()]
            fields = [*one, *((alias, field) for alias, field in fields if field.name.lower() not in self._made_one)]
        left_out = {column.name.lower() for column in star.args.get("except_") or ()}
        replaced = {item.alias.lower(): item for item in star.args.get("replace") or ()}
        names = {field.name.lower() for _, field in fields}
        units = {name for alias, name in (*self.owners, *self._lacked) if table in ("", alias)}
        if not left_out <= names | units or not replaced.keys() <= names - left_out:
            raise Refused("unknown-column", "there is no such column", f"columns: {', '.join(sorted(names))}")
        return [
            (alias, field, replaced.get(field.name.lower()))
            for alias, field in fields
            if field.name.lower() not in left_out
        ]

    def is_owner(self, node: exp.Expression) -> bool:
        """Whether an expression is just the unit's name. A declared column of that name is meant as a column."""
        node = _bare(node)
        if isinstance(node, exp.Coalesce):
            parts = [node.this, *node.expressions]
            indices = {self._missing_at(part) for part in parts if not self.is_owner(part)}
            every = {index for _, _, index in self.missing}
            return None not in indices and (len(indices) < len(parts) or indices == every)
        if not isinstance(node, exp.Column) or node.args.get("db"):
            return isinstance(node, Unit)
        wanted, table = node.name.lower(), node.table.lower()
        if any(name == wanted and table in ("", alias) for alias, name in self.owners):
            return True
        both = {at for alias, name, at in self.missing if name == wanted and table in ("", alias)}
        return not self.owners and len(both) > 1  # what USING makes one in a FULL join

    def is_missing(self, node: exp.Expression) -> bool:
        """Whether it is the unit of a row that an outer join may lack: NULL there."""
        return self._missing_at(node) is not None

    def _missing_at(self, node: exp.Expression) -> int | None:
        """The field that says whether the row is there."""
        node = _bare(node)
        if not isinstance(node, exp.Column) or node.args.get("db") or self.is_owner(node):
            return None
        wanted, table = node.name.lower(), node.table.lower()
        return next((at for alias, name, at in self.missing if name == wanted and table in ("", alias)), None)

    def counted(self, node: Any) -> Any:
        """COUNT(unit) where the unit may be NULL as the count of rows in which it is not, and with DISTINCT likewise;
        all else as it is."""
        if not self.missing or not isinstance(node, (exp.Count, exp.Filter)):
            return node
        if isinstance(node, exp.Filter):
            inner = self.counted(node.this)
            if inner is node.this:
                return node
            both = exp.And(this=node.expression.this.copy(), expression=inner.expression.this)
            return exp.Filter(this=inner.this, expression=exp.Where(this=both))
        distinct = isinstance(node.this, exp.Distinct) and len(node.this.expressions) == 1
        column = node.this.expressions[0] if distinct else node.this
        if not self.is_missing(column):
            return node
        what = exp.Distinct(expressions=[Unit()]) if distinct else exp.Star()
        test = exp.Not(this=exp.Is(this=column.copy(), expression=_NULL.copy()))
        return exp.Filter(this=exp.Count(this=what), expression=exp.Where(this=test))

    def _presence(self, node: exp.Expression, bind: Binder) -> Expr | None:
        """What special means here, and whether there is a unit: always, but for rows that an outer join may lack."""
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            column = _bare(node.this)
            if isinstance(column, exp.Column) and self.find(column) is None:
                index = self._missing_at(column)
                if index is not None:
                    return apply("NOT", [apply("IS TRUE", [self.fields[index][1].expr])])
                if self.is_owner(column):
                    return Expr.literal(False)
        return self.special(node, bind)

    @cached_property
    def bind(self) -> Binder:
        return Binder(self.resolve, self._presence)

    @cached_property
    def _made_one(self) -> Mapping[str, Field]:
        """What stands for columns that USING made one."""
        made = {}
        for label, indices in self.merged:
            fields = [self.fields[index][1] for index in indices]
            made[label] = fields[0]
            if len(fields) > 1:
                made[label] = Field(fields[0].name, apply("COALESCE", [field.expr for field in fields]))
        return made

    @cached_property
    def _named(self) -> Mapping[str, list[tuple[str, Field]]]:
        """The fields of each name."""
        named: dict[str, list[tuple[str, Field]]] = {}
        for alias, field in self.fields:
            named.setdefault(field.name.lower(), []).append((alias, field))
        return named

    def condition(self, node: exp.Expression, clause: str) -> Expr:
        return truth(self.bind(node), clause)


def _bare(node: Any) -> Any:
    while isinstance(node, (exp.Paren, exp.Alias)):
        node = node.this
    return node


def truth(expr: Expr, clause: str) -> Expr:
    if expr.domain.kind not in (Kind.BOOLEAN, None):
        raise Refused("function-not-allowed", f"{clause} takes a condition", f"write {clause} x > 1")
    return expr


def labels(nodes: Sequence[exp.Expression]) -> list[str]:
    """The name of each item: its alias, the column's name, or its text; never twice the same."""
    texts: list[str] = []
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    for node in nodes:
        plain = node.alias or (node.name if isinstance(node, exp.Column) else written(node))
        label, number = plain, numbers.get(plain.lower(), 2)
        while label.lower() in taken:
            label, number = f"{plain}_{number}", number + 1
        numbers[plain.lower()] = number
        taken.add(label.lower())
        texts.append(label)
    return texts
