"""Tables of PostgreSQL as sources: the same copy as from files, whatever rows hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.engines import copy
from discreet.engines import postgres as reading
from discreet.engines.copy import private_copy
from discreet.engines.postgres import Snapshot
from discreet.owner.check import check
from discreet.policy import read
from discreet.policy.layout import UNIT
from tests.plain import plain
from tests.postgres.cluster import Cluster
from tests.postgres.worlds import copied, table, visits, world

COLUMNS = 'ward = { type = "text" }\ncost = { min = 0, max = 100 }'


def test_a_table_is_read(postgres: Cluster, tmp_path: Path) -> None:
    visits(postgres, "first", ("ann", "A", 1.5), ("bob", None, 2), ("", "", None), (None, "B", 3))
    policy = world(tmp_path, table(postgres.address(), "first.visits", COLUMNS))
    assert copied(policy, f"SELECT {UNIT}, ward, cost FROM visits ORDER BY 1") == [
        ("", "", None),
        ("ann", "A", 1.5),
        ("bob", None, 2.0),
    ]


TEXTS = [
    "",
    " ",
    "É",
    "ß",
    "it's",
    "a\\b",
    r"\N",
    r"\\N",
    "\\",
    "\\\\n",
    "a\tb",
    "a\nb",
    "\r\n",
    "\b\v\f",
    '"',
    '""',
    ",",
]
TEXTS += ["1e999", "today", "NaN", "1_000", "🎉", "x" * 1030, "é" * 3000, "2024-02-29", "12", "2.5", "-7", "true", "t"]
TEXTS += ["infinity", "0x10", "2024-2", "9" * 30, "\u2028", "\x01", "\x7f", "e\u0301", "0044-03-15 BC", "\x1a"]
VALUES: dict[str, tuple[str, list[str]]] = {
    "int2": ("SMALLINT", ["-32768", "0", "7", "1"]),
    "int4": ("INTEGER", ["-2147483648", "0", "2024"]),
    "int8": ("BIGINT", ["-9223372036854775808", "9223372036854775807", "0", "7"]),
    "float4": ("FLOAT", ["NaN", "Infinity", "1e-45", "3.4e38", "0.1", "-0.0", "2.5", "16777217"]),
    "float8": (
        "DOUBLE",
        ["NaN", "Infinity", "-Infinity", "1e308", "5e-324", "0.1", "-0.0", "2.5", "1.5", "1e17", "9007199254740993"],
    ),
    "numeric(10,2)": ("DECIMAL(10,2)", ["12.50", "7.00", "-0.01", "99999999.99", "2.50", "0"]),
    "numeric(38,10)": ("DECIMAL(38,10)", ["1234567890123456789012345678.0123456789", "-1", "0.5"]),
    "bool": ("BOOLEAN", ["true", "false"]),
    "text": ("VARCHAR", TEXTS),
    "varchar(3)": ("VARCHAR", ["a", "\\", ""]),
    "date": ("DATE", ["0001-01-01", "9999-12-31", "2024-02-29", "1969-12-31", "1582-10-10"]),
    "timestamp": ("TIMESTAMP", ["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1969-12-31 23:59:59.000001"]),
    "timestamptz": ("TIMESTAMPTZ", ["2024-02-29 13:45:30.5+05:30", "1900-01-01 00:00:00-11", "9999-12-31 12:00+00"]),
    "time": ("TIME", ["00:00:00", "23:59:59.999999", "12:30:00.5"]),
    "uuid": ("UUID", ["123e4567-e89b-12d3-a456-426614174000"]),
    "bytea": ("BLOB", [r"\x", r"\x00ff5c", r"\x616263"]),
    "json": ("VARCHAR", ["{}", '{"a": "b\\n"}', "[1,  2]"]),
}
KINDS = ("integer", "number", "text", "boolean", "date", "timestamp")


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def of_duckdb(text: str, kind: str) -> str:
    if kind == "BLOB":
        return f"unhex({quoted(text[2:])})"
    return f"CAST({quoted(text)} AS {kind})"


@pytest.mark.long
def test_every_type_gives_the_copy_that_parquet_gives(postgres: Cluster, tmp_path: Path) -> None:
    """Each value of each type, declared as each kind; every fourth is NULL too, and each value names a unit once."""
    types = {f"t{index}": type_ for index, type_ in enumerate(VALUES)}
    most = max(len(values) for _, values in VALUES.values()) + 1
    declared = {f"{column}_{kind}": (type_, kind) for column, type_ in types.items() for kind in KINDS}
    rows = [["NULL" if at >= len(held) else held[at] for _, held in VALUES.values()] for at in range(most)]
    theirs, ours = [], []
    for at, row in enumerate(rows):
        given = dict(zip(VALUES, row, strict=True))
        casts = [("NULL" if given[t] == "NULL" else f"{quoted(given[t])}::{t}") for t, _ in declared.values()]
        theirs.append(f"({at}, {', '.join(casts)})")
        held = [
            f"CAST(NULL AS {VALUES[t][0]})" if given[t] == "NULL" else of_duckdb(given[t], VALUES[t][0])
            for t, _ in declared.values()
        ]
        ours.append(f"SELECT {at} AS person, {', '.join(f'{v} AS {c}' for v, c in zip(held, declared, strict=True))}")
    columns = ", ".join(f"{column} {type_}" for column, (type_, _) in declared.items())
    postgres.run(
        "CREATE SCHEMA types",
        f"CREATE TABLE types.all_of_them (person int, {columns})",
        f"INSERT INTO types.all_of_them VALUES {', '.join(theirs)}",
    )
    with plain() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"COPY ({' UNION ALL '.join(ours)}) TO '{tmp_path}/rows.parquet' (FORMAT parquet)")
    said = "\n".join(f'{column} = {{ type = "{kind}" }}' for column, (_, kind) in declared.items())
    from_postgres = world(tmp_path, table(postgres.address(), "types.all_of_them", said), name="a")
    from_files = world(tmp_path, table("rows.parquet", "x", said).replace("table = 'x'\n", ""), name="b")
    wanted = f"SELECT {UNIT}, {', '.join(declared)} FROM visits ORDER BY CAST({UNIT} AS INTEGER)"
    for one, other in zip(copied(from_postgres, wanted), copied(from_files, wanted), strict=True):
        for column, here, there in zip(("person", *declared), one, other, strict=True):
            assert repr(here) == repr(there), (column, declared.get(column))


def test_values_that_parquet_has_not_are_null_or_cut_and_fail_nothing(postgres: Cluster, tmp_path: Path) -> None:
    """Each hostile value in a row of its own, of a person of its own: the others are read as they are."""
    hostile = {
        "d date": ["-infinity", "infinity", "4713-01-01 BC", "5874897-12-31", "2024-02-29"],
        "moment timestamp": ["infinity", "4713-01-01 00:00 BC", "294276-12-31 23:59:59.999999", "2024-02-29"],
        "tz timestamptz": ["infinity", "4713-01-02 00:00 BC", "294276-12-31 00:00+00", "2024-02-29 00:00+00"],
        "n numeric": ["NaN", "Infinity", "9" * 10_000, "1e-16383", "7.00", "1e400", "0." + "3" * 9000],
        "few numeric(5,2)": ["NaN", "999.99"],
        "t time": ["24:00:00", "12:00"],
        "long text": ["x" * 10_000_000, "\\" * 4096, "\n" * 4096, "é" * 4000],
        "bin bytea": ["\\x" + "ff" * 1_000_000],
        "list int[]": ["{1,2,3}"],
        "span int4range": ["[1,5)"],
        "place point": ["(1,2)"],
        "doc jsonb": ['{"a": [1, "\\n"]}'],
        "way interval": ["1 year"],
    }
    names = [column.split()[0] for column in hostile]
    postgres.run("CREATE SCHEMA hostile", f"CREATE TABLE hostile.h (person text, {', '.join(hostile)})")
    with postgres.connect() as connection:
        for column, values in zip(names, hostile.values(), strict=True):
            for at, value in enumerate(values):
                query = f"INSERT INTO hostile.h (person, {column}) VALUES (%s, %s)"
                connection.execute(query.encode(), (f"{column}{at}", value))
    kinds = {"d": "date", "moment": "timestamp", "tz": "timestamp", "n": "number", "few": "number"}
    said = "\n".join(f'{column} = {{ type = "{kinds.get(column, "text")}" }}' for column in names)
    rows = dict(
        copied(
            world(tmp_path, table(postgres.address(), "hostile.h", said)),
            f"SELECT {UNIT}, coalesce(d::TEXT, moment::TEXT, tz::TEXT, n::TEXT, few::TEXT, {', '.join(names[5:])}) "
            "FROM visits",
        )
    )
    assert len(rows) == sum(map(len, hostile.values()))
    assert {key: value for key, value in rows.items() if value is not None and len(value) < 40} == {
        "d4": "2024-02-29",
        "moment3": "2024-02-29 00:00:00",
        "tz3": "2024-02-29 00:00:00",
        "n1": "inf",
        "n4": "7.0",
        "n5": "inf",
        "few1": "999.99",
        "t1": "12:00:00",
        "doc0": '{"a": [1, "\\n"]}',
        **({"t0": rows["t0"]} if rows["t0"] else {}),
    }
    assert rows["long0"] == "x" * 1024
    assert rows["long1"] == "\\" * 1024
    assert rows["long2"] == "\n" * 1024
    assert rows["long3"] == "é" * 1024
    assert len(rows["bin0"]) == 1024


def test_units_are_compared_bytewise_whatever_the_collation(postgres: Cluster, tmp_path: Path) -> None:
    postgres.run(
        "CREATE SCHEMA names",
        "CREATE COLLATION names.same (provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
        "CREATE TABLE names.visits (person text COLLATE names.same, ward text)",
        "INSERT INTO names.visits SELECT unnest(ARRAY['Ann', 'ann', 'ánn', 'ann ', 'ANN', repeat('x', 5000),"
        " repeat('x', 5000) || 'y', repeat('x', 4999)])",
        "CREATE TABLE names.numbers (person numeric)",
        "INSERT INTO names.numbers SELECT unnest(ARRAY[7, 7.0, 7.00, 'NaN', 7.5, 1e20]::numeric[])",
    )
    both = (
        table(postgres.address(), "names.visits", 'ward = { type = "text" }', more="max_rows = 9"),
        table(postgres.address(), "names.numbers", "", label="numbers", more="max_rows = 9"),
    )
    policy = world(tmp_path, *both)
    assert copied(policy, f"SELECT count(*), count(DISTINCT {UNIT}) FROM visits") == [(8, 8)]
    counts = copied(policy, f"SELECT {UNIT}, count(*) FROM numbers GROUP BY 1 ORDER BY 1")
    assert counts == [("100000000000000000000", 1), ("7", 3), ("7.5", 1)]


def test_no_name_is_what_another_is_cut_to(postgres: Cluster, tmp_path: Path) -> None:
    """Somebody calls herself what a long name is written as, a part and its digest: two people would be one."""
    postgres.run(
        "CREATE SCHEMA crafted",
        "CREATE TABLE crafted.visits AS SELECT unnest(ARRAY[n, left(n, 1024) || encode(sha256(n::bytea), 'hex'),"
        " left(n, 1088), left(n, 1087), left(n, 1089)]) AS person FROM (SELECT repeat('x', 5000)) AS long(n)",
        "CREATE TABLE crafted.bytes AS SELECT unnest(ARRAY[n, substring(n, 1, 1024) || sha256(n),"
        " substring(n, 1, 1056), substring(n, 1, 1055)]) AS person"
        " FROM (SELECT decode(repeat('ab', 5000), 'hex')) AS long(n)",
    )
    both = (
        table(postgres.address(), "crafted.visits", "", more="max_rows = 9"),
        table(postgres.address(), "crafted.bytes", "", label="bytes", more="max_rows = 9"),
    )
    policy = world(tmp_path, *both)
    assert copied(policy, f"SELECT count(*), count(DISTINCT {UNIT}) FROM visits") == [(5, 5)]
    assert copied(policy, f"SELECT count(*), count(DISTINCT {UNIT}) FROM bytes") == [(4, 4)]


def test_tables_of_every_sort_are_read(postgres: Cluster, tmp_path: Path) -> None:
    """Views, materialised ones, partitions, heirs, foreign tables, generated columns, domains and enums."""
    rows = "(VALUES ('ann', 1), ('bob', 2))"
    postgres.run(
        "CREATE SCHEMA sorts",
        "CREATE DOMAIN sorts.cost AS numeric(6,2) CHECK (VALUE > 0)",
        "CREATE DOMAIN sorts.fee AS sorts.cost",
        "CREATE TYPE sorts.ward AS ENUM ('1', '2')",
        "CREATE TABLE sorts.plain (person text, cost sorts.fee, ward sorts.ward,"
        " twice numeric GENERATED ALWAYS AS (cost * 2) STORED)",
        f"INSERT INTO sorts.plain SELECT a, b, b::text::sorts.ward FROM {rows} AS t(a, b)",
        "CREATE VIEW sorts.seen AS SELECT * FROM sorts.plain",
        "CREATE MATERIALIZED VIEW sorts.stored AS SELECT * FROM sorts.plain",
        "CREATE TABLE sorts.parts (person text, cost numeric, ward text, twice int) PARTITION BY LIST (person)",
        "CREATE TABLE sorts.part_a PARTITION OF sorts.parts FOR VALUES IN ('ann')",
        "CREATE TABLE sorts.part_b PARTITION OF sorts.parts DEFAULT",
        "INSERT INTO sorts.parts SELECT * FROM sorts.plain",
        "CREATE TABLE sorts.parent (person text, cost numeric, ward text, twice int)",
        "CREATE TABLE sorts.heir () INHERITS (sorts.parent)",
        "INSERT INTO sorts.parent SELECT * FROM sorts.plain WHERE person = 'ann'",
        "INSERT INTO sorts.heir SELECT * FROM sorts.plain WHERE person = 'bob'",
        "CREATE EXTENSION postgres_fdw",
        f"CREATE SERVER itself FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '{postgres.folder}',"
        f" port '{postgres.port}', dbname 'postgres')",
        "CREATE USER MAPPING FOR CURRENT_USER SERVER itself",
        "IMPORT FOREIGN SCHEMA sorts LIMIT TO (plain) FROM SERVER itself INTO public",
    )
    names = ["sorts.plain", "sorts.seen", "sorts.stored", "sorts.parts", "sorts.parent", "plain"]
    said = 'cost = { min = 0, max = 9 }\nward = { type = "text" }\nTWICE = { type = "integer" }'
    policy = world(tmp_path, *(table(postgres.address(), name, said, label=f"t{at}") for at, name in enumerate(names)))
    for at, name in enumerate(names):
        found = copied(policy, f"SELECT {UNIT}, cost, ward, twice FROM t{at} ORDER BY 1")
        assert found == [("ann", 1.0, "1", 2), ("bob", 2.0, "2", 4)], name


def test_a_table_of_one_column_or_none_keeps_its_rows(postgres: Cluster, tmp_path: Path) -> None:
    postgres.run(
        "CREATE SCHEMA narrow",
        "CREATE TABLE narrow.one (ward text)",
        "INSERT INTO narrow.one VALUES (''), (NULL), ('\\N'), ('')",
        "CREATE TABLE narrow.none ()",
        "INSERT INTO narrow.none DEFAULT VALUES",
        "CREATE TABLE narrow.empty (ward text)",
    )
    parts = [
        table(postgres.address(), "narrow.one", 'ward = { type = "text" }', label="one", unit="row"),
        table(postgres.address(), "narrow.none", "", label="none", unit="row"),
        table(postgres.address(), "narrow.empty", 'ward = { type = "text" }', label="empty", unit="row"),
    ]
    policy = world(tmp_path, *parts)
    assert copied(policy, "SELECT ward FROM one ORDER BY ward NULLS FIRST") == [(None,), ("",), ("",), ("\\N",)]
    assert copied(policy, "SELECT (SELECT count(*) FROM none), (SELECT count(*) FROM empty)") == [(1, 0)]


def test_only_declared_columns_leave(postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    postgres.run(
        "CREATE SCHEMA few",
        "CREATE TABLE few.accounts (id int, holder text, secret text)",
        "CREATE TABLE few.visits (account int, cost int, secret text)",
        "INSERT INTO few.accounts VALUES (1, 'ann', 'canary'), (2, 'bob', 'canary')",
        "INSERT INTO few.visits VALUES (1, 5, 'canary'), (1, 6, 'canary'), (2, 7, 'canary')",
    )
    asked: list[str] = []
    plain_copy = Snapshot.copy_out

    def watched(self: Snapshot, query: str, *more: Any) -> int:
        asked.append(query)
        return plain_copy(self, query, *more)

    monkeypatch.setattr(Snapshot, "copy_out", watched)
    accounts = table(postgres.address(), "few.accounts", "", label="accounts", unit="holder")
    held = table(
        postgres.address(),
        "few.visits",
        "cost = { min = 0, max = 9 }",
        unit="account -> accounts(id).holder",
        more="max_rows = 5",
    )
    assert copied(world(tmp_path, accounts, held), f"SELECT {UNIT}, sum(cost) FROM visits GROUP BY 1 ORDER BY 1") == [
        ("ann", 11.0),
        ("bob", 7.0),
    ]
    assert len(asked) == 2
    assert not any("secret" in query for query in asked)


HOSTILE: list[dict[str, Any]] = [
    {"ward": "\\N", "cost": "Infinity", "day": "infinity"},
    {"ward": "x" * 100_000, "cost": "NaN", "day": "4713-01-01 BC"},
    {"ward": "A\tB\nC\\", "cost": "1e308", "day": "5874897-12-31"},
    {"ward": None, "cost": None, "day": None},
]


def test_one_person_changes_no_row_of_another(postgres: Cluster, tmp_path: Path) -> None:
    """Two worlds that differ in one unit, whatever its rows hold: copies differ in its rows alone, ranks and all."""
    postgres.run(
        "CREATE SCHEMA neighbours",
        "CREATE TABLE neighbours.visits (person text, ward text, cost float8, day date)",
        "INSERT INTO neighbours.visits SELECT 'p' || n % 7, chr(65 + n % 3), n % 5, date '2024-01-01' + n"
        " FROM generate_series(1, 40) AS n",
    )
    said = 'ward = { type = "text" }\ncost = { min = 0, max = 9, step = 1 }\nday = { type = "date" }'
    policy = world(tmp_path, table(postgres.address(), "neighbours.visits", said, more="max_rows = 3\nmax_groups = 2"))
    query = f"SELECT * FROM visits WHERE {UNIT} <> 'eve' ORDER BY ALL"
    without = copied(policy, query, 1)
    with postgres.connect() as connection:
        for row in HOSTILE:
            connection.execute(
                "INSERT INTO neighbours.visits VALUES ('eve', %(ward)s, %(cost)s::float8, %(day)s::date)", row
            )
    assert copied(policy, query, 2) == without
    assert copied(policy, f"SELECT count(*) FROM visits WHERE {UNIT} = 'eve'", 2) == [(3,)]


def test_progress_is_told_while_rows_arrive(postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the rows that the server believes to be there, and never all of them before the last has come."""
    visits(postgres, "told", *((f"p{at}", "A", at) for at in range(50)))
    postgres.run("ANALYZE told.visits")
    monkeypatch.setattr(reading, "BLOCK", 64)
    monkeypatch.setattr(copy, "LOOK", 0.0001)  # at DuckDB, which waits meanwhile
    heard: list[tuple[str, float]] = []
    policy = world(tmp_path, table(postgres.address(), "told.visits", "cost = { min = 0, max = 9 }"))
    private_copy(policy, 1, lambda label, done: heard.append((label, done)))
    shares = [done for label, done in heard if label == "visits"]
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert any(0 < share < 1 for share in shares), shares


def test_the_guide(postgres: Cluster, tmp_path: Path) -> None:
    """Its policy and its role, over such tables: no findings but that connections stay on this machine."""
    page = (Path(__file__).parents[2] / "docs/guide/34-tables-in-postgresql.md").read_text(encoding="utf-8")
    text = page.partition("```toml\n")[2].partition("```")[0]
    grants = [line.strip() for line in page.splitlines() if line.startswith(("    CREATE ROLE", "    GRANT"))]
    postgres.run("CREATE DATABASE clinic")
    postgres.run(
        "CREATE SCHEMA clinic",
        "CREATE TABLE clinic.patients (id int, sex text)",
        "CREATE TABLE clinic.visits (id int GENERATED ALWAYS AS IDENTITY, patient_id int, cost numeric(8,2))",
        "INSERT INTO clinic.patients SELECT n, CASE WHEN n % 2 = 0 THEN 'F' ELSE 'M' END FROM generate_series(1, 90) n",
        "INSERT INTO clinic.visits (patient_id, cost) SELECT n % 90 + 1, n FROM generate_series(1, 300) AS n",
        *(grant.replace("reader", "guided") for grant in grants),
        database="clinic",
    )
    assert "db.example.org" in text
    path = tmp_path / "clinic.toml"
    path.write_text(text.replace("postgresql://reader@db.example.org/clinic", postgres.address("clinic", "guided")))
    assert [finding for finding in check(read(path)) if finding.severity != "note"] == []
    with discreet.open(path) as curator:
        assert len(curator.query("SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex", epsilon=1).rows) == 2
