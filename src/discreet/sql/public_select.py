"""A SELECT over public values: exact, free, with ordinary aggregates."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from discreet.composed import keyword, sql, stored
from discreet.errors import Edit, Refused
from discreet.policy.model import Kind
from discreet.sql.bind import Binder
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr
from discreet.sql.measures import COUNTED
from discreet.sql.postprocess import After
from discreet.sql.scope import Scope
from discreet.sql.select import Clauses, Known, grouped_by, is_aggregate, shown
from discreet.sql.syntax import not_allowed

_PUBLIC: Final[dict[type[exp.Expression], tuple[str, Kind | None]]] = {
    exp.Sum: ("SUM", Kind.NUMBER),
    exp.Avg: ("AVG", Kind.NUMBER),
    exp.Min: ("MIN", None),
    exp.Max: ("MAX", None),
    exp.Count: ("COUNT", Kind.INTEGER),
}


def _without_stars(clauses: Clauses, scope: Scope) -> Clauses:
    """With all columns in the place of *."""
    items: list[Any] = []
    for item in clauses.items:
        if isinstance(item, exp.Star) or scope.is_star(item):
            items += scope.starred(item)
        else:
            items.append(item)
    return replace(clauses, items=items)


def public_select(clauses: Clauses, scope: Scope) -> After:
    """A SELECT over public values: exact, free, with ordinary aggregates."""
    clauses = _without_stars(clauses, scope)

    grouping = tuple(scope.bind(node) for node in grouped_by(clauses, scope)) if clauses.aggregated else None
    keys = {expr.sql: expr for expr in grouping or ()}
    aggregated: Known = {}

    def special(node: exp.Expression, bind: Binder) -> Expr | None:
        if type(node) in _PUBLIC:
            return _public_aggregate(node, scope)
        if isinstance(node, (exp.AggFunc, exp.Window)):
            raise not_allowed(node)
        if keys and not isinstance(node, exp.Literal) and not is_aggregate(node, aggregated):
            with suppress(Refused):
                key = keys.get(scope.bind(node).sql)
                if key is not None:
                    return key
        return scope.special(node, bind)

    def resolve(column: exp.Column) -> Expr:
        field = scope.resolve(column)
        if grouping is None:
            return field
        raise Refused(
            "not-an-aggregate",
            "a column stands outside of an aggregate",
            f"add {column.name} to GROUP BY, or count it: COUNT({column.name})",
            edit=None if keys else Edit(new=f"GROUP BY {column.name}"),
        )

    after = shown(clauses, scope, resolve, special)
    condition = None if clauses.where is None else scope.condition(clauses.where, "WHERE")
    return replace(after, condition=condition, grouping=grouping)


def _public_aggregate(node: exp.Expression, scope: Scope) -> Expr:
    word, kind = _PUBLIC[type(node)]
    inner = node.this
    if isinstance(inner, exp.Star):
        return Expr(COUNTED, Domain(Kind.INTEGER))
    distinct = isinstance(inner, exp.Distinct)
    if distinct and len(inner.expressions) != 1:
        raise not_allowed(inner)
    value = scope.bind(inner.expressions[0] if distinct else inner)
    if word == "SUM" and value.domain.kind is Kind.INTEGER:
        kind = Kind.INTEGER
    part = sql("CAST({} AS DOUBLE)", value.sql) if kind is Kind.NUMBER else value.sql
    called = sql("{}(DISTINCT {})" if distinct else "{}({})", keyword(word), part)
    return Expr(stored(called, kind) if kind is Kind.NUMBER else called, Domain(kind or value.domain.kind))
