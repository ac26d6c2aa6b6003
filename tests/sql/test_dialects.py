"""PostgreSQL, Snowflake and Spark: what is answered means what it means there; what is not known to do so is refused."""

# ruff: noqa: E501 (tables of texts)

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from discreet.errors import Refused
from discreet.sql.read import DIALECTS, statement
from tests.sql.test_forms import same
from tests.sql.twins import Twins, twins


@pytest.fixture(scope="module")
def world() -> Iterator[Twins]:
    with twins() as found:
        yield found


ALIKE: Final[dict[str, list[tuple[str, str]]]] = {
    "postgres": [
        ("x / 2.0", "x / 2"),
        ("log(i + 21)", "LOG10(i + 21)"),
        ("log(2.0, i + 21)", "LOG2(i + 21)"),
        ("round(x, 1)", "ROUND(x, 1)"),
        ("d + interval '1 month'", "d + INTERVAL 1 MONTH"),
        ("d - date '2020-01-01'", "d - DATE '2020-01-01'"),
        ("d + 7", "d + 7"),
        ("to_char(d, 'YYYY-MM-DD')", "STRFTIME(d, '%Y-%m-%d')"),
        ("extract(dow from d)", "EXTRACT(dow FROM d)"),
        ("date_part('isodow', d)", "EXTRACT(isodow FROM d)"),
        ("date_trunc('week', d)", "DATE_TRUNC('week', d)"),
        ("substring(w from 1 for 2)", "SUBSTR(w, 1, 2)"),
        ("w like '100\\%'", "w LIKE '100\\%' ESCAPE '\\'"),
        ("greatest(i, j)", "GREATEST(i, j)"),
        ("concat(w, 'x')", "CONCAT(w, 'x')"),
        ("i is distinct from j", "i IS DISTINCT FROM j"),
        ("ceiling(x)", "CEIL(x)"),
        ("b::int", "CAST(b AS INT)"),
        ("i::text", "CAST(i AS VARCHAR)"),
        ("ts::date", "CAST(ts AS DATE)"),
        ("i % 3", "i % 3"),
        ("i ^ 2", "i ^ 2"),
        ("d < to_date('2021-03-04', 'YYYY-MM-DD')", "d < DATE '2021-03-04'"),
        (
            "ts < to_timestamp('2021-03-04 05:06:07.080000', 'YYYY-MM-DD HH24:MI:SS.US')",
            "ts < TIMESTAMP '2021-03-04 05:06:07.08'",
        ),
    ],
    "snowflake": [
        ("x / 2.0", "x / 2"),
        ("iff(b, i, j)", "IF(b, i, j)"),
        ("nvl(i, 0)", "COALESCE(i, 0)"),
        ("zeroifnull(i)", "COALESCE(i, 0)"),
        ("log(2, i + 21)", "LOG2(i + 21)"),
        ("round(x)", "ROUND(x)"),
        ("dateadd(month, -1, d)", "CAST(d - INTERVAL 1 MONTH AS DATE)"),
        ("datediff(month, d, '2026-12-31'::date)", "DATE_DIFF('month', d, DATE '2026-12-31')"),
        ("d - 1", "d - 1"),
        ("weekiso(d)", "WEEK(d)"),
        ("extract(dayofweekiso from d)", "EXTRACT(isodow FROM d)"),
        ("greatest(i, j)", "CASE WHEN i IS NOT NULL AND j IS NOT NULL THEN GREATEST(i, j) END"),
        ("concat(w, 'x')", "w || 'x'"),
        ("startswith(w, 'a')", "STARTS_WITH(w, 'a')"),
        ("equal_null(i, j)", "i IS NOT DISTINCT FROM j"),
        ("w ilike 'B%'", "w ILIKE 'B%'"),
        ("left(w, 2)", "LEFT(w, 2)"),
    ],
    "spark": [
        ("i / j", "i / j"),
        ("i div 2", "i // 2"),
        ("log(i + 21)", "LN(i + 21)"),
        ("log(2, i + 21)", "LOG2(i + 21)"),
        ("round(x)", "ROUND(x)"),
        ("date_add(d, 1)", "d + 1"),
        ("date_sub(d, 1)", "d - 1"),
        ("d + interval 1 month", "CAST(d + INTERVAL 1 MONTH AS DATE)"),
        ("datediff(d, date'2020-01-01')", "d - DATE '2020-01-01'"),
        ("dayofweek(d)", "EXTRACT(dow FROM d) + 1"),
        ("weekofyear(d)", "WEEK(d)"),
        ("month(d)", "MONTH(d)"),
        ("i <=> j", "i IS NOT DISTINCT FROM j"),
        ("greatest(i, j)", "GREATEST(i, j)"),
        ("concat(w, 'x')", "w || 'x'"),
        ("try_divide(i, j)", "CASE WHEN j <> 0 THEN i / j END"),
        ("w like '100\\\\%'", "w LIKE '100\\%' ESCAPE '\\'"),
    ],
}
"""Expressions of each dialect, and what DuckDB writes for them."""
UNLIKE: Final[dict[str, list[str]]] = {
    "postgres": [
        "i / j", "round(x)", "x::int", "x::text", "w::int", "div(i, 2)", "extract(second from ts)", "to_char(d, 'Mon')",
        "w ~ 'a'", "age(d)", "ts::text", "substring(w from 0 for 2)", "i / 2", "w similar to 'a'", "d + interval '1 month 2 days'",
        "to_date(w, 'YYYY-MM-DD')", "to_date('04.03.2021', 'DD.MM.YYYY')", "to_date('2021-02-30', 'YYYY-MM-DD')",
        "to_timestamp('2021-03-04', 'YYYY')", "to_date('2021-03-04', w)", "to_timestamp(i)",
    ],
    "snowflake": [
        "i / j", "log(x)", "dayofweek(d)", "week(d)", "date_trunc('week', d)", "datediff(week, d, d)", "x::int",
        "w like 'a\\\\%'", "to_char(d, 'YYYY')", "add_months(d, 1)", "monthname(d)", "substr(w, 0)", "sysdate()",
    ],
    "spark": [
        "cast(x as int)", "date_format(d, 'yyyy-MM')", "d - d", "datediff(month, d, d)", "months_between(d, d)", "add_months(d, 1)",
        "w rlike 'a'", "extract(second from ts)", "cast(w as date)", "dateadd(day, 1, d)", "bround(x)", "trunc(d, 'MM')",
    ],
}  # fmt: skip


@pytest.mark.parametrize("dialect", ALIKE)
def test_what_is_answered_means_what_it_means_there(world: Twins, dialect: str) -> None:
    mine = ", ".join(f"{text} AS c{n}" for n, (text, _) in enumerate(ALIKE[dialect]))
    theirs = ", ".join(f"{text} AS c{n}" for n, (_, text) in enumerate(ALIKE[dialect]))
    found = world.curator.query(f"SELECT {mine} FROM p ORDER BY id", dialect=dialect).rows
    wanted = world.plain.execute(f"SELECT {theirs} FROM p ORDER BY id").fetchall()
    for n, (text, _) in enumerate(ALIKE[dialect]):
        columns = ([(row[n],) for row in rows] for rows in (found, wanted))
        assert same(*columns, ordered=True), (text, [(a[n], b[n]) for a, b in zip(found, wanted, strict=True)])


@pytest.mark.parametrize(("dialect", "text"), [(dialect, text) for dialect, texts in UNLIKE.items() for text in texts])
def test_what_may_mean_something_else_is_refused(world: Twins, dialect: str, text: str) -> None:
    with pytest.raises(Refused):
        world.curator.preview(f"SELECT {text} AS c FROM p", dialect=dialect)


@pytest.mark.parametrize(
    ("dialect", "order", "nulls_first"),
    [("postgres", "i", False), ("postgres", "i DESC", True), ("snowflake", "i DESC", True), ("spark", "i", True),
     ("spark", "i DESC", False), ("duckdb", "i DESC", False), ("bigquery", "i", True)],
)  # fmt: skip
def test_null_stands_where_the_dialect_puts_it(world: Twins, dialect: str, order: str, *, nulls_first: bool) -> None:
    rows = world.curator.query(f"SELECT i FROM p ORDER BY {order}", dialect=dialect).rows
    assert (rows[0] == (None,)) is nulls_first
    assert (rows[-1] == (None,)) is not nulls_first


AGGREGATES: Final = {
    "postgres": "SELECT k, percentile_cont(0.5) WITHIN GROUP (ORDER BY i) AS m, COUNT(*) FILTER (WHERE b) AS n FROM t GROUP BY 1 ORDER BY k",
    "snowflake": "SELECT k, MEDIAN(i) AS m, COUNT_IF(b) AS n FROM t GROUP BY k ORDER BY k",
    "spark": "SELECT k, percentile(i, 0.5) AS m, count_if(b) AS n FROM t GROUP BY k ORDER BY k",
    "bigquery": "SELECT k, APPROX_QUANTILES(i, 2)[OFFSET(1)] AS m, COUNTIF(b) AS n FROM t GROUP BY k ORDER BY k",
    "duckdb": "SELECT k, MEDIAN(i) AS m, COUNT_IF(b) AS n FROM t GROUP BY k ORDER BY k",
}


def test_aggregates_are_the_same_query_in_every_dialect(world: Twins) -> None:
    """They are charged once, and shown from the cache for all others."""
    assert set(AGGREGATES) == set(DIALECTS)
    answers = [world.curator.query(text, epsilon=300, dialect=dialect) for dialect, text in AGGREGATES.items()]
    assert len({tuple(answer.rows) for answer in answers}) == 1
    assert [answer.cached for answer in answers] == [False, True, True, True, True]


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(Refused, match="duckdb, bigquery, postgres, snowflake, spark"):
        statement("SELECT 1", "oracle")
