"""Two policies, or one that was edited, over one state folder: rows of the one answer questions about the other, and
rows that were read later answer under the number of an earlier version."""

from __future__ import annotations

import time
from pathlib import Path

import duckdb
import pytest

import discreet
from discreet.curator.refreshing import refresh
from discreet.engines.copy import copies
from discreet.engines.duckdb import DuckDB
from discreet.engines.problems import SourceError
from discreet.policy import read
from tests.attacks.worlds import HEAD

TABLE = """
[tables.visits]
source = "{source}"
unit = "person"
max_rows = {rows}
[tables.visits.columns]
cost = {{ min = 0, max = 10 }}
at = {{ type = "timestamp" }}
[tables.wards]
source = "{public}"
public = true
"""
SQL = "SELECT COUNT(*) AS n FROM visits"


def world(folder: Path, count: int, *, rows: int = 1, source: str = "visits.csv", public: str = "wards.csv") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, count)
    (folder / "wards.csv").write_text("ward\nA\n", encoding="utf-8")
    text = HEAD.replace("epsilon = 9", "epsilon = 900") + TABLE.format(source=source, rows=rows, public=public)
    (folder / "world.toml").write_text(text, encoding="utf-8")
    return folder / "world.toml"


def write(folder: Path, count: int) -> None:
    rows = "".join(f"p{i},1,2026-01-01T00:00:00+05\n" for i in range(count))
    (folder / "visits.csv").write_text("person,cost,at\n" + rows, encoding="utf-8")


def count(curator: discreet.Curator) -> int:
    return int(curator.query(SQL, epsilon=50, fresh=True).rows[0][0])


def test_policies_that_share_a_state_folder_are_not_answered_from_each_others_rows(tmp_path: Path) -> None:
    paths = [world(tmp_path / name, number) for name, number in (("a", 100), ("b", 300))]
    for path, wanted in zip(paths, (100, 300), strict=True):
        with discreet.open(path, state=tmp_path / "state") as curator:
            assert abs(count(curator) - wanted) < 20


def test_a_policy_is_moved_with_its_state(tmp_path: Path) -> None:
    with discreet.open(world(tmp_path / "a", 100)) as curator:
        count(curator)
    (tmp_path / "a").rename(tmp_path / "b")
    write(tmp_path / "b", 300)
    with discreet.open(tmp_path / "b" / "world.toml") as curator:
        assert abs(count(curator) - 100) < 20


def test_what_is_read_anew_has_another_number(tmp_path: Path) -> None:
    path = world(tmp_path, 100)
    with discreet.open(path) as curator:
        assert abs(count(curator) - 100) < 20
        assert curator._ledger.data_version == 1
    world(tmp_path, 300, rows=2)
    with discreet.open(path) as curator:
        assert abs(count(curator) - 300) < 20
        assert curator._ledger.data_version == 2
        assert [version for _, version in copies(curator.policy.state / "data")] == [2]
    for copy, _ in copies(read(path).state / "data"):
        copy.unlink()
    write(tmp_path, 500)
    with discreet.open(path) as curator:
        assert abs(count(curator) - 500) < 20
        assert curator._ledger.data_version == 3


def test_a_policy_that_was_edited_meanwhile_makes_no_copy(tmp_path: Path) -> None:
    path = world(tmp_path, 100)
    with discreet.open(path) as old:
        count(old)
        world(tmp_path, 300, rows=2)
        with discreet.open(path) as new:
            assert abs(count(new) - 300) < 20
        with pytest.raises(discreet.QueryFailed, match="cannot be read"):
            count(old)


def test_a_question_that_was_planned_before_a_refresh_makes_no_older_copy(tmp_path: Path) -> None:
    path = world(tmp_path, 100)
    with discreet.open(path) as curator:
        planned = curator._ledger.data_version
        write(tmp_path, 300)
        assert refresh(read(path), "new rows") == planned + 1
        with pytest.raises(discreet.QueryFailed, match="read anew"):
            curator._engine(planned)
        assert abs(count(curator) - 300) < 20
        assert [version for _, version in copies(curator.policy.state / "data")] == [planned + 1]


@pytest.mark.parametrize("link", ["", "symbolic", "hard"])
def test_a_public_pattern_that_covers_a_private_file_is_refused(tmp_path: Path, link: str) -> None:
    path = world(tmp_path, 3, public="v*.csv" if not link else "wards-*.csv")
    if link == "symbolic":
        (tmp_path / "wards-2.csv").symlink_to(tmp_path / "visits.csv")
    if link == "hard":
        (tmp_path / "wards-2.csv").hardlink_to(tmp_path / "visits.csv")
    with pytest.raises(SourceError, match="which is private"):
        DuckDB(read(path), 1)


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_times_with_a_zone_do_not_depend_on_where_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        with duckdb.connect() as connection:
            text = "SELECT 'p' AS person, 1 AS cost, TIMESTAMPTZ '2026-01-01 00:00:00+00' AS at"
            connection.execute(f"COPY ({text}) TO '{tmp_path}/visits.parquet' (FORMAT parquet)")
        engine = DuckDB(read(world(tmp_path, 1, source="visits.parquet")), 1)
        assert str(engine.execute('SELECT "at" FROM visits')[0][0]) == "2026-01-01 00:00:00"
        engine.close()
    finally:
        monkeypatch.undo()
        time.tzset()


def test_nobody_is_called_nan_and_columns_without_names_are_called_by_their_place(tmp_path: Path) -> None:
    path = world(tmp_path, 0, source="visits.v1.tsv.csv")
    text = path.read_text(encoding="utf-8").replace("cost = ", "column0 = ")
    path.write_text(text, encoding="utf-8")
    (tmp_path / "visits.v1.tsv.csv").write_text(",person,at\n7,ann,\n8,bob,\n", encoding="utf-8")
    engine = DuckDB(read(path), 1)
    assert engine.execute("SELECT _discreet_unit, column0 FROM visits ORDER BY 1") == [("ann", 7.0), ("bob", 8.0)]
    engine.close()
    with duckdb.connect() as connection:
        rows = "SELECT unnest([1.0, 'nan'::DOUBLE, NULL, 7.0]) AS person, 1 AS cost, NULL::TIMESTAMP AS at"
        connection.execute(f"COPY ({rows}) TO '{tmp_path}/visits.parquet' (FORMAT parquet)")
    engine = DuckDB(read(world(tmp_path, 1, source="visits.parquet")), 1)
    assert engine.execute("SELECT _discreet_unit FROM visits ORDER BY 1") == [("1",), ("7",)]
    engine.close()
