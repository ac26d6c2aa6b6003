"""What the columns of an answer mean, from text and policy alone: in words, and as ranges of values.

Nothing here decides what is released: it is for titles and axes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from discreet.answers.buckets import Buckets
from discreet.composed import Sql
from discreet.policy.model import Kind
from discreet.sql.expression import Expr
from discreet.sql.relation import Released
from discreet.sql.release import Release

MOST_LETTERS: Final = 80
MOST_NESTED: Final = 6
"""Steps from a column to what is made of it: what takes more is told by its name alone."""


# words


def described(tree: Any, columns: list[str], buckets: Collection[str] = ()) -> dict[str, str]:
    """What each column of the outermost SELECT is, in words; without those for which there are none.

    Buckets are called by the column of which they are ranges.
    """
    items = tree.expressions if isinstance(tree, exp.Select) else []
    if len(items) != len(columns):  # a star, or several SELECTs
        return {}
    words = {
        label: _words(node.find(exp.Column) if label in buckets else node, MOST_NESTED)
        for label, node in zip(columns, items, strict=True)
    }
    return {label: text for label, text in words.items() if text is not None and len(text) <= MOST_LETTERS}


def _words(node: Any, deep: int) -> str | None:
    """None where words would say no more than the text, or something else."""
    if deep == 0 or node is None:
        return None
    if isinstance(node, (exp.Alias, exp.Paren)):
        return _words(node.this, deep)
    if isinstance(node, exp.Column):
        return str(node.name).replace("_", " ")
    if isinstance(node, exp.Literal):
        return None if node.is_string else str(node.this)
    if isinstance(node, exp.Filter):
        inner = _words(node.this, deep - 1)
        return None if inner is None else f"{inner} (of some rows)"
    if isinstance(node, exp.Anonymous):
        form = _NAMED.get(str(node.this).upper())
        return None if form is None or not node.expressions else _filled(form, node.expressions[0], deep)
    row = _NODES.get(type(node))
    return None if row is None else row(node, deep - 1)


def _filled(form: str, node: Any, deep: int) -> str | None:
    inner = _words(node, deep)
    return None if inner is None else form.format(inner)


def _of(form: str) -> Callable[[Any, int], str | None]:
    return lambda node, deep: _filled(form, node.this, deep)


def _both(form: str) -> Callable[[Any, int], str | None]:
    def words(node: Any, deep: int) -> str | None:
        if any(isinstance(part.unnest(), exp.Binary) for part in (node.this, node.expression)):
            return None  # words have no parentheses
        left, right = _words(node.this, deep), _words(node.expression, deep)
        return None if left is None or right is None else form.format(left, right)

    return words


def _count(node: exp.Count, deep: int) -> str | None:
    if isinstance(node.this, exp.Star):
        return "number of rows"
    if isinstance(node.this, exp.Distinct):
        inner = node.this.expressions[0] if len(node.this.expressions) == 1 else None
        return _filled("number of different values of {}", inner, deep)
    return _filled("number of rows with {}", node.this, deep)


def _quantile(node: Any, deep: int) -> str | None:
    share = node.args.get("quantile") or node.args.get("expression")
    inner = _words(node.this, deep)
    if inner is None or not isinstance(share, exp.Literal) or share.is_string:
        return None
    return f"{100 * float(share.this):g} % quantile of {inner}"


def _unit(node: Any, deep: int) -> str | None:
    unit = node.args.get("unit")
    return None if unit is None else _filled(f"{str(unit.name).lower()} of {{}}", node.this, deep)


def _extracted(node: exp.Extract, deep: int) -> str | None:
    return _filled(f"{str(node.this.name).lower()} of {{}}", node.expression, deep)


_NAMED: Final = {
    "APPROX_TOP_COUNT": "most frequent values of {}",
    "CLAMP": "{}, clamped",
    "GEOMEAN": "geometric mean of {}",
    "HISTOGRAM": "histogram of {}",
    "VAR": "variance of {}",
}
_NODES: Final[Mapping[type[Any], Callable[[Any, int], str | None]]] = {
    exp.Count: _count,
    exp.ApproxDistinct: _of("number of different values of {}"),
    exp.Sum: _of("total {}"),
    exp.Avg: _of("average {}"),
    exp.Median: _of("median {}"),
    exp.Min: _of("smallest {}"),
    exp.Max: _of("largest {}"),
    exp.Mode: _of("most frequent {}"),
    exp.ApproxTopK: _of("most frequent values of {}"),
    exp.PercentileCont: _quantile,
    exp.Quantile: _quantile,
    exp.ApproxQuantile: _quantile,
    **dict.fromkeys((exp.Stddev, exp.StddevPop, exp.StddevSamp), _of("standard deviation of {}")),
    **dict.fromkeys((exp.Variance, exp.VariancePop), _of("variance of {}")),
    exp.Corr: _both("correlation of {} and {}"),
    exp.CovarPop: _both("covariance of {} and {}"),
    exp.CovarSamp: _both("covariance of {} and {}"),
    exp.Add: _both("{} plus {}"),
    exp.Sub: _both("{} minus {}"),
    exp.Mul: _both("{} times {}"),
    exp.Div: _both("{} divided by {}"),
    exp.Year: _of("year of {}"),
    exp.Month: _of("month of {}"),
    exp.Extract: _extracted,
    exp.DateTrunc: _unit,
    exp.TimestampTrunc: _unit,
    exp.WidthBucket: _of("{}"),
    exp.Floor: _of("{}, rounded down"),
    exp.Round: _of("{}, rounded"),
}


# ranges


@dataclass(frozen=True, slots=True)
class _Line:
    """What is known of a part of a key's expression where the key is k: it lies from start + k·step to below `width`
    more, or, before anything was rounded (`width` is 0), is start + k·step."""

    start: Fraction = Fraction(0)
    step: Fraction = Fraction(1)
    width: Fraction = Fraction(0)
    anchor: Fraction = Fraction(0)
    """Where one of the ranges begins."""
    first: int | None = None
    last: int | None = None

    def scaled(self, by: Fraction) -> _Line:
        scaled = {name: getattr(self, name) * by for name in ("start", "step", "width", "anchor")}
        return replace(self, **scaled)

    def moved(self, by: Fraction) -> _Line:
        return replace(self, start=self.start + by, anchor=self.anchor + by)


def buckets_of(below: Any, releases: tuple[Release, ...], items: tuple[tuple[str, Expr], ...]) -> dict[str, Buckets]:
    """For each column that is a key cut into ranges of equal width, which ranges these are."""
    if not isinstance(below, Released):
        return {}
    keys = {column.expr.sql: key.expr for column, key in zip(below.columns, releases[below.number].keys, strict=False)}
    by_label = {label: _buckets(expr, keys) for label, expr in items}
    return {label: buckets for label, buckets in by_label.items() if buckets is not None}


def _buckets(expr: Expr, keys: Mapping[Sql, Expr]) -> Buckets | None:
    """By undoing one function after the other, from the key down to the column that it is made of."""
    if expr.sql not in keys:
        return None
    expr, line = keys[expr.sql], _Line()
    for _ in range(MOST_NESTED):
        if expr.function is None:
            break
        undo = _UNDONE.get(expr.function.name)
        undone = None if undo is None else undo(expr, line)
        if undone is None:
            return None
        expr, line = undone
    if expr.function is not None or expr.constant or not line.width:
        return None
    whole = expr.domain.kind is Kind.INTEGER
    return Buckets(line.start, line.step, line.width, line.anchor, whole, line.first, line.last)


Undone = tuple[Expr, _Line] | None


def _apart(expr: Expr) -> tuple[Expr, Fraction] | None:
    """What a sum or product does with a constant on either side: the rest of it, and the constant."""
    for rest, other in (expr.arguments, expr.arguments[::-1]):
        value = other.value
        if isinstance(value, (int, Fraction)) and not isinstance(value, bool):
            return rest, Fraction(value)
    return None


def _floor(expr: Expr, line: _Line) -> Undone:
    """⌊x⌋ = k for x from k to below k + 1; what is cut twice is left alone."""
    return None if line.width else (expr.arguments[0], replace(line, width=Fraction(1), anchor=Fraction(0)))


def _product(expr: Expr, line: _Line) -> Undone:
    parts = _apart(expr)
    return None if parts is None or parts[1] <= 0 else (parts[0], line.scaled(1 / parts[1]))


def _sum(expr: Expr, line: _Line) -> Undone:
    parts = _apart(expr)
    return None if parts is None else (parts[0], line.moved(-parts[1]))


def _difference(expr: Expr, line: _Line) -> Undone:
    parts = None if expr.arguments[0].constant else _apart(expr)
    return None if parts is None else (parts[0], line.moved(parts[1]))


def _quotient(expr: Expr, line: _Line) -> Undone:
    parts = None if expr.arguments[0].constant else _apart(expr)
    return None if parts is None or parts[1] <= 0 else (parts[0], line.scaled(parts[1]))


def _whole_quotient(expr: Expr, line: _Line) -> Undone:
    """Truncation is ⌊⌋ only for what is not negative."""
    low, _ = expr.arguments[0].domain.numbers
    cut = None if low is None or low < 0 else _floor(expr, line)
    return None if cut is None else _quotient(expr, cut[1])


def _width_bucket(expr: Expr, line: _Line) -> Undone:
    value, *given = expr.arguments
    known = [Fraction(each.value) for each in given if isinstance(each.value, (int, Fraction))]
    if line != _Line() or len(known) < 3 or known[2] <= 0 or known[0] >= known[1]:
        return None
    edge, end, parts = known
    width = (end - edge) / parts
    return value, _Line(edge - width, width, width, edge, 1, int(parts))


_UNDONE: Final[Mapping[str, Callable[[Expr, _Line], Undone]]] = {
    "FLOOR": _floor,
    "*": _product,
    "/": _quotient,
    "//": _whole_quotient,
    "+": _sum,
    "-": _difference,
    "WIDTH_BUCKET": _width_bucket,
}
