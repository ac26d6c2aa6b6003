"""The type of units is the policy's word. As texts, 1, 01 and 001 are three people; as integers they are one, whatever
types the sources hold them in, so that no table makes three people of one, or joins three with one."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import discreet
from discreet.audit.neighbours import claimants
from discreet.engines.copy import private_copy
from discreet.owner.check import check
from discreet.policy import Kind, Policy, fingerprint, protected, read
from discreet.policy.layout import UNIT
from discreet.quoting import name
from tests.attacks.worlds import HEAD, secret_of
from tests.plain import reading
from tests.policy.examples import policy_of, problems_of

MOST = 2**63 - 1
TEXTS = {
    "1": 1, "01": 1, "001": 1, "+1": 1, "-1": -1, "-0": 0, "0": 0, "": None, " 1": None, "1 ": None, "1.0": None,
    "1e3": None, "0x1": None, "one": None, "1_000": None, "½": None, "١": None, "1,5": None, "NULL": None, "nan": None,
    str(MOST): MOST, str(MOST + 1): None, str(-MOST - 1): -MOST - 1, str(-MOST - 2): None, "9" * 40: None,
    "0" * 18 + "1": 1, "0" * 19 + "1": None,
}  # fmt: skip
"""What each text names, as an integer."""
COLUMNS: dict[str, dict[str, int | None]] = {
    "BIGINT": {"1": 1, "0": 0, "-1": -1, str(MOST): MOST, "NULL": None},
    "TINYINT": {"1": 1, "-128": -128},
    "UBIGINT": {"1": 1, str(2**64 - 1): None},
    "HUGEINT": {"1": 1, str(2**100): None, "-1": -1},
    "DOUBLE": {"1.0": 1, "-0.0": 0, "1.5": None, "'nan'": None, "'inf'": None, "1e300": None, str(2**53): None},
    "FLOAT": {"1.0": 1, "0.1": None},
    "DECIMAL(10,2)": {"1.00": 1, "1.50": None},
    "DECIMAL(38,0)": {"1": 1, "9" * 38: None},
    "BOOLEAN": {"true": None},
    "DATE": {"DATE '2026-01-01'": None},
    "BLOB": {"'1'": 1, "'\\xFF'": None},
    "VARCHAR": {f"'{text}'": unit for text, unit in TEXTS.items() if text != "NULL"},
}


def table_of(source: str, number: int, more: str = "") -> str:
    head = f'[tables.t{number}]\nsource = "{source}"\n{more}unit = "who"\nmax_rows = 9\n'
    return f"{head}[tables.t{number}.columns]\ncost = {{ min = 0, max = 10 }}\n"


def units_in(folder: Path, tables: str, count: int, *, kind: str = "integer") -> list[list[object]]:
    """The unit of every row of every table, in their order by cost."""
    (folder / "world.toml").write_text(f'{HEAD}type = "{kind}"\n{tables}', encoding="utf-8")
    queries = [f"SELECT {name(UNIT)} FROM t{number} ORDER BY cost, 1" for number in range(count)]
    with reading(private_copy(read(folder / "world.toml"), 1)) as copy:
        return [[row[0] for row in copy.execute(query).fetchall()] for query in queries]


def in_order(units: dict[str, int | None]) -> list[int]:
    return sorted(unit for unit in units.values() if unit is not None)


def test_texts_of_csv_name_integers(tmp_path: Path) -> None:
    secret_of(tmp_path)
    lines = "".join(f'"{text}",1\n' for text in TEXTS)
    (tmp_path / "t.csv").write_text(f"who,cost\n{lines}", encoding="utf-8")
    assert units_in(tmp_path, table_of("t.csv", 0), 1) == [in_order(TEXTS)]


@pytest.mark.parametrize("form", ["parquet", "duckdb"])
def test_values_of_every_type_name_integers(tmp_path: Path, form: str) -> None:
    """Each type in a table of its own; unusable values are nobody's, and fail nothing."""
    secret_of(tmp_path)
    tables = ""
    with duckdb.connect(str(tmp_path / "held.duckdb")) as bank:
        for number, (kind, values) in enumerate(COLUMNS.items()):
            rows = " UNION ALL ".join(f"SELECT CAST({value} AS {kind}) AS who, 1 AS cost" for value in values)
            bank.execute(f"CREATE TABLE t{number} AS {rows}")
            bank.execute(f"COPY t{number} TO '{tmp_path}/t{number}.parquet' (FORMAT parquet)")
            source = "held.duckdb" if form == "duckdb" else f"t{number}.parquet"
            tables += table_of(source, number, f'table = "t{number}"\n' if form == "duckdb" else "")
    found = units_in(tmp_path, tables, len(COLUMNS))
    assert dict(zip(COLUMNS, found, strict=True)) == {kind: in_order(values) for kind, values in COLUMNS.items()}


def test_as_texts_the_same_values_are_other_people(tmp_path: Path) -> None:
    """The usual type: texts as they are written, and whole numbers of whatever type as texts of their digits."""
    secret_of(tmp_path)
    (tmp_path / "t0.csv").write_text("who,cost\n1,1\n01,1\n001,1\n1.0,1\n", encoding="utf-8")
    tables = table_of("t0.csv", 0)
    with duckdb.connect() as connection:
        for number, kind in enumerate(("BIGINT", "DOUBLE", "DECIMAL(10,2)"), start=1):
            query = f"SELECT unnest([1, 7])::{kind} AS who, 1 AS cost"
            connection.execute(f"COPY ({query}) TO '{tmp_path}/t{number}.parquet' (FORMAT parquet)")
            tables += table_of(f"t{number}.parquet", number)
    found = units_in(tmp_path, tables, 4, kind="text")
    assert found == [["001", "01", "1", "1.0"], ["1", "7"], ["1", "7"], ["1", "7"]]


JOINED = """
[tables.people]
source = "people.csv"
unit = "id"
max_rows = 4
[tables.people.columns]
sex = { values = ["F", "M"] }
[tables.visits]
source = "visits.parquet"
unit = "person"
max_rows = 4
[tables.stays]
source = "stays.duckdb"
table = "stays"
unit = "person"
max_rows = 4
[tables.stays.columns]
nights = { min = 0, max = 9 }
"""


@pytest.mark.parametrize(("kind", "found"), [("integer", [6, 4, 2]), ("text", [2, 2, 5])])
def test_tables_of_different_types_join_as_the_policy_says(tmp_path: Path, kind: str, found: list[int]) -> None:
    secret_of(tmp_path)
    head = HEAD.replace("epsilon = 9", "epsilon = 1000000")
    (tmp_path / "world.toml").write_text(f'{head}type = "{kind}"\n{JOINED}', encoding="utf-8")
    (tmp_path / "people.csv").write_text("id,sex\n1,F\n01,F\n001,F\n7,M\nx,M\n", encoding="utf-8")
    with duckdb.connect(str(tmp_path / "stays.duckdb")) as bank:
        bank.execute("CREATE TABLE stays AS SELECT unnest([1.0::DOUBLE, 7.0, 7.5, 'nan']) AS person, 2 AS nights")
        bank.execute(
            "COPY (SELECT unnest([1, 1, 8]) AS person) TO $path (FORMAT parquet)",
            {"path": str(tmp_path / "visits.parquet")},
        )
    asked = [
        "SELECT COUNT(*) FROM people p JOIN visits v ON p.id = v.person",
        "SELECT COUNT(*) FROM people p JOIN stays s ON p.id = s.person",
        "SELECT COUNT(DISTINCT id) FROM people WHERE sex IN ('F', 'M')",
    ]
    with discreet.open(tmp_path / "world.toml") as curator:
        assert [curator.query(question, epsilon=10**5).rows[0][0] for question in asked] == found


def test_three_spellings_count_as_one_unit_where_units_are_integers(tmp_path: Path) -> None:
    """With max_rows = 1, whoever is written in three ways has one row, and not three."""
    secret_of(tmp_path)
    (tmp_path / "t.csv").write_text("who,cost\n1,1\n01,2\n001,3\n+1,4\n", encoding="utf-8")
    tables = table_of("t.csv", 0).replace("max_rows = 9", "max_rows = 1")
    assert units_in(tmp_path, tables, 1) == [[1]]


def policy(kind: str, columns: str = "") -> Policy:
    said = f'type = "{kind}"\n' if kind else ""
    return policy_of(f'{HEAD}{said}[tables.t]\nsource = "t.csv"\nunit = "who"\n[tables.t.columns]\n{columns}')


def test_the_type_is_part_of_what_a_policy_means_and_of_whom_it_protects() -> None:
    texts, integers = policy("text"), policy("integer")
    assert (texts.unit_kind, integers.unit_kind) == (Kind.TEXT, Kind.INTEGER)
    assert (fingerprint(policy("")), protected(policy(""))) == (fingerprint(texts), protected(texts))
    assert fingerprint(integers) != fingerprint(texts)
    assert protected(integers) != protected(texts)


@pytest.mark.parametrize("kind", ['"date"', '"float"', '"int"', '""', "1", "true", '["text"]'])
def test_units_are_texts_or_integers(kind: str) -> None:
    text = f'{HEAD}type = {kind}\n[tables.t]\nsource = "t.csv"\nunit = "who"\n'
    assert [problem.split(":")[0] for problem in problems_of(text)] == ["unit.type"]


@pytest.mark.parametrize("declared", ["", "who = { min = 0, max = 9, step = 0.5 }"])
def test_the_audit_names_units_as_the_copy_does(declared: str) -> None:
    """Else it would add and remove half of a unit."""
    integers = policy("integer", declared)
    rows = [{"who": who} for who in (1, "1", "7" if declared else "007", None, "x" if not declared else 1.5)]
    found = [claimants(integers, {"t": rows}, integers.tables["t"], row) for row in rows]
    assert found == [{"1"}, {"1"}, {"7"}, set(), set()]


def test_the_owner_is_told_of_rows_that_name_nobody(tmp_path: Path) -> None:
    secret_of(tmp_path)
    (tmp_path / "t.csv").write_text("who,cost\n1,1\nx,2\n1.5,3\n", encoding="utf-8")
    units_in(tmp_path, table_of("t.csv", 0), 1)
    assert any("2 of 3 rows: the unit is NULL" in str(finding) for finding in check(read(tmp_path / "world.toml")))
