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

from typing import Any, Final

from sqlglot import exp

from discreet.errors import Refused
from discreet.sql.dates import MONDAY_WEEK, SUNDAY_FIRST, SUNDAY_WEEK
from discreet.sql.syntax import BigQueryCast, Period

_SAME: Final = ("year", "quarter", "month", "day", "hour", "minute")
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
    nodes: list[Any] = list(tree.walk())
    for node in reversed(nodes):  # the inner ones first: outer ones hold them
        if isinstance(node, exp.Extract):
            node.set("this", _period(node.this, language))
        elif isinstance(node, (exp.DateTrunc, exp.TimestampTrunc, exp.DateDiff)) and node.args.get("unit"):
            unit = _period(node.args["unit"], language)
            if language == "bigquery" and unit.this == "week":  # DuckDB counts the weeks between dates in its own way
                unit.set("this", MONDAY_WEEK)
            node.set("unit", unit)
        elif isinstance(node, exp.Anonymous) and str(node.this).upper() == "DATE_PART" and node.expressions:
            node.set("expressions", [_period(node.expressions[0], language), *node.expressions[1:]])
        elif language == "bigquery" and type(node) in _BIGQUERYS:
            _BIGQUERYS[type(node)](node)


def _period(word: Any, language: str) -> Period:
    """The part of a date that a word names; "" if it names none."""
    period = None
    if isinstance(word, exp.WeekStart):
        period = _STARTS.get(str(word.this.name).lower())
    elif isinstance(word, exp.Var) or (isinstance(word, exp.Literal) and word.is_string):
        period = (_BIGQUERY if language == "bigquery" else _DUCKDB).get(str(word.this).lower())
    return Period(this=period or "", word=word.copy())


def _substring(node: exp.Substring) -> None:
    start = node.args.get("start")
    if isinstance(start, exp.Literal) and str(start.this).strip("0_") == "":
        start.replace(exp.Literal.number("1"))
    elif isinstance(start, exp.Neg):
        raise Refused("function-not-allowed", "SUBSTR counts from the end differently here", "count from the beginning")


def _like(node: exp.Like) -> None:
    pattern = node.expression
    if isinstance(pattern, exp.Literal) and "\\" in str(pattern.this):
        raise Refused("function-not-allowed", "LIKE knows no escapes here", "leave the backslash out")


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
    exp.Substring: _substring,
    exp.TryCast: _cast,
}
