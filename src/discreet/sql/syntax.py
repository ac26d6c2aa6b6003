"""Which syntax is understood: every kind of node with every argument that is read. Anything else is refused.

A parser knows more than its readers do: a modifier that nobody looks at (`* EXCLUDE`, `MIN(x, 2)`, BETWEEN SYMMETRIC)
would be ignored, and the answer would be one to another query. So one walk over the whole tree, before anything reads
it, refuses what is not listed here. A reader that starts to look at an argument adds it to the list.

Theorem  No argument of any node is ignored, except those of `INDIFFERENT`, which say nothing about the answer.
Proof    A tree passes only if each argument that is given is listed beside the kind of its node. For each that is
         listed, the test of this module has a query that is planned differently, or refused, without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Refused
from discreet.sql.places import about, spelled
from discreet.sql.wording import not_allowed

Kinds = type[exp.Expression]


class Bounded(exp.Expression):
    """An aggregate with named bounds. Only `read` makes it, so that nobody can write it."""

    arg_types = {"this": True, "label": True, "low": True, "high": True}  # noqa: RUF012  (as sqlglot has it)


class Clause(exp.Expression):
    """BigQuery's privacy clause, by its number in the text. Only `read` makes it, so that nobody can write it."""

    arg_types = {"number": True}  # noqa: RUF012


class Unit(exp.Expression):
    """The unit of a row, whatever it is called. Only `scope` makes it."""

    arg_types = {}  # noqa: RUF012


class Period(exp.Expression):
    """A part of dates by its own name, and the word for it. Only `dialects` makes it, as the dialect means the word."""

    arg_types = {"this": True, "word": True}  # noqa: RUF012


class Shifted(exp.Expression):
    """A date so many periods later. Only `dialects` makes it; `keeps` says whether a date stays a date."""

    arg_types = {"this": True, "count": True, "unit": True, "keeps": True}  # noqa: RUF012


class Formatted(exp.Expression):
    """A date as a text. Only `dialects` makes it, from formats that mean the same wherever they are written."""

    arg_types = {"this": True, "format": True}  # noqa: RUF012


class Moment(exp.Expression):
    """The present, fixed. Only `now` makes it."""

    arg_types = {"this": True, "word": True}  # noqa: RUF012


class RealDiv(exp.Div):
    """A quotient as PostgreSQL and Snowflake mean it: of whole numbers it is cut or rounded."""


class CarefulCast(exp.Cast):
    """A cast of PostgreSQL, Snowflake or Spark: some mean what all mean, and the others are refused."""


class IntervalSub(exp.Sub):
    """A difference as BigQuery and Spark mean it: of two dates it is an interval, not a number of days."""


class BigQueryCast(exp.Cast):
    """A cast as BigQuery means it: to whole numbers halves are rounded away from zero."""


_ONE: Final = frozenset({"this"})
_TWO: Final = frozenset({"this", "expression"})
_MANY: Final = frozenset({"this", "expressions"})
_NONE: Final[frozenset[str]] = frozenset()
_UNARY: Final[tuple[Kinds, ...]] = (
    exp.Abs, exp.AnyValue, exp.ApproxDistinct, exp.Avg, exp.Boolean, exp.Ceil, exp.Count, exp.CountIf, exp.Day,
    exp.DayOfWeek, exp.DayOfYear, exp.Exists, exp.Exp, exp.First, exp.Floor, exp.From, exp.Having, exp.Hour,
    exp.IgnoreNulls, exp.Last, exp.Length, exp.Ln, exp.Lower, exp.Max, exp.Median, exp.Min, exp.Minute, exp.Mode,
    exp.Month, exp.Neg, exp.Not, exp.Qualify, exp.Paren, exp.Quarter, exp.Sign, exp.Sqrt, exp.Stddev, exp.StddevPop,
    exp.StddevSamp, exp.Sum, exp.TableAlias, exp.Trim, exp.Trunc, exp.Upper, exp.Var, exp.Variance, exp.VariancePop,
    exp.Week, exp.WeekStart, exp.Where, exp.Year,
)  # fmt: skip
_BINARY: Final[tuple[Kinds, ...]] = (
    exp.Add, exp.And, exp.ApproxQuantiles, exp.ApproxTopK, exp.Contains, exp.Corr, exp.CovarPop, exp.CovarSamp,
    exp.DPipe, exp.Div, exp.EQ, exp.EndsWith, exp.Escape, exp.Extract, exp.Filter, exp.GT, exp.GTE, exp.ILike,
    exp.IntDiv, exp.Is, exp.LT, exp.LTE, exp.Left, exp.Like, exp.Log, exp.Mod, exp.Mul, exp.NEQ, exp.NullSafeEQ,
    exp.NullSafeNEQ, exp.Nullif, exp.Or, exp.PercentileCont, exp.Pow, exp.RegrIntercept, exp.RegrSlope,
    exp.SafeDivide, exp.StartsWith, exp.Sub, exp.WithinGroup, IntervalSub, RealDiv,
)  # fmt: skip
UNDERSTOOD: Final[dict[Kinds, frozenset[str]]] = {
    **dict.fromkeys(_UNARY, _ONE),
    **dict.fromkeys(_BINARY, _TWO),
    **dict.fromkeys((exp.Anonymous, exp.Coalesce, exp.Greatest, exp.Least), _MANY),
    **dict.fromkeys((exp.DenseRank, exp.Null, exp.Pi, exp.Rank, exp.RowNumber), _NONE),
    **dict.fromkeys((exp.Cast, exp.TryCast, BigQueryCast, CarefulCast), frozenset({"this", "to"})),
    **dict.fromkeys((exp.DateTrunc, exp.TimestampTrunc), frozenset({"this", "unit"})),
    **dict.fromkeys((exp.Lag, exp.Lead), frozenset({"this", "offset"})),
    **dict.fromkeys(
        (exp.Cube, exp.Grouping, exp.GroupingId, exp.GroupingSets, exp.Rollup, exp.Tuple), frozenset({"expressions"})
    ),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.CTE: frozenset({"this", "alias"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
    exp.Concat: frozenset({"expressions", "coalesce"}),
    exp.DataType: _ONE,
    exp.DateDiff: frozenset({"this", "expression", "unit"}),
    exp.Distinct: frozenset({"expressions"}),
    exp.Greatest: frozenset({"this", "expressions", "ignore_nulls"}),
    exp.Group: frozenset({"expressions", "all"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Join: frozenset({"this", "side", "kind", "on", "using"}),
    exp.Least: frozenset({"this", "expressions", "ignore_nulls"}),
    exp.Limit: frozenset({"expression"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Offset: frozenset({"expression"}),
    exp.Order: _MANY,
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    **dict.fromkeys((exp.ApproxQuantile, exp.Quantile), frozenset({"this", "quantile"})),
    exp.Bracket: frozenset({"this", "expressions", "offset"}),
    exp.Star: frozenset({"except_", "replace"}),
    exp.Round: frozenset({"this", "decimals"}),
    exp.Select: frozenset({
        "with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct",
        "privacy", "qualify",
    }),
    exp.Subquery: frozenset({"this", "alias", "joins"}),
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.Table: frozenset({"this", "db", "catalog", "alias", "joins"}),
    exp.Union: frozenset({"this", "expression", "with_", "order", "limit", "offset", "distinct"}),
    **dict.fromkeys((exp.Except, exp.Intersect), frozenset({"this", "expression", "distinct"})),
    exp.WidthBucket: frozenset({"this", "min_value", "max_value", "num_buckets"}),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "over"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.With: frozenset({"expressions"}),
    Bounded: frozenset({"this", "label", "low", "high"}),
    Clause: frozenset({"number"}),
    Formatted: frozenset({"this", "format"}),
    Moment: frozenset({"this", "word"}),
    Period: frozenset({"this", "word"}),
    Shifted: frozenset({"this", "count", "unit", "keeps"}),
}  # fmt: skip
"""The arguments of each kind of node that some reader looks at."""
INDIFFERENT: Final[dict[Kinds, dict[str, str]]] = {
    exp.Bracket: {"safe": "a place that is not there is refused"},
    exp.CTE: {"materialized": "how a CTE is computed, not what it gives"},
    exp.Coalesce: {"is_nvl": "another name of it", "is_null": "another name of it"},
    exp.Concat: {"safe": "what is joined is text already"},
    exp.Count: {"big_int": "counts are whole numbers of any size"},
    exp.DPipe: {"safe": "what is joined is text already"},
    exp.DataType: {"nested": "no type on the list holds others"},
    exp.DateDiff: {"date_part_boundary": "DuckDB and BigQuery's DATE_DIFF both count beginnings of periods"},
    exp.DateTrunc: {"input_type_preserved": "dates stay dates, times stay times"},
    exp.Div: {"safe": "division by zero is NULL"},
    RealDiv: {"safe": "division by zero is NULL", "typed": "its kind says it"},
    exp.Length: {"binary": "texts have letters"},
    exp.TimestampTrunc: {"input_type_preserved": "dates stay dates, times stay times"},
    exp.TryCast: {"safe": "every cast is"},
}
"""What may be given and changes nothing, with the reason."""

_ALONE: Final = ("statement-not-allowed", "{} on a table is not supported", "name the table alone")
_PLAIN_GROUP: Final = ("statement-not-allowed", "{} is not supported", "use a plain GROUP BY")
_RENAMED: Final = ("statement-not-allowed", "columns cannot be renamed here", "rename them in SELECT")
_WORDS: Final[dict[Kinds, tuple[str, str, str]]] = {
    exp.CTE: ("statement-not-allowed", "{} in WITH is not supported", "write WITH name AS (SELECT …)"),
    exp.Column: ("syntax", "{} on a column is not supported", "name the column alone"),
    exp.DataType: ("function-not-allowed", "types take no sizes here", "cast to DOUBLE, VARCHAR or another plain type"),
    exp.Distinct: ("statement-not-allowed", "DISTINCT ON is not supported", "use DISTINCT or GROUP BY"),
    exp.Group: _PLAIN_GROUP,
    exp.Join: ("join-off-unit", "{} joins are not supported", "write JOIN … ON"),
    exp.Limit: ("syntax", "LIMIT takes a whole number", "write LIMIT 10"),
    exp.Offset: ("syntax", "OFFSET takes a whole number", "write OFFSET 10"),
    exp.Select: ("statement-not-allowed", "{} is not supported", "leave it out"),
    exp.Star: ("statement-not-allowed", "{} on * is not supported", "name the columns"),
    exp.Subquery: _ALONE,
    exp.Table: _ALONE,
    exp.TableAlias: _RENAMED,
    exp.Union: ("statement-not-allowed", "{} on a UNION is not supported", "put it into a SELECT around it"),
    exp.WindowSpec: ("function-not-allowed", "{} in a frame is not supported", "write ROWS BETWEEN …"),
    exp.With: ("statement-not-allowed", "{} in WITH is not supported", "write it without"),
}
"""What is said about an argument that is not on the list, by the kind of its node."""
_ARGUMENTS: Final[dict[tuple[Kinds, str], tuple[str, str, str]]] = {
    (exp.Select, "laterals"): ("statement-not-allowed", "LATERAL is not supported", "ask without it"),
    (exp.Select, "into"): ("statement-not-allowed", "nothing can be written", "leave INTO out"),
    (exp.Select, "sample"): ("statement-not-allowed", "rows cannot be sampled", "leave the sample out"),
    (exp.With, "recursive"): ("statement-not-allowed", "recursion is not supported", "write it without RECURSIVE"),
}
_NODES: Final[dict[Kinds, tuple[str, str, str]]] = {
    exp.Fetch: ("syntax", "FETCH is not supported", "write LIMIT 10"),
}
"""What is said about kinds of nodes that are not on the list."""


def understood(tree: Any) -> None:
    """Refuse a tree in which something would be ignored."""
    for node in tree.walk(prune=_is_no_table):
        if _is_no_table(node):
            continue
        kind = type(node)
        read = UNDERSTOOD.get(kind)
        if read is None:
            raise about(_unknown(node), node)
        for argument, value in node.args.items():
            if argument not in read and _given(value) and argument not in INDIFFERENT.get(kind, ()):
                raise about(_unread(node, argument), node)


def plain(node: Any) -> Any:
    """The same in sqlglot's own nodes, to be shown."""
    tree = node.copy()
    for part in reversed(list(tree.walk())):  # the inner ones first: outer ones hold them
        shown = _PLAIN[type(part)](part) if type(part) in _PLAIN else part
        if part is tree:
            tree = shown
        elif shown is not part:
            part.replace(shown)
    return tree


def _interval(part: Any) -> Any:
    moved = exp.Interval(this=part.args["count"], unit=part.args["unit"])
    return exp.Add(this=part.this, expression=moved)


_PLAIN: Final[dict[type[exp.Expression], Callable[[Any], Any]]] = {
    Bounded: lambda part: part.this,
    Period: lambda part: part.args["word"],
    Shifted: _interval,
    Formatted: lambda part: exp.TimeToStr(**part.args),
    Moment: lambda part: exp.Var(this=part.args["word"]),
    IntervalSub: lambda part: exp.Sub(**part.args),
    RealDiv: lambda part: exp.Div(**part.args),
    **dict.fromkeys((BigQueryCast, CarefulCast), lambda part: exp.Cast(**part.args)),
}


def _given(value: Any) -> bool:
    return value is not None and value is not False and value != [] and value != ""


def _unread(node: Any, argument: str) -> Refused:
    word = argument.rstrip("_").replace("_", " ").upper()
    words = _ARGUMENTS.get((type(node), argument)) or _WORDS.get(type(node))
    if words is None:
        return Refused(
            "function-not-allowed", f"{spelled(node)} with {word} is not supported", "write it in its plain form"
        )
    code, reason, fix = words
    return Refused(code, reason.format(word), fix)


def _is_no_table(node: Any) -> bool:
    """What stands where only tables can: `sources` refuses all but names, and knows which tables there are."""
    return isinstance(node.parent, exp.Table) and node.arg_key == "this" and not isinstance(node, exp.Identifier)


def _unknown(node: Any) -> Refused:
    """The refusal of a kind of node that is not on the list."""
    words = _NODES.get(type(node))
    if words is not None:
        code, reason, fix = words
        return Refused(code, reason.format(node.key.upper()), fix)
    return not_allowed(node)
