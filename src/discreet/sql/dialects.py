"""What the words of each dialect mean, where DuckDB and BigQuery use the same ones differently.

                     DuckDB                         BigQuery
EXTRACT(DAYOFWEEK)   0 to 6, Sunday is 0            1 to 7, Sunday is 1
EXTRACT(WEEK)        of ISO 8601, 1 to 53           0 to 53: week 1 begins on the first Sunday; ISOWEEK is ISO's
DATE_TRUNC(WEEK)     to Monday                      to Sunday; ISOWEEK and WEEK(MONDAY) to Monday
DATE_DIFF(WEEK)      as DuckDB counts               Sundays between; ISOWEEK and WEEK(MONDAY): Mondays
CONCAT, LEAST, …     leave NULL out                 are NULL where an argument is (sqlglot marks them so)
SUBSTR(w, 0)         begins before the first letter begins at the first letter
LIKE                 knows no escape                a backslash escapes
CAST(x AS INT64)     halves to the even neighbour   halves away from zero
CAST(w AS INT64)     rounds '2.5'                   is NULL for '2.5' (refused)
CAST(x AS STRING)    '1.0'                          '1' (refused)
INT, INTEGER         have 32 bits                   have 64 bits

Words become `Period` nodes here, which nobody can write; readers look at nothing else.
"""

from __future__ import annotations

import re
from typing import Any, Final

from sqlglot import exp

from discreet.errors import Refused
from discreet.sql.dates import MONDAY_WEEK, SUNDAY_FIRST, SUNDAY_WEEK
from discreet.sql.other_dialects import OTHERS, PERIODS, as_others_mean
from discreet.sql.syntax import BigQueryCast, Formatted, IntervalSub, Period, Shifted

_SAME: Final = ("year", "quarter", "month", "day", "hour", "minute", "second", "isoyear")
_DUCKDB: Final = {
    **{word: word for word in (*_SAME, "week", "dow", "isodow", "doy")},
    "dayofweek": "dow",
    "dayofyear": "doy",
}
_BIGQUERY: Final = {
    **{word: word for word in _SAME},
    "dayofweek": SUNDAY_FIRST,
    "dayofyear": "doy",
    "week": SUNDAY_WEEK,
    "isoweek": "week",
}
_WORDS: Final = {"duckdb": _DUCKDB, "bigquery": _BIGQUERY, **PERIODS}
_STARTS: Final = {"sunday": SUNDAY_WEEK, "monday": MONDAY_WEEK}
CALLS: Final[dict[type[exp.Expression], str]] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Week: "week",
    exp.Day: "day",
    exp.DayOfWeek: "dow",
    exp.DayOfYear: "doy",
    exp.Hour: "hour",
    exp.Minute: "minute",
}
"""DuckDB's functions that are named after the part of a date that they give."""


def as_meant(tree: exp.Query, language: str) -> None:
    """Put into a tree what its dialect means by words that another uses differently."""
    if language in OTHERS:
        for node in reversed(list(tree.walk())):
            as_others_mean(node, language)
    nodes: list[Any] = list(tree.walk())
    for node in reversed(nodes):  # the inner ones first: outer ones hold them
        _put_in(node, language)


def _put_in(node: Any, language: str) -> None:
    """What one node means in its dialect."""
    if isinstance(node, exp.Extract):
        node.set("this", _period(node.this, language))
    elif isinstance(node, (exp.DateTrunc, exp.TimestampTrunc, exp.DateDiff)) and node.args.get("unit"):
        unit = _period(node.args["unit"], language)
        if language == "bigquery" and unit.this == "week":  # DuckDB counts the weeks between dates in its own way
            unit.set("this", MONDAY_WEEK)
        node.set("unit", unit)
    elif isinstance(node, exp.Anonymous) and str(node.this).upper() == "DATE_PART" and node.expressions:
        node.set("expressions", [_period(node.expressions[0], language), *node.expressions[1:]])
    elif type(node) in _MOVES or (isinstance(node, (exp.Add, exp.Sub)) and _interval_of(node)):
        node.replace(_shifted(node, language))
    elif isinstance(node, exp.TimeToStr):
        _formatted(node, language)
    elif language == "bigquery" and type(node) in _BIGQUERYS:
        _BIGQUERYS[type(node)](node)


def _period(word: Any, language: str) -> Period:
    """The part of a date that a word names; "" if it names none."""
    period = None
    if isinstance(word, exp.WeekStart):
        period = _STARTS.get(str(word.this.name).lower())
    elif isinstance(word, exp.Var) or (isinstance(word, exp.Literal) and word.is_string):
        period = _WORDS[language].get(str(word.this).lower())
    return Period(this=period or "", word=word.copy())


_MOVES: Final[dict[type[exp.Expression], bool]] = {
    **dict.fromkeys((exp.DateAdd, exp.TimestampAdd, exp.DatetimeAdd, exp.TsOrDsAdd), True),
    **dict.fromkeys((exp.DateSub, exp.TimestampSub, exp.DatetimeSub), False),
}
"""Functions that move a date: forwards, or backwards."""


def _interval_of(node: Any) -> Any:
    """The interval that a sum or difference adds to something."""
    if isinstance(node.expression, exp.Interval):
        return node.expression
    return node.this if isinstance(node, exp.Add) and isinstance(node.this, exp.Interval) else None


def _shifted(node: Any, language: str) -> Shifted:
    """A date and an interval, however they are written."""
    interval = _interval_of(node)
    moved = node.this if interval is not node.this else node.expression
    count, unit = (
        (node.expression, node.args.get("unit")) if interval is None else (interval.this, interval.args.get("unit"))
    )
    if not isinstance(unit, exp.Var) or node.args.get("zone") is not None:
        raise Refused("function-not-allowed", "an interval has one number and one unit", "write INTERVAL 7 DAY")
    count = _whole(count)
    if not _MOVES.get(type(node), isinstance(node, exp.Add)):
        count = exp.Neg(this=count)
    word = str(unit.this).lower()
    period = Period(this=word.removesuffix("s"), word=exp.Var(this=unit.this))
    keeps = language in ("bigquery", "snowflake", "spark")
    return Shifted(this=moved, count=count, unit=period, keeps=keeps)


def _whole(count: Any) -> Any:
    """sqlglot writes the number of an interval as a text."""
    if isinstance(count, exp.Literal) and count.is_string and re.fullmatch(r"[+-]?\d{1,12}", str(count.this)):
        number = exp.Literal.number(str(count.this).lstrip("+-"))
        return exp.Neg(this=number) if str(count.this).startswith("-") else number
    return count


def _formatted(node: exp.TimeToStr, language: str) -> None:
    """sqlglot writes every dialect's formats as those of Python; what it does not know it leaves as it is."""
    value, pattern = node.this, node.args.get("format")
    while isinstance(value, (exp.TsOrDsToDate, exp.TsOrDsToTimestamp, exp.TimeStrToTime)):
        value = value.this
    named = language in ("duckdb", "bigquery")
    if not isinstance(pattern, exp.Literal) or (
        not named and re.search("[A-Za-z]", re.sub("%[YmdHMS]", "", str(pattern.this)))
    ):
        raise Refused(
            "function-not-allowed",
            "this format of dates is not known",
            "write years, months, days, hours and minutes in digits",
        )
    node.replace(Formatted(this=value, format=pattern))


def _substring(node: exp.Substring) -> None:
    start = node.args.get("start")
    if isinstance(start, exp.Literal) and str(start.this).strip("0_") == "":
        start.replace(exp.Literal.number("1"))
    elif isinstance(start, exp.Neg):
        raise Refused("function-not-allowed", "SUBSTR counts from the end differently here", "count from the beginning")


def _like(node: Any) -> None:
    """Where nothing else is said, a backslash makes the sign after it plain."""
    pattern = node.expression
    if isinstance(pattern, exp.Literal) and "\\" in str(pattern.this) and not isinstance(node.parent, exp.Escape):
        node.replace(exp.Escape(this=node.copy(), expression=exp.Literal.string("\\")))


def _subtraction(node: exp.Sub) -> None:
    node.replace(IntervalSub(**node.args))


def _cast(node: exp.Cast) -> None:
    """INT, SMALLINT and the like are other names of INT64."""
    to = node.args["to"]
    if to.this in (exp.DType.INT, exp.DType.TINYINT, exp.DType.SMALLINT):
        to.set("this", exp.DType.BIGINT)
    places = {**node.args, "safe": None}
    node.replace(BigQueryCast(**places))


def _not_bigquerys(node: exp.Expression) -> None:  # noqa: ARG001
    raise Refused("function-not-allowed", "BigQuery has no such function", "write EXTRACT(part FROM x)")


_BIGQUERYS: Final[dict[type[exp.Expression], Any]] = {
    **dict.fromkeys((exp.Week, exp.DayOfWeek, exp.DayOfYear, exp.Quarter), _not_bigquerys),
    exp.Cast: _cast,
    exp.Like: _like,
    exp.Sub: _subtraction,
    exp.Substring: _substring,
    exp.TryCast: _cast,
}
