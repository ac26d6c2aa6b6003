"""Rows that are made to fail: no engine raises an error for any of them, and all give what DuckDB gives.

An error that one row decides about tells about that row, whoever sees it.
"""
# ruff: noqa: E501 (a form is one line)

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from discreet.composed import sql
from discreet.engines.connection import isolated
from discreet.engines.rewriting import rewritten
from discreet.engines.rewriting.postgres import DIALECT, TYPES
from discreet.engines.rewriting.postgres_functions import functions
from discreet.engines.rewriting.statements import Stored
from discreet.engines.rewriting.terms import TYPES as KINDS
from tests.postgres.cluster import Cluster

REALS = [
    math.inf, -math.inf, math.nan, 1e308, -1e308, 1.7976931348623157e308, -1.7976931348623157e308, 8.98846567431158e307,
    5e-324, -5e-324, 1e-310, 2.2250738585072014e-308, 1e-200, 1e-162, 1e162, 0.0, -0.0, 1e17, -0.5, 0.5, 1.5, 2.5, -2.5,
    0.49999999999999994, 99.999999, 0.1, 0.3, -7.0, 3.0, 1.0, 2.0, 709.5, -744.9, -708.5, 1e300, 1e-300, 4503599627370497.5,
    9007199254740993.0, 9.223372036854775e18, 9.223372036854776e18, -9.223372036854776e18, 1.7014118346046923e38, 1e40, None,
]  # fmt: skip
WHOLES = [2**63 - 1, -(2**63), 0, 1, 7, -1, -7, 2**53 + 1, 10, 128, 255, 256, 2**31, 2**32, None]
TEXTS = [
    "", " ", "\t a ", "É", "ß", "İ", "ŉ", "it's", "a\\b", "%", "_", "1e999", "2024-02-30", "today", "NaN", "1_000", "🎉",
    "x" * 600, "Ǆ", "ΑΣ", "ａ\u3000", "\u2003a\u00a0", "abcd", "ABCD", "aBc%", "a\u0301", "\U00010428", None,
]  # fmt: skip
DAYS = [
    date(1, 1, 1),
    date(9999, 12, 31),
    date(2024, 2, 29),
    date(1969, 12, 31),
    date(1582, 10, 10),
    date(2023, 1, 1),
    None,
]
TIMES = [
    datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 13, 45, 30, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 12, 30, 0, 0, 0), datetime(2021, 1, 3, 4, 5, 6), None,
]  # fmt: skip
TRUTHS = [True, False, None]

Given = Mapping[str, tuple[str, Sequence[Any]]]
"""For each column its type and its values: tables hold all combinations."""
FORMS: Mapping[str, tuple[Given, Sequence[str]]] = {
    "reals": (
        {"a": ("DOUBLE", REALS), "b": ("DOUBLE", REALS)},
        [
            "a + b", "a - b", "a * b", "CASE WHEN b <> 0 THEN a / b END", "CASE WHEN b <> 0 THEN a % b END", "0e0 - a", "a = b", "a < b", "a >= b", "a IS NOT DISTINCT FROM b",
            "least(a, b)", "greatest(a, b)", "COALESCE(a, b)", "a BETWEEN b AND 1e0", "CASE WHEN a > b THEN a END",
            "a IN (1e0, 2e0, b)",
        ],
    ),
    "powers": ({"a": ("DOUBLE", [*REALS[:15], *REALS[17:]]), "b": ("DOUBLE", REALS)}, ["pow(a, b)", "exp(a)"]),
    "real": (
        {"a": ("DOUBLE", REALS)},
        [
            "abs(a)", "floor(a)", "ceil(a)", "trunc(a)", "round(a)", "sign(a)", "CASE WHEN a >= 0 THEN sqrt(a) END",
            "CASE WHEN a > 0 THEN ln(a) END", "CASE WHEN a > 0 THEN log10(a) END", "isnan(a)", "TRY_CAST(a AS BIGINT)",
            "TRY_CAST(a AS INTEGER)", "TRY_CAST(a AS UTINYINT)", "TRY_CAST(a AS HUGEINT)", "CAST(TRY_CAST(a AS HUGEINT) AS VARCHAR)",
            "TRY_CAST(a AS BOOLEAN)", "a IS NULL", "a > 1", "a + 1", "a + 1e0", "1e289 - a", "a - 0.5e0", "(a / 3e0) + 0.5e0", "TRY_CAST(FLOOR(a / 0.5e0 + 0.5e0) AS BIGINT)",
            *(f"round(a, CAST({digits} AS INTEGER))" for digits in (-15, -3, -1, 0, 1, 2, 5, 15)),
        ],
    ),
    "whole": (
        {"n": ("BIGINT", WHOLES)},
        [
            "CAST(n AS DOUBLE)", "CAST(n AS HUGEINT)", "TRY_CAST(n AS INTEGER)", "TRY_CAST(n AS UTINYINT)", "CAST(n AS VARCHAR)",
            "n > 1.5e0", "n = 1", "n // 7", "n % 7", "n & 62", "n | 1", "xor(n, 3)", "n IN (7, 10)", "CAST(n AS HUGEINT) * 3",
            "CAST(n AS HUGEINT) / 3", "n / 3", "TRY_CAST(n AS BOOLEAN)", "CASE n WHEN 7 THEN 1.5e0 ELSE n END",
            "list_position([7, 10], n)", "list_extract(['a', 'b'], CAST(abs(n % 3) AS INTEGER))",
        ],
    ),
    "bits": (
        {"i": ("BIGINT", [0, 1, 31, 62, 63]), "j": ("BIGINT", [0, 5, 63])},
        [
            "bit_count((1::UBIGINT << i) | (1::UBIGINT << j))", "bit_count((1::UBIGINT << i) & ((1::UBIGINT << j) - 1))",
            "bit_count(((1::UBIGINT << i) | (1::UBIGINT << j)) >> 58)", "bit_count(1::UTINYINT << CAST(i % 8 AS UTINYINT))",
            "xor(1::UBIGINT << i, 1::UBIGINT << j) = 0",
        ],
    ),
    "text": (
        {"t": ("VARCHAR", TEXTS)},
        [
            "lower(t)", "upper(t)", "trim(t)", "length(t)", "strlen(t)", "left(t, 1)", "t || '!'", "concat(t, '!')", "t LIKE 'a%'",
            "t LIKE '%\\%'", "t LIKE '_'", "t LIKE 'a!%' ESCAPE '!'", "t LIKE '%!%' ESCAPE '!'", "lower(t) LIKE lower('%É%')",
            "starts_with(t, 'a')", "suffix(t, 'd')", "contains(t, '%')", "contains(t, '')", "t = 'ß'", "t < 'a'", "t >= 'ß'",
            "t IN ('', ' ')", "t IS NULL", "sha256(t)", "CASE WHEN strlen(t) > 500 THEN left(t, 500) ELSE t END", "least(t, 'b')",
            *(f"substr(t, {start})" for start in (-1000000, -2, -1, 0, 1, 2, 1000000)),
            *(f"substr(t, {start}, {count})" for start in (-10, -2, 0, 1, 2, 5) for count in (-3, -1, 0, 1, 2, 8, 1000000)),
        ],
    ),
    "dates": (
        {"d": ("DATE", DAYS), "e": ("DATE", DAYS)},
        [
            "d - e", "d < e", "d = e", *(f"date_diff('{part}', d, e)" for part in ("year", "quarter", "month", "week", "day")),
            "date_diff('day', date_trunc('week', d), date_trunc('week', e)) // 7",
        ],
    ),
    "date": (
        {"d": ("DATE", DAYS)},
        [
            *(f"date_part('{part}', d)" for part in ("year", "quarter", "month", "isoyear", "week", "day", "dow", "isodow", "doy")),
            *(f"CAST(date_trunc('{part}', d) AS DATE)" for part in ("year", "quarter", "month", "week", "day")),
            "month(d)", "CAST(d AS TIMESTAMP)", "CAST(d AS VARCHAR)", "strftime(d, '%Y-%m-%d %y %j %B %b %A %a %u %V 100%% it''s \"x\"')",
            *(
                f"CASE WHEN CAST(d + to_{unit}s(CAST({count} AS INTEGER)) AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' "
                f"THEN CAST(d + to_{unit}s(CAST({count} AS INTEGER)) AS DATE) END"
                for unit in ("day", "month") for count in (-120000, -13, -1, 0, 1, 12, 120000)
            ),
        ],
    ),
    "times": (
        {"t": ("TIMESTAMP", TIMES), "u": ("TIMESTAMP", TIMES)},
        [
            "t < u", "t = u", *(f"date_diff('{part}', t, u)" for part in ("year", "quarter", "month", "week", "day", "hour", "minute")),
        ],
    ),
    "time": (
        {"t": ("TIMESTAMP", TIMES)},
        [
            *(f"date_part('{part}', t)" for part in ("year", "isoyear", "week", "dow", "doy", "hour", "minute", "second")),
            *(f"date_trunc('{part}', t)" for part in ("year", "quarter", "month", "week", "day", "hour", "minute")),
            "CAST(t AS DATE)", "CAST(t AS VARCHAR)", "strftime(t, '%H:%M:%S')",
            *(
                f"CASE WHEN CAST(t + to_seconds(CAST({count} AS BIGINT)) AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' "
                f"AND TIMESTAMP '9999-12-31 23:59:59.999999' THEN CAST(t + to_seconds(CAST({count} AS BIGINT)) AS TIMESTAMP) END"
                for count in (-345600000000, -86401, -1, 0, 1, 7200, 345600000000)
            ),
        ],
    ),
    "truth": (
        {"p": ("BOOLEAN", TRUTHS), "q": ("BOOLEAN", TRUTHS)},
        ["p AND q", "p OR q", "NOT p", "p = q", "p IS TRUE", "p IS FALSE", "CAST(p AS BIGINT)", "CAST(p AS DOUBLE)", "CAST(p AS VARCHAR)"],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def server(database: Cluster) -> Iterator[Any]:
    with database.connect() as connection:
        connection.execute("CREATE SCHEMA hostile_functions; SET search_path = hostile_functions")
        connection.execute("SET datestyle = 'ISO'; SET timezone = 'UTC'")
        for text in functions():
            connection.execute(text.encode())
        yield connection
        connection.execute("DROP SCHEMA hostile_functions CASCADE")


def combined(given: Given) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = [()]
    for _, values in given.values():
        rows = [(*row, value) for row in rows for value in values]
    return [(index, *row) for index, row in enumerate(rows)]


def alike(ours: Any, theirs: Any, *, near: float = 0.0) -> bool:
    if isinstance(ours, Decimal):
        ours = int(ours)
    if isinstance(ours, float) and isinstance(theirs, float) and math.isnan(ours):
        return math.isnan(theirs)
    if isinstance(ours, float) and theirs == 0:
        return ours == 0
    if near and isinstance(ours, float) and isinstance(theirs, float) and math.isfinite(ours):
        return abs(ours - theirs) <= near * abs(theirs) + 1e-305
    return bool(ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool))


@pytest.mark.parametrize("kind", FORMS)
def test_functions_are_total_and_give_what_duckdb_gives(kind: str, server: Any) -> None:
    given, forms = FORMS[kind]
    rows, table = combined(given), f"all_{kind}"
    columns = {"place": "BIGINT", **{column: type_ for column, (type_, _) in given.items()}}
    with isolated().cursor() as local:
        typed = ", ".join(f"{column} {type_}" for column, type_ in columns.items())
        marks = ", ".join("?" * len(columns))
        local.execute(f"CREATE TEMP TABLE {table} ({typed})")
        local.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        typed = ", ".join(f"{column} {TYPES[KINDS[type_]]}" for column, type_ in columns.items())
        server.execute(f"CREATE TABLE {table} ({typed})".encode())
        with server.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(columns))})".encode(), rows)
        listed = ", ".join(f"{form} AS f{index}" for index, form in enumerate(forms))
        query = sql(f"SELECT place, {listed.replace('{', '{{').replace('}', '}}')} FROM {table} ORDER BY place")
        theirs = local.execute(query.text).fetchall()
        local.execute(f"DROP TABLE {table}")
    ours = server.execute(rewritten(query, DIALECT, {table: Stored(table, columns)}).text.encode()).fetchall()
    different = [
        (form, rows[place][1:], mine[index + 1], other[index + 1])
        for place, (mine, other) in enumerate(zip(ours, theirs, strict=True))
        for index, form in enumerate(forms)
        if not alike(mine[index + 1], other[index + 1], near=1e-12 if kind == "powers" else 0.0)
    ]
    assert not different, different[:20]
