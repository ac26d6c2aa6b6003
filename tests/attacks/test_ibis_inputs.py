"""An ibis expression is hostile: its literals and names are made of quotes and comments, it brings functions, rows, SQL
and databases of its own. It must mean what its text means: nothing is run, opened or read for it, and the text is
judged like any other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.answers.ibis_tables import is_expression, text_of
from discreet.curator.curator import Curator
from discreet.errors import Refused
from discreet.sql.read import statement
from tests.curator.worlds import hospital

ibis = pytest.importorskip("ibis")
_ = ibis._
WATCHED = {"open", "os.system", "socket.connect", "subprocess.Popen", "os.remove", "os.listdir", "sqlite3.connect"}
SEEN: list[str] = []
WATCHING = [False]
LITERALS = [
    "it's", "''", '"', "--", "/*", "*/", ";", "\\", "\\'", "{over}", "{0}", "%s", ":name", "$1", "$x", "?", "\n", "\t",
    "' OR 1 = 1 --", "'; DROP TABLE patients; --", "$$", "$tag$", "E'\\x'", "\u2019", "\U0001f600", "", " ",
]  # fmt: skip


def _hook(event: str, given: tuple[Any, ...]) -> None:
    if WATCHING[0] and event in WATCHED:
        SEEN.append(f"{event} {given}")


@pytest.fixture(scope="module", autouse=True)
def watched() -> None:
    """There is no way to take it out again: it comes only with these tests, and looks only while it is told to."""
    sys.addaudithook(_hook)


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    folder = Path(tmp_path_factory.mktemp("hospital"))
    with discreet.open(hospital(folder).path) as opened:
        yield opened


@pytest.fixture(scope="module")
def patients(curator: Curator) -> Any:
    found = curator.table("patients").to_ibis()
    text_of(found.count())  # what ibis imports is imported now
    return found


def compiled(expression: Any) -> str:
    """Its text; nothing may be opened, run or reached for it."""
    SEEN.clear()
    WATCHING[0] = True
    try:
        return text_of(expression)
    finally:
        WATCHING[0] = False
        assert SEEN == []


@pytest.mark.parametrize("literal", LITERALS)
def test_literals_and_names_come_back_unchanged(patients: Any, literal: str) -> None:
    name = literal.strip() or "n"
    asked = patients.filter(_.zip == literal).agg(**{name: _.count()})
    plain = patients.filter(_.zip == "A").agg(n=_.count())
    found, wanted = (statement(compiled(each), dialect="duckdb").tree for each in (asked, plain))
    changed = [node for node in found.walk() if node.is_string]
    assert [node.this for node in changed] == [literal]
    changed[0].set("this", "A")
    for node in list(found.walk()):
        if node.this == name and name != "n":
            node.set("this", "n")
    assert found.sql() == wanted.sql()


def _run(*_: Any) -> str:
    raise AssertionError("it was run")


def own_functions() -> dict[str, Callable[[Any], Any]]:
    python = ibis.udf.scalar.python(name="steal", signature=(("string",), "string"))(lambda text: _run(text))
    builtin = ibis.udf.scalar.builtin(name="read_text", signature=(("string",), "string"))(lambda text: _run(text))
    total = ibis.udf.agg.builtin(name="arbitrary", signature=(("string",), "string"))(lambda text: _run(text))
    return {
        "python": lambda p: p.mutate(z=python(p.zip)).group_by("z").agg(n=_.count()),
        "builtin": lambda p: p.mutate(z=builtin(p.zip)).group_by("z").agg(n=_.count()),
        "aggregate": lambda p: p.agg(n=total(p.zip)),
    }


def theirs(folder: Path) -> dict[str, Callable[[], Any]]:
    """Expressions about something that is not the curator's."""
    (folder / "patients.csv").write_text("patient_id,zip\n1,A\n", encoding="utf-8")
    database = ibis.duckdb.connect()
    patients = database.read_csv(str(folder / "patients.csv"), table_name="patients")
    return {
        "a table of a database": lambda: patients.count(),
        "SQL of a database": lambda: database.sql("SELECT * FROM read_text('/etc/hostname')").count(),
        "SQL over a table": lambda: patients.sql("SELECT zip FROM patients; DROP TABLE patients").count(),
        "a view with SQL": lambda: patients.alias("x").sql("SELECT * FROM x").count(),
    }


def test_functions_of_its_own_are_refused(curator: Curator, patients: Any) -> None:
    for make in own_functions().values():
        refusal(curator, make(patients))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # ibis with a newer DuckDB
def test_other_databases_are_refused_even_where_names_agree(curator: Curator, tmp_path: Path) -> None:
    """Their text would be a question about the private table of the same name."""
    made = 0
    for make in theirs(tmp_path).values():
        try:
            expression = make()
        except Exception:
            continue  # ibis refuses it itself
        made += 1
        refusal(curator, expression)
    assert made


def refusal(curator: Curator, expression: Any) -> None:
    before = curator.count()
    for ask in (curator.preview, curator.query):
        with pytest.raises(Refused, match=r"of its own|database|function"):
            ask(expression, epsilon=0.1)
    assert curator.count() == before


@pytest.mark.parametrize(
    "make",
    [
        lambda p: p,
        lambda p: p.zip,
        lambda p: p.zip.collect(),
        lambda p: p.mutate(r=ibis.random()).r.sum(),
        lambda _: ibis.range(10**12).unnest().count(),
        lambda _: ibis.table({"a": "int64"}, name='patients"; DROP TABLE x; --').count(),
        lambda _: ibis.table({"zip": "string"}, name="tables", database="information_schema").count(),
        lambda _: ibis.table({"zip": "string"}, name="patients", catalog="other", database="main").count(),
        lambda _: ibis.table({"filename": "string"}, name="read_csv('/etc/passwd')").count(),
        lambda p: p.filter(_.age > ibis.param("int64")).count(),
        lambda _: ibis,
        lambda _: ibis._.count(),
        lambda _: ibis.literal("'; DROP TABLE x; --"),
    ],
)
def test_everything_else_is_a_text_like_others(curator: Curator, patients: Any, make: Callable[[Any], Any]) -> None:
    before = curator.count()
    expression = make(patients)
    for ask in (curator.preview, curator.query):
        try:
            found = ask(expression, epsilon=0.001)
        except Refused:
            continue
        assert not found.noise  # it reads nothing private
    assert curator.count() == before


def test_the_cost_is_that_of_the_text(curator: Curator, patients: Any) -> None:
    """An expression that lies about the types of columns has its text's cost, and its text's answer."""
    lying = ibis.table({"zip": "int64", "age": "string"}, name="patients")
    for table in (patients, lying):
        expression = table.group_by("zip").agg(n=_.count())
        text = compiled(expression)
        assert curator.preview(expression, epsilon=0.1).loss == curator.preview(text, epsilon=0.1).loss


def test_deep_expressions_are_refused(patients: Any) -> None:
    deep = patients.age
    for _each in range(1500):
        deep = deep + 1
    with pytest.raises(Refused):
        compiled(deep.sum())


def test_what_only_looks_like_an_expression_is_refused(curator: Curator) -> None:
    fake = type("Fake", (), {"__module__": "ibis.fake", "op": _run, "__str__": lambda _: "SELECT 1"})()
    assert is_expression(fake)
    with pytest.raises(Refused):
        curator.query(fake, epsilon=0.1)
