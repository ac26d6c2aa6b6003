"""Tables that Spark reads as sources: the same copy as from files, whatever rows hold."""

from __future__ import annotations

import hashlib
from pathlib import Path
from traceback import format_exception
from typing import Any

import pytest

import discreet
from discreet.engines.problems import SourceError
from discreet.engines.spark import reading
from discreet.owner.check import check
from discreet.policy.layout import UNIT
from tests.plain import plain
from tests.postgres.test_reading import KINDS, TEXTS, of_duckdb
from tests.postgres.worlds import copied, table, world
from tests.spark.conftest import MASTER

COLUMNS = 'ward = { type = "text" }\ncost = { min = 0, max = 100 }'
SPARK_TYPES: dict[str, tuple[str, list[str]]] = {
    "TINYINT": ("TINYINT", ["-128", "0", "7"]),
    "SMALLINT": ("SMALLINT", ["-32768", "0", "7", "1"]),
    "INT": ("INTEGER", ["-2147483648", "0", "2024"]),
    "BIGINT": ("BIGINT", ["-9223372036854775808", "9223372036854775807", "0", "7"]),
    "FLOAT": ("FLOAT", ["NaN", "Infinity", "1e-45", "3.4e38", "0.1", "-0.0", "2.5", "16777217"]),
    "DOUBLE": ("DOUBLE", ["NaN", "Infinity", "-Infinity", "1e308", "5e-324", "0.1", "-0.0", "2.5", "9007199254740993"]),
    "DECIMAL(10,2)": ("DECIMAL(10,2)", ["12.50", "7.00", "-0.01", "99999999.99", "2.50", "0"]),
    "DECIMAL(38,10)": ("DECIMAL(38,10)", ["1234567890123456789012345678.0123456789", "-1", "0.5"]),
    "BOOLEAN": ("BOOLEAN", ["true", "false"]),
    "STRING": ("VARCHAR", [*TEXTS, "1d", "a`b", "${x}", "x\\'"]),
    "STRING COLLATE UTF8_LCASE": ("VARCHAR", ["a", "A", "ß", "SS"]),
    "DATE": ("DATE", ["0001-01-01", "9999-12-31", "2024-02-29", "1969-12-31", "1582-10-10"]),
    "TIMESTAMP_NTZ": ("TIMESTAMP", ["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1969-12-31 23:59:59.000001"]),
    "TIMESTAMP": (
        "TIMESTAMPTZ",
        ["2024-02-29 13:45:30.5+05:30", "1900-01-01 00:00:00-11:00", "9999-12-31 12:00:00+00:00"],
    ),
    "BINARY": ("BLOB", [r"\x", r"\x00ff5c", r"\x616263"]),
}


def made(spark: Any, called: str, rows: Any) -> str:
    """A table of the catalogue."""
    spark.sql("CREATE DATABASE IF NOT EXISTS clinic")
    rows.write.mode("overwrite").saveAsTable(f"clinic.{called}")
    return f"clinic.{called}"


def visits(spark: Any, called: str, *rows: tuple[Any, ...]) -> str:
    return made(spark, called, spark.createDataFrame(rows, "person string, ward string, cost double"))


def test_a_table_is_read(spark: Any, tmp_path: Path) -> None:
    called = visits(spark, "first", ("ann", "A", 1.5), ("bob", None, 2.0), ("", "", None), (None, "B", 3.0))
    policy = world(tmp_path, table(MASTER, called, COLUMNS))
    assert copied(policy, f"SELECT {UNIT}, ward, cost FROM visits ORDER BY 1") == [
        ("", "", None),
        ("ann", "A", 1.5),
        ("bob", None, 2.0),
    ]
    assert [file.name for file in (policy.state / "data").iterdir() if file.name != "lock"] != []


def test_every_type_gives_the_copy_that_parquet_gives(spark: Any, tmp_path: Path) -> None:
    """Each value of each type, declared as each kind; each value names a unit once."""
    from pyspark.sql import functions as f

    types = {f"t{index}": type_ for index, type_ in enumerate(SPARK_TYPES)}
    most = max(len(values) for _, values in SPARK_TYPES.values()) + 1
    rows = [[None if at >= len(held) else held[at] for _, held in SPARK_TYPES.values()] for at in range(most)]
    texts = spark.createDataFrame(
        [(at, *row) for at, row in enumerate(rows)],
        ", ".join(["person int", *(f"{column} string" for column in types)]),
    )
    declared = {f"{column}_{kind}": (column, kind) for column in types for kind in KINDS}
    shown = []
    for called, (column, _) in declared.items():
        value = f.col(column)
        cast = f.unhex(f.substr(value, f.lit(3))) if types[column] == "BINARY" else value.cast(types[column])
        shown.append(cast.alias(called))
    made(spark, "all_of_them", texts.select("person", *shown))
    ours = []
    for at, row in enumerate(rows):
        given = dict(zip(types, row, strict=True))
        held = []
        for called, (column, _) in declared.items():
            kind, value = SPARK_TYPES[types[column]][0], given[column]
            held.append(f"{f'CAST(NULL AS {kind})' if value is None else of_duckdb(value, kind)} AS {called}")
        ours.append(f"SELECT {at} AS person, {', '.join(held)}")
    with plain() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"COPY ({' UNION ALL '.join(ours)}) TO '{tmp_path}/rows.parquet' (FORMAT parquet)")
    said = "\n".join(f'{called} = {{ type = "{kind}" }}' for called, (_, kind) in declared.items())
    from_spark = world(tmp_path, table(MASTER, "clinic.all_of_them", said), name="a")
    from_files = world(tmp_path, table("rows.parquet", "x", said).replace("table = 'x'\n", ""), name="b")
    wanted = f"SELECT {UNIT}, {', '.join(declared)} FROM visits ORDER BY CAST({UNIT} AS INTEGER)"
    for one, other in zip(copied(from_spark, wanted), copied(from_files, wanted), strict=True):
        for column, here, there in zip(("person", *declared), one, other, strict=True):
            assert repr(here) == repr(there), (column, declared.get(column))


HOSTILE = {
    "d": ("date", ["-4712-01-01", "+294247-01-01", "2024-02-29"]),
    "moment": ("timestamp_ntz", ["-4712-01-01 00:00:00", "+294247-01-01 00:00:00", "2024-02-29 00:00:00"]),
    "tz": ("timestamp", ["-4712-01-01 00:00:00", "+294247-01-01 00:00:00", "2024-02-29 00:00:00"]),
    "long": ("string", ["x" * 1_000_000, "\\" * 4096, "é" * 4000, "a\0b"]),
}


def test_values_that_parquet_has_not_are_null_or_cut_and_fail_nothing(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as f

    rows = [
        (f"{column}{at}", column, value) for column, (_, values) in HOSTILE.items() for at, value in enumerate(values)
    ]
    held = spark.createDataFrame([*rows, ("bad", "bad", "")], "person string, of string, value string")
    shown = [
        f.expr(f"CASE WHEN of = '{column}' THEN CAST(value AS {type_}) END AS {column}")
        for column, (type_, _) in HOSTILE.items()
    ]
    more = [
        "CASE WHEN of = 'bad' THEN CAST(X'61FF' AS STRING) END AS bad",
        "array(1, 2) AS list",
        "map('a', 1) AS keyed",
        "named_struct('a', 1) AS nested",
        "INTERVAL '1' YEAR AS span",
        "NULL AS nothing",
    ]
    place = tmp_path / "odd"
    frame = held.select("person", *shown, *map(f.expr, more[:-1]))
    frame.write.parquet(str(place))
    names = [*HOSTILE, "bad", "list", "keyed", "nested", "span"]
    kinds = {"d": "date", "moment": "timestamp", "tz": "timestamp"}
    said = "\n".join(f'{column} = {{ type = "{kinds.get(column, "text")}" }}' for column in names)
    policy = world(tmp_path, table(MASTER, str(place), said))
    texts = f"coalesce(d::TEXT, moment::TEXT, tz::TEXT, {', '.join(names[3:])})"
    found = dict(copied(policy, f"SELECT {UNIT}, {texts} FROM visits"))
    assert len(found) == len(rows) + 1
    assert {key: value for key, value in found.items() if value is not None and len(value) < 40} == {
        "d2": "2024-02-29",
        "moment2": "2024-02-29 00:00:00",
        "tz2": "2024-02-29 00:00:00",
        "long3": "a\0b",
    }
    assert found["long0"] == "x" * 1024
    assert found["long1"] == "\\" * 1024
    assert found["long2"] == "é" * 1024
    assert found["bad"] is None


NAMES = ["a`b", "a.b", "x` FROM clinic.first; --", "it's", 'say "hi"', "a\\b", "a b", "É", "-- x"]


def test_names_are_never_code(spark: Any, tmp_path: Path) -> None:
    """Columns with every sign that means something to Spark; those that no policy can declare name the unit."""
    place = tmp_path / "names, #%41 {x}"
    people = [(*[f"{who}{at}" for at in range(len(NAMES))], 1) for who in ("ann", "bob")]
    rows = spark.createDataFrame(people, ", ".join([*(f"u{at} string" for at in range(len(NAMES))), "n int"]))
    rows.toDF(*NAMES, "n").write.parquet(f"file://{place}")
    for at, called in enumerate(NAMES[:3]):
        lines = table(MASTER, f"{place}".replace("{x}", "*"), "n = { min = 0, max = 9 }", unit=called)
        policy = world(tmp_path, lines, name=f"w{at}")
        assert copied(policy, f"SELECT {UNIT}, n FROM visits ORDER BY 1") == [(f"ann{at}", 1), (f"bob{at}", 1)]


def test_names_of_tables_are_quoted(spark: Any, tmp_path: Path) -> None:
    visits(spark, "plain", ("ann", "A", 1.0))
    hostiles = ["`clinic`.`plain`` WHERE 1 = 1`", "`clinic.plain`", "clinic.plain; DROP TABLE clinic.plain"]
    for at, hostile in enumerate(hostiles):
        policy = world(tmp_path, table(MASTER, hostile, COLUMNS), name=f"h{at}")
        with pytest.raises(SourceError, match=r"Spark (finds no|cannot read)"):
            copied(policy, "SELECT 1")
    policy = world(tmp_path, table(MASTER, "`clinic`.`plain`", COLUMNS))
    assert copied(policy, "SELECT count(*) FROM visits") == [(1,)]


def staged(policy: Any, folder: Path, **settings: Any) -> reading.SparkStaging:
    folder.mkdir(exist_ok=True)
    together = frozenset(policy.tables)
    return reading.SparkStaging(policy, folder, files_of=lambda _: (), together=together, **settings)


def rows_of(staging: reading.SparkStaging, policy: Any, label: str, *columns: str) -> list[tuple[Any, ...]]:
    part = staging.part(policy.tables[label])
    shown = ", ".join(part.columns[column][0] for column in columns)
    with plain() as connection:
        return connection.execute(f"SELECT {shown} FROM {part.text} ORDER BY ALL").fetchall()


def test_of_a_unit_no_more_rows_leave_and_other_units_change_none_of_them(spark: Any, tmp_path: Path) -> None:
    """Neither do the order and the files of the source; with another key, others leave."""
    rows = [(f"p{at % 7}", f"w{at}", float(at)) for at in range(70)]
    called = visits(spark, "many", *rows)
    lines = table(MASTER, called, COLUMNS, more="max_rows = 3")
    policy = world(tmp_path, lines)
    first = rows_of(staged(policy, tmp_path / "a", key="k"), policy, "visits", "person", "ward")
    assert len(first) == 21
    visits(spark, "many", *(row for row in reversed(rows) if row[0] != "p3"))
    second = rows_of(staged(policy, tmp_path / "b", key="k"), policy, "visits", "person", "ward")
    assert second == [row for row in first if row[0] != "p3"]
    third = rows_of(staged(policy, tmp_path / "c", key="l"), policy, "visits", "person", "ward")
    assert len(third) == 18
    assert third != second
    looked = rows_of(staged(policy, tmp_path / "d", margin=1), policy, "visits", "person", "ward")
    assert len(looked) == 24


def test_progress_is_told_while_spark_reads(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LOOK", 0.001)
    called = visits(spark, "told", *((f"p{at}", "A", float(at)) for at in range(50)))
    policy = world(tmp_path, table(MASTER, called, COLUMNS))
    heard: list[tuple[str, float]] = []
    staging = staged(policy, tmp_path / "a", key="k", progress=lambda label, done: heard.append((label, done)))
    assert len(rows_of(staging, policy, "visits", "person")) == 50
    shares = [done for label, done in heard if label == "visits"]
    assert shares
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] < 1


def test_collations_and_padding_merge_nobody(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as f

    rows = spark.createDataFrame([("a", "1"), ("A", "2"), ("a ", "3")], "person string, ward string")
    called = made(spark, "collated", rows.withColumn("person", f.collate("person", "UTF8_LCASE")))
    policy = world(tmp_path, table(MASTER, called, 'ward = { type = "text" }'))
    assert copied(policy, f"SELECT {UNIT}, ward FROM visits ORDER BY 1") == [("A", "2"), ("a", "1"), ("a ", "3")]


def test_no_name_is_what_another_is_cut_to(spark: Any, tmp_path: Path) -> None:
    """Somebody calls herself what a long name is written as, a part and its digest: two people would be one."""
    name = "x" * 5000
    crafted = name[:1024] + hashlib.sha256(name.encode()).hexdigest()
    called = visits(spark, "crafted", *((each, "A", 1.0) for each in (name, crafted, name[:1088], name[:1087])))
    policy = world(tmp_path, table(MASTER, called, COLUMNS, more="max_rows = 9"))
    assert copied(policy, f"SELECT count(*), count(DISTINCT {UNIT}) FROM visits") == [(4, 4)]


def test_keys_that_are_unique_are_once_each_before_rows_are_counted(spark: Any, tmp_path: Path) -> None:
    rows = [("ann", f"k{at % 3}", float(at)) for at in range(60)] + [("ann", None, 1.0)]
    called = visits(spark, "unique", *rows)
    policy = world(tmp_path, table(MASTER, called, 'ward = { type = "text", unique = true }', more="max_rows = 4"))
    assert copied(policy, "SELECT ward FROM visits ORDER BY 1") == [("k0",), ("k1",), ("k2",), (None,)]


def test_units_are_found_along_foreign_keys(spark: Any, tmp_path: Path) -> None:
    """Of what leads to units all rows are read; of a table at the end of a way, so many of each key."""
    accounts = spark.createDataFrame([(f"a{at}", f"p{at % 2}") for at in range(6)], "id string, person string")
    made(spark, "accounts", accounts)
    visits(spark, "paid", *((f"a{at % 6}", "A", float(at)) for at in range(60)))
    held = table(MASTER, "clinic.accounts", 'id = { type = "text" }', label="accounts")
    paid = table(
        MASTER, "clinic.paid", COLUMNS, label="paid", unit="person -> accounts(id).person", more="max_rows = 4"
    )
    policy = world(tmp_path, held, paid)
    staging = staged(policy, tmp_path / "a", key="k")
    assert len(rows_of(staging, policy, "accounts", "id")) == 6
    assert len(rows_of(staging, policy, "paid", "cost")) == 24
    assert copied(policy, f"SELECT {UNIT}, count(*) FROM paid GROUP BY 1 ORDER BY 1") == [("p0", 4), ("p1", 4)]


def test_nothing_of_a_row_is_said(spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    visits(spark, "canary", ("ann", "CANARY-7391", 1.0))
    spark.sql(
        "CREATE OR REPLACE VIEW clinic.fails AS SELECT person, CAST(ward AS INT) AS ward, cost FROM clinic.canary"
    )
    policy = world(tmp_path, table(MASTER, "clinic.fails", COLUMNS))
    with pytest.raises(SourceError) as told:
        copied(policy, "SELECT 1")
    assert "Spark did not read it to its end" in str(told.value)
    shown = "".join([*format_exception(told.value), *capfd.readouterr()])
    assert "CANARY" not in shown
    assert "Spark did not read" in shown
    assert [file.name for file in (policy.state / "data").iterdir()] == ["lock"]


def test_what_changes_meanwhile_is_not_read(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = visits(spark, "moving", ("ann", "A", 1.0))
    policy = world(tmp_path, table(MASTER, called, COLUMNS))
    copied_before = reading.SparkStaging._copied

    def meanwhile(self: Any, session: Any, of: Any, frame: Any) -> Any:
        part = copied_before(self, session, of, frame)
        spark.sql(f"INSERT INTO {called} VALUES ('bob', 'B', 2)")
        return part

    with monkeypatch.context() as patched:
        patched.setattr(reading.SparkStaging, "_copied", meanwhile)
        with pytest.raises(SourceError, match="changed while it was read"):
            copied(policy, "SELECT 1")
    assert copied(policy, "SELECT count(*) FROM visits") == [(2,)]


def test_rows_that_are_private_are_not_public_elsewhere(spark: Any, tmp_path: Path) -> None:
    called = visits(spark, "both", ("ann", "A", 1.0))
    spark.sql("CREATE OR REPLACE VIEW clinic.wards AS SELECT ward FROM clinic.both")
    private = table(MASTER, called, COLUMNS)
    for at, public in enumerate(["clinic.wards", f"{spark.conf.get('spark.sql.warehouse.dir')}/clinic.db/both"]):
        lines = f"[tables.wards]\nsource = '{MASTER}'\ntable = '{public}'\npublic = true\n"
        policy = world(tmp_path, private, lines, name=f"b{at}")
        with pytest.raises(SourceError, match="rows of visits, which is private"):
            copied(policy, "SELECT 1")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("clinic.nothing", "Spark finds no clinic.nothing"),
        ("nowhere.visits", "Spark finds no nowhere.visits"),
        ("/nowhere/visits", "Spark finds no /nowhere/visits"),
        ("delta:/nowhere/visits", "Spark cannot read it"),
    ],
)
@pytest.mark.usefixtures("spark")
def test_what_is_not_there_is_told_to_the_owner(tmp_path: Path, place: str, said: str) -> None:
    policy = world(tmp_path, table(MASTER, place, COLUMNS))
    with pytest.raises(SourceError) as told:
        copied(policy, "SELECT 1")
    assert said in str(told.value)


def test_an_owner_checks_and_an_analyst_asks(spark: Any, tmp_path: Path) -> None:
    rows = [(f"p{at % 50}", "AB"[at % 2], 1.0) for at in range(500)]
    called = visits(spark, "asked", *rows)
    columns = 'ward = { values = ["A", "B"] }\ncost = { min = 0, max = 100 }'
    policy = world(tmp_path, table(MASTER, called, columns, more="max_rows = 2"))
    assert any("more than 1 % of the units have more than 2 rows" in finding.message for finding in check(policy))
    with discreet.open(policy.path) as curator:
        answer = curator.query("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward", epsilon=3)
    assert [row[0] for row in answer.rows] == ["A", "B"]
    folders = [path for path in policy.state.rglob("*") if path.is_dir()]
    assert all(path.stat().st_mode & 0o077 == 0 for path in [policy.state, *folders])
    assert not list(policy.state.rglob("*.parquet"))
