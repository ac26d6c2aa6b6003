"""Nodes of syntax that are more than a row of the table of functions: literals, choices, casts, calls by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Refused
from discreet.policy.model import Kind
from discreet.quoting import TEXT_LENGTH
from discreet.sql.apply import apply, moment
from discreet.sql.date_forms import DATE_FORMS, Bind, named_part
from discreet.sql.expression import Expr
from discreet.sql.literals import number
from discreet.sql.syntax import BigQueryCast, CarefulCast, Moment
from discreet.sql.wording import not_allowed

_ANONYMOUS: Final = {"CLAMP": "CLAMP", "MOD": "%"}
_CASTS: Final = {
    "INT": "INT",
    "BIGINT": "INTEGER",
    "DOUBLE": "NUMBER",
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR"), "TEXT"),
    "BOOLEAN": "BOOLEAN",
    "DATE": "DATE",
    **dict.fromkeys(("TIMESTAMP", "DATETIME", "TIMESTAMPNTZ"), "TIMESTAMP"),
}


def _literal(_: Bind, node: exp.Literal) -> Expr:
    if node.is_string:
        text = str(node.this)
        if len(text) > TEXT_LENGTH:
            reason = f"a text has more than {TEXT_LENGTH:,} characters"
            raise Refused("too-complex", reason, "shorten it: texts are cut there")
        return Expr.literal(text)
    return Expr.literal(number(str(node.this)), exact="e" not in str(node.this).lower())


def _boolean(_: Bind, node: exp.Boolean) -> Expr:
    return Expr.literal(bool(node.this))


def _null(_: Bind, __: exp.Null) -> Expr:
    return Expr.literal(None)


def _is(bind: Bind, node: exp.Is) -> Expr:
    right = node.expression
    if isinstance(right, exp.Null):
        return apply("IS NULL", [bind(node.this)])
    if isinstance(right, exp.Boolean):
        return apply("IS TRUE" if right.this else "IS FALSE", [bind(node.this)])
    raise not_allowed(node)


def _is_same(bind: Bind, node: exp.NullSafeEQ) -> Expr:
    return apply("NOT", [apply("IS DISTINCT FROM", [bind(node.this), bind(node.expression)])])


def _escaped(bind: Bind, node: exp.Escape) -> Expr:
    """LIKE or ILIKE with a sign before which nothing is a wildcard."""
    search = node.this
    if type(search) not in (exp.Like, exp.ILike):
        raise not_allowed(node)
    name = f"{search.key.upper()} ESCAPE"
    return apply(name, [bind(search.this), bind(search.expression), bind(node.expression)])


def _pi(_: Bind, __: exp.Pi) -> Expr:
    return Expr.literal(Fraction(math.pi), exact=False)


def _left(bind: Bind, node: exp.Left) -> Expr:
    count = bind(node.expression)
    if not isinstance(count.value, int) or isinstance(count.value, bool) or count.value < 0:
        raise Refused("function-not-allowed", "LEFT takes a number of letters", "write LEFT(w, 3)")
    return apply("SUBSTR TO", [bind(node.this), Expr.literal(1), count])


def _case(bind: Bind, node: exp.Case) -> Expr:
    arguments: list[Expr] = []
    for branch in node.args["ifs"]:
        test = bind(branch.this)
        arguments.append(apply("=", [bind(node.this), test]) if node.args.get("this") else test)
        arguments.append(bind(branch.args["true"]))
    default = node.args.get("default")
    return apply("CASE", [*arguments, bind(default) if default is not None else Expr.literal(None)])


def _if(bind: Bind, node: exp.If) -> Expr:
    other = node.args.get("false")
    return apply("CASE", [bind(node.this), bind(node.args["true"]), bind(other) if other else Expr.literal(None)])


def _cast(bind: Bind, node: exp.Cast) -> Expr:
    kind = _CASTS.get(node.args["to"].this.name)
    if kind is None:
        wanted = "INTEGER, BIGINT, DOUBLE, VARCHAR, BOOLEAN, DATE or TIMESTAMP"
        raise Refused("function-not-allowed", "there is no cast to this type", f"cast to {wanted}")
    value = bind(node.this)
    if kind in ("DATE", "TIMESTAMP") and isinstance(value.value, str):
        return moment(value.value, Kind(kind.lower()))
    if isinstance(value.value, Fraction):
        return _cast_number(value.value, value, kind)
    if kind == "TEXT" and value.domain.kind is Kind.INTEGER:
        kind = "TEXT OF A WHOLE NUMBER"  # computed ones are DOUBLE, and would be written with a point
    if isinstance(node, BigQueryCast):
        value = _bigquerys(value, kind)
    if isinstance(node, CarefulCast):
        _refuse_cast(value.domain.kind, kind)
    return apply(f"CAST {kind}", [value])


_UNLIKE: Final = {
    Kind.NUMBER: {"INT", "INTEGER", "TEXT", "BOOLEAN"},
    Kind.INTEGER: {"BOOLEAN"},
    Kind.TEXT: {"INT", "INTEGER", "NUMBER", "BOOLEAN", "DATE", "TIMESTAMP"},
    Kind.TIMESTAMP: {"TEXT"},
}
"""Casts that dialects do differently: roundings, what is written, and which texts are numbers, dates or true."""


def _refuse_cast(kind: Kind | None, wanted: str) -> None:
    if kind is not None and wanted in _UNLIKE.get(kind, ()):
        raise Refused(
            "function-not-allowed",
            "dialects differ in what this cast gives",
            "use FLOOR, CEIL or a comparison instead, or ask in DuckDB's or BigQuery's dialect",
        )


def _cast_number(number: Fraction, value: Expr, kind: str) -> Expr:
    """A literal with decimals: DuckDB rounds decimals half away from zero, and writes them as they are written."""
    if kind == "TEXT":
        raise Refused("function-not-allowed", "a number that is written is a text already", "write it in quotes")
    if kind in ("INT", "INTEGER"):
        steps = math.floor(abs(number) + Fraction(1, 2))
        value = Expr.literal(steps if number >= 0 else -steps)
    return apply(f"CAST {kind}", [value])


def _bigquerys(value: Expr, kind: str) -> Expr:
    """What is cast in BigQuery's dialect, so that the cast gives what it gives there."""
    if kind == "INTEGER" and value.domain.kind is Kind.NUMBER:
        return apply("ROUND", [value])
    pair = (value.domain.kind, kind)
    if pair in ((Kind.TEXT, "INTEGER"), (Kind.NUMBER, "TEXT")):
        raise Refused("function-not-allowed", "BigQuery casts this differently", "cast to FLOAT64 first, or round it")
    return value


def _anonymous(bind: Bind, node: exp.Anonymous) -> Expr:
    name = str(node.this).upper()
    if name == "DATE_PART" and len(node.expressions) == 2:
        return named_part(bind, *node.expressions)
    if name not in _ANONYMOUS:
        raise not_allowed(node)
    return apply(_ANONYMOUS[name], [bind(part) for part in node.expressions])


READERS: Final[dict[type[exp.Expression], Callable[[Bind, Any], Expr]]] = {
    exp.Literal: _literal,
    exp.Boolean: _boolean,
    exp.Null: _null,
    exp.Is: _is,
    exp.NullSafeEQ: _is_same,
    exp.Escape: _escaped,
    exp.Pi: _pi,
    exp.Left: _left,
    exp.Case: _case,
    exp.If: _if,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    BigQueryCast: _cast,
    CarefulCast: _cast,
    Moment: lambda _, node: Expr.literal(node.this),
    exp.Anonymous: _anonymous,
    **DATE_FORMS,
}
