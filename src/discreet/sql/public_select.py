"""A SELECT over public values: exact, free, with ordinary aggregates."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from discreet.composed import Sql, keyword, literal, repeated, sql, stored
from discreet.errors import Edit, Refused
from discreet.policy.model import Kind
from discreet.sql.aggregates import within
from discreet.sql.arguments import numeric
from discreet.sql.bind import Binder
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr
from discreet.sql.measures import COUNTED
from discreet.sql.postprocess import After
from discreet.sql.ranks import quantile_share
from discreet.sql.released_windows import released_window
from discreet.sql.scope import Scope
from discreet.sql.select import Clauses, Known, grouped_by, is_aggregate, shown
from discreet.sql.wording import not_allowed

_SPREADS: Final[dict[type[exp.Expression], str]] = {
    exp.Stddev: "STDDEV_SAMP",
    exp.StddevSamp: "STDDEV_SAMP",
    exp.StddevPop: "STDDEV_POP",
    exp.Variance: "VAR_SAMP",
    exp.VariancePop: "VAR_POP",
    exp.Median: "MEDIAN",
}
_PAIRS: Final[dict[type[exp.Expression], str]] = {
    exp.Corr: "CORR",
    exp.CovarPop: "COVAR_POP",
    exp.CovarSamp: "COVAR_SAMP",
    exp.RegrSlope: "REGR_SLOPE",
    exp.RegrIntercept: "REGR_INTERCEPT",
}
_PLAIN: Final[dict[type[exp.Expression], tuple[str, Kind | None]]] = {
    exp.Sum: ("SUM", Kind.NUMBER),
    exp.Avg: ("AVG", Kind.NUMBER),
    exp.Min: ("MIN", None),
    exp.Max: ("MAX", None),
    exp.Count: ("COUNT", Kind.INTEGER),
}
_QUANTILES: Final = (exp.PercentileCont, exp.Quantile, exp.ApproxQuantile)


def _without_stars(clauses: Clauses, scope: Scope) -> Clauses:
    """With all columns in the place of *."""
    items: list[Any] = []
    for item in clauses.items:
        if isinstance(item, exp.Star) or scope.is_star(item):
            items += [
                instead or exp.column(field.name, table=alias or None, quoted=True)
                for alias, field, instead in scope.starred(item)
            ]
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
        counted = _public_aggregate(node, scope) if grouping is not None else None
        if counted is not None:
            return counted
        if isinstance(node, exp.Window):
            if grouping is None:
                return released_window(node, bind)
            raise Refused(
                "function-not-allowed", "a window cannot stand beside GROUP BY here", "put it around the SELECT"
            )
        if isinstance(node, exp.AggFunc):
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


def _public_aggregate(node: Any, scope: Scope) -> Expr | None:
    """An ordinary aggregate over rows that are public; None if it is none."""
    condition = None
    if isinstance(node, exp.Filter):
        node, condition = node.this, scope.condition(node.expression.this, "FILTER")
    if isinstance(node, exp.WithinGroup):
        node = within(node)
    if type(node) in _PLAIN:
        called, kind = _plain(node, scope)
    elif isinstance(node, exp.CountIf):
        test = scope.condition(node.this, "COUNT_IF")
        called, kind = sql("COUNT(CASE WHEN {} THEN 1 END)", test.sql), Kind.INTEGER
    elif type(node) in _SPREADS:
        called, kind = sql("{}({})", keyword(_SPREADS[type(node)]), _tame(scope, node.this)), Kind.NUMBER
    elif type(node) in _PAIRS:
        parts = _tame(scope, node.this), _tame(scope, node.expression)
        called, kind = sql("{}({}, {})", keyword(_PAIRS[type(node)]), *parts), Kind.NUMBER
    elif isinstance(node, _QUANTILES):
        share = literal(quantile_share(scope.bind, node))
        called, kind = sql("QUANTILE_CONT({}, {})", _tame(scope, node.this), share), Kind.NUMBER
    elif condition is not None:
        raise not_allowed(node)
    else:
        return None
    if condition is not None:
        called = sql("{} FILTER (WHERE {})", called, condition.sql)
    return Expr(stored(called, kind) if kind is Kind.NUMBER else called, Domain(kind))


def _plain(node: Any, scope: Scope) -> tuple[Sql, Kind | None]:
    word, kind = _PLAIN[type(node)]
    inner = node.this
    if isinstance(inner, exp.Star):
        return COUNTED, Kind.INTEGER
    distinct = isinstance(inner, exp.Distinct)
    if distinct and len(inner.expressions) != 1:
        raise not_allowed(inner)
    value = scope.bind(inner.expressions[0] if distinct else inner)
    if word == "SUM" and value.domain.kind is Kind.INTEGER:
        kind = Kind.INTEGER
    part = sql("CAST({} AS DOUBLE)", value.sql) if kind is Kind.NUMBER else value.sql
    return sql("{}(DISTINCT {})" if distinct else "{}({})", keyword(word), part), kind or value.domain.kind


def _tame(scope: Scope, node: Any) -> Sql:
    """A number whose square an engine can add up; others count as NULL, where it would fail."""
    value = numeric(scope.bind(node), node)
    return repeated("CASE WHEN ABS({0}) < 1e150 THEN {0} END", sql("CAST({} AS DOUBLE)", value.sql))
