"""From syntax to expressions: names become columns, nodes become rows of the table of functions, kinds are checked.

Everything goes by list: a node or a function that is not named here is refused; modifiers were, by `syntax`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from discreet.composed import sql
from discreet.errors import Refused
from discreet.policy.model import Kind
from discreet.quoting import TEXT_LENGTH
from discreet.sql.constants import check_constants
from discreet.sql.dates import DIFFERENCES, PARTS, TRUNCATIONS
from discreet.sql.dialects import CALLS
from discreet.sql.domain import DATED, NUMERIC
from discreet.sql.expression import Expr
from discreet.sql.functions import FUNCTIONS
from discreet.sql.literals import COMPARISONS, comparable, folded, number
from discreet.sql.syntax import BigQueryCast, Period, not_allowed, plain
from discreet.sql.work import NODE, remembered, spend

Resolve = Callable[[exp.Column], Expr]
Special = Callable[[exp.Expression, "Binder"], Expr | None]

_PLAIN: Final[dict[type[exp.Expression], tuple[str, tuple[str, ...]]]] = {
    exp.Add: ("+", ("this", "expression")),
    exp.Sub: ("-", ("this", "expression")),
    exp.Mul: ("*", ("this", "expression")),
    exp.Div: ("/", ("this", "expression")),
    exp.IntDiv: ("//", ("this", "expression")),
    exp.Mod: ("%", ("this", "expression")),
    exp.Neg: ("NEGATE", ("this",)),
    exp.EQ: ("=", ("this", "expression")),
    exp.NEQ: ("<>", ("this", "expression")),
    exp.LT: ("<", ("this", "expression")),
    exp.LTE: ("<=", ("this", "expression")),
    exp.GT: (">", ("this", "expression")),
    exp.GTE: (">=", ("this", "expression")),
    exp.Between: ("BETWEEN", ("this", "low", "high")),
    exp.In: ("IN", ("this", "expressions")),
    exp.Like: ("LIKE", ("this", "expression")),
    exp.ILike: ("ILIKE", ("this", "expression")),
    exp.And: ("AND", ("this", "expression")),
    exp.Or: ("OR", ("this", "expression")),
    exp.Not: ("NOT", ("this",)),
    exp.Coalesce: ("COALESCE", ("this", "expressions")),
    exp.Nullif: ("NULLIF", ("this", "expression")),
    exp.Abs: ("ABS", ("this",)),
    exp.Round: ("ROUND", ("this", "decimals")),
    exp.Floor: ("FLOOR", ("this",)),
    exp.Ceil: ("CEIL", ("this",)),
    exp.Sqrt: ("SQRT", ("this",)),
    exp.Exp: ("EXP", ("this",)),
    exp.Ln: ("LN", ("this",)),
    exp.Log: ("LOG", ("this", "expression")),
    exp.Pow: ("POWER", ("this", "expression")),
    exp.Least: ("LEAST", ("this", "expressions")),
    exp.Greatest: ("GREATEST", ("this", "expressions")),
    exp.Lower: ("LOWER", ("this",)),
    exp.Upper: ("UPPER", ("this",)),
    exp.Trim: ("TRIM", ("this",)),
    exp.Length: ("LENGTH", ("this",)),
    exp.Substring: ("SUBSTR", ("this", "start", "length")),
    exp.DPipe: ("||", ("this", "expression")),
    exp.Concat: ("CONCAT", ("expressions",)),
    exp.WidthBucket: ("WIDTH_BUCKET", ("this", "min_value", "max_value", "num_buckets")),
}
"""Nodes that are functions of their arguments, in this order."""
_LONGER: Final = {("ROUND", 2): "ROUND TO", ("SUBSTR", 3): "SUBSTR TO", ("LOG", 1): "LOG10"}
"""Functions whose form depends on how many arguments there are."""
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
_WORDS: Final = {Kind.INTEGER: "a number", Kind.NUMBER: "a number", Kind.TEXT: "text", Kind.BOOLEAN: "true or false",
                 Kind.DATE: "a date", Kind.TIMESTAMP: "a date", None: "NULL"}  # fmt: skip
_LETTERS: Final = {"n": NUMERIC, "i": {Kind.INTEGER}, "t": {Kind.TEXT}, "b": {Kind.BOOLEAN}, "d": DATED}
_NAMES: Final = {"n": "a number", "i": "a whole number", "t": "text", "b": "true or false", "d": "a date or time"}


class Binder:
    """Binds syntax in one scope. `special` may take a node before anybody else does.

    Each node is bound once, however often it is asked for: what stands around it may be looked at in many ways.
    """

    def __init__(self, resolve: Resolve, special: Special = lambda *_: None) -> None:
        self._resolve = resolve
        self._special = special
        self._known: dict[int, tuple[exp.Expression, Expr | Refused]] = {}
        """By identity; nodes are held, so that none gets the place of another."""

    def __call__(self, node: exp.Expression | None) -> Expr:
        if node is None:
            raise Refused("syntax", "an argument is missing", "write it between the parentheses")
        if id(node) not in self._known:
            spend(NODE)
            try:
                self._known[id(node)] = node, self._bound(node)
            except Refused as refused:
                self._known[id(node)] = node, refused
        bound = self._known[id(node)][1]
        if isinstance(bound, Refused):
            raise bound
        return bound

    def _bound(self, node: exp.Expression) -> Expr:
        expr = self._special(node, self)
        if expr is not None:
            return expr
        if isinstance(node, (exp.Paren, exp.Alias)):
            return self(node.this)
        if isinstance(node, exp.Column):
            return self._resolve(node)
        if type(node) in _PLAIN:
            return self._plain(node)
        reader = _READERS.get(type(node))
        if reader is None:
            raise not_allowed(node)
        return reader(self, node)

    def _plain(self, node: exp.Expression) -> Expr:
        name, indices = _PLAIN[type(node)]
        arguments: list[Expr] = []
        for index in indices:
            given = node.args.get(index)
            parts = given if isinstance(given, list) else [] if given is None else [given]
            arguments.extend(self(part) for part in parts)
        known = folded(name, arguments)
        if known is not None:
            return known
        if _null_if_any_is(node):
            name = _STRICT[name]
        return apply(_LONGER.get((name, len(arguments)), name), arguments)


def _null_if_any_is(node: exp.Expression) -> bool:
    """Whether sqlglot says that the dialect's function is NULL where one of its arguments is."""
    return node.args.get("coalesce") is False or node.args.get("ignore_nulls") is False


_STRICT: Final = {"CONCAT": "CONCAT OF ALL", "LEAST": "LEAST OF ALL", "GREATEST": "GREATEST OF ALL"}


def apply(name: str, arguments: Sequence[Expr]) -> Expr:
    """A function of the table, on arguments of the kinds that it takes."""
    if name == "CONCAT" and len(arguments) > 2:  # two by two: no text is longer than two before it is cut
        half = len(arguments) // 2
        return apply(name, [apply(name, arguments[:half]), apply(name, arguments[half:])])
    function = FUNCTIONS[name]
    letters = _letters(function.takes, len(arguments))
    shown = function.name.split(" ")[0]
    if letters is None:
        raise Refused("function-not-allowed", f"{shown} does not take {len(arguments)} arguments", "see the functions")
    given = _alike(shown, letters, list(arguments))
    if name in COMPARISONS:
        given = comparable(given)
    for letter, argument in zip(letters, given, strict=True):
        kinds = _LETTERS.get(letter)
        if kinds and argument.domain.kind is not None and argument.domain.kind not in kinds:
            kind = _WORDS[argument.domain.kind]
            raise Refused("function-not-allowed", f"{shown} takes {_NAMES[letter]}, not {kind}", "cast it")
        if letter == "c" and not argument.constant:
            raise Refused("function-not-allowed", f"{shown} takes a constant here", "write a number or a text")
    check_constants(name, given)
    parts = [
        sql("CAST({} AS DOUBLE)", part.computed if function.chained and part.computed is not None else part.sql)
        if letter in "ni" or (letter == "c" and part.domain.kind in NUMERIC)
        else part.sql
        for letter, part in zip(letters, given, strict=True)
    ]
    if name.startswith("SUBSTR"):
        parts = [part.sql for part in given]
    if name == "=" and all(part.domain.kind is Kind.INTEGER and not part.constant for part in given):
        # computed integers are DOUBLE: compared as such, two large integers would equal one
        parts = [sql("TRY_CAST({} AS BIGINT)", part.sql) for part in given]
    return function(parts, given)


def _letters(takes: str, count: int) -> str | None:
    if takes == "(bs)*s":
        return "bs" * (count // 2) + "s" if count % 2 and count >= 3 else None
    if takes.endswith("*"):
        least = takes[:-1]
        return least + least[-1] * (count - len(least)) if count >= len(least) else None
    return takes if len(takes) == count else None


def _alike(shown: str, letters: str, arguments: list[Expr]) -> list[Expr]:
    """Arguments that must be of one kind: texts beside dates become dates, everything else must fit already."""
    indices = [index for index, letter in enumerate(letters) if letter == "s"]
    kinds = {arguments[index].domain.kind for index in indices} - {None}
    if len(kinds) < 2 or kinds <= NUMERIC:
        return arguments
    dated = kinds & DATED
    if dated and kinds <= DATED | {Kind.TEXT}:
        kind = Kind.TIMESTAMP if Kind.TIMESTAMP in dated else Kind.DATE
        for index in indices:
            arguments[index] = _dated(arguments[index], kind)
        return arguments
    words = sorted({_WORDS[kind] for kind in kinds})
    raise Refused("function-not-allowed", f"{shown} cannot mix {' and '.join(words)}", "write both of one kind")


def _dated(argument: Expr, kind: Kind) -> Expr:
    if argument.domain.kind is Kind.TEXT:
        if not argument.constant:
            raise Refused("function-not-allowed", "a text is not a date", f"write CAST(… AS {kind.value.upper()})")
        return moment(str(argument.value), kind)
    if argument.domain.kind is Kind.DATE and kind is Kind.TIMESTAMP:
        return apply("CAST TIMESTAMP", [argument])
    return argument


def moment(text: str, kind: Kind) -> Expr:
    """A literal date or time."""
    try:
        value = datetime.fromisoformat(text.strip())
    except ValueError:
        raise Refused("syntax", "this is not a date", "write it as 2026-01-31 or 2026-01-31 12:00:00") from None
    if value.tzinfo is not None:
        raise Refused("syntax", "times have no zone here", "leave the zone out")
    return Expr.literal(value.date() if kind is Kind.DATE else value)


# nodes that need more than a look into the table


def _literal(_: Binder, node: exp.Literal) -> Expr:
    if node.is_string:
        text = str(node.this)
        if len(text) > TEXT_LENGTH:
            reason = f"a text has more than {TEXT_LENGTH:,} characters"
            raise Refused("too-complex", reason, "shorten it: texts are cut there")
        return Expr.literal(text)
    return Expr.literal(number(str(node.this)), exact="e" not in str(node.this).lower())


def _boolean(_: Binder, node: exp.Boolean) -> Expr:
    return Expr.literal(bool(node.this))


def _null(_: Binder, __: exp.Null) -> Expr:
    return Expr.literal(None)


def _is(bind: Binder, node: exp.Is) -> Expr:
    right = node.expression
    if isinstance(right, exp.Null):
        return apply("IS NULL", [bind(node.this)])
    if isinstance(right, exp.Boolean):
        return apply("IS TRUE" if right.this else "IS FALSE", [bind(node.this)])
    raise not_allowed(node)


def _case(bind: Binder, node: exp.Case) -> Expr:
    arguments: list[Expr] = []
    for branch in node.args["ifs"]:
        test = bind(branch.this)
        arguments.append(apply("=", [bind(node.this), test]) if node.args.get("this") else test)
        arguments.append(bind(branch.args["true"]))
    default = node.args.get("default")
    return apply("CASE", [*arguments, bind(default) if default is not None else Expr.literal(None)])


def _if(bind: Binder, node: exp.If) -> Expr:
    other = node.args.get("false")
    return apply("CASE", [bind(node.this), bind(node.args["true"]), bind(other) if other else Expr.literal(None)])


def _cast(bind: Binder, node: exp.Cast) -> Expr:
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
    return apply(f"CAST {kind}", [value])


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


def _extract(bind: Binder, node: exp.Extract) -> Expr:
    return _part(_unit(node.this), bind(node.expression))


def _named_part(bind: Binder, node: exp.Expression) -> Expr:
    return _part(CALLS[type(node)], bind(node.this))


def _part(part: str, value: Expr) -> Expr:
    if part not in PARTS:
        raise Refused(
            "function-not-allowed", "this part of a date is not known", f"use one of: {', '.join(_named(PARTS))}"
        )
    return apply(f"EXTRACT {part}", [value])


def _truncate(bind: Binder, node: exp.Expression) -> Expr:
    part, value = _unit(node.args["unit"]), bind(node.this)
    if part not in TRUNCATIONS:
        known = ", ".join(_named(TRUNCATIONS))
        raise Refused("function-not-allowed", "dates cannot be cut to this", f"use one of: {known}")
    kind = "TIMESTAMP" if value.domain.kind is Kind.TIMESTAMP or part in ("hour", "minute") else "DATE"
    if kind == "TIMESTAMP" and value.domain.kind is Kind.DATE:
        value = apply("CAST TIMESTAMP", [value])
    return apply(f"DATE_TRUNC {part} {kind}", [value])


def _difference(bind: Binder, node: exp.DateDiff) -> Expr:
    part = _unit(node.args["unit"]) if node.args.get("unit") else "day"
    if part not in DIFFERENCES:
        known = ", ".join(_named(DIFFERENCES))
        raise Refused("function-not-allowed", "dates cannot be subtracted in this", f"use one of: {known}")
    start, end = bind(node.expression), bind(node.this)
    kinds = {start.domain.kind, end.domain.kind}
    kind = Kind.TIMESTAMP if Kind.TIMESTAMP in kinds else Kind.DATE
    return apply(f"DATE_DIFF {part}", [_dated(start, kind), _dated(end, kind)])


def _named(parts: Iterable[str]) -> list[str]:
    """Those that have a word of their own."""
    return [part for part in parts if " " not in part]


def _unit(node: exp.Expression) -> str:
    """What `dialects` found that a word for a part of dates means."""
    return str(node.this) if isinstance(node, Period) else ""


def _anonymous(bind: Binder, node: exp.Anonymous) -> Expr:
    name = str(node.this).upper()
    if name == "DATE_PART" and len(node.expressions) == 2:
        return _part(_unit(node.expressions[0]), bind(node.expressions[1]))
    if name not in _ANONYMOUS:
        raise not_allowed(node)
    return apply(_ANONYMOUS[name], [bind(part) for part in node.expressions])


_READERS: Final[dict[type[exp.Expression], Callable[[Binder, Any], Expr]]] = {
    exp.Literal: _literal,
    exp.Boolean: _boolean,
    exp.Null: _null,
    exp.Is: _is,
    exp.Case: _case,
    exp.If: _if,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    BigQueryCast: _cast,
    exp.Extract: _extract,
    exp.TimestampTrunc: _truncate,
    exp.DateTrunc: _truncate,
    exp.DateDiff: _difference,
    exp.Anonymous: _anonymous,
    **dict.fromkeys(CALLS, _named_part),
}


@remembered
def written(node: Any) -> str:
    """The text of a node, for people. Plain columns are common, and sqlglot takes its time."""
    if node is None:
        return ""
    if isinstance(node, exp.Column) and not node.table and not node.this.args.get("quoted"):
        return str(node.name)
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return "COUNT(*)"
    if type(node) in (exp.Sum, exp.Avg) and isinstance(node.this, exp.Column):
        return f"{node.key.upper()}({written(node.this)})"
    return str(plain(node).sql(dialect="duckdb"))
