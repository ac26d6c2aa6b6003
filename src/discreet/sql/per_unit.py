"""Subqueries that group by the owner, and windows within it: what they compute stays with the unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from discreet.composed import NOTHING, Sql, double, joined, keyword, literal, name, sql
from discreet.errors import Refused
from discreet.policy.model import Kind
from discreet.sql.arguments import steps_of
from discreet.sql.bind import Binder, Special, written
from discreet.sql.domain import Domain, number
from discreet.sql.expression import Expr
from discreet.sql.frames import frame_of
from discreet.sql.measures import Steps
from discreet.sql.nodes import Filter, Node, PerUnit, Project
from discreet.sql.places import spelled
from discreet.sql.postprocess import direction
from discreet.sql.scope import Scope, labels, truth
from discreet.sql.wording import not_allowed

Total = Callable[[Binder, Any, Node], Expr]


def _count(bind: Binder, node: exp.Count, child: Node) -> Expr:
    counts = number(Fraction(0), Fraction(child.rows or 0), integral=True).but(certain=True)
    inner = node.this
    if isinstance(inner, exp.Star):
        return Expr(sql("COUNT(*)"), counts)
    distinct = isinstance(inner, exp.Distinct)
    if distinct and len(inner.expressions) != 1:
        raise not_allowed(inner)
    value = bind(inner.expressions[0] if distinct else inner)
    return Expr(sql("COUNT(DISTINCT {})" if distinct else "COUNT({})", value.sql), counts)


def _sum(bind: Binder, node: exp.Sum, child: Node) -> Expr:
    steps = steps_of(bind, node)
    return _scaled(sql("SUM({})", steps.sql()), steps, child)


def _scaled(total: Sql, steps: Steps, child: Node) -> Expr:
    """A sum of grid integers, back on the scale of the values."""
    low, high = steps.bounds
    rows = child.rows or 1
    bounds = min(low, low * rows), max(high, high * rows)
    if steps.step == 1:
        return Expr(sql("CAST({} AS DOUBLE)", total), number(*bounds, integral=True))
    return Expr(sql("(CAST({} AS DOUBLE) * {} + 0e0)", total, double(steps.step)), number(*bounds))


def _average(bind: Binder, node: exp.Avg, child: Node) -> Expr:  # noqa: ARG001
    steps = steps_of(bind, node)
    mean = sql("(CAST(SUM({0}) AS DOUBLE) / COUNT({0}) * {1} + 0e0)", steps.sql(), double(steps.step))
    return Expr(mean, number(*steps.bounds))


def _extreme(bind: Binder, node: Any, child: Node) -> Expr:  # noqa: ARG001
    value = bind(node.this)
    return Expr(sql("{}({})", keyword(node.key.upper()), value.sql), value.domain.but(certain=False))


def _end(bind: Binder, node: Any, child: Node) -> Expr:
    """FIRST or LAST in an order; rows that tie are told apart by keyed hash."""
    order = node.this
    if not isinstance(order, exp.Order):
        raise Refused("function-not-allowed", f"{spelled(node)} needs an order", "write FIRST(x ORDER BY day)")
    value = bind(order.this)
    first = sql(
        "{}({} ORDER BY {})", keyword(node.key.upper()), value.sql, ordered(bind, order, child.order, child.rows)
    )
    return Expr(first, value.domain.but(certain=False))


def ordered(bind: Binder, order: Any, further: Sequence[Sql], rows: int | None) -> Sql:
    """A total order: what is written, then the row's keyed hash; ranks do without, rows that tie share theirs."""
    parts = order.expressions if order is not None else []
    few = rows is not None and rows < MOST_PACKED
    if few and len(parts) == len(further) == 1 and bind(parts[0].this).domain.kind is Kind.DATE:
        return _packed(bind(parts[0].this).key, direction(parts[0]), further[0])
    keys = [sql("{} {}", bind(part.this).key, direction(part)) for part in parts]
    return joined(", ", [*keys, *further] or [sql("CAST(NULL AS BIGINT)")])


MOST_PACKED: Final = 1 << 20
"""Ranks are below this where they share an integer with a day."""


def _packed(day: Sql, way: Sql, row: Sql) -> Sql:
    """A day and the rank of a row as one integer, in the same order: an engine sorts it in half the time.

    Theorem  Rows are ordered by day, NULL first or last as `way` says, and those of one day by rank.
    Proof    Days are of the years 1 to 9999: fewer than 2²² of them. Ranks go up to the rows of a unit, fewer than 2²⁰.
             So the integer is in the order of the pair, whichever way the days go.
    """
    down, first = "DESC" in way.text, "FIRST" in way.text
    number = sql("({} - DATE '0001-01-01')", day)
    number = sql("({} - {})", literal(1 << 22), number) if down else sql("({} + 1)", number)
    missing = literal(0 if first else 1 << 23)
    return sql("((CAST(COALESCE({}, {}) AS BIGINT) << 20) | {})", number, missing, row)


TOTALS: Final[dict[type[exp.Expression], Total]] = {
    exp.Count: _count,
    exp.Sum: _sum,
    exp.Avg: _average,
    exp.Min: _extreme,
    exp.Max: _extreme,
    exp.First: _end,
    exp.Last: _end,
}
"""Aggregates over the rows of one unit."""


def per_unit(items: list[Any], having: Any, keys: list[Any], child: Node, scope: Scope) -> Project:
    """A subquery that groups by the owner, and maybe by more."""
    bound_keys = [(written(node), scope.bind(node)) for node in keys]
    indices = {expr.sql: index for index, (_, expr) in enumerate(bound_keys)}
    totals: dict[Sql, tuple[int, Expr]] = {}

    def special(node: exp.Expression, bind: Binder) -> Expr | None:
        node = _without_filter(scope.counted(node), scope)
        if type(node) in TOTALS:
            total = TOTALS[type(node)](scope.bind, node, child)
            column, _ = totals.setdefault(total.sql, (len(bound_keys) + len(totals), total))
            return Expr(name(f"c{column}"), total.domain)
        if isinstance(node, (exp.AggFunc, exp.Window)):
            raise not_allowed(node)
        if isinstance(node, exp.Literal):
            return None
        try:
            index = indices.get(scope.bind(node).sql)
        except Refused:
            index = None
        if index is None:
            return scope.special(node, bind)
        return Expr(name(f"c{index}"), bound_keys[index][1].domain)

    def resolve(column: exp.Column) -> Expr:
        scope.resolve(column)
        raise Refused(
            "not-an-aggregate", "a column stands outside of an aggregate", f"add {column.name} to GROUP BY, or total it"
        )

    bind = Binder(resolve, special)
    shown = [(label, bind(node)) for node, label in zip(items, labels(items), strict=True) if not scope.is_owner(node)]
    condition = None if having is None else truth(bind(having), "HAVING")
    node: Node = PerUnit(child, tuple(bound_keys), tuple(("", total) for _, total in totals.values()))
    if condition is not None:
        node = Filter(node, condition)
    return Project(node, tuple(shown))


def _without_filter(node: Any, scope: Scope) -> Any:
    """COUNT_IF, FILTER and COUNT(unit) by totals of fewer rows: what is left out is NULL."""
    if isinstance(node, exp.CountIf):
        return exp.Count(this=_where(node.this, exp.Literal.number(1)))
    test = None
    if isinstance(node, exp.Filter) and type(node.this) in _FILTERED:
        node, test = node.this, node.expression.this
    if isinstance(node, exp.Count) and (isinstance(node.this, exp.Star) or scope.is_owner(node.this)):
        return exp.Count(this=exp.Star() if test is None else _where(test, exp.Literal.number(1)))
    if test is None:
        return node
    if isinstance(node.this, exp.Distinct):
        values = [_where(test, value) for value in node.this.expressions]
        return type(node)(this=exp.Distinct(expressions=values))
    return type(node)(this=_where(test, node.this))


_FILTERED: Final = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)


def _where(test: Any, value: Any) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=test.copy(), true=value.copy())])


# windows


def _numbered(bind: Binder, node: Any, child: Node) -> tuple[Sql, Domain]:  # noqa: ARG001
    word = {exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank"}[type(node)]
    return sql("{}()", keyword(word)), number(Fraction(1), Fraction(child.rows or 1), integral=True)


def _neighbour(bind: Binder, node: Any, child: Node) -> tuple[Sql, Domain]:  # noqa: ARG001
    value = bind(node.this)
    offset = bind(node.args["offset"]).value if node.args.get("offset") else 1
    if not isinstance(offset, int) or not 0 <= offset <= 10**6:
        raise Refused("function-not-allowed", f"{spelled(node)} takes a whole number", "write LAG(x, 1)")
    called = sql("{}({}, {})", keyword(node.key.upper()), value.sql, literal(offset))
    return called, value.domain.but(certain=False)


def _totalled(bind: Binder, node: Any, child: Node) -> tuple[Sql, Domain]:
    total = TOTALS[type(node)](bind, node, child)
    return total.sql, total.domain.but(certain=False)


WINDOWS: Final[dict[type[exp.Expression], Callable[[Binder, Any, Node], tuple[Sql, Domain]]]] = {
    exp.RowNumber: _numbered,
    exp.Rank: _numbered,
    exp.DenseRank: _numbered,
    exp.Lag: _neighbour,
    exp.Lead: _neighbour,
    exp.Count: _totalled,
    exp.Min: _totalled,
    exp.Max: _totalled,
}


def window(scope: Scope, child: Node) -> Special:
    """What takes windows: within the owner, as SQL says which rows they see.

    Theorem  A window's value depends on rows of its own unit alone, and on nothing but their values.
    Proof    The owner is part of its partition. A frame of RANGE ends after all rows that are equal in the written
             order, so that none of them comes first; places and frames of ROWS are counted in a total order, in which
             the row's keyed hash tells rows apart that are equal in the written one.
    """

    def special(node: exp.Expression, bind: Binder) -> Expr | None:
        if not isinstance(node, exp.Window):
            return scope.special(node, bind)
        parts = node.args.get("partition_by") or []
        if child.owner.column is None or not any(scope.is_owner(part) for part in parts):
            raise Refused(
                "not-an-aggregate", "a window looks beyond one unit", "partition it by the unit: PARTITION BY the unit"
            )
        function = node.this
        if type(function) not in {exp.Sum, *WINDOWS} or str(node.args.get("over")).upper() != "OVER":
            raise not_allowed(function)
        others = [scope.bind(part).key for part in parts if not scope.is_owner(part)]
        frame = frame_of(node)
        total = isinstance(function, (exp.RowNumber, exp.Lag, exp.Lead)) or (frame is not None and frame.rows)
        over = sql(
            "OVER (PARTITION BY {} ORDER BY {} {})",
            joined(", ", [child.owner.column, *others]),
            ordered(scope.bind, node.args.get("order"), child.order if total else (), child.rows),
            NOTHING if frame is None else frame.sql,
        )
        if isinstance(function, exp.Sum):
            return _windowed_sum(scope, function, over, child)
        called, domain = WINDOWS[type(function)](scope.bind, function, child)
        return Expr(sql("{} {}", called, over), domain)

    return special


def _windowed_sum(scope: Scope, node: exp.Sum, over: Sql, child: Node) -> Expr:
    steps = steps_of(scope.bind, node)
    return _scaled(sql("SUM({}) {}", steps.sql(), over), steps, child)
