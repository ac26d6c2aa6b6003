"""The driver does what PEP 249 says, against a real server."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet import errors
from discreet.accounting import Concentrated
from discreet.client import Unreachable, dbapi, http
from discreet.client.pep249 import as_pep249
from tests.costs import rho_of
from tests.server.running import Running

WARDS = "SELECT ward, beds FROM wards ORDER BY ward"
"""A public table: what it says is exact and free."""
ROWS = [("A", 10), ("B", 20), ("C", 30)]


def connected(server: Running, who: str = "epidemiology", **terms: Any) -> dbapi.Connection:
    return dbapi.connect(server.url, token=server.tokens[who], **terms)


@pytest.fixture(scope="module")
def connection(server: Running) -> Iterator[dbapi.Connection]:
    with connected(server, epsilon=0.02) as made:
        yield made


@pytest.fixture
def cursor(connection: dbapi.Connection) -> dbapi.Cursor:
    return connection.cursor()


def paid(cursor: dbapi.Cursor) -> Fraction:
    """The ρ that the last answer was bought for."""
    assert cursor.answer is not None
    assert isinstance(cursor.answer.cost, Concentrated)
    return cursor.answer.cost.rho


# the module


def test_the_globals_are_there() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "named")


HIERARCHY = [
    ("Warning", Exception),
    ("Error", Exception),
    ("InterfaceError", dbapi.Error),
    ("DatabaseError", dbapi.Error),
    ("DataError", dbapi.DatabaseError),
    ("OperationalError", dbapi.DatabaseError),
    ("IntegrityError", dbapi.DatabaseError),
    ("InternalError", dbapi.DatabaseError),
    ("ProgrammingError", dbapi.DatabaseError),
    ("NotSupportedError", dbapi.DatabaseError),
]


@pytest.mark.parametrize(("name", "parent"), HIERARCHY)
def test_errors_descend_as_they_should_and_hang_on_connections(name: str, parent: type) -> None:
    assert getattr(dbapi, name).__bases__ == (parent,)
    assert getattr(dbapi.Connection, name) is getattr(dbapi, name)


def test_constructors_make_what_python_has() -> None:
    noon = time.mktime((2002, 12, 25, 13, 45, 30, 0, 0, 0))
    assert dbapi.Date(2002, 12, 25) == dbapi.DateFromTicks(noon) == date(2002, 12, 25)
    assert dbapi.Time(13, 45, 30) == dbapi.TimeFromTicks(noon)
    assert dbapi.Timestamp(2002, 12, 25, 13, 45, 30) == dbapi.TimestampFromTicks(noon)
    assert dbapi.Binary(b"x") == b"x"


def test_type_objects_equal_their_codes_and_no_others() -> None:
    objects = [dbapi.STRING, dbapi.NUMBER, dbapi.BOOLEAN, dbapi.DATETIME, dbapi.LIST, dbapi.BINARY, dbapi.ROWID]
    assert len(set(objects)) == len(objects)
    codes = ["text", "integer", "number", "boolean", "date", "timestamp", "list"]
    assert [[code == each for each in objects].index(True) for code in codes] == [0, 1, 1, 2, 3, 3, 4]
    assert all(sum(code == each for each in objects) == 1 for code in codes)
    assert dbapi.NUMBER != None  # noqa: E711  (the code of a column that nobody knows)


def test_nothing_heavy_is_imported_with_it() -> None:
    told_by = "import discreet, sys; before = 'discreet.client' in sys.modules; import discreet.client.dbapi"
    shown = "print(before, [name for name in ('sqlalchemy', 'pandas') if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", f"{told_by}; {shown}"], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "[]"]


# connections


def test_commit_and_rollback_do_nothing(connection: dbapi.Connection) -> None:
    cursor = connection.cursor().execute(WARDS)
    connection.commit()
    connection.rollback()
    assert cursor.fetchall() == ROWS


def test_a_closed_connection_is_of_no_use(server: Running) -> None:
    connection = connected(server)
    cursor = connection.cursor().execute(WARDS)
    connection.close()
    connection.close()
    for use in (connection.cursor, connection.commit, connection.rollback, connection.tables, cursor.fetchone):
        with pytest.raises(dbapi.InterfaceError, match="connection is closed → open another"):
            use()
    with pytest.raises(dbapi.InterfaceError):
        cursor.execute(WARDS)
    with pytest.raises(dbapi.InterfaceError), connection:
        pass


def test_a_closed_cursor_is_of_no_use(connection: dbapi.Connection) -> None:
    with connection.cursor() as cursor:
        cursor.execute(WARDS)
    cursor.close()
    for use in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, lambda: cursor.execute(WARDS), cursor.__enter__):
        with pytest.raises(dbapi.InterfaceError, match="cursor is closed → make another"):
            use()
    with pytest.raises(dbapi.InterfaceError):
        cursor.executemany(WARDS, [])
    assert cursor.answer is not None
    assert connection.cursor().execute(WARDS).fetchall() == ROWS


def test_threads_share_a_connection(connection: dbapi.Connection) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: connection.cursor().execute(WARDS).fetchall(), range(24)))
    assert found == [ROWS] * 24


def test_a_token_from_the_environment_will_do(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_TOKEN", server.tokens["finance"])
    with dbapi.connect(f"{server.url}/hospital") as connection:
        assert connection.cursor().execute(WARDS).fetchall() == ROWS


@pytest.mark.parametrize(
    ("url", "terms", "kind", "text"),
    [
        (None, {"token": "discreet_nobody"}, dbapi.OperationalError, "unauthorized"),
        (None, {"token": "größe"}, dbapi.OperationalError, "that is no token"),
        (None, {"dataset": "clinic"}, dbapi.OperationalError, "unknown-dataset: .*: hospital"),
        ("http://192.0.2.1/hospital", {}, dbapi.InterfaceError, "read the token → use https"),
        ("hospital", {}, dbapi.InterfaceError, "no address"),
        ("", {}, dbapi.InterfaceError, "no address"),
        ("http://127.0.0.1:1/hospital", {}, dbapi.OperationalError, "does not answer.* → see that the server runs"),
    ],
)
def test_what_cannot_be_connected_says_why(
    server: Running, monkeypatch: pytest.MonkeyPatch, url: str | None, terms: dict[str, Any], kind: type, text: str
) -> None:
    monkeypatch.setattr(http, "FIRST_PAUSE", 0.001)
    with pytest.raises(kind, match=text):
        dbapi.connect(server.url if url is None else url, **{"token": server.tokens["finance"], **terms})


# cursors


def test_a_new_cursor_knows_nothing(cursor: dbapi.Cursor) -> None:
    assert (cursor.description, cursor.rowcount, cursor.arraysize, cursor.answer) == (None, -1, 1, None)
    for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, lambda: list(cursor)):
        with pytest.raises(dbapi.ProgrammingError, match="call execute first"):
            fetch()


def test_the_description_names_columns_and_types(cursor: dbapi.Cursor) -> None:
    cursor.execute("SELECT ward, beds, beds / 7 AS part, beds > 10 AS large, NULL AS nothing FROM wards")
    assert cursor.description is not None
    assert [column[0] for column in cursor.description] == ["ward", "beds", "part", "large", "nothing"]
    codes = [column[1] for column in cursor.description]
    assert codes == [dbapi.STRING, dbapi.NUMBER, dbapi.NUMBER, dbapi.BOOLEAN, None]
    assert {len(column) for column in cursor.description} == {7}
    assert cursor.rowcount == 3


def test_dates_are_described_as_such(cursor: dbapi.Cursor) -> None:
    cursor.execute("SELECT DATE_TRUNC('year', born) AS year, COUNT(*) AS n FROM patients GROUP BY 1 LIMIT 1")
    assert cursor.description is not None
    assert [column[1] for column in cursor.description] == [dbapi.DATETIME, dbapi.NUMBER]
    assert cursor.fetchall()[0][0] == date(1900, 1, 1)


def test_lists_are_described_as_such(cursor: dbapi.Cursor) -> None:
    cursor.execute("SELECT APPROX_TOP_COUNT(ward, 2) AS top FROM patients")
    assert cursor.description is not None
    assert cursor.description[0][:2] == ("top", dbapi.LIST)
    ((top,),) = cursor.fetchall()
    assert [set(item) for item in top] == [{"value", "count"}] * 2


def test_rows_come_one_by_one_and_then_no_more(cursor: dbapi.Cursor) -> None:
    cursor.execute(WARDS)
    assert [cursor.fetchone() for _ in range(5)] == [*ROWS, None, None]
    assert (cursor.fetchmany(), cursor.fetchall(), list(cursor)) == ([], [], [])
    assert cursor.rowcount == 3


def test_rows_come_in_batches(cursor: dbapi.Cursor) -> None:
    cursor.execute(WARDS)
    assert [cursor.fetchmany() for _ in range(2)] == [ROWS[:1], ROWS[1:2]]
    cursor.execute(WARDS)
    assert (cursor.fetchmany(2), cursor.fetchmany(0), cursor.fetchmany(9), cursor.fetchmany(9)) == (
        ROWS[:2],
        [],
        ROWS[2:],
        [],
    )
    cursor.arraysize = 2
    assert (cursor.execute(WARDS).fetchmany(), cursor.fetchall()) == (ROWS[:2], ROWS[2:])


@pytest.mark.parametrize("size", [-1, 1.5, "2"])
def test_a_batch_has_a_size(cursor: dbapi.Cursor, size: object) -> None:
    with pytest.raises(dbapi.ProgrammingError, match="no number of rows → pass a whole number"):
        cursor.execute(WARDS).fetchmany(size)


def test_iteration_takes_the_rest(cursor: dbapi.Cursor) -> None:
    cursor.execute(WARDS).fetchone()
    assert list(cursor) == ROWS[1:]


def test_an_empty_answer_has_columns(cursor: dbapi.Cursor) -> None:
    cursor.execute("SELECT ward FROM wards WHERE beds > 99")
    assert cursor.description is not None
    assert (cursor.description[0][0], cursor.rowcount, cursor.fetchone(), cursor.fetchall()) == ("ward", 0, None, [])


def test_null_is_none(cursor: dbapi.Cursor) -> None:
    cursor.execute("SELECT NULLIF(ward, 'B') AS ward FROM wards ORDER BY beds")
    assert cursor.fetchall() == [("A",), (None,), ("C",)]


def test_cursors_do_not_disturb_each_other(connection: dbapi.Connection) -> None:
    one, other = connection.cursor(), connection.cursor()
    one.execute(WARDS)
    other.execute("SELECT COUNT(*) AS n FROM wards")
    one.epsilon = 0.5
    assert other.epsilon is None
    assert (other.fetchall(), one.fetchall()) == ([(3,)], ROWS)
    assert one.description != other.description


def test_a_failure_forgets_the_answer_before(cursor: dbapi.Cursor) -> None:
    cursor.execute(WARDS)
    with pytest.raises(dbapi.ProgrammingError):
        cursor.execute("SELECT nothing FROM wards")
    assert (cursor.description, cursor.rowcount, cursor.answer) == (None, -1, None)
    with pytest.raises(dbapi.ProgrammingError, match="call execute first"):
        cursor.fetchall()


def test_what_is_for_other_databases(cursor: dbapi.Cursor) -> None:
    cursor.setinputsizes([10, None])
    cursor.setoutputsize(100, 1)
    with pytest.raises(dbapi.NotSupportedError, match="with execute"):
        cursor.executemany(WARDS, [{}])
    with pytest.raises(AttributeError):
        cursor.epsilom = 0.1  # type: ignore[attr-defined]  # a slip that would ask at the wrong cost


# values


@pytest.mark.parametrize(
    ("condition", "value", "found"),
    [
        ("beds >= :x", 20, ["B", "C"]),
        ("beds >= :x", np.int64(20), ["B", "C"]),
        ("beds >= :x", Decimal("20.5"), ["C"]),
        ("beds >= :x", Fraction(41, 2), ["C"]),
        ("beds >= :x", 20.5, ["C"]),
        ("beds > :x", -1, ["A", "B", "C"]),
        ("ward = :x", "B", ["B"]),
        ("ward <> :x", "it's '; -- 🙂", ["A", "B", "C"]),
        ("ward = :x", None, []),
        ("(beds > 10) = :x", True, ["B", "C"]),
        ("(beds > 10) = :x", np.bool_(False), ["A"]),
        ("DATE '2026-01-02' = :x", dbapi.Date(2026, 1, 2), ["A", "B", "C"]),
        ("DATE '2026-01-02' < :x", dbapi.Date(2026, 1, 2), []),
        ("TIMESTAMP '2026-01-02 03:04:05' = :x", dbapi.Timestamp(2026, 1, 2, 3, 4, 5), ["A", "B", "C"]),
        ("TIMESTAMP '2026-01-02 03:04:05' = $x", pd.Timestamp("2026-01-02 03:04:06"), []),
    ],
)
def test_values_go_by_name(cursor: dbapi.Cursor, condition: str, value: object, found: list[str]) -> None:
    cursor.execute(f"SELECT ward FROM wards WHERE {condition} ORDER BY ward", {"x": value})
    assert [row[0] for row in cursor] == found


@pytest.mark.parametrize("nothing", [None, {}, (), []])
def test_no_values_are_no_values(cursor: dbapi.Cursor, nothing: Any) -> None:
    assert cursor.execute(WARDS, nothing).fetchall() == ROWS


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ([20], dbapi.ProgrammingError, "values go by name → write :name"),
        (20, dbapi.ProgrammingError, "values go by name"),
        ("20", dbapi.ProgrammingError, "values go by name"),
        ({1: 20}, dbapi.ProgrammingError, "values go by name"),
        ({"y": 20}, dbapi.ProgrammingError, "a parameter has no value"),
        ({"x": b"20"}, dbapi.ProgrammingError, "value of x is of type bytes → pass one of: numbers"),
        ({"x": [20]}, dbapi.ProgrammingError, "type list"),
        ({"x": dbapi.Time(1, 2, 3)}, dbapi.ProgrammingError, "type time"),
        ({"x": timedelta(1)}, dbapi.ProgrammingError, "type timedelta"),
        ({"x": pd.NA}, dbapi.ProgrammingError, "type NAType"),
        ({"x": pd.NaT}, dbapi.ProgrammingError, "syntax"),
        ({"x": float("nan")}, dbapi.DatabaseError, "→"),
        ({"x": "\ud800"}, dbapi.DatabaseError, "→"),
        ({"x": 10**5000}, dbapi.DatabaseError, "→"),
        ({"x": 10**400}, dbapi.DatabaseError, "→"),
    ],
)
def test_values_that_cannot_be(cursor: dbapi.Cursor, given: Any, kind: type, text: str) -> None:
    with pytest.raises(kind, match=text):
        cursor.execute("SELECT ward FROM wards WHERE beds = :x", given)


# the cost


def test_a_question_costs_what_the_connection_says(cursor: dbapi.Cursor) -> None:
    cursor.execute("SELECT COUNT(*) AS n FROM patients WHERE age > 11")
    assert paid(cursor) == Fraction(repr(rho_of(0.02)))
    ((value,),) = cursor.fetchall()
    assert cursor.answer is not None
    low, high = cursor.answer.intervals[0]["n"]
    assert low < value < high


def test_the_cursor_says_otherwise(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.rho = 0.0003
    cursor.confidence = 0.5
    cursor.execute("SELECT COUNT(*) AS n FROM patients WHERE age > 12")
    assert cursor.answer is not None
    assert (paid(cursor), cursor.answer.confidence) == (Fraction("0.0003"), 0.5)
    cursor.rho = None
    cursor.execute("SELECT COUNT(*) AS n FROM patients WHERE age > 13")
    assert paid(cursor) == Fraction(repr(rho_of(0.02)))
    cursor.error = 300
    cursor.execute("SELECT COUNT(*) AS n FROM patients WHERE age > 14")
    assert paid(cursor) not in (Fraction(repr(rho_of(0.02))), Fraction("0.0003"))


def test_the_text_has_the_last_word(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.error = 1
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({}) COUNT(*) AS n FROM patients WHERE age > :age"
    cursor.execute(clause.format("rho = 0.0001"), {"age": 15})
    assert paid(cursor) == Fraction("0.0001")
    cursor.error = None
    cursor.execute(clause.format("max_groups_contributed = 1"), {"age": 16})
    assert paid(cursor) == Fraction(repr(rho_of(0.02)))
    with pytest.raises(dbapi.ProgrammingError, match="the privacy clause has an option that is not known"):
        cursor.execute(clause.format("epsilom = 1"), {"age": 17})


def test_without_a_cost_nothing_is_bought(server: Running) -> None:
    with connected(server) as connection:
        cursor = connection.cursor()
        with pytest.raises(dbapi.ProgrammingError, match=r"cost-missing: .* → "):
            cursor.execute("SELECT COUNT(*) FROM patients WHERE age > 18")
        cursor.epsilon = float("nan")
        with pytest.raises(dbapi.DatabaseError, match="→"):
            cursor.execute("SELECT COUNT(*) FROM patients WHERE age > 18")


def test_an_owner_lets_an_analyst_pay(server: Running) -> None:
    with connected(server, "owner", epsilon=0.02, analyst="finance") as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT COUNT(*) AS n FROM patients WHERE age > 19")
        cursor.analyst = "epidemiology"
        cursor.execute("SELECT COUNT(*) AS n FROM patients WHERE age > 20")
        payers = {entry.question[-2:]: entry.analyst for entry in connection.remote.entries()}
        assert (payers["19"], payers["20"]) == ("finance", "epidemiology")


def test_what_is_too_dear_says_so_and_costs_nothing(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.epsilon = 25
    before = connection.remote.entries()
    with pytest.raises(dbapi.BudgetExhausted, match=r"budget-exhausted: .* → ") as caught:
        cursor.execute("SELECT COUNT(*) AS n FROM patients WHERE age > 21")
    assert isinstance(caught.value, dbapi.OperationalError)
    assert isinstance(caught.value.__cause__, errors.BudgetExhausted)
    assert connection.remote.entries() == before


def test_made_up_rows_are_free(server: Running) -> None:
    with connected(server, epsilon=1, dummy=True) as connection:
        before = connection.remote.budget().spent
        connection.cursor().execute("SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward")
        assert connection.remote.budget().spent == before


def test_intervals_are_columns_if_wanted(server: Running) -> None:
    text = "SELECT COUNT(*) AS n, ward, AVG(age) AS age, APPROX_TOP_COUNT(ward, 1) AS top FROM patients GROUP BY ward"
    with connected(server, epsilon=0.05, errors="columns") as connection:
        cursor = connection.cursor().execute(text)
        assert cursor.answer is not None
        assert cursor.description is not None
        names = [column[0] for column in cursor.description]
        assert names == ["n", "n_low", "n_high", "ward", "age", "age_low", "age_high", "top"]
        assert names == list(cursor.answer.to_pandas())
        assert [column[1] for column in cursor.description[:3]] == [dbapi.NUMBER] * 3
        for row, known, plain in zip(cursor, cursor.answer.intervals, cursor.answer.rows, strict=True):
            assert (row[0], row[3], row[4]) == plain[:3]
            assert (row[1:3], row[5:7]) == (known["n"], known["age"])
            assert all({"value", "count", "low", "high"} == set(item) for item in row[7])


def test_errors_are_columns_by_the_address_and_by_the_cursor(server: Running) -> None:
    text = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"
    address = f"{server.url}/hospital?epsilon=0.05&errors=columns"
    with dbapi.connect(address, token=server.tokens["epidemiology"]) as connection:
        with pytest.warns(UserWarning, match="SQLAlchemy"):
            frame = pd.read_sql(text, connection)
        assert list(frame) == ["ward", "n", "n_low", "n_high"]
        cursor = connection.cursor()
        cursor.errors = "none"
        assert len(cursor.execute(text).description or ()) == 2
        cursor.errors = "rows"
        before = connection.remote.budget().spent
        with pytest.raises(dbapi.ProgrammingError, match="no place for errors"):
            cursor.execute("SELECT COUNT(*) FROM patients WHERE age = 1")
        assert connection.remote.budget().spent == before
    with dbapi.connect(address, token=server.tokens["epidemiology"], errors="none") as connection:
        assert len(connection.cursor().execute(text).description or ()) == 2


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("errors=rows", "cannot be the errors of an address → write errors=columns"),
        ("errors", "cannot be the errors"),
        ("errors=columns&errors=none", "more than once"),
        ("colour=red", "unknown option, 'colour'"),
        ("epsilon=inf", "cannot be the epsilon"),
        ("&".join("epsilon=1" for _ in range(99)), "no address"),
    ],
)
def test_options_that_cannot_be(query: str, said: str) -> None:
    with pytest.raises(dbapi.ProgrammingError, match=said):
        dbapi.connect(f"http://127.0.0.1:1/hospital?{query}", token="t")


# refusals


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        ("DROP TABLE patients", dbapi.NotSupportedError, "statement-not-allowed"),
        ("INSERT INTO wards VALUES ('D', 1)", dbapi.NotSupportedError, "statement-not-allowed"),
        ("SELECT * FROM patients", dbapi.ProgrammingError, "not-an-aggregate"),
        ("SELECT COUNT(*) FROM patient", dbapi.ProgrammingError, "unknown-table"),
        ("SELECT SUM(cost) FROM patients", dbapi.ProgrammingError, "unknown-column"),
        ("SELECT", dbapi.ProgrammingError, "syntax"),
        ("", dbapi.ProgrammingError, "syntax"),
        (None, dbapi.ProgrammingError, "syntax"),
        (b"SELECT 1", dbapi.ProgrammingError, "syntax"),
    ],
)
def test_refusals_are_errors_with_their_text(cursor: dbapi.Cursor, text: Any, kind: type, code: str) -> None:
    with pytest.raises(kind, match=f"^{code}: .* → ") as caught:
        cursor.execute(text)
    cause = caught.value.__cause__
    assert isinstance(cause, errors.Refused)
    assert (cause.code, str(cause)) == (code, str(caught.value))


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (errors.QueryFailed(), dbapi.OperationalError),
        (Unreachable("no route", "look at the cable"), dbapi.OperationalError),
        (errors.Refused("busy", "too many wait", "ask later"), dbapi.OperationalError),
        (errors.Refused("cost-invalid", "two costs", "give one"), dbapi.DataError),
        (errors.Refused("something-new", "no", "ask for less"), dbapi.ProgrammingError),
    ],
)
def test_each_failure_has_its_error(raised: Exception, kind: type) -> None:
    with pytest.raises(dbapi.Error) as caught, as_pep249():
        raise raised
    assert type(caught.value) is kind
    assert str(caught.value) == str(raised)
    assert caught.value.__cause__ is raised


# pandas


def test_pandas_reads_it(connection: dbapi.Connection) -> None:
    text = "SELECT ward, COUNT(*) AS n FROM patients WHERE born >= :day GROUP BY ward ORDER BY ward"
    with pytest.warns(UserWarning, match="SQLAlchemy"):
        frame = pd.read_sql(text, connection, params={"day": datetime(1950, 1, 1)})
    assert list(frame) == ["ward", "n"]
    assert list(frame["ward"]) == ["A", "B", "C"]
    assert frame["n"].dtype == "int64"


def test_pandas_shows_the_refusal(connection: dbapi.Connection) -> None:
    with (
        pytest.warns(UserWarning, match="SQLAlchemy"),
        pytest.raises(
            (dbapi.ProgrammingError, pd.errors.DatabaseError),
            match=r"not-an-aggregate: rows of private tables are never shown.* → ",
        ),
    ):
        pd.read_sql("SELECT * FROM patients", connection)
