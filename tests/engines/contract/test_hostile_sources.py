"""Types that tables of PostgreSQL may have, and a policy has not: no row of them decides whether a copy is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.composed import sql
from discreet.engines.postgres_engine import Postgres
from discreet.policy.layout import UNIT
from tests.budget import later
from tests.engines.contract.worlds import NUMBERS, World, pushed
from tests.postgres.cluster import Cluster

TEXT = """
name = "clinic"
[budget]
epsilon = 100
[unit]
name = "person"
type = "integer"
[tables.visits]
source = "visits.csv"
unit = "person"
max_rows = 4
[tables.visits.columns]
cost = { type = "KIND" }
"""
MOST = 131_072
"""Digits before the point that a number may have."""
NUMERIC = {
    "integer": [
        *(f"({sign}repeat('9', {MOST}) || '.9')::numeric" for sign in ("", "'-' || ")),
        "'NaN'",
        "'Infinity'",
        "'-Infinity'",
        f"('0.' || repeat('9', {2**14 - 1}))::numeric",
        "9223372036854775807.4",
        "9223372036854775807.5",
        "-9223372036854775808.5",
    ],
    "number": [f"repeat('9', {MOST})::numeric", "'1e-16383'", "'NaN'", "1e308", "1.8e308", "-1e400"],
    "text": [f"(repeat('9', {MOST}) || '.0')::numeric", "'1e-16383'", "'NaN'", "'-Infinity'"],
}
KEPT = {"integer": [None, None, None, None, None, 1, 2**63 - 1, None, None]}
"""What each is in the copy, where nothing but that is right."""


@pytest.mark.parametrize("kind", later(NUMERIC))
def test_no_number_is_too_long_for_a_copy(database: Cluster, tmp_path: Path, kind: str) -> None:
    values = NUMERIC[kind]
    rows = [f"INSERT INTO rows%s.visits VALUES ({at}, {value})" for at, value in enumerate(values)]
    table = "CREATE TABLE rows%s.visits (person int, cost numeric)"
    costs = [cost for _, cost in copied(database, tmp_path, kind, table, *rows)]
    assert len(costs) == len(values)
    assert costs == KEPT.get(kind, costs)


def test_integers_that_are_written_as_texts_of_any_collation_name_units(database: Cluster, tmp_path: Path) -> None:
    """PostgreSQL matches no pattern where texts are the same that differ: with the first row it would fail."""
    units = copied(
        database,
        tmp_path,
        "integer",
        "CREATE COLLATION rows%s.same (provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
        "CREATE TABLE rows%s.visits (person text COLLATE rows%s.same, cost int)",
        "INSERT INTO rows%s.visits SELECT unnest(ARRAY['7', '+8', '007', '', 'x', '９']), 1",
    )
    assert [unit for unit, _ in units] == [7, 7, 8]


def copied(database: Cluster, folder: Path, kind: str, *made: str) -> list[tuple[object, object]]:
    """The units and costs of a copy of what these statements make; %s is the number of the world."""
    number = next(NUMBERS)
    policy = World(pushed(TEXT.replace("KIND", kind), database, number), {}, folder).policy()
    role = [f"GRANT {each} SCHEMA rows{number} TO reader" for each in ("USAGE ON", "SELECT ON ALL TABLES IN")]
    own = [f"CREATE SCHEMA copy{number} AUTHORIZATION reader"]
    database.run(f"CREATE SCHEMA rows{number}", *(each.replace("%s", str(number)) for each in made), *role, *own)
    engine = Postgres(policy, 1)
    try:
        assert engine.rows(sql("SELECT COUNT(*) FROM visits"))
        table = f'copy{number}."{engine._names.table(policy, "visits")}"'
        with database.connect() as connection:
            return connection.execute(f"SELECT {UNIT}, cost FROM {table} ORDER BY 1, 2".encode()).fetchall()
    finally:
        engine.close()
        database.run(f"DROP SCHEMA rows{number} CASCADE", f"DROP SCHEMA copy{number} CASCADE")
