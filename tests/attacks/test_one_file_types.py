"""One person's file among many decides the types of all: an integer column rounds everybody's costs, a date cuts their
times, a folder called day=unknown makes texts of their days. Nothing but that person's own rows may change."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.attacks.worlds import HEAD, Row, held, secret_of
from tests.plain import plain

POLICY = (
    HEAD
    + """
[tables.visits]
source = "{source}"
unit = "person"
max_rows = 3
{more}
[tables.visits.columns]
ward = {{ values = ["A", "B"] }}
zip = {{ type = "text" }}
cost = {{ min = 0, max = 10, step = 0.01 }}
seen = {{ type = "timestamp" }}
day = {{ type = "date" }}
"""
)
MANY = """
    SELECT 'p' || (i % 7) AS person, CASE WHEN i % 3 = 0 THEN 'A' ELSE 'B' END AS ward, '0' || (i % 4) AS zip,
        i * 0.37 % 10 AS cost, TIMESTAMP '2026-01-01 00:00:00' + to_hours(i) AS seen,
        DATE '2026-01-01' + i::INTEGER AS day
    FROM range(40) AS t(i)
"""
OWN = "SELECT 'mallory' AS person, 'A' AS ward, '00' AS zip, 1.5 AS cost, TIMESTAMP '2026-01-01 10:30:00' AS seen"
FILES = {
    "integers": f"SELECT * REPLACE (7::BIGINT AS person, 1::BIGINT AS cost) FROM ({OWN})",
    "text": "SELECT 'mallory' AS person, 'x' AS cost, 'soon' AS seen, 'never' AS day, 3::TINYINT AS ward, 1 AS zip",
    "dates": f"SELECT * REPLACE (DATE '2026-01-01' AS seen) FROM ({OWN})",
    "nested": "SELECT 'mallory' AS person, [1] AS cost, {'a': 1} AS ward, map([1], [2]) AS zip, true AS seen",
    "bignum": f"SELECT * REPLACE (repeat('9', 400)::BIGNUM AS cost) FROM ({OWN})",
    "bignum units": "SELECT repeat('9', 400)::BIGNUM AS person, 1 AS cost",
    "float units": f"SELECT * REPLACE ('nan'::DOUBLE AS person) FROM ({OWN})",
    "other order": f"SELECT cost, zip, ward, person, seen FROM ({OWN})",
    "no unit": "SELECT 'A' AS ward, 2.5 AS cost",
    "other case": "SELECT 'mallory' AS PERSON, 'A' AS Ward, 9 AS \"COST\", 8 AS \"Cost\"",
    "only others": "SELECT 1 AS a, 2 AS b",
    "enum": f"SELECT * REPLACE ('A'::ENUM('A', 'Z') AS ward) FROM ({OWN})",
    "zone": f"SELECT * REPLACE (TIMESTAMPTZ '2026-01-01 00:00:00+05' AS seen) FROM ({OWN})",
    "empty": f"SELECT * FROM ({OWN}) WHERE false",
}


def parquet(path: Path, query: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with plain() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def csv(path: Path, query: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with plain() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT csv, HEADER)")


def world(folder: Path, write: Callable[[Path, str], None], own: str | None, place: str) -> list[Row]:
    """What everybody else has in a world with this file of one person's."""
    secret_of(folder)
    ending = write.__name__
    write(folder / f"rows-2.{ending}", MANY)
    if own is not None:
        write(folder / f"rows-{place}.{ending}", own)
    rows = held(folder, POLICY.format(source=f"rows-*.{ending}", more=""), "visits", but="mallory")
    return [row for row in rows if str(row[0]).startswith("p")]


@cache
def alone(write: Callable[[Path, str], None]) -> list[Row]:
    """What they have without that file."""
    with TemporaryDirectory() as folder:
        found = world(Path(folder), write, None, "1")
    assert len(found) == 21
    assert all(value is not None for row in found for value in row)
    return found


@pytest.mark.parametrize("place", ["1", "3"], ids=["first", "last"])
@pytest.mark.parametrize("name", FILES)
def test_a_parquet_file_changes_nobody_elses_rows(tmp_path: Path, name: str, place: str) -> None:
    assert world(tmp_path / "with", parquet, FILES[name], place) == alone(parquet)


@pytest.mark.parametrize("place", ["1", "3"], ids=["first", "last"])
@pytest.mark.parametrize("name", ["text", "other order", "no unit", "only others", "empty"])
def test_a_csv_file_changes_nobody_elses_rows(tmp_path: Path, name: str, place: str) -> None:
    assert world(tmp_path / "with", csv, FILES[name], place) == alone(csv)


@pytest.mark.parametrize("garbage", [b"", b"\x00\x01", b"PAR1", "person,cost\n".encode("utf-16"), b'"person'])
@pytest.mark.parametrize("write", [parquet, csv])
def test_a_file_that_is_none_is_left_out_alone(
    tmp_path: Path, write: Callable[[Path, str], None], garbage: bytes
) -> None:
    (tmp_path / "with").mkdir()
    (tmp_path / "with" / f"rows-1.{write.__name__}").write_bytes(garbage)
    assert world(tmp_path / "with", write, None, "1") == alone(write)


def test_a_file_that_breaks_in_the_midst_is_left_out_alone(tmp_path: Path) -> None:
    parquet(tmp_path / "with" / "rows-1.parquet", MANY)
    broken = bytearray((tmp_path / "with" / "rows-1.parquet").read_bytes())
    broken[4:200] = bytes(196)
    (tmp_path / "with" / "rows-1.parquet").write_bytes(broken)
    assert world(tmp_path / "with", parquet, None, "1") == alone(parquet)


def test_folders_say_nothing_unless_the_policy_reads_them(tmp_path: Path) -> None:
    worlds = []
    for folder in ("ward=B", "plain"):
        here = tmp_path / folder / "w"
        secret_of(here)
        parquet(here / "rows" / "a" / "1.parquet", MANY)
        if folder != "plain":
            parquet(here / "rows" / "day=unknown" / "2.parquet", OWN)
        worlds.append(held(here, POLICY.format(source="rows/*/*.parquet", more=""), "visits", but="mallory"))
    assert worlds[0] == worlds[1]


def test_what_folders_say_is_of_the_declared_type_file_by_file(tmp_path: Path) -> None:
    worlds = []
    for own in (None, "unknown", "%00"):
        here = tmp_path / str(own)[:4]
        secret_of(here)
        for day in (1, 2):
            rows = f"SELECT * EXCLUDE (day) FROM ({MANY}) WHERE day = DATE '2026-01-0{day}'"
            parquet(here / "rows" / f"day=2026-01-0{day}" / "1.parquet", rows)
        if own is not None:
            parquet(here / "rows" / f"day={own}" / "1.parquet", OWN)
        policy = POLICY.format(source="rows/*/*.parquet", more='folders = ["day"]')
        worlds.append(held(here, policy, "visits", but="mallory"))
    assert worlds[0]
    assert all(row[-2] is not None for row in worlds[0])
    assert all(world == worlds[0] for world in worlds)
