"""Who was deleted in PostgreSQL is gone from rows that were put aside, from copies inside of it, and from streams."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from discreet.engines.newer import FOLDER
from discreet.policy import Policy, read
from tests.cli.runs import run, told
from tests.curator.test_erasing import found
from tests.postgres.cluster import Cluster
from tests.postgres.worlds import HEAD, table, world

CANARY = f"c{secrets.token_hex(24)}"
COLUMNS = """cost = { min = 0, max = 100 }
note = { type = 'text' }
day = { type = 'date', min = 2024-01-01, max = 2024-12-31 }
"""


@pytest.fixture
def schema(postgres: Cluster) -> str:
    called = f"erasing_{secrets.token_hex(4)}"
    postgres.run(
        f"CREATE SCHEMA {called}",
        f"CREATE TABLE {called}.visits "
        "(id int GENERATED ALWAYS AS IDENTITY, person text, cost int, note text, day date)",
        f"INSERT INTO {called}.visits (person, cost, note, day) SELECT p, 1, 'of ' || p, DATE '2024-01-01' + d "
        f"FROM unnest(ARRAY['ann', 'bob', '{CANARY}']) AS p, generate_series(0, 3) AS d",
    )
    return called


def test_whoever_is_renamed_in_place_is_gone_with_the_next_refresh(
    postgres: Cluster, schema: str, tmp_path: Path
) -> None:
    """The number of rows is as it was, but another transaction wrote them."""
    policy = aside(tmp_path, postgres.address(), schema)
    renamed(postgres, schema)
    run("refresh", policy.path)
    assert found(policy.state, CANARY) == []


def test_rows_that_were_put_aside_are_read_again(postgres: Cluster, schema: str, tmp_path: Path) -> None:
    """Whoever may read single columns is not told who wrote a row: a refresh sees nothing, an erasure does."""
    role = f"{schema}_reader"
    postgres.run(
        f"CREATE ROLE {role} LOGIN",
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT SELECT (id, person, cost, note, day) ON {schema}.visits TO {role}",
    )
    policy = aside(tmp_path, postgres.address(user=role), schema)
    renamed(postgres, schema)
    run("refresh", policy.path)
    assert found(policy.state, CANARY)
    assert told("refresh", policy.path, "--erase")["held"] == []
    assert found(policy.state, CANARY) == []


def aside(folder: Path, address: str, schema: str) -> Policy:
    """A policy whose rows were put aside."""
    policy = world(folder, table(address, f"{schema}.visits", COLUMNS, more='newer_by = "id"\nmax_rows = 9'))
    run("refresh", policy.path)
    assert any(FOLDER in file for file in found(policy.state, CANARY))
    return policy


def renamed(postgres: Cluster, schema: str) -> None:
    postgres.run(f"UPDATE {schema}.visits SET person = 'nobody', note = NULL WHERE person = '{CANARY}'")


def test_a_stream_over_a_table_loses_the_person_too(postgres: Cluster, schema: str, tmp_path: Path) -> None:
    stream = "\n[tables.visits.stream]\nby = 'day'\ncolumn = 'day'\nepsilon = 0.5\nprotects = 'unit-day'\n"
    policy = world(tmp_path, table(postgres.address(), f"{schema}.visits", COLUMNS, more="max_rows = 9") + stream)
    run("refresh", policy.path, "--until", "2024-01-04")
    assert found(policy.state, CANARY)
    postgres.run(f"DELETE FROM {schema}.visits WHERE person = '{CANARY}'")
    done = told("refresh", policy.path, "--until", "2024-01-04", "--erase")
    assert done["erased"]["visits"] == {"rows": 3, "units": 1}
    assert found(policy.state, CANARY) == []


def test_copies_inside_of_the_database_are_dropped(postgres: Cluster, schema: str, tmp_path: Path) -> None:
    copies = f"{schema}_copies"
    postgres.run(f"CREATE SCHEMA {copies}")
    path = tmp_path / "world.toml"
    text = HEAD.replace("[budget]", f"engine = 'postgres'\nengine_schema = '{copies}'\n[budget]", 1)
    path.write_text(text + table(postgres.address(), f"{schema}.visits", COLUMNS, more="max_rows = 9"), "utf-8")
    run("refresh", path)
    assert CANARY in held(postgres, copies)
    postgres.run(f"DELETE FROM {schema}.visits WHERE person = '{CANARY}'")
    assert told("refresh", path, "--erase")["held"] == []
    assert "ann" in held(postgres, copies)
    assert CANARY not in held(postgres, copies)
    assert found(read(path).state, CANARY) == []


def held(postgres: Cluster, schema: str) -> str:
    """All rows of all tables of a schema."""
    with postgres.connect() as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
        return str([connection.execute(f'SELECT * FROM {schema}."{name}"').fetchall() for (name,) in names])
