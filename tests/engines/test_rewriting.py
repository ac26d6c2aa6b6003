"""Queries in another engine's language: what has a rule is printed with all that it holds, and all else is refused."""

from __future__ import annotations

import pytest

from discreet.composed import Sql, literal, name, sql
from discreet.engines.rewriting import UnknownError, rewritten
from discreet.engines.rewriting.postgres import DIALECT, identifier
from discreet.engines.rewriting.statements import Stored
from discreet.engines.rewriting.terms import HUGE, REAL, TEXT, WHOLE, list_of
from discreet.errors import QueryFailed

TABLES = {
    "Visits": Stored(
        "copy_visits", {"Ward": "VARCHAR", "cost": "DOUBLE", "n": "BIGINT", "day": "DATE", "same": "UBIGINT"}
    ),
    "other": Stored("copy_other", {"w": "VARCHAR", "m": "BIGINT"}),
}


def printed(query: Sql) -> str:
    return rewritten(query, DIALECT, TABLES).text


def test_names_are_found_as_duckdb_finds_them_and_spelled_as_they_were_declared() -> None:
    text = printed(sql('SELECT "WARD" AS k, v."N" AS n FROM "VISITS" AS v'))
    assert text == 'SELECT "Ward" AS "k", "v"."n" AS "n" FROM copy_visits AS "v"'


def test_stars_are_written_out() -> None:
    text = printed(sql('SELECT * EXCLUDE (cost, day, same), 1 AS one FROM "visits"'))
    assert (
        text
        == 'SELECT "visits"."Ward" AS "Ward", "visits"."n" AS "n", \'1\'::int8 AS "one" FROM copy_visits AS "visits"'
    )
    assert "discreet_add" in printed(sql("SELECT * REPLACE (cost + 1 AS cost) FROM visits"))


@pytest.mark.parametrize(
    "value", ["it's", "\\", "\\'", "'; DROP TABLE x; --", "{0} %s $1", "''", "ß\U0001f986", "E'\\n'"]
)
def test_literals_are_values(value: str) -> None:
    """As PostgreSQL reads it: a quote inside is two of them, and nothing else means anything."""
    text = printed(sql("SELECT COUNT(*) FROM visits WHERE ward = {}", literal(value)))
    doubled = value.replace("'", "''")
    assert (
        text == f"""SELECT count(*) AS "_discreet_0" FROM copy_visits AS "visits" WHERE ("Ward" = '{doubled}'::text)"""
    )


def test_long_names_stay_apart() -> None:
    first, second = identifier("ß" * 40 + "a"), identifier("ß" * 40 + "b")
    assert first != second
    assert len(first.encode()) <= 63 + 2
    assert identifier("x" * 63) == f'"{"x" * 63}"'


def test_types_of_answers_are_known() -> None:
    answer = rewritten(
        sql("SELECT ward, [COUNT(*), SUM(n)], SUM(n), COUNT(*), MAX(cost) FROM visits GROUP BY ward"), DIALECT, TABLES
    )
    assert answer.types == (TEXT, list_of(HUGE), HUGE, WHOLE, REAL)


def test_structs_are_columns() -> None:
    text = printed(
        sql("SELECT SUM(struct_extract(x, 'a')) FROM (SELECT struct_pack(a := n, b := cost) AS x FROM visits)")
    )
    assert 'sum("x.a")' in text
    assert '"cost" AS "x.b"' in text


UNKNOWN = [
    "SELECT SUM(cost) FROM visits",
    "SELECT AVG(n) FROM visits",
    "SELECT md5(ward) FROM visits",
    "SELECT regexp_matches(ward, 'a') FROM visits",
    "SELECT CAST(ward AS DATE) FROM visits",
    "SELECT CAST(cost AS VARCHAR) FROM visits",
    "SELECT CAST(n AS BLOB) FROM visits",
    "SELECT CAST(n AS DECIMAL(10, 2)) FROM visits",
    "SELECT 1.5 FROM visits",
    "SELECT ward < n FROM visits",
    "SELECT DISTINCT ON (ward) n FROM visits",
    "SELECT n FROM visits ORDER BY 1",
    "SELECT n FROM visits LIMIT 5 OFFSET 2",
    "SELECT n FROM visits LIMIT 5 %",
    "SELECT n FROM visits LIMIT (SELECT 1)",
    "SELECT n FROM visits USING SAMPLE 5",
    "SELECT n FROM visits TABLESAMPLE 5%",
    "SELECT n FROM visits QUALIFY row_number() OVER () = 1",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ALL",
    "SELECT n FROM visits UNION SELECT m FROM other",
    "SELECT n FROM visits EXCEPT ALL SELECT m FROM other",
    "SELECT n FROM visits UNION ALL SELECT w FROM other",
    "SELECT n FROM visits UNION ALL BY NAME SELECT m FROM other",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n FROM r) SELECT n FROM r",
    "SELECT n FROM visits NATURAL JOIN other",
    "SELECT n FROM visits CROSS JOIN other",
    "SELECT n FROM visits JOIN other USING (m)",
    "SELECT n FROM visits ASOF JOIN other ON n >= m",
    "SELECT n FROM visits POSITIONAL JOIN other",
    "SELECT SUM(DISTINCT n) FROM visits",
    "SELECT COUNT(n ORDER BY cost) FROM visits",
    "SELECT abs(n) FILTER (WHERE TRUE) FROM visits",
    "SELECT SUM(n) OVER (ORDER BY n RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM visits",
    "SELECT SUM(n) OVER (ORDER BY n ROWS BETWEEN n PRECEDING AND CURRENT ROW) FROM visits",
    "SELECT SUM(n) OVER (ORDER BY n GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM visits",
    "SELECT SUM(n) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM visits",
    "SELECT ntile(4) OVER (ORDER BY n) FROM visits",
    "SELECT LAG(n, 1, 7) OVER (ORDER BY n) FROM visits",
    "SELECT LAG(n, 1 IGNORE NULLS) OVER (ORDER BY n) FROM visits",
    "SELECT list_transform([n, 2], lambda x: x)[1] FROM visits",
    "SELECT list_transform([n], lambda x: x)[2] FROM visits",
    "SELECT [n][1] FROM visits",
    "SELECT COLUMNS('n') FROM visits",
    "SELECT visits FROM visits",
    "SELECT n FROM range(5)",
    "SELECT n FROM pg_catalog.pg_class",
    "SELECT main.abs(n) FROM visits",
    "SELECT n FROM main.visits",
    "SELECT n COLLATE NOCASE FROM visits",
    "SELECT n > ALL (SELECT m FROM other) FROM visits",
    "SELECT n IN (SELECT w FROM other) FROM visits",
    "SELECT day + 1.5e0 FROM visits",
    "SELECT date_part('epoch', day) FROM visits",
    "SELECT date_part(ward, day) FROM visits",
    "SELECT strftime(day, '%c') FROM visits",
    "SELECT $1 FROM visits",
    "SELECT discreet_made.secret FROM visits",
    "INSERT INTO visits VALUES (1)",
    "COPY visits TO 'file'",
    "SELECT 1; SELECT 2",
    "PIVOT visits ON ward",
    "FROM visits SELECT getenv('HOME')",
]  # fmt: skip


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_has_no_rule_is_refused(text: str) -> None:
    """Each is a query that DuckDB parses, or not even that."""
    with pytest.raises((UnknownError, QueryFailed)):
        printed(sql(text))


def test_a_text_that_postgresql_cannot_hold_is_refused() -> None:
    with pytest.raises(UnknownError):
        printed(sql("SELECT COUNT(*) FROM visits WHERE ward = {}", literal("a\0b")))


def test_a_refusal_says_nothing_of_literals() -> None:
    with pytest.raises(UnknownError) as refused:
        printed(sql("SELECT md5({}) FROM visits WHERE {} = 1", literal("canary"), name("canary")))
    assert "canary" not in str(refused.value)


def test_what_is_nested_too_deep_is_refused() -> None:
    """And does not end the program."""
    deep = "abs(" * 2000 + "n" + ")" * 2000
    with pytest.raises(Exception, match=r"nested|planned"):
        printed(sql(f"SELECT {deep} FROM visits"))


def test_unnamed_columns_have_names_that_nobody_can_have() -> None:
    assert '"_discreet_' in printed(sql("SELECT COUNT(*) FROM visits"))
