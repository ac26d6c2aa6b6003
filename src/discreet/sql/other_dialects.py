"""PostgreSQL, Snowflake and Spark: what means the same everywhere is read, what is known to differ is turned into what
it means, and everything else is refused by name.

                      PostgreSQL              Snowflake                 Spark
a / b, whole numbers  cut (refused)           6 decimals (refused)      as DuckDB
ROUND(x)              halves to even or away  as DuckDB                 as DuckDB
                      (refused)
LOG(x)                base 10                 refused                   natural (sqlglot knows)
date − date           days                    days                      an interval (refused)
DATE + INTERVAL       a time                  a date                    a date
EXTRACT(DOW)          0 to 6                  by setting (refused)      1 to 7, Sunday is 1
WEEK                  of ISO 8601             by setting (refused)      of ISO 8601
DATEDIFF              –                       beginnings of periods     whole days alone
LIKE                  a backslash escapes     refused with a backslash  a backslash escapes
TO_DATE(text, form)   a constant, ISO 8601    refused                   refused
LEAST, GREATEST       leave NULL out          are NULL (sqlglot knows)  leave NULL out
CONCAT                leaves NULL out         is NULL (sqlglot knows)   is NULL (sqlglot knows)
ORDER BY              NULL last, first in     as PostgreSQL             NULL first, last in DESC
                      DESC (sqlglot knows)

Texts are compared letter by letter in all of them here; NULL stands for what fails there.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Refused
from discreet.sql.dates import SUNDAY_FIRST
from discreet.sql.places import about, spelled
from discreet.sql.syntax import Bounded, CarefulCast, Clause, IntervalSub, Moment, RealDiv

NAMES: Final = {
    "duckdb": "DuckDB",
    "bigquery": "BigQuery",
    "postgres": "PostgreSQL",
    "snowflake": "Snowflake",
    "spark": "Spark",
}
OTHERS: Final = frozenset({"postgres", "snowflake", "spark"})
Kinds = type[exp.Expression]
_SAME: Final[frozenset[Kinds]] = frozenset({
    # the statement
    exp.Select, exp.From, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Join,
    exp.Table, exp.TableAlias, exp.Subquery, exp.CTE, exp.With, exp.Union, exp.Column, exp.Identifier, exp.Star,
    exp.Alias, exp.Paren, exp.Literal, exp.Boolean, exp.Null, exp.DataType, exp.Distinct, exp.Filter, exp.Window,
    exp.WindowSpec, exp.WithinGroup, exp.Var, exp.Anonymous, exp.Exists, exp.Tuple, exp.Cube,
    exp.Grouping, exp.GroupingId, exp.GroupingSets, exp.Rollup, Bounded, Clause, Moment,
    # expressions
    exp.Add, exp.Mul, exp.Neg, exp.Mod, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In,
    exp.And, exp.Or, exp.Not, exp.Is, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Abs, exp.Floor, exp.Ceil,
    exp.Sqrt, exp.Exp, exp.Ln, exp.Pow, exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.DPipe, exp.Concat, exp.Least,
    exp.Greatest, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Sign, exp.StartsWith, exp.EndsWith, exp.Contains,
    exp.Pi, exp.WidthBucket, exp.SafeDivide, exp.Escape, exp.Interval, exp.Year, exp.Quarter, exp.Month, exp.Day,
    exp.DayOfYear, exp.Hour, exp.Minute, exp.DateAdd, exp.DateSub, exp.TsOrDsAdd, exp.TimeToStr, exp.TimeStrToTime,
    # aggregates and windows
    exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Median, exp.PercentileCont, exp.Quantile,
    exp.ApproxQuantile, exp.ApproxDistinct, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop,
    exp.Corr, exp.CovarPop, exp.CovarSamp, exp.RegrSlope, exp.RegrIntercept, exp.AnyValue, exp.Mode, exp.RowNumber,
    exp.Rank, exp.DenseRank, exp.Lag, exp.Lead,
})  # fmt: skip
"""What the three mean as DuckDB does, or as sqlglot marks it."""
_DATES: Final = {word: word for word in ("year", "quarter", "month", "day", "hour", "minute")}
PERIODS: Final = {
    "postgres": {**_DATES, **{word: word for word in ("week", "isoyear", "dow", "isodow", "doy")}},
    "snowflake": {
        **_DATES,
        "dayofyear": "doy",
        "weekiso": "week",
        "week_iso": "week",
        "dayofweekiso": "isodow",
        "yearofweekiso": "isoyear",
    },
    "spark": {
        **_DATES,
        "week": "week",
        "dayofweek": SUNDAY_FIRST,
        "dow": SUNDAY_FIRST,
        "dow_iso": "isodow",
        "doy": "doy",
        "yearofweek": "isoyear",
    },
}
"""Words for parts of dates, and which part each is."""


def as_others_mean(node: Any, language: str) -> None:
    """Put in what a node means in its dialect, or refuse it."""
    kind = type(node)
    if kind in _SAME:
        return
    rule = _RULES.get(kind)
    if rule is None:
        raise unlike(node, language, "write it in a plainer way, or ask in DuckDB's or BigQuery's dialect")
    rule(node, language)


def unlike(node: Any, language: str, fix: str) -> Refused:
    """What is not known to mean the same in a dialect."""
    reason = f"{spelled(node)} is not known to mean the same in {NAMES[language]}"
    return about(Refused("function-not-allowed", reason, fix), node)


def _without(*flags: str) -> Callable[[Any, str], None]:
    """Flags of sqlglot that say what is so here anyway."""

    def cleared(node: Any, language: str) -> None:  # noqa: ARG001
        for flag in flags:
            node.set(flag, None)

    return cleared


def _division(node: Any, language: str) -> None:
    if language != "spark":
        node.replace(RealDiv(this=node.this, expression=node.expression))


def _subtraction(node: Any, language: str) -> None:
    if language == "spark" and not isinstance(node.expression, exp.Interval):
        node.replace(IntervalSub(this=node.this, expression=node.expression))


def _whole_division(node: Any, language: str) -> None:
    if language != "spark":
        raise unlike(node, language, "write FLOOR(a / CAST(b AS DOUBLE PRECISION))")


def _logarithm(node: Any, language: str) -> None:
    if language == "snowflake" and node.args.get("expression") is None:
        raise unlike(node, language, "write LOG(10, x) or LN(x)")


def _rounding(node: Any, language: str) -> None:
    node.set("casts_non_integer_decimals", None)
    if language == "postgres" and node.args.get("decimals") is None:
        raise unlike(node, language, "write FLOOR(x + 0.5), or ROUND(x, 0)")


def _substring(node: Any, language: str) -> None:
    start = node.args.get("start")
    if not isinstance(start, exp.Literal) or not str(start.this).isdecimal() or int(str(start.this)[:9]) < 1:
        raise unlike(node, language, "count letters from 1")
    node.set("zero_start", None)


def _search(node: Any, language: str) -> None:
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or "\\" not in str(pattern.this) or isinstance(node.parent, exp.Escape):
        return
    if language == "snowflake":
        raise unlike(node, language, "name the escape: LIKE '100!%' ESCAPE '!'")
    node.replace(exp.Escape(this=node.copy(), expression=exp.Literal.string("\\")))


def _cast(node: Any, language: str) -> None:  # noqa: ARG001
    node.replace(CarefulCast(this=node.this, to=node.args["to"]))


def _as_date(node: Any, language: str) -> None:  # noqa: ARG001
    """Spark's functions of dates cast first."""
    node.replace(CarefulCast(this=node.this, to=exp.DataType(this=exp.DType.DATE)))


def _day_of_week(node: Any, language: str) -> None:
    if language != "spark":
        raise unlike(node, language, "write EXTRACT(dayofweekiso FROM x)")
    node.replace(exp.Extract(this=exp.Var(this="dayofweek"), expression=node.this))


def _week_of_year(node: Any, language: str) -> None:
    word = {"spark": "week", "snowflake": "weekiso"}.get(language)
    if word is None:
        raise unlike(node, language, "write EXTRACT(week FROM x)")
    node.replace(exp.Extract(this=exp.Var(this=word), expression=node.this))


def _word(node: Any, argument: str) -> str:
    word = node.args.get(argument)
    return str(word.this).lower() if isinstance(word, (exp.Var, exp.Literal)) else ""


def _extraction(node: Any, language: str) -> None:
    if _word(node, "this") not in PERIODS[language]:
        known = ", ".join(PERIODS[language])
        raise unlike(node, language, f"use one of: {known}")


def _truncation(node: Any, language: str) -> None:
    weeks = [] if language == "snowflake" else ["week"]
    if _word(node, "unit") not in (*_DATES, *weeks):
        raise unlike(node, language, f"use one of: {', '.join((*_DATES, *weeks))}")


def _difference(node: Any, language: str) -> None:
    unit = _word(node, "unit") or "day"
    known = {"snowflake": tuple(_DATES), "spark": ("day",)}.get(language, ())
    if unit not in known:
        raise unlike(node, language, f"use one of: {', '.join(known)}" if known else "subtract dates: last - first")


def _same_null(node: Any, language: str) -> None:  # noqa: ARG001
    node.replace(exp.NullSafeEQ(this=node.this, expression=node.expression))


def _moment_of(node: Any, language: str) -> None:
    """A day or a time that is written as a text beside its form: in one form, which means the same to everybody."""
    is_date, said, form = isinstance(node, exp.StrToDate), node.this, node.args.get("format")
    forms = DAYS if is_date else TIMES
    fix = "write DATE '2026-01-31'" if is_date else "write TIMESTAMP '2026-01-31 00:00:00'"
    if language != "postgres" or not all(isinstance(each, exp.Literal) and each.is_string for each in (said, form)):
        raise unlike(node, language, fix)
    try:
        moment = datetime.strptime(str(said.this), str(form.this)) if str(form.this) in forms else None
    except ValueError:
        moment = None
    if moment is None:
        raise unlike(node, language, fix)
    written, to = (moment.date(), exp.DType.DATE) if is_date else (moment, exp.DType.TIMESTAMP)
    node.replace(CarefulCast(this=exp.Literal.string(str(written)), to=exp.DataType(this=to)))


DAYS: Final = frozenset({"%Y-%m-%d"})
TIMES: Final = frozenset({"%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"})
"""Forms of what TO_DATE and TO_TIMESTAMP are given, as BI tools write them."""
_RULES: Final[dict[Kinds, Callable[[Any, str], None]]] = {
    exp.Div: _division,
    exp.Sub: _subtraction,
    exp.IntDiv: _whole_division,
    exp.Log: _logarithm,
    exp.Round: _rounding,
    exp.Trunc: _without("fractions_supported"),
    exp.CountIf: _without("zero_on_all_null"),
    exp.Left: _without("negative_length_returns_empty"),
    exp.Substring: _substring,
    **dict.fromkeys((exp.Like, exp.ILike), _search),
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    exp.TsOrDsToDate: _as_date,
    exp.DayOfWeek: _day_of_week,
    exp.WeekOfYear: _week_of_year,
    exp.Extract: _extraction,
    **dict.fromkeys((exp.DateTrunc, exp.TimestampTrunc), _truncation),
    exp.DateDiff: _difference,
    **dict.fromkeys((exp.StrToDate, exp.StrToTime), _moment_of),
    exp.EqualNull: _same_null,
}
