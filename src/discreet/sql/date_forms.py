"""How dates are written: which row of the table a part, a truncation or a difference of dates is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Refused
from discreet.policy.model import Kind
from discreet.sql.apply import apply, dated
from discreet.sql.dates import DIFFERENCES, PARTS, TRUNCATIONS
from discreet.sql.dialects import CALLS
from discreet.sql.expression import Expr
from discreet.sql.syntax import Formatted, Period, Shifted

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


UNITS: Final = {
    "year": ("month", 12),
    "quarter": ("month", 3),
    "month": ("month", 1),
    "week": ("day", 7),
    "day": ("day", 1),
    "hour": ("second", 3600),
    "minute": ("second", 60),
    "second": ("second", 1),
}
"""Periods by which dates are moved, in those that the table of functions has."""


def _shift(bind: Bind, node: Shifted) -> Expr:
    unit, count = _unit(node.args["unit"]), bind(node.args["count"]).value
    if unit not in UNITS:
        raise Refused("function-not-allowed", "dates cannot be moved by this", f"use one of: {', '.join(UNITS)}")
    if not isinstance(count, int) or isinstance(count, bool):
        raise Refused("function-not-allowed", "an interval is a whole number", f"write INTERVAL 7 {unit.upper()}")
    period, times = UNITS[unit]
    return moved(bind(node.this), period, count * times, keeps=bool(node.args["keeps"]))


def moved(value: Expr, period: str, count: int, *, keeps: bool) -> Expr:
    """A date so many periods later; a date with hours is a time."""
    if value.domain.kind is Kind.TEXT:
        value = dated(value, Kind.DATE)
    timed = value.domain.kind is Kind.TIMESTAMP or period == "second" or not keeps
    if timed and value.domain.kind is Kind.DATE:
        value = apply("CAST TIMESTAMP", [value])
    return apply(f"DATE_ADD {period} {'TIMESTAMP' if timed else 'DATE'}", [value, Expr.literal(count)])


def of_dates(name: str, arguments: Sequence[Expr], *, days: bool) -> Expr:
    """A date and a number of days, or the days between two dates."""
    first, second = arguments
    kinds = [argument.domain.kind for argument in arguments]
    if name == "-" and kinds == [Kind.DATE, Kind.DATE] and days:
        return apply("DATE_DIFF day", [second, first])
    if name == "+" and kinds[1] is Kind.DATE:
        first, second = second, first
    if first.domain.kind is Kind.DATE and isinstance(second.value, int) and not isinstance(second.value, bool):
        return moved(first, "day", second.value if name == "+" else -second.value, keeps=True)
    raise Refused(
        "function-not-allowed",
        "dates are not added or subtracted like this",
        "write d + INTERVAL 7 DAY, or DATE_DIFF('day', first, last) for what lies between",
    )


def _format(bind: Bind, node: Formatted) -> Expr:
    return apply("STRFTIME", [bind(node.this), bind(node.args["format"])])


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
    Shifted: _shift,
    Formatted: _format,
    **dict.fromkeys(CALLS, _called_part),
}
