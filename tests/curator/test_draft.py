"""Drafts come from names and types alone, and say what is left to decide."""

from __future__ import annotations

import gzip
import re
import tomllib
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines.problems import SourceError
from discreet.owner.draft import draft
from discreet.policy import Kind, Policy, PolicyError, parse
from tests.curator.worlds import SOURCES, write_source

COLUMNS = (
    "patient_id BIGINT, age INTEGER, weight DECIMAL(5, 2), height FLOAT, vip BOOLEAN, born DATE, seen TIMESTAMP, "
    "since TIMESTAMPTZ, mood ENUM ('sad', 'glad'), ward VARCHAR, photo BLOB, tags VARCHAR[], pair STRUCT(a INTEGER)"
)
ODD = [
    "a\nepsilon = 9",
    'x"y',
    "x]",
    "# x",
    "\x1b[2J",
    "x\x7f",
    "é ß",
    "_discreet_row",
    "a" * 201,
    "1",
    "=",
    "[tables]",
]

ROWS = st.lists(st.text(max_size=30), max_size=5)


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def undecided(text: str) -> list[str]:
    try:
        parse(text.encode(), Path("/srv/policy.toml"))
    except PolicyError as wrong:
        return [problem.where for problem in wrong.problems]
    return []


def decided(text: str) -> Policy:
    """The draft after its owner removed the # of every key that is not about a column."""
    return parse(
        re.sub(r"(?m)^# (epsilon|delta|name|unit|max_rows) =", r"\1 =", text).encode(), Path("/srv/policy.toml")
    )


def write_csv(name: str, *lines: str) -> str:
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return name


def write_duckdb(name: str, *statements: str) -> str:
    with duckdb.connect(name) as connection:
        for statement in statements:
            connection.execute(statement)
    return name


def test_a_draft_of_typed_files_is_complete_but_for_what_its_owner_decides() -> None:
    for file in ("patients.parquet", "visits.parquet"):
        write_source(Path(file), SOURCES[file])
    text = draft(["patients.parquet", "visits.parquet"], "hospital")
    assert undecided(text) == ["budget.epsilon", "unit.name", "tables.patients.unit", "tables.visits.unit"]
    policy = decided(text)
    assert policy.unit == "patient"
    assert [table.owner.column for table in policy.tables.values() if table.owner] == ["patient_id", "patient_id"]
    kinds = {column.name: column.kind for column in policy.tables["patients"].columns.values()}
    assert kinds == {
        "age": Kind.INTEGER,
        "sex": Kind.TEXT,
        "zip": Kind.TEXT,
        "born": Kind.DATE,
        "vip": Kind.BOOLEAN,
    }
    assert list(policy.tables["visits"].columns) == ["cost"]
    assert '# unit = "patient_id"               # decide: the column that names whom you protect; or visit_id' in text
    assert (
        'age = { type = "integer" }          # min = ?, max = ?  decide from what is known about age, not from the data'
        in text
    )


def test_every_type_has_its_place() -> None:
    write_duckdb("h.duckdb", f"CREATE TABLE people ({COLUMNS})")
    text = draft(["h.duckdb"], "h")
    kinds = {column.name: str(column.kind) for column in decided(text).tables["people"].columns.values()}
    assert kinds == {
        "age": "integer", "weight": "number", "height": "number", "vip": "boolean", "born": "date",
        "seen": "timestamp", "since": "timestamp", "mood": "text", "ward": "text",
    }  # fmt: skip
    for column in ("photo", "tags", "pair"):
        assert re.search(rf"(?m)^# {column} +# has a type that no policy can declare$", text)
    assert "glad" not in text


def test_of_a_csv_file_the_header_alone_is_read() -> None:
    write_csv("people.csv", "id,first name,age,born,paid_at,is_vip,income", "secret,rows,1,2,3")
    text = draft(["people.csv"], "people")
    assert "secret" not in text
    assert decided(text).tables["people"].columns == {}
    for told in (
        '# "first name" = { type = "text" }',
        '# age = { type = "integer", min = ?, max = ? }',
        '# paid_at = { type = "timestamp", min = ?, max = ? }',
        '# is_vip = { type = "boolean" }',
        "# income = { min = ?, max = ? }",
    ):
        assert told in text


def test_compressed_and_tabulated_headers_are_read() -> None:
    Path("a.csv.gz").write_bytes(gzip.compress(b"\xef\xbb\xbfage,ward\n1,2\n"))
    Path("b.tsv").write_bytes(b"age\tward\r\n")
    for file in ("a.csv.gz", "b.tsv"):
        assert {"# age = {", "# ward = {"} <= {line[: line.find("{") + 1] for line in draft([file], "x").splitlines()}


@pytest.mark.long
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, ROWS)
def test_csv_files_of_one_header_give_one_draft(first: list[str], second: list[str]) -> None:
    drafts = set()
    for rows in (first, second):
        Path("people.csv").write_text("id,age,ward\n" + "\n".join(rows), encoding="utf-8", errors="surrogatepass")
        drafts.add(draft(["people.csv"], "x"))
    assert len(drafts) == 1


def test_typed_files_of_one_schema_give_one_draft() -> None:
    rows = [
        "(7, 41, 80.5, 1.8, true, '1980-01-01', '2020-01-01', '2020-01-01', 'sad', 'ICU', 'x', ['secret'], {'a': 1})",
        "(NULL, -9, 1, NULL, false, NULL, '1999-12-31', NULL, 'glad', '', NULL, [], NULL)",
    ]
    drafts = set()
    for filled in ([], rows, rows[1:]):
        statements = [f"INSERT INTO people VALUES {row}" for row in filled]
        write_duckdb("h.duckdb", f"CREATE TABLE people ({COLUMNS})", *statements, "COPY people TO 'people.parquet'")
        drafts.add(draft(["h.duckdb", "people.parquet"], "x"))
        Path("h.duckdb").unlink()
    assert len(drafts) == 1


def test_names_never_break_out_of_their_place() -> None:
    with duckdb.connect() as connection:
        listed = ", ".join('1 AS "' + name.replace('"', '""') + '"' for name in ODD)
        connection.execute(f"COPY (SELECT {listed}) TO 'odd.parquet'")
    text = draft(["odd.parquet"], 'a "b"\nc')
    document = tomllib.loads(text)
    assert document["name"] == 'a "b"\nc'
    assert document["budget"] == {}
    assert list(document["tables"]) == ["odd"]
    assert set(document["tables"]["odd"]["columns"]) == {"é ß", "1", "=", "[tables]", 'x"y', "x]", "# x"}
    assert all(line.isprintable() for line in text.splitlines())


@pytest.mark.long
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=5))
def test_any_header_gives_toml(names: list[str]) -> None:
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    Path("odd.csv").write_text(quoted + "\n", encoding="utf-8", errors="replace", newline="")
    if "\0" in quoted:
        with pytest.raises(SourceError, match="could not read a header"):
            draft(["odd.csv"], "x")
        return
    document = tomllib.loads(draft(["odd.csv"], "x"))
    assert set(document) == {"name", "budget", "unit", "tables"}


def test_all_tables_of_a_duckdb_file_or_one() -> None:
    write_duckdb(
        "h.duckdb",
        "CREATE TABLE a (id INTEGER)",
        "CREATE SCHEMA s",
        "CREATE TABLE s.b (x DATE)",
        "CREATE VIEW v AS SELECT 1 AS y",
    )
    tables = tomllib.loads(draft(["h.duckdb"], "x"))["tables"]
    assert {name: table["table"] for name, table in tables.items()} == {"a": "main.a", "v": "main.v", "b": "s.b"}
    (table,) = tomllib.loads(draft(["h.duckdb#s.b"], "x"))["tables"].values()
    assert (table["source"], table["table"]) == ("h.duckdb", "s.b")


def test_tables_have_different_names_and_patterns_leave_none() -> None:
    for folder in ("2024", "2025"):
        Path(folder).mkdir()
        write_csv(f"{folder}/Visits.csv", "id,age")
    write_csv("visits-01.csv", "id,age")
    write_csv("[].csv", "id,age")
    sources = ["2024/Visits.csv", "2025/Visits.csv", "visits-*.csv", "[].csv"]
    tables = tomllib.loads(draft(sources, "x"))["tables"]
    assert [(name, table["source"]) for name, table in tables.items()] == [
        ("Visits", "2024/Visits.csv"),
        ("Visits_2", "2025/Visits.csv"),
        ("visits_3", "visits-*.csv"),
        ("table", "[].csv"),
    ]


def test_paths_are_seen_from_the_folder_of_the_policy(tmp_path: Path) -> None:
    write_csv("people.csv", "id")
    source = tomllib.loads(draft(["people.csv"], "x", folder=tmp_path / "policies"))["tables"]["people"]["source"]
    assert source == "../people.csv"
    absolute = str(tmp_path / "people.csv")
    assert tomllib.loads(draft([absolute], "x"))["tables"]["people"]["source"] == absolute


def test_without_identifiers_every_row_may_be_a_unit() -> None:
    text = draft([write_csv("people.csv", "age,ward")], "x")
    assert '# unit = "row"' in text
    assert '# name = "person"' in text


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("nothing.csv", "there is no such file"),
        ("nothing-*.parquet", "there is no such file"),
        ("folder.csv", "is a folder"),
        ("notes.txt", "its ending does not tell its format"),
        ("s3://bucket/people.parquet", "is an address"),
        ("", "must be a text"),
        ("a\nb.csv", "must be a text"),
        ("empty.duckdb", "holds no table"),
    ],
)
def test_what_cannot_be_a_source_is_said(source: str, told: str) -> None:
    Path("folder.csv").mkdir()
    Path("notes.txt").touch()
    write_duckdb("empty.duckdb")
    with pytest.raises(PolicyError, match=told):
        draft([source], "x")


@pytest.mark.parametrize("file", ["x.csv", "x.csv.gz", "x.parquet", "x.duckdb", "x.tsv"])
@pytest.mark.parametrize("content", [b"", bytes(range(256)) * 20, b'"never closed'], ids=["empty", "garbage", "torn"])
def test_files_that_are_not_what_they_say_are_source_errors(file: str, content: bytes) -> None:
    if (file, content) == ("x.duckdb", b""):
        pytest.skip("an empty file is an empty database")
    Path(file).write_bytes(content)
    is_empty = not content and file != "x.parquet"
    with pytest.raises(SourceError, match="is empty" if is_empty else "see that it is a file of the format") as failure:
        draft([file], "x")
    assert failure.value.table == file


def test_a_header_without_end_is_a_source_error() -> None:
    Path("x.csv").write_bytes(b"a" * 3_000_000)
    with pytest.raises(SourceError, match="could not read a header"):
        draft(["x.csv"], "x")


def test_the_owner_may_name_the_unit() -> None:
    write_csv("people.csv", "Pid,age,ward")
    write_csv("wards.csv", "ward,beds")
    text = draft(["people.csv", "wards.csv"], "x", unit="pid")
    assert '\nunit = "Pid"\n' in text
    assert re.search(r"(?m)^# Pid +# the unit: it need not be declared$", text)
    assert '[unit]\nname = "person"' in text
    assert text.count("\n# unit = ") == 1, "the other table has no such column"


def test_a_unit_that_no_source_has() -> None:
    write_csv("people.csv", "person,age")
    with pytest.raises(PolicyError, match="no source has a column 'persn'; did you mean 'person'"):
        draft(["people.csv"], "x", unit="persn")
