"""Public tables beside rows that stay in a database: columns of types that it lacks are left out, and fail nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.composed import sql
from discreet.engines.postgres_engine import Postgres
from discreet.policy import parse
from tests.plain import plain
from tests.postgres.cluster import Cluster

VALUES = {
    "u": "18446744073709551615::UBIGINT",
    "h": "1267650600228229401496703205376::DECIMAL(38, 0)",
    "f": "'inf'::FLOAT",
    "d": "'nan'::DOUBLE",
    "l": "[1, 2]",
    "b": "'\\x00'::BLOB",
    "i": "DATE '2024-02-29'",
    "z": "TIMESTAMPTZ '2024-02-29 12:00:00+00'",
}


@pytest.mark.parametrize("kind", VALUES)
def test_public_values_of_every_type_fail_nothing(kind: str, database: Cluster, tmp_path: Path) -> None:
    schema = f"public_{kind}"
    database.run(
        f"CREATE SCHEMA {schema}",
        f"CREATE TABLE {schema}.visits (person text, ward text)",
        f"INSERT INTO {schema}.visits VALUES ('ann', 'A')",
        f"GRANT USAGE ON SCHEMA {schema} TO reader",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader",
        f"CREATE SCHEMA {schema}_copy AUTHORIZATION reader",
    )
    with plain() as connection:
        connection.execute(f"COPY (SELECT 'A' AS ward, {VALUES[kind]} AS x) TO '{tmp_path}/wards.parquet'")
    text = f"""
engine = "postgres"
engine_schema = "{schema}_copy"
[budget]
epsilon = 1
[unit]
name = "person"
[tables.visits]
source = "{database.address(user="reader")}"
table = "{schema}.visits"
unit = "person"
[tables.visits.columns]
ward = {{ values = ["A"] }}
[tables.wards]
source = "wards.parquet"
public = true
"""
    engine = Postgres(parse(text.encode(), tmp_path / "world.toml"), 1)
    try:
        joined = "SELECT COUNT(*) FROM visits JOIN wards ON visits.ward = wards.ward"
        assert engine.rows(sql(joined)) == [(1,)]
    finally:
        engine.close()
