"""How dates are written: which row of the table a part, a truncation or a difference of dates is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Refused
from discreet.policy.model import Kind
from discreet.sql.apply import apply, dated
from discreet.sql.dates import DIFFERENCES, PARTS, TRUNCATIONS
from discreet.sql.dialects import CALLS
from discreet.sql.expression import Expr
from discreet.sql.syntax import Period

Bind = Callable[[Any], Expr]


def _extract(bind: Bind, node: exp.Extract) -> Expr:
    return _part(_unit(node.this), bind(node.expression))


def _called_part(bind: Bind, node: exp.Expression) -> Expr:
    return _part(CALLS[type(node)], bind(node.this))


def named_part(bind: Bind, word: Any, value: Any) -> Expr:
    """DATE_PART(word, value)."""
    return _part(_unit(word), bind(value))


def _part(part: str, value: Expr) -> Expr:
    if part not in PARTS:
        raise Refused(
            "function-not-allowed", "this part of a date is not known", f"use one of: {', '.join(_named(PARTS))}"
        )
    return apply(f"EXTRACT {part}", [value])


def _truncate(bind: Bind, node: exp.Expression) -> Expr:
    part, value = _unit(node.args["unit"]), bind(node.this)
    if part not in TRUNCATIONS:
        known = ", ".join(_named(TRUNCATIONS))
        raise Refused("function-not-allowed", "dates cannot be cut to this", f"use one of: {known}")
    kind = "TIMESTAMP" if value.domain.kind is Kind.TIMESTAMP or part in ("hour", "minute") else "DATE"
    if kind == "TIMESTAMP" and value.domain.kind is Kind.DATE:
        value = apply("CAST TIMESTAMP", [value])
    return apply(f"DATE_TRUNC {part} {kind}", [value])


def _difference(bind: Bind, node: exp.DateDiff) -> Expr:
    part = _unit(node.args["unit"]) if node.args.get("unit") else "day"
    if part not in DIFFERENCES:
        known = ", ".join(_named(DIFFERENCES))
        raise Refused("function-not-allowed", "dates cannot be subtracted in this", f"use one of: {known}")
    start, end = bind(node.expression), bind(node.this)
    kinds = {start.domain.kind, end.domain.kind}
    kind = Kind.TIMESTAMP if Kind.TIMESTAMP in kinds else Kind.DATE
    return apply(f"DATE_DIFF {part}", [dated(start, kind), dated(end, kind)])


def _named(parts: Iterable[str]) -> list[str]:
    """Those that have a word of their own."""
    return [part for part in parts if " " not in part]


def _unit(node: exp.Expression) -> str:
    """What `dialects` found that a word for a part of dates means."""
    return str(node.this) if isinstance(node, Period) else ""


DATE_FORMS: Final[dict[type[exp.Expression], Callable[[Bind, Any], Expr]]] = {
    exp.Extract: _extract,
    exp.TimestampTrunc: _truncate,
    exp.DateTrunc: _truncate,
    exp.DateDiff: _difference,
    **dict.fromkeys(CALLS, _called_part),
}
