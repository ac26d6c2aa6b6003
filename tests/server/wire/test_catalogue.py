"""Questions about the catalogue: those of real tools are answered from public facts, and nothing else is reached."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.answers.facts import Facts
from discreet.errors import Refused
from discreet.policy import read as read_policy
from discreet.server.wire import inference, translation
from discreet.server.wire.catalogue import Catalogue, Table
from discreet.server.wire.problems import Failed
from discreet.server.wire.relations import INFORMATION_SCHEMA, PG_CATALOG
from discreet.server.wire.settings import Settings
from discreet.server.wire.statements import Select, Set, Show, statements
from tests.server.running import POLICY, build

STARTUP = Path(__file__).parent / "startup"
ASKER = translation.Asker("epidemiology", "hospital", 7, Settings())


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalogue]:
    policy = read_policy(build(tmp_path_factory.mktemp("catalogue"), patients=3, text=POLICY))
    made = Catalogue({table.name: Facts.of(table) for table in policy.tables.values()}, "hospital", ["hospital"])
    yield made
    made.close()


def ask(catalogue: Catalogue, text: str, **values: Any) -> Table:
    question = translation.read(text)
    assert question is not None, text
    return catalogue.ask(translation.written(question, ASKER, {name[1:]: each for name, each in values.items()}))


def queries() -> Iterator[Any]:
    for path in sorted(STARTUP.glob("*.sql")):
        for number, found in enumerate(statements(path.read_text(encoding="utf-8"))):
            if isinstance(found, Select):
                yield pytest.param(found.text, id=f"{path.stem}-{number}")
            else:
                assert isinstance(found, Set | Show)


@pytest.mark.parametrize("text", list(queries()))
def test_what_tools_ask_is_answered(catalogue: Catalogue, text: str) -> None:
    """With every parameter a name, and, where that is no number, the number of a table."""
    count = inference.count(text)
    try:
        ask(catalogue, text, **{f"p{number}": "patients" for number in range(1, count + 1)})
    except Failed:
        ask(catalogue, text, **{f"p{number}": 16384 for number in range(1, count + 1)})
    ask(catalogue, text, **{f"p{number}": None for number in range(1, count + 1)})  # as it is described


def test_tables_and_columns_are_told(catalogue: Catalogue) -> None:
    text = "SELECT table_name, column_name, data_type FROM information_schema.columns ORDER BY 1, ordinal_position"
    assert ask(catalogue, text).rows == [
        ("patients", "age", "double precision"),
        ("patients", "ward", "text"),
        ("patients", "zip", "text"),
        ("patients", "born", "date"),
        ("wards", "ward", "text"),
        ("wards", "beds", "bigint"),
    ]
    found = ask(catalogue, "SELECT 'patients'::regclass::oid, 16385::regclass, obj_description('wards'::regclass)")
    assert found.rows == [(16384, "wards", "public")]
    text = (
        "SELECT col_description('public.patients'::regclass, 1), col_description(format('%I', 'patients')::regclass, 2)"
    )
    assert ask(catalogue, text).rows == [("0 … 120", "A, B, C")]


@pytest.mark.parametrize(
    ("text", "rows", "names"),
    [
        ("SELECT 1", [(1,)], ["?column?"]),
        ("SELECT version()", None, ["version"]),
        ("SELECT current_user, user, session_user", [("epidemiology",) * 3], ["current_user", "user", "session_user"]),
        ("SELECT current_database(), current_schema", [("hospital", "public")], ["current_database", "current_schema"]),
        ("SELECT (current_schemas(true))[1], current_setting('TimeZone') AS tz", [("pg_catalog", "UTC")], None),
        ("SELECT 'a' ~ '^A' AS x, 'a' ~* '^A' AS y, 'a_b' LIKE 'a\\_b' AS z", [(False, True, True)], ["x", "y", "z"]),
        ("SELECT COUNT(*) AS Many FROM pg_class", [(2,)], ["many"]),
        ("SELECT has_table_privilege('x', 'INSERT'), has_schema_privilege('public', 'USAGE')", [(False, True)], None),
        ("SELECT CASE WHEN true THEN 1 END, 1::text, 'x'::name", [(1, "1", "x")], ["case", "?column?", "?column?"]),
        ("SELECT now() > '2020-01-01' AS x, current_date > '2020-01-01' AS y", [(True, True)], ["x", "y"]),
        ("SELECT now(), CURRENT_TIMESTAMP, current_date", None, ["now", "now", "current_date"]),
        ("SELECT valuntil FROM pg_user", [], ["valuntil"]),
        ("WITH patients AS (SELECT 5 AS x) SELECT x FROM patients", [(5,)], ["x"]),
        ("SELECT x FROM unnest(ARRAY['a', 'b']) x", [("a",), ("b",)], ["x"]),
        ("SELECT reltuples, relpages FROM pg_class", [(-1.0, 0)] * 2, None),  # how many rows there are is private
    ],
)
def test_what_functions_tell(catalogue: Catalogue, text: str, rows: Any, names: list[str] | None) -> None:
    found = ask(catalogue, text)
    assert rows is None or found.rows == rows
    assert names is None or [field.name for field in found.fields] == names


REFUSED = [
    "SELECT pg_read_file('x')",
    "SELECT * FROM read_csv('x.csv')",
    "SELECT * FROM pg_catalog.read_csv('x.csv')",
    "SELECT getenv('HOME')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM pg_catalog.duckdb_tables",
    'SELECT * FROM information_schema."x"',
    "SELECT * FROM pg_shadow",
    "SELECT pg_sleep(100)",
    "SELECT pg_terminate_backend(1)",
    "SELECT lo_import('x')",
    "SELECT dblink('x')",
    "SELECT set_config('discreet.epsilon', '1', false)",
    "SELECT current_setting('nope')",
    "SELECT repeat('x', 1000000000)",
    "SELECT * FROM pg_class FOR UPDATE",
    "SELECT 'x'::regrole",
    "SELECT 1::pg_lsn",
    "SELECT nextval('x')",
    "SELECT $1",
    "WITH RECURSIVE x AS (SELECT 1) SELECT query_to_xml('select 1', true, true, '') FROM x",
    "SELECT * FROM pg_class TABLESAMPLE SYSTEM (10)",
    "SELECT COLUMNS('x') FROM pg_class",
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_known_is_refused(catalogue: Catalogue, text: str) -> None:
    with pytest.raises(Failed) as raised:
        ask(catalogue, text)
    assert raised.value.state in ("0A000", "42883", "42P01", "42704", "08P01", "42601")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM patients",
        "SELECT * FROM pg_class, patients",
        "SELECT * FROM pg_class WHERE oid IN (SELECT age FROM public.patients)",
        "WITH pg_class AS (SELECT * FROM patients) SELECT * FROM pg_class",
        "SELECT * FROM hospital.pg_class",
        "SELECT * FROM 'x.csv'",
        "TABLE patients",
        "SELECT 1 INTO x FROM pg_class",
        "nonsense",
    ],
)
def test_what_is_about_anything_else_is_for_the_planner(text: str) -> None:
    assert translation.read(text) is None


def test_nothing_of_any_row_is_there(catalogue: Catalogue, tmp_path: Path) -> None:
    """All that can be read, beside a policy over other rows: it is the same, and no value of a row is among it."""
    policy = read_policy(build(tmp_path, patients=500, text=POLICY))
    other = Catalogue({table.name: Facts.of(table) for table in policy.tables.values()}, "hospital", ["hospital"])
    for schema, relations in (("pg_catalog", PG_CATALOG), ("information_schema", INFORMATION_SCHEMA)):
        for relation in relations:
            text = f"SELECT * FROM {schema}.{relation}"
            found = sorted(map(repr, ask(catalogue, text).rows))
            assert found == sorted(map(repr, ask(other, text).rows))
            assert "0213" not in "".join(found)  # every zip begins with it
    other.close()


def test_only_one_s_own_datasets_are_listed(tmp_path: Path) -> None:
    policy = read_policy(build(tmp_path, patients=1))
    made = Catalogue({table.name: Facts.of(table) for table in policy.tables.values()}, "b", ["a", "b"])
    assert ask(made, "SELECT datname FROM pg_database ORDER BY 1").rows == [("a",), ("b",)]
    made.close()


def test_much_work_ends_and_long_results_are_refused(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.server.wire.catalogue.MOST_ROWS", 5)
    with pytest.raises(Failed, match="at most 5 rows"):
        ask(catalogue, "SELECT oid FROM pg_type")
    with pytest.raises(Failed, match="not understood"):
        ask(catalogue, "SELECT a.n FROM generate_series(1, 100000000) a(n) LIMIT 1")
    long = f"SELECT length(string_agg(a.typname, '{'x' * 10000}')) FROM pg_type a, pg_type b, pg_type c"
    with pytest.raises(Failed, match="not understood"):  # more than its memory
        ask(catalogue, long)
    monkeypatch.setattr("discreet.server.wire.catalogue.SECONDS", 0.05)
    endless = "SELECT COUNT(*) FROM " + ", ".join(f"pg_type t{number}" for number in range(8))
    with pytest.raises(Failed) as raised:
        ask(catalogue, f"{endless} WHERE t0.oid + t1.oid + t2.oid + t3.oid + t4.oid + t5.oid + t6.oid + t7.oid = 1")
    assert raised.value.state == "57014"
    assert ask(catalogue, "SELECT 1").rows == [(1,)]


def test_deep_questions_are_refused() -> None:
    assert translation.read("SELECT " + "(" * 1000 + "1" + ")" * 1000) is None  # the planner refuses it
    with pytest.raises(Failed, match="nested"):
        translation.read("SELECT * FROM " + "(SELECT * FROM " * 70 + "pg_class" + ") x" * 70)


LONG = "y" * 90_000


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT '{LONG}' FROM pg_type a, pg_type b",
        "SELECT $1 FROM pg_type a, pg_type b",
        "SELECT ARRAY[$1, $1] FROM pg_type a, pg_type b",
    ],
)
def test_answers_are_no_longer_than_a_server_can_hold(catalogue: Catalogue, text: str) -> None:
    """A text of the client in each of 20,000 rows was two gigabytes of the server's memory."""
    with pytest.raises(Failed) as raised:
        ask(catalogue, text, p1=LONG)
    assert raised.value.state == "54000"


def test_texts_that_are_replaced_in_each_other_do_not_grow(catalogue: Catalogue) -> None:
    thousand = "a" * 1000
    grown = f"replace(replace(replace('{thousand}', 'a', '{thousand}'), 'a', '{thousand}'), 'a', '{thousand}')"
    assert ask(catalogue, f"SELECT length({grown})").rows == [(10**6,)]
    assert ask(catalogue, "SELECT replace('a.b', '.', ''), replace(NULL, 'a', 'b')").rows == [("ab", None)]


def nested(form: str, depth: int, inner: str) -> str:
    for _ in range(depth):
        inner = form.replace("@", inner)
    return inner


@pytest.mark.parametrize(
    "text",
    [
        nested("format_type(@, 1)", 12, "25"),
        nested("(information_schema._pg_expandarray(ARRAY[@])).n", 6, "1"),
        nested("array_length(ARRAY[generate_subscripts(ARRAY[@], 1)], 1)", 7, "1"),
        nested("ARRAY[@]", 30, "1"),
        nested("VARCHAR(@)", 30, "1"),
    ],
)
def test_small_texts_make_no_large_work(catalogue: Catalogue, text: str) -> None:
    """Each of these doubled something with each level, in the parser, here, or in the database: up to a day's work."""
    with pytest.raises((Failed, Refused)):
        ask(catalogue, f"SELECT {text}")
    with pytest.raises((Failed, Refused)):
        session_reads(f"SELECT {text}, $1 FROM pg_type")


def session_reads(text: str) -> None:
    """As a session reads a text before it plans it."""
    question = translation.read(text)
    inference.inferred(text, (), {})
    assert question is not None
    translation.written(question, ASKER, {"1": 1})


@pytest.mark.parametrize("number", ["²", "@²", "9" * 5000], ids=["squared", "named", "long"])
def test_parameters_whose_numbers_are_none_are_refused(number: str) -> None:
    """Python takes ² for a digit, and reads no number of 5,000: both were failures of the server itself."""
    with pytest.raises(Failed):
        session_reads(f"SELECT {number if number[0] == '@' else '$' + number} FROM pg_type")
    with pytest.raises(Failed):
        statements("FETCH ² FROM c")
