"""Rows that were read once are not read again, and none is lost, whenever it commits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.curator.refreshing import refresh
from discreet.engines import newer
from discreet.engines.copy import private_copy
from discreet.engines.newer import FOLDER
from discreet.engines.postgres import Snapshot
from discreet.engines.problems import SourceError
from discreet.policy import Policy
from discreet.policy.layout import UNIT
from tests.cli.runs import run
from tests.postgres.cluster import Cluster, until
from tests.postgres.worlds import HEAD, copied, table, world

BETWEEN = range(10, 16)
"""Queries around those by which we find out what is settled, and the one that chooses the moment."""
COLUMNS = "cost = { min = 0, max = 100 }"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newer, "PATIENCE", 2)
    monkeypatch.setattr(newer, "AGAIN", 0.0)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows PostgreSQL sent, each time."""
    counts: list[int] = []
    plain: Callable[..., int] = Snapshot.copy_out

    def counted(self: Snapshot, *given: Any) -> int:
        counts.append(plain(self, *given))
        return counts[-1]

    monkeypatch.setattr(Snapshot, "copy_out", counted)
    return counts


def growing(
    postgres: Cluster, schema: str, folder: Path, column: str = "id int GENERATED ALWAYS AS IDENTITY"
) -> Policy:
    postgres.run(f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.visits ({column}, person text, cost int)")
    return world(folder, table(postgres.address(), f"{schema}.visits", COLUMNS, more='newer_by = "id"\nmax_rows = 99'))


def add(postgres: Cluster, schema: str, *people: str) -> None:
    postgres.run(*(f"INSERT INTO {schema}.visits (person, cost) VALUES ('{person}', '1')" for person in people))


def people(policy: Policy, version: int) -> list[str]:
    return [row[0] for row in copied(policy, f"SELECT {UNIT} FROM visits ORDER BY 1", version)]


def test_only_new_rows_are_read(postgres: Cluster, tmp_path: Path, sent: list[int]) -> None:
    policy = growing(postgres, "new", tmp_path)
    add(postgres, "new", "ann", "bob", "cy")
    assert people(policy, refresh(policy, "1")) == ["ann", "bob", "cy"]
    add(postgres, "new", "di", "bob")
    assert people(policy, refresh(policy, "2")) == ["ann", "bob", "bob", "cy", "di"]
    assert people(policy, refresh(policy, "3")) == ["ann", "bob", "bob", "cy", "di"]
    assert sent == [3, 2, 0]
    postgres.run("DELETE FROM new.visits WHERE person = 'bob'")
    assert people(policy, refresh(policy, "4")) == ["ann", "cy", "di"]
    run("refresh", policy.path, "--all", "--reason", "5")
    assert sent == [3, 2, 0, 3, 3]
    modes = {path.stat().st_mode & 0o77 for path in (policy.state / FOLDER).rglob("*")}
    assert modes == {0}


def test_rows_that_commit_late_are_not_lost(postgres: Cluster, tmp_path: Path) -> None:
    """Transactions of every sort that drew a number before others did, and end after them."""
    policy = growing(postgres, "late", tmp_path)
    insert = "INSERT INTO late.visits (person, cost) VALUES ('{}', 1)"
    postgres.run(
        "CREATE FUNCTION late.waits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.person = 'waiting' THEN"
        " PERFORM pg_advisory_xact_lock(7); END IF; RETURN NEW; END $$",
        "CREATE TRIGGER t BEFORE INSERT ON late.visits FOR EACH ROW EXECUTE FUNCTION late.waits()",
    )
    known = [f"gone{at}" for at in range(4)]
    add(postgres, "late", *known)
    refresh(policy, "put aside")
    with postgres.connect() as plain, postgres.connect() as nested, postgres.connect() as gate:
        for connection in (plain, nested):
            connection.execute("BEGIN")
        plain.execute(insert.format("plain"))
        nested.execute("SAVEPOINT s")
        nested.execute(insert.format("nested"))
        nested.execute("RELEASE s")
        postgres.run("BEGIN", insert.format("prepared"), "PREPARE TRANSACTION 'two'")
        gate.execute("SELECT pg_advisory_lock(7)")
        waiting = threading.Thread(target=postgres.run, args=(insert.format("waiting"),), daemon=True)
        waiting.start()  # it has drawn its number, and has no transaction number of its own yet
        query = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        until(lambda: bool(gate.execute(query).fetchall()))
        ends: list[tuple[str, Callable[[], object]]] = [
            ("plain", lambda: plain.execute("COMMIT")),
            ("nested", lambda: nested.execute("COMMIT")),
            ("prepared", lambda: postgres.run("COMMIT PREPARED 'two'")),
            ("waiting", lambda: gate.execute("SELECT pg_advisory_unlock(7)")),
        ]
        for at, (late, end) in enumerate(ends):
            add(postgres, "late", f"early{at}")
            known.append(f"early{at}")
            assert people(policy, refresh(policy, "before")) == sorted(known)
            end()
            if late == "waiting":
                waiting.join()
            postgres.run(f"DELETE FROM late.visits WHERE person = 'gone{at}'")  # as many as before: counting is no help
            known.remove(f"gone{at}")
            known.append(late)
            assert people(policy, refresh(policy, "after")) == sorted(known)
    assert list((policy.state / FOLDER).rglob("*.parquet"))


def test_rows_that_commit_while_we_look_are_not_lost(
    postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody ends between any two of our queries: what was not visible then is read later."""
    policy = growing(postgres, "between", tmp_path)
    add(postgres, "between", "ann")
    plain: Callable[..., Any] = Snapshot.query
    for at in BETWEEN:
        with postgres.connect() as late:
            late.execute("BEGIN")
            late.execute(f"INSERT INTO between.visits (person, cost) VALUES ('late{at:02}', 1)".encode())
            add(postgres, "between", f"early{at:02}")
            left = [at]

            def ending(self: Snapshot, *given: Any, left: list[int] = left, late: Any = late) -> Any:
                if left[0] == 0:
                    late.execute("COMMIT")
                left[0] -= 1
                return plain(self, *given)

            monkeypatch.setattr(Snapshot, "query", ending)
            private_copy(policy, at + 1)
            monkeypatch.setattr(Snapshot, "query", plain)
            if left[0] >= 0:
                late.execute("COMMIT")
    everybody = ["ann", *(f"{when}{at:02}" for at in BETWEEN for when in ("early", "late"))]
    assert people(policy, 99) == sorted(everybody)


def test_partitions_and_another_table_of_the_same_name(postgres: Cluster, tmp_path: Path, sent: list[int]) -> None:
    postgres.run(
        "CREATE SCHEMA cut",
        "CREATE TABLE cut.visits (id bigserial, person text, cost int) PARTITION BY LIST (cost)",
        "CREATE TABLE cut.ones PARTITION OF cut.visits FOR VALUES IN (1)",
    )
    more = 'newer_by = "ID"\nmax_rows = 99'
    policy = world(tmp_path, table(postgres.address(), "cut.visits", COLUMNS, more=more))
    add(postgres, "cut", "ann")
    refresh(policy, "1")
    with postgres.connect() as late:
        late.execute("BEGIN")
        late.execute("INSERT INTO cut.ones (person, cost) VALUES ('late', 1)")
        add(postgres, "cut", "bob")
        assert people(policy, refresh(policy, "2")) == ["ann", "bob"]
        late.execute("COMMIT")
    assert people(policy, refresh(policy, "3")) == ["ann", "bob", "late"]
    assert sent == [1, 1, 2]
    postgres.run(
        "ALTER TABLE cut.visits RENAME TO old",
        "CREATE TABLE cut.visits (id bigint GENERATED BY DEFAULT AS IDENTITY, person text, cost int)",
    )
    add(postgres, "cut", "eve")
    assert people(policy, refresh(policy, "4")) == ["eve"]


INSERTED = "INSERT INTO {}.visits (person, cost) SELECT 'eve', 1 FROM generate_series(1, 3)"


@pytest.mark.parametrize(
    ("called", "statements"),
    [
        ("emptied", ["TRUNCATE {}.visits RESTART IDENTITY", INSERTED]),
        ("begun_anew", ["DELETE FROM {}.visits", "ALTER TABLE {}.visits ALTER id RESTART", INSERTED]),
        ("changed", ["UPDATE {}.visits SET person = 'eve'"]),
    ],
)
def test_numbers_that_go_back_are_noticed(
    postgres: Cluster, tmp_path: Path, sent: list[int], called: str, statements: list[str]
) -> None:
    """There are as many rows as before, with the same numbers, and they are others: counting is no help."""
    schema = f"back_{called}"
    policy = growing(postgres, schema, tmp_path)
    add(postgres, schema, "ann", "bob", "cy")
    refresh(policy, "1")
    postgres.run(f"VACUUM (FREEZE, FULL) {schema}.visits")
    assert people(policy, refresh(policy, "2")) == ["ann", "bob", "cy"]
    assert sent == [3, 0]
    postgres.run(*(statement.format(schema) for statement in statements))
    assert people(policy, refresh(policy, "3")) == ["eve", "eve", "eve"]
    assert people(policy, refresh(policy, "4")) == ["eve", "eve", "eve"]
    assert sent == [3, 0, 3, 0]


@pytest.mark.parametrize(
    ("called", "statements"),
    [
        ("swapped", ["ALTER TABLE {0}.visits RENAME cost TO was", "ALTER TABLE {0}.visits RENAME other TO cost"]),
        ("made_anew", ["ALTER TABLE {0}.visits DROP cost", "ALTER TABLE {0}.visits ADD cost int DEFAULT 7"]),
        ("labelled", ["ALTER TYPE {0}.price RENAME VALUE '1' TO '7'"]),
        ("labelled_below", ["ALTER TYPE {0}.price RENAME VALUE '1' TO '7'"]),
    ],
)
def test_values_that_become_others_without_a_row_being_written_are_noticed(
    postgres: Cluster, tmp_path: Path, called: str, statements: list[str]
) -> None:
    """The column of that name is another one, or what its values are called is."""
    policy = growing(postgres, called, tmp_path)
    postgres.run(f"ALTER TABLE {called}.visits ADD other int DEFAULT 7", f"CREATE TYPE {called}.price AS ENUM ('1')")
    postgres.run(f"CREATE DOMAIN {called}.fee AS {called}.price", f"CREATE DOMAIN {called}.cost AS {called}.fee")
    kind = {"labelled": "price", "labelled_below": "cost"}.get(called)
    if kind is not None:
        change = f"ALTER TABLE {called}.visits ALTER cost TYPE {called}.{kind} USING cost::text::{called}.{kind}"
        postgres.run(change)
    add(postgres, called, "ann", "bob")
    costs = "SELECT cost FROM visits"
    assert copied(policy, costs, refresh(policy, "1")) == [(1.0,), (1.0,)]
    postgres.run(*(statement.format(called) for statement in statements))
    assert copied(policy, costs, refresh(policy, "2")) == [(7.0,), (7.0,)]


def test_names_of_numbers_are_never_code_and_a_role_may_read_some_columns_only(
    postgres: Cluster, tmp_path: Path, sent: list[int]
) -> None:
    """A role that reads single columns does not see which version of a row it reads: rows are counted then."""
    postgres.run(
        "CREATE SCHEMA signs",
        "CREATE ROLE columns_only LOGIN",
        "GRANT USAGE ON SCHEMA signs TO columns_only",
        'CREATE TABLE signs."100%s" ("%id" int GENERATED ALWAYS AS IDENTITY, person text, cost int, other text)',
        'GRANT SELECT ("%id", person, cost) ON signs."100%s" TO columns_only',
    )
    more = 'newer_by = "%id"\nmax_rows = 99'
    lines = table(postgres.address(user="columns_only"), '"signs"."100%s"', COLUMNS, more=more)
    policy = world(tmp_path, lines)
    for at, person in enumerate(("ann", "bob")):
        postgres.run(f"INSERT INTO signs.\"100%s\" (person, cost) VALUES ('{person}', 1)")
        assert people(policy, refresh(policy, str(at))) == ["ann", "bob"][: at + 1]
    postgres.run("DELETE FROM signs.\"100%s\" WHERE person = 'ann'")
    assert people(policy, refresh(policy, "3")) == ["bob"]
    assert sent == [1, 1, 1]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("id int", "is not filled by a sequence"),
        ("id int NOT NULL", "is not filled by a sequence"),
        ("id int GENERATED ALWAYS AS IDENTITY (CACHE 20)", "is not filled by a sequence"),
        ("id int GENERATED ALWAYS AS IDENTITY (INCREMENT -1)", "is not filled by a sequence"),
        ("id int GENERATED ALWAYS AS IDENTITY (CYCLE)", "is not filled by a sequence"),
        ("id timestamptz DEFAULT now()", "is no column of integers"),
        ("number int", "is no column of integers"),
    ],
)
def test_columns_that_cannot_tell_are_refused(postgres: Cluster, tmp_path: Path, column: str, said: str) -> None:
    schema = f"refused{abs(sum(map(ord, column)))}"
    policy = growing(postgres, schema, tmp_path, column)
    with pytest.raises(SourceError, match=said):
        private_copy(policy, 1)


def test_rows_that_are_written_elsewhere_are_refused(postgres: Cluster, tmp_path: Path) -> None:
    postgres.run(
        "CREATE SCHEMA afar",
        "CREATE FOREIGN DATA WRAPPER afar",
        "CREATE SERVER afar FOREIGN DATA WRAPPER afar",
        "CREATE TABLE afar.visits (id bigserial, person text, cost int) PARTITION BY LIST (cost)",
        "CREATE FOREIGN TABLE afar.ones PARTITION OF afar.visits FOR VALUES IN (1) SERVER afar",
    )
    policy = world(tmp_path, table(postgres.address(), "afar.visits", COLUMNS, more='newer_by = "id"'))
    with pytest.raises(SourceError, match="a part of it is a foreign table"):
        private_copy(policy, 1)


def test_a_column_that_is_no_longer_named_leaves_nothing(postgres: Cluster, tmp_path: Path) -> None:
    policy = growing(postgres, "gone", tmp_path)
    add(postgres, "gone", "ann")
    refresh(policy, "1")
    assert list((policy.state / FOLDER).iterdir())
    without = world(tmp_path, table(postgres.address(), "gone.visits", COLUMNS, more="max_rows = 99"))
    refresh(without, "2")
    assert not list((policy.state / FOLDER).iterdir())


def test_what_a_killed_refresh_had_put_aside_goes_with_the_next(
    postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who had come since is gone when it runs again, and nothing is put aside any more that would sweep the folder."""
    policy = growing(postgres, "killed", tmp_path)
    add(postgres, "killed", "ann")
    refresh(policy, "1")

    def killed(_: str) -> Any:
        raise KeyboardInterrupt

    add(postgres, "killed", "eve")
    with monkeypatch.context() as patch:
        patch.setattr(newer, "private_file", killed)
        with pytest.raises(KeyboardInterrupt):
            refresh(policy, "2")
    assert len(list((policy.state / FOLDER).rglob("*.parquet"))) == 2
    postgres.run("DELETE FROM killed.visits WHERE person = 'eve'")
    assert people(policy, refresh(policy, "3")) == ["ann"]
    assert len(list((policy.state / FOLDER).rglob("*.parquet"))) == 1


@pytest.mark.parametrize("others", [True, False])
def test_who_is_gone_is_nowhere_also_where_nothing_is_put_aside(
    postgres: Cluster, tmp_path: Path, *, others: bool
) -> None:
    """Somebody writes and does not end, so that nobody knows what is settled; or there is no row at all."""
    schema = f"nowhere_{others}".lower()
    policy = growing(postgres, schema, tmp_path)
    add(postgres, schema, "eve", *["ann"] * others)
    refresh(policy, "1")
    assert list((policy.state / FOLDER).rglob("*.parquet"))
    with postgres.connect() as writing:
        if others:
            writing.execute(f"BEGIN; INSERT INTO {schema}.visits (person, cost) VALUES ('late', 1)".encode())
        postgres.run(f"DELETE FROM {schema}.visits WHERE person = 'eve'")
        assert people(policy, refresh(policy, "2")) == ["ann"] * others
        writing.execute("ROLLBACK")
    assert not [path for path in (policy.state / FOLDER).rglob("*") if path.is_file()]


def test_of_a_stream_rows_of_sealed_blocks_are_not_read_again(
    postgres: Cluster, tmp_path: Path, sent: list[int]
) -> None:
    postgres.run("CREATE SCHEMA flow", "CREATE TABLE flow.rides (rider text, at timestamptz, fare int)")
    stream = """
[tables.rides.stream]
by = "day"
column = "at"
epsilon = 1.0
protects = "unit-day"
"""
    columns = 'at = { type = "timestamp", min = 2024-01-01T00:00:00, max = 2024-12-31T00:00:00 }'
    said = table(postgres.address(), "flow.rides", columns, label="rides", unit="rider")
    path = tmp_path / "world.toml"
    path.write_text(f"{HEAD}{said}{stream}", encoding="utf-8")
    with discreet.open(path) as curator:
        for day in (1, 2, 3):
            postgres.run(
                "INSERT INTO flow.rides "
                f"SELECT 'r' || n, '2024-01-0{day} 23:59:59+00', n FROM generate_series(1, {day}) AS n",
                "INSERT INTO flow.rides VALUES ('x', 'infinity', 1), ('y', NULL, 1), ('z', '0044-01-01 BC', 1)",
            )
            curator.refresh(until=f"2024-01-0{day + 1}")
        assert sent == [2, 4, 6]  # what lies in the infinite future is always read
        answer = curator.query("SELECT COUNT(*) FROM rides", epsilon=1, blocks="newest 1")
    assert "blocks of rides: 2024-01-03" in answer.notes
