"""Spark's language: no row makes a function of it fail, and each gives what DuckDB gives."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.composed import sql
from discreet.engines.connection import isolated
from discreet.engines.rewriting import rewritten
from discreet.engines.rewriting.spark import DIALECT, SETTINGS
from discreet.engines.rewriting.spark_forms import TYPES
from discreet.engines.rewriting.statements import Stored
from discreet.engines.rewriting.terms import TYPES as KINDS
from tests.engines.contract.test_hostile import FORMS, alike, combined

LAST_BITS = ("pow", "exp", "ln", "log10")
"""Java computes these by itself: the last bit may be another."""


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    held = spark.newSession()
    for key, value in {"spark.sql.session.timeZone": "UTC", **SETTINGS}.items():
        held.conf.set(key, value)
    return held


@pytest.mark.parametrize("kind", FORMS)
def test_functions_are_total_and_give_what_duckdb_gives(kind: str, session: Any) -> None:
    given, forms = FORMS[kind]
    rows, table = combined(given), f"all_{kind}"
    columns = {"place": "BIGINT", **{column: type_ for column, (type_, _) in given.items()}}
    typed = ", ".join(f"{column} {TYPES[KINDS[type_]]}" for column, type_ in columns.items())
    session.createDataFrame(rows, typed).createOrReplaceTempView(table)
    with isolated().cursor() as local:
        typed = ", ".join(f"{column} {type_}" for column, type_ in columns.items())
        local.execute(f"CREATE TEMP TABLE {table} ({typed})")
        local.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)
        listed = ", ".join(f"{form} AS f{index}" for index, form in enumerate(forms))
        query = sql(f"SELECT place, {listed.replace('{', '{{').replace('}', '}}')} FROM {table} ORDER BY place")
        theirs = local.execute(query.text).fetchall()
        local.execute(f"DROP TABLE {table}")
    ours = session.sql(rewritten(query, DIALECT, {table: Stored(table, columns)}).text).collect()
    different = [
        (form, rows[place][1:], mine[index + 1], other[index + 1])
        for place, (mine, other) in enumerate(zip(ours, theirs, strict=True))
        for index, form in enumerate(forms)
        if not alike(mine[index + 1], other[index + 1], near=1e-12 if any(word in form for word in LAST_BITS) else 0.0)
    ]
    assert not different, different[:20]
