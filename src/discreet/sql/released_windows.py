"""Windows over values that are public by then: ranks, shares of a total, running sums. Post-processing, at no cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from discreet.composed import NOTHING, Sql, joined, keyword, literal, sql, stored
from discreet.errors import Refused
from discreet.policy.model import Kind
from discreet.sql.domain import NUMERIC, Domain
from discreet.sql.expression import Expr, Function, Result
from discreet.sql.frames import frame_of
from discreet.sql.places import spelled
from discreet.sql.postprocess import ROW_NUMBER, WINDOW, direction
from discreet.sql.wording import not_allowed

Bind = Callable[[Any], Expr]
_NUMBERED: Final[dict[type[exp.Expression], str]] = {
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
}
_NEIGHBOURS: Final[dict[type[exp.Expression], str]] = {exp.Lag: "lag", exp.Lead: "lead"}
_TOTALS: Final[dict[type[exp.Expression], str]] = {
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Count: "COUNT",
    exp.Min: "MIN",
    exp.Max: "MAX",
}


def released_window(node: exp.Window, bind: Bind) -> Expr:
    """A window over the rows that are shown. Rows that its order leaves equal stand in the order of the rows below."""
    if str(node.args.get("over")).upper() != "OVER":
        raise not_allowed(node)
    called, kind, used = _called(node.this, bind)
    parts = [bind(part) for part in node.args.get("partition_by") or ()]
    orders = node.args["order"].expressions if node.args.get("order") else ()
    keys = [bind(order.this) for order in orders]
    frame = frame_of(node)
    ties = type(node.this) in (exp.RowNumber, *_NEIGHBOURS) or (frame is not None and frame.rows)
    ordered = [sql("{} {}", key.key, direction(order)) for key, order in zip(keys, orders, strict=True)]
    ordered += [ROW_NUMBER] if ties else []
    over = joined(" ", [
        sql("PARTITION BY {}", joined(", ", (part.key for part in parts))) if parts else NOTHING,
        sql("ORDER BY {}", joined(", ", ordered)) if ordered else NOTHING,
        frame.sql if frame is not None and ordered else NOTHING,
    ])  # fmt: skip
    text = sql("{} OVER ({})", called, over)
    value = stored(text, kind) if kind is Kind.NUMBER else text
    function = Function(WINDOW, "a*", lambda _: value, lambda *_: Domain(kind), Result.EXACT, own_nulls=True)
    return Expr(value, Domain(kind), function, (*used, *parts, *keys))


def _called(function: Any, bind: Bind) -> tuple[Sql, Kind | None, list[Expr]]:
    """The call, the kind of what it gives, and what it looks at."""
    kind = type(function)
    if kind in _NUMBERED:
        return sql("{}()", keyword(_NUMBERED[kind])), Kind.INTEGER, []
    if kind in _NEIGHBOURS:
        value, offset = bind(function.this), function.args.get("offset")
        steps = 1 if offset is None else bind(offset).value
        if isinstance(steps, bool) or not isinstance(steps, int) or not 0 <= steps <= 10**6:
            raise Refused("function-not-allowed", f"{spelled(function)} takes a whole number", "write LAG(x, 1)")
        return sql("{}({}, {})", keyword(_NEIGHBOURS[kind]), value.sql, literal(steps)), value.domain.kind, [value]
    if kind not in _TOTALS:
        raise not_allowed(function)
    if isinstance(function.this, exp.Star):
        return sql("COUNT(*)"), Kind.INTEGER, []
    if isinstance(function.this, exp.Distinct):
        raise not_allowed(function.this)
    return _total(_TOTALS[kind], bind(function.this))


def _total(word: str, value: Expr) -> tuple[Sql, Kind | None, list[Expr]]:
    numeric = value.domain.kind in NUMERIC
    if word in ("SUM", "AVG"):
        if not numeric:
            raise Refused("function-not-allowed", f"{word} takes a number", "cast it, or count it")
        kind = value.domain.kind if word == "SUM" else Kind.NUMBER
        return sql("{}(CAST({} AS DOUBLE))", keyword(word), value.sql), kind, [value]
    kind = Kind.INTEGER if word == "COUNT" else value.domain.kind
    return sql("{}({})", keyword(word), value.sql), kind, [value]
