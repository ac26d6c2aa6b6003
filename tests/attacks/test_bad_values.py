"""One person's value, in a file that holds everybody's rows, is none of its type: text that is no UTF-8, a number of
thousands of digits, a time before all times, a line break behind 46 megabytes. DuckDB then gives up the file, or the
database. The value is NULL, or the owner is asked to mend it; rows of others never go with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.curator.refreshing import refresh
from discreet.engines.duckdb import DuckDB
from discreet.engines.problems import SourceError
from discreet.owner.check import check
from discreet.policy import read
from tests.attacks.worlds import HEAD, Row, held, secret_of

POLICY = (
    HEAD
    + """
[tables.accounts]
source = "accounts*.parquet"
unit = "person"
max_rows = 3
[tables.accounts.columns]
ward = { values = ["A", "B"] }
zip = { type = "text" }
cost = { min = 0, max = 10 }
[tables.orders]
source = "orders.parquet"
unit = "account -> accounts(id).person"
max_rows = 3
[tables.orders.columns]
amount = { min = 0, max = 10 }
"""
)
OTHERS = ["bob", "carl", "dora", "émile"] * 5
BAD = [b"\xff\xfe", b"bob\xff", b"b\xc0\x80ob", b"\xed\xa0\x80", b"\xc3", b"x" * 40 + b"\x80"]


def texts(values: list[str | bytes]) -> pa.Array:
    """A column of text that holds these bytes, whatever they are."""
    raw = [value.encode() if isinstance(value, str) else value for value in values]
    ends = np.cumsum([0, *map(len, raw)]).astype("int32")
    return pa.Array.from_buffers(
        pa.string(), len(raw), [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(raw))]
    )


def accounts(folder: Path, own: dict[str, list[str | bytes]], **more: Any) -> None:
    """Everybody's accounts in one file, with rows of one person in the midst; ids are keys of orders."""
    count = max(map(len, own.values()), default=0)
    columns: dict[str, list[str | bytes]] = {
        "person": list(OTHERS), "id": [f"a{i}" for i in range(20)], "ward": ["A", "B"] * 10, "zip": ["0", "é"] * 10
    }  # fmt: skip
    usual: dict[str, str | bytes] = {"person": "mallory", "id": "a3", "ward": "A", "zip": "0"}
    for name, values in columns.items():
        values[7:7] = own.get(name, [usual[name]] * count)
    table = pa.table({**{name: texts(values) for name, values in columns.items()}, "cost": np.arange(20.0 + count) % 9})
    pq.write_table(table, folder / "accounts-1.parquet", **more)
    orders = pa.table({"account": [f"a{i % 20}" for i in range(40)], "amount": np.arange(40.0) % 9})
    pq.write_table(orders, folder / "orders.parquet")


def world(folder: Path, own: dict[str, list[str | bytes]], **more: Any) -> dict[str, list[Row]]:
    """What the copy holds of others; a cost is a place in the file, so it is not compared."""
    secret_of(folder)
    accounts(folder, own, **more)
    found = {table: held(folder, POLICY, table, but="mallory") for table in ("accounts", "orders")}
    known = {table: [row for row in rows if row[0] in OTHERS] for table, rows in found.items()}
    return {**known, "accounts": sorted((row[0], row[4], row[5]) for row in known["accounts"])}


@pytest.mark.parametrize(
    ("column", "encoding"),
    [("person", {}), ("id", {"use_dictionary": False}), ("ward", {"row_group_size": 5}), ("zip", {"version": "1.0"})],
)
def test_text_that_is_no_utf8_is_null_alone(tmp_path: Path, column: str, encoding: dict[str, Any]) -> None:
    alone = world(tmp_path / "alone", {})
    assert (len(alone["accounts"]), len(alone["orders"])) == (12, 12)
    assert world(tmp_path / "with", {column: list(BAD)}, **encoding) == alone


def test_who_has_no_name_is_nobody_and_the_owner_is_told(tmp_path: Path) -> None:
    world(tmp_path, {"person": list(BAD)})
    units = {row[0] for row in held(tmp_path, POLICY, "accounts", but="")}
    assert units == set(OTHERS)
    told = [str(finding) for finding in check(read(tmp_path / "world.toml"))]
    assert any("accounts-1.parquet has texts that are not UTF-8" in finding for finding in told)
    assert not any(finding.startswith("error") for finding in told)


def test_one_file_of_several_is_not_left_out_for_it(tmp_path: Path) -> None:
    alone = world(tmp_path / "alone", {})
    secret_of(tmp_path / "with")
    accounts(tmp_path / "with", {})
    pq.write_table(pa.table({"person": texts([b"\xff"])}), tmp_path / "with" / "accounts-0.parquet")
    pq.write_table(pa.table({"person": ["mallory"], "zip": texts([b"\xff"])}), tmp_path / "with" / "accounts-2.parquet")
    found = held(tmp_path / "with", POLICY, "accounts", but="mallory")
    assert sorted((row[0], row[4], row[5]) for row in found) == alone["accounts"]


TIMES = (
    HEAD
    + """
[tables.visits]
source = "{source}"
unit = "person"
max_rows = 3
{more}
[tables.visits.columns]
seen = {{ type = "{kind}" }}
"""
)
OTHER_TIMES = np.arange(6, dtype="int64") * 10**9
LEAST = -(2**63)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("kind", ["timestamp", pytest.param("date", marks=pytest.mark.slow), "text"])
def test_times_that_are_none_are_null_or_the_owners(tmp_path: Path, unit: str, kind: str) -> None:
    """DuckDB reads no milliseconds beyond its own times: then the owner is told, and nobody's rows are left out."""
    found: list[list[Row]] = []
    for own in ([], [LEAST, 2**63 - 1]):
        folder = tmp_path / str(len(own))
        secret_of(folder)
        times = pa.array(np.concatenate([OTHER_TIMES[:3], np.array(own, "int64"), OTHER_TIMES[3:]]))
        person = [*"aab", *["mallory"] * len(own), *"bcd"]
        pq.write_table(pa.table({"person": person, "seen": times.view(pa.timestamp(unit))}), folder / "v1.parquet")
        pq.write_table(pa.table({"person": ["z"]}), folder / "v2.parquet")
        policy = TIMES.format(source="v*.parquet", more="", kind=kind)
        if own and unit == "ms":
            with pytest.raises(SourceError, match="Could not convert") as told:
                held(folder, policy, "visits", but="mallory")
            assert told.value.fix == "correct that value"
            return
        found.append(held(folder, policy, "visits", but="mallory"))
    assert len(found[0]) == 7
    assert found[1] == found[0]


def test_analysts_keep_the_version_before_a_value_that_the_owner_must_mend(tmp_path: Path) -> None:
    secret_of(tmp_path)
    (tmp_path / "world.toml").write_text(TIMES.format(source="v*.parquet", more="", kind="timestamp"), encoding="utf-8")
    times = {"person": [f"p{i}" for i in range(50)], "seen": pa.array(range(50), pa.timestamp("ms"))}
    pq.write_table(pa.table(times), tmp_path / "v1.parquet")
    with discreet.open(tmp_path / "world.toml") as curator:
        before = refresh(read(tmp_path / "world.toml"), "first rows")
        bad = pa.array(np.array([*range(49), LEAST])).view(pa.timestamp("ms"))
        pq.write_table(pa.table({**times, "seen": bad}), tmp_path / "v1.parquet")
        with pytest.raises(SourceError, match="Could not convert"):
            refresh(read(tmp_path / "world.toml"), "new rows")
        after = curator.query("SELECT COUNT(*) FROM visits", epsilon=2, fresh=True)
        assert curator.entries()[-1].data_version == before
    assert abs(after.rows[0][0] - 50) < 20


POISON = {
    "a time before all times": "make_timestamp(-9223372036854775808)",
    "a large BIGNUM": "repeat('9', 40000)::BIGNUM",
    "a small BIGNUM": "7::BIGNUM",
    "a list": "['x']",
    "a struct": "{'a': 1}",
    "a map": "map(['k'], [1])",
    "a union": "union_value(a := 1)",
    "bytes": "'\\xFF\\xFE'::BLOB",
    "bits": "'101'::BIT",
    "an interval": "to_microseconds(-9223372036854775808)",
    "endless": "'-infinity'::TIMESTAMP",
    "not a number": "'nan'::DOUBLE",
    "a float unit": "1e300::DOUBLE",
}


KINDS = ("text", "timestamp", "integer", "float", "date", "boolean")


def poisoned(folder: Path, *, own: bool, unit: str = "text") -> dict[str, list[Row]]:
    """A table for each of them, where one person has it in every column, or as the name of a unit."""
    secret_of(folder)
    policy = HEAD + f'type = "{unit}"\n'
    with duckdb.connect(str(folder / "bank.duckdb")) as bank:
        for number, value in enumerate(POISON.values()):
            columns = ", ".join(f"{value} AS {kind}_" for kind in KINDS)
            others = f"SELECT CAST(i AS VARCHAR), {', '.join('NULL' for _ in KINDS)} FROM range(1, 6) AS t(i)"
            bank.execute(f"CREATE TABLE v{number} AS SELECT '0' AS person, {columns} WHERE {own} UNION ALL {others}")
            bank.execute(f"CREATE TABLE u{number} AS SELECT {value} AS person WHERE {own}")
            policy += f'[tables.v{number}]\nsource = "bank.duckdb"\ntable = "v{number}"\nunit = "person"\n'
            policy += f"[tables.v{number}.columns]\n" + "".join(f'{kind}_ = {{ type = "{kind}" }}\n' for kind in KINDS)
            policy += f'[tables.u{number}]\nsource = "bank.duckdb"\ntable = "u{number}"\nunit = "person"\n'
    tables = [f"{letter}{number}" for letter in "vu" for number in range(len(POISON))]
    (folder / "world.toml").write_text(policy, encoding="utf-8")
    engine = DuckDB(read(folder / "world.toml"), 1)
    try:
        return {table: engine.execute(f"SELECT * FROM {table} ORDER BY ALL") for table in tables}
    finally:
        engine.close()


@pytest.mark.long
@pytest.mark.parametrize("unit", ["text", "integer"])
def test_a_value_of_a_duckdb_source_is_null_alone(tmp_path: Path, unit: str) -> None:
    """The column's type is everybody's here, so others have NULL in it: with that value and without."""
    alone, beside = (poisoned(tmp_path / str(own), own=own, unit=unit) for own in (False, True))
    for number, name in enumerate(POISON):
        assert len(alone[f"v{number}"]) == 5, name
        assert [row for row in beside[f"v{number}"] if str(row[0]) != "0"] == alone[f"v{number}"], name
        assert len(beside[f"u{number}"]) <= 1, name
    assert all(not beside[f"u{number}"] for number, name in enumerate(POISON) if "BIGNUM" in name)


LINE = b"p%04d," + b"x" * 900 + b",1\n"
MANY = b"".join(LINE % i for i in range(1000))
LONG = b'mallory,"' + b"y\n" * 50 + b'",2\n'
LARGE = (
    HEAD
    + """
[tables.visits]
source = "visits.csv"
unit = "person"
max_rows = 2
{more}
[tables.visits.columns]
cost = {{ min = 0, max = 10 }}
"""
)


@pytest.mark.parametrize("more", ["", pytest.param("multiline = true", marks=pytest.mark.slow)])
def test_a_quoted_line_break_in_a_large_file(tmp_path: Path, more: str) -> None:
    """At its beginning, in its midst, behind 46 MB and at its end."""
    secret_of(tmp_path)
    with (tmp_path / "visits.csv").open("wb") as file:
        file.write(b"person,note,cost\n" + LONG)
        for place in range(53):
            file.write(MANY)
            if place in (9, 26, 51):
                file.write(LONG)
        file.write(LONG)
    assert (tmp_path / "visits.csv").stat().st_size > 48_000_000
    rows = held(tmp_path, LARGE.format(more=more), "visits", but="")
    assert [row[0] for row in rows] == ["mallory"] * 2 + [f"p{i:04d}" for i in range(1000) for _ in range(2)]
    assert {row[0]: row[2] for row in rows if row[2] != 1.0} == {"mallory": 2.0}


@pytest.mark.slow
def test_a_large_file_where_every_record_has_line_breaks(tmp_path: Path) -> None:
    secret_of(tmp_path)
    lines = b"".join(b'p%04d,"' % i + b"x" * 450 + b"\n" + b"x" * 450 + b'",1\n' for i in range(1000))
    (tmp_path / "visits.csv").write_bytes(b"person,note,cost\n" + lines * 53)
    rows = held(tmp_path, LARGE.format(more="multiline = true"), "visits", but="")
    assert [row[0] for row in rows] == [f"p{i:04d}" for i in range(1000) for _ in range(2)]
    assert {row[2] for row in rows} == {1.0}
