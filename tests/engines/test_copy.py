"""The private copy: ranks belong to their unit alone, types hold, and a killed copy leaves nothing that matters."""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines import copy
from discreet.engines.copy import private_copy
from discreet.engines.duckdb import DuckDB
from discreet.engines.problems import SourceError
from discreet.policy import Policy
from discreet.policy.layout import ROW, UNIT, key_rank
from tests.engines.worlds import VISITS, Row, policy, write_csv, write_parquet
from tests.forked import CODE, forked
from tests.plain import reading

HEADER = ("person", "ward", "cost")
FRESH = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
visits = st.lists(
    st.tuples(st.sampled_from(["ann", "bob", "cy", "Ann", "ann "]), st.sampled_from("ABC"), st.integers(0, 3)),
    max_size=25,
)


Ranks = dict[str, list[Row]]
"""For each unit its rows with their ranks, sorted."""


def ranks_of(folder: Path, *tables: list[Row]) -> list[Ranks]:
    """Of several tables in one copy: what ranks are made of names no table."""
    for left in (folder / "world.discreet" / "data").glob("*.duckdb"):
        left.unlink()
    for place, rows in enumerate(tables):
        write_csv(folder / f"visits{place}.csv", HEADER, rows)
    world = policy(folder, *(VISITS.replace("visits", f"visits{place}") for place in range(len(tables))))
    columns = f'"{UNIT}", ward, cost, "{ROW}", "{key_rank("ward")}"'
    found: list[Ranks] = []
    with reading(private_copy(world, 1)) as copy:
        for place in range(len(tables)):
            of_units: Ranks = {}
            for unit, *rest in copy.execute(f"SELECT {columns} FROM visits{place} ORDER BY ALL").fetchall():
                of_units.setdefault(unit, []).append(tuple(rest))
            found.append(of_units)
    return found


def ranks(folder: Path, rows: list[Row]) -> Ranks:
    return ranks_of(folder, rows)[0]


@FRESH
@given(visits, st.randoms())
def test_ranks_do_not_depend_on_the_order_of_rows(tmp_path: Path, rows: list[Row], random: object) -> None:
    shuffled = sorted(rows, key=lambda _: random.random())  # type: ignore[attr-defined]
    one, other = ranks_of(tmp_path, rows, shuffled)
    assert one == other


@FRESH
@given(visits)
def test_removing_a_unit_changes_no_other_units_ranks(tmp_path: Path, rows: list[Row]) -> None:
    gone = list(dict.fromkeys(row[0] for row in rows))[:2]
    everybody, *without = ranks_of(tmp_path, rows, *([row for row in rows if row[0] != unit] for unit in gone))
    for unit, rest in zip(gone, without, strict=True):
        assert rest == {other: found for other, found in everybody.items() if other != unit}


@FRESH
@given(visits)
def test_row_ranks_count_each_units_rows_and_key_ranks_its_keys(tmp_path: Path, rows: list[Row]) -> None:
    for unit, found in ranks(tmp_path, rows).items():
        held = min(3, sum(row[0] == unit for row in rows))
        assert sorted(row[2] for row in found) == list(range(1, held + 1))
        keys = {row[0]: row[3] for row in found}
        assert sorted(keys.values()) == list(range(1, len(keys) + 1))
        assert all(row[3] == keys[row[0]] for row in found)


def test_units_are_compared_bytewise(tmp_path: Path) -> None:
    found = ranks(tmp_path, [("é", "A", 1), ("e\u0301", "A", 1), ("E", "A", 1), ("e", "A", 1), ("e ", "A", 1)])
    assert len(found) == 5


def test_rows_without_an_owner_are_left_out(tmp_path: Path) -> None:
    assert set(ranks(tmp_path, [("", "A", 1), ("ann", "A", 1)])) == {"ann"}


def test_another_secret_gives_another_choice(tmp_path: Path) -> None:
    rows: list[Row] = [("ann", ward, cost) for ward in "ABC" for cost in range(10)]
    first = ranks(tmp_path, rows)
    (tmp_path / "world.discreet" / "secret").unlink()
    assert ranks(tmp_path, rows) != first


def test_what_cannot_be_cast_becomes_null(tmp_path: Path) -> None:
    found = ranks(tmp_path, [("ann", "A", "many"), ("bob", "A", "nan"), ("cy", "A", "inf"), ("di", "A", "1e400")])
    costs = {unit: rows[0][1] for unit, rows in found.items()}
    assert costs == {"ann": None, "bob": None, "cy": float("inf"), "di": float("inf")}


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb", "glob", "tsv"])
def test_sources_of_every_format_give_the_same_copy(tmp_path: Path, kind: str) -> None:
    rows = "SELECT * FROM (VALUES ('ann', 'A', 1.5), ('bob', 'B', 2.0)) t(person, ward, cost)"
    source = f'source = "visits.{kind}"'
    if kind in ("csv", "tsv"):
        delimiter = "\\t" if kind == "tsv" else ","
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({rows}) TO '{tmp_path}/visits.{kind}' (HEADER, DELIMITER '{delimiter}')")
    elif kind == "parquet":
        write_parquet(tmp_path / "visits.parquet", rows)
    elif kind == "duckdb":
        with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
            connection.execute(f"CREATE SCHEMA s; CREATE TABLE s.visits AS {rows}")
        source = 'source = "visits.duckdb"\ntable = "s.visits"'
    else:
        write_parquet(tmp_path / "visits-1.parquet", f"{rows} WHERE person = 'ann'")
        write_parquet(tmp_path / "visits-2.parquet", f"{rows} WHERE person = 'bob'")
        source = 'source = "visits-*.parquet"'
    engine = DuckDB(policy(tmp_path, VISITS.replace('source = "visits.csv"', source)), 1)
    assert engine.execute(f'SELECT "{UNIT}", ward, cost FROM visits ORDER BY 1') == [
        ("ann", "A", 1.5),
        ("bob", "B", 2.0),
    ]
    engine.close()


PATH = """
[tables.accounts]
source = "accounts.csv"
unit = "customer"
[tables.accounts.columns]
kind = { values = ["a", "b"] }
[tables.orders]
source = "orders.csv"
unit = "account_id -> accounts(id).customer"
max_rows = 5
[tables.orders.columns]
amount = { min = 0, max = 10 }
[tables.items]
source = "items.csv"
unit = "order_id -> orders.account_id -> accounts(id).customer"
max_rows = 9
[tables.items.columns]
cost = { min = 0, max = 10 }
"""


def commerce(folder: Path, accounts: list[Row]) -> DuckDB:
    write_csv(folder / "accounts.csv", ("id", "customer", "kind"), accounts)
    write_csv(folder / "orders.csv", ("order_id", "account_id", "amount"), [(1, "x", 5), (2, "y", 6), (3, "gone", 7)])
    write_csv(folder / "items.csv", ("order_id", "cost"), [(1, 1), (1, 2), (2, 3), (3, 4), (9, 5)])
    return DuckDB(policy(folder, PATH), 1)


def test_foreign_keys_lead_to_the_owner_over_several_tables(tmp_path: Path) -> None:
    engine = commerce(tmp_path, [("x", "ann", "a"), ("y", "bob", "b")])
    assert engine.execute(f'SELECT "{UNIT}", amount FROM orders ORDER BY 2') == [("ann", 5.0), ("bob", 6.0)]
    assert engine.execute(f'SELECT "{UNIT}", cost FROM items ORDER BY 2') == [("ann", 1.0), ("ann", 2.0), ("bob", 3.0)]
    engine.close()


def test_rows_that_two_units_claim_are_there_for_each_of_them(tmp_path: Path) -> None:
    engine = commerce(tmp_path, [("x", "ann", "a"), ("x", "bob", "b"), ("x", "bob", "a")])
    assert engine.execute(f'SELECT "{UNIT}", amount FROM orders ORDER BY 1') == [("ann", 5.0), ("bob", 5.0)]
    found = [("ann", 1.0), ("ann", 2.0), ("bob", 1.0), ("bob", 2.0)]
    assert engine.execute(f'SELECT "{UNIT}", cost FROM items ORDER BY ALL') == found
    engine.close()


def test_units_of_integers_and_of_text_meet_as_text(tmp_path: Path) -> None:
    write_parquet(tmp_path / "numbers.parquet", "SELECT 7 AS person, 1.0 AS cost")
    write_csv(tmp_path / "visits.csv", HEADER, [("7", "A", 1)])
    other = '[tables.numbers]\nsource = "numbers.parquet"\nunit = "person"\ncolumns.cost = { min = 0, max = 1 }\n'
    engine = DuckDB(policy(tmp_path, VISITS, other), 1)
    assert engine.execute(f'SELECT "{UNIT}" FROM visits JOIN numbers USING ("{UNIT}")') == [("7",)]
    engine.close()


def test_rows_that_are_their_own_unit_and_public_tables_are_copied_as_they_are(tmp_path: Path) -> None:
    write_csv(tmp_path / "rows.csv", ("a",), [(1,), (2,), ("",)])
    write_csv(tmp_path / "wards.csv", ("ward", "floor"), [("A", 1)])
    own = '[tables.rows]\nsource = "rows.csv"\nunit = "row"\n[tables.rows.columns]\na = {min=0,max=9}\n'
    public = '[tables.wards]\nsource = "wards.csv"\npublic = true\n[tables.wards.columns]\nfloor = {type="integer"}\n'
    engine = DuckDB(policy(tmp_path, own, public), 1)
    assert engine.schema("rows") == {"a": "DOUBLE"}
    assert engine.execute("SELECT count(*) FROM rows") == [(3,)]
    assert engine.execute("SELECT * FROM wards") == [(1,)]
    engine.close()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('{folder}/visits.csv')",
        "SELECT * FROM '{folder}/visits.csv'",
        "COPY visits TO '{folder}/out.csv'",
        "ATTACH '{folder}/other.duckdb'",
        "SET enable_external_access = true",
        "CREATE TABLE private.more AS SELECT 1",
        "DELETE FROM private.visits",
    ],
)
def test_the_engine_reads_nothing_else_and_writes_nothing(tmp_path: Path, query: str) -> None:
    write_csv(tmp_path / "visits.csv", HEADER, [("ann", "A", 1)])
    engine = DuckDB(policy(tmp_path, VISITS), 1)
    with pytest.raises(duckdb.Error):
        engine.execute(query.format(folder=tmp_path))
    engine.close()


def test_sums_beyond_float64_stay_exact(tmp_path: Path) -> None:
    write_csv(tmp_path / "visits.csv", HEADER, [("ann", "A", 1)])
    engine = DuckDB(policy(tmp_path, VISITS), 1)
    assert engine.execute("SELECT sum(x) FROM (VALUES (9007199254740993), (9007199254740993)) t(x)") == [
        (18014398509481986,)
    ]
    engine.close()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("visits.csv", "missing.csv"), "no file"),
        (('unit = "person"', 'unit = "persn"'), "persn"),
        (("ward =", "wrad ="), "wrad"),
    ],
)
def test_wrong_sources_are_said_to_the_owner_with_the_table(tmp_path: Path, change: tuple[str, str], text: str) -> None:
    write_csv(tmp_path / "visits.csv", HEADER, [("ann", "A", 1)])
    with pytest.raises(SourceError, match=text) as failure:
        private_copy(policy(tmp_path, VISITS.replace(*change)), 1)
    assert failure.value.table == "visits"
    assert str(failure.value).startswith("visits: ")


def test_a_duckdb_file_needs_a_table_and_garbage_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "visits.parquet").write_bytes(b"garbage")
    with pytest.raises(SourceError):
        private_copy(policy(tmp_path, VISITS.replace("visits.csv", "visits.parquet")), 1)


def test_the_copy_is_made_once_for_each_version_and_policy(tmp_path: Path) -> None:
    write_csv(tmp_path / "visits.csv", HEADER, [("ann", "A", 1)])
    world = policy(tmp_path, VISITS)
    first = private_copy(world, 1)
    made = first.stat().st_mtime_ns
    assert private_copy(world, 1) == first
    assert first.stat().st_mtime_ns == made
    assert private_copy(world, 2) != first
    assert private_copy(policy(tmp_path, VISITS.replace("max_rows = 3", "max_rows = 4")), 1) != first


def test_state_is_for_the_owner_only(tmp_path: Path) -> None:
    write_csv(tmp_path / "visits.csv", HEADER, [("ann", "A", 1)])
    private_copy(policy(tmp_path, VISITS), 1)
    assert stat.S_IMODE((tmp_path / "world.discreet" / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "world.discreet" / "secret").stat().st_mode) == 0o600


def test_progress_is_told(tmp_path: Path) -> None:
    write_csv(tmp_path / "visits.csv", HEADER, [("ann", "A", 1)])
    told: list[tuple[str, float]] = []
    private_copy(policy(tmp_path, VISITS), 1, lambda table, share: told.append((table, share)))
    assert told[0] == ("visits", 0.0)
    assert told[-1] == ("visits", 1.0)


OPENED = """
import sys
from pathlib import Path
from discreet.engines.duckdb import DuckDB
from discreet.policy import read
engine = DuckDB(read(Path(sys.argv[1])), 1)
print(engine.execute("SELECT count(*) FROM visits")[0][0])
engine.close()
"""


@pytest.mark.long
def test_many_processes_open_a_policy_at_once(tmp_path: Path) -> None:
    write_csv(tmp_path / "visits.csv", HEADER, [("ann", "A", 1), ("bob", "B", 2)])
    policy(tmp_path, VISITS)
    command = CODE, OPENED, str(tmp_path / "world.toml")
    workers = [forked(*command, environment=os.environ, printed=True) for _ in range(3)]
    assert [worker.communicate(timeout=600) for worker in workers] == [("2\n", "")] * 3
    assert len(list((tmp_path / "world.discreet" / "data").glob("*.duckdb"))) == 1


KILLED = """
import sys
from pathlib import Path
from discreet.engines.copy import private_copy
from discreet.policy import read
print("ready", flush=True)
private_copy(read(Path(sys.argv[1])), 1)
"""


def begun(world: Policy, size: int) -> bool:
    """Whether a copy that is being made has so many bytes."""
    with suppress(FileNotFoundError):  # it has just been finished
        return any(path.stat().st_size >= size for path in (world.state / "data").glob("*.tmp"))
    return False


@pytest.mark.long
def test_a_killed_copy_leaves_nothing_that_matters(tmp_path: Path) -> None:
    write_parquet(
        tmp_path / "visits.parquet", "SELECT range % 1000 AS person, 'A' AS ward, 1.0 AS cost FROM range(1000000)"
    )
    world = policy(tmp_path, VISITS.replace("visits.csv", "visits.parquet"))
    for written in (None, 0, 2**16):  # at once; when there is a file; when something is in it
        child = forked(CODE, KILLED, str(world.path), environment=os.environ, printed=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        while written is not None and child.poll() is None and not begun(world, written):
            time.sleep(0.001)
        child.kill()
        child.communicate(timeout=600)
    engine = DuckDB(world, 1)
    assert engine.execute("SELECT count(*) FROM visits") == [(3_000,)]
    engine.close()
    assert sorted(path.suffix for path in (world.state / "data").iterdir()) == ["", ".duckdb", ".held"]


def test_left_overs_are_swept(tmp_path: Path) -> None:
    write_csv(tmp_path / "visits.csv", HEADER, [("ann", "A", 1)])
    data = tmp_path / "world.discreet" / "data"
    (data / "99.tmp.spill").mkdir(parents=True)
    data.chmod(0o700)
    (data / "99.tmp.spill" / "block").write_bytes(b"secret rows")
    (data / "99.tmp").write_bytes(b"half a copy")
    private_copy(policy(tmp_path, VISITS), 1)
    assert not list(data.glob("*.tmp*"))


def test_ties_are_broken_by_the_rows_themselves_when_all_hashes_collide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[Row] = [("ann", ward, cost) for ward in "CAB" for cost in (2, 0, 1)]
    selection = copy.selection
    monkeypatch.setattr(copy, "selection", lambda *given: re.sub(r"hash\([^()]*\)", "0", selection(*given)))
    ordered = ranks(tmp_path, rows)
    assert ordered == ranks(tmp_path, rows[::-1])
    found = [row[:2] for row in sorted(ordered["ann"], key=lambda row: str(row[2]))]
    assert found == sorted(row[1:] for row in rows)[:3]


@pytest.mark.parametrize(
    "lines",
    [
        "person,ward,cost\nann,A,1\n#bob,B,2\n",
        "person,ward,cost\n#bob,B,2\nann,A,1\n",
        'person,ward,cost\n"#bob",B,2\nann,A,1\n',
    ],
)
def test_nothing_about_a_csv_file_is_guessed_from_its_rows(tmp_path: Path, lines: str) -> None:
    (tmp_path / "visits.csv").write_text(lines, encoding="utf-8")
    engine = DuckDB(policy(tmp_path, VISITS), 1)
    assert engine.execute(f'SELECT "{UNIT}" FROM visits ORDER BY 1') == [("#bob",), ("ann",)]
    engine.close()


def test_files_with_different_headers_are_read_by_their_names(tmp_path: Path) -> None:
    write_csv(tmp_path / "visits-1.csv", HEADER, [("ann", "A", 1)])
    write_csv(tmp_path / "visits-2.csv", HEADER[::-1], [(2, "B", "bob")])
    write_csv(tmp_path / "visits-3.csv", ("Person", "more"), [("cy", "C")])
    engine = DuckDB(policy(tmp_path, VISITS.replace("visits.csv", "visits-*.csv")), 1)
    found = [("ann", "A", 1.0), ("bob", "B", 2.0), ("cy", None, None)]
    assert engine.execute(f'SELECT "{UNIT}", ward, cost FROM visits ORDER BY 1') == found
    engine.close()


def test_a_public_table_without_declared_columns_has_all_of_them(tmp_path: Path) -> None:
    write_csv(tmp_path / "wards.csv", ("ward", "floor"), [("A", 1)])
    write_csv(tmp_path / "rows.csv", ("a",), [(1,), (2,)])
    public = '[tables.wards]\nsource = "wards.csv"\npublic = true\n'
    own = '[tables.rows]\nsource = "rows.csv"\nunit = "row"\n'
    engine = DuckDB(policy(tmp_path, public, own), 1)
    assert engine.execute("SELECT ward, floor FROM wards") == [("A", 1)]
    assert engine.execute("SELECT count(*) FROM rows") == [(2,)]
    engine.close()


def test_folders_with_brackets_are_folders_and_folders_are_no_sources(tmp_path: Path) -> None:
    folder = tmp_path / "a[1]*"
    folder.mkdir()
    write_csv(folder / "visits.csv", HEADER, [("ann", "A", 1)])
    private_copy(policy(folder, VISITS), 1)
    (folder / "visits.parquet").mkdir()
    with pytest.raises(SourceError, match="is a folder"):
        private_copy(policy(folder, VISITS.replace("visits.csv", "visits.parquet")), 1)


def test_copies_of_other_versions_can_be_forgotten(tmp_path: Path) -> None:
    write_csv(tmp_path / "visits.csv", HEADER, [("ann", "A", 1)])
    world = policy(tmp_path, VISITS)
    old, new = private_copy(world, 1), private_copy(world, 12)
    copy.forget_others(world, 12)
    assert not old.exists()
    assert new.exists()
