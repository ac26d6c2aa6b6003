"""Queries over PostgreSQL's protocol: described from the plan, run once, charged once, refused in words."""

from __future__ import annotations

import json
import struct
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.server.wire.statements import Select, statements
from tests.server.running import Running
from tests.server.wire.client import (
    address,
    bind,
    connect,
    describe,
    execute,
    failure,
    known,
    letters,
    parse,
    query,
)

WARDS = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"


def charges(server: Running) -> int:
    with server.client("owner") as client:
        return len(client.get("datasets/hospital/ledger").json()["entries"])


def new(number: int) -> str:
    """A query that nobody else asks."""
    return f"SELECT ward, COUNT(*) AS n FROM patients WHERE age < {number} GROUP BY ward"


def test_a_query_without_a_cost_is_refused_and_free(server: Running) -> None:
    before = charges(server)
    with connect(server) as connection:
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="cost-missing") as raised:
            connection.execute(WARDS)
        assert "SET discreet.epsilon = " in str(raised.value.diag.message_hint)
        connection.execute(str(raised.value.diag.message_hint).partition(" (")[0])  # what it says can be sent
        assert len(connection.execute(WARDS).fetchall()) == 3
    assert charges(server) <= before + 1


def test_it_is_described_from_the_plan_and_run_once(server: Running) -> None:
    with known(server, **{"discreet.epsilon": "0.01"}) as raw:
        before = charges(server)
        raw.ask(parse(new(31), "a"))
        for _ in range(3):
            assert letters(raw.ask(describe("S", "a"), bind(name="a"), describe("P"))) == "tT2TZ"
        assert charges(server) == before  # so far nothing was run
        assert letters(raw.ask(bind(name="a"), describe("P"), execute(), execute(), execute())) == "2TDDDCCCZ"
        assert charges(server) == before + 1
        found = raw.ask(bind(name="a", portal="p"), execute(1, "p"), execute(1, "p"), execute(5, "p"), execute(0, "p"))
        assert letters(found) == "2DsDsDCCZ"
        tags = [body for letter, body in found if letter == "C"]
        assert tags == [b"SELECT 1\0", b"SELECT 0\0"]
        assert charges(server) == before + 1  # cached
        assert failure(raw.ask(execute(0, "p")))["C"] == "34000"  # a portal ends with its transaction


def test_a_failed_portal_is_not_run_again(server: Running) -> None:
    with known(server) as raw:
        assert failure(raw.ask(parse(new(32)), bind(), execute()))["C"] == "55000"
        before = charges(server)
        raw.ask(parse("BEGIN"), bind(), execute())
        found = raw.ask(parse(new(32)), bind(), execute())
        assert failure(found)["H"].startswith("SET discreet.epsilon")
        assert failure(raw.ask(parse(new(32)), bind()))["C"] == "25P02"
        raw.ask(parse("ROLLBACK"), bind(), execute())
        assert charges(server) == before


def test_a_cached_answer_has_the_names_that_were_asked_for_now(server: Running) -> None:
    before = charges(server)
    with connect(server, options="-c discreet.epsilon=0.01") as connection:
        found = [connection.execute(new(34).replace("AS n", f"AS {name}")) for name in ("a1", "b1")]
        assert [[column.name for column in each.description or ()][1] for each in found] == ["a1", "b1"]
        assert found[0].fetchall() == found[1].fetchall()
    assert charges(server) == before + 1


def texts_of(name: str) -> list[str]:
    path = Path(__file__).parent / "asked" / f"{name}.sql"
    return [found.text for found in statements(path.read_text(encoding="utf-8")) if isinstance(found, Select)]


@pytest.mark.long
@pytest.mark.parametrize("name", ["superset"])
def test_what_tools_ask_of_tables_is_answered(server: Running, name: str) -> None:
    """As they sent it, in one transaction each, on a connection whose settings say the cost."""
    with connect(server, autocommit=False, options="-c discreet.epsilon=0.001") as connection:
        for text in texts_of(name):
            cursor = connection.execute(text.encode())
            cursor.fetchall()  # perhaps none: keys and HAVING may leave all out
            assert cursor.description, text
            connection.rollback()


def test_previews_of_tools_are_refused_in_words_and_free(server: Running) -> None:
    before = charges(server)
    with connect(server, options="-c discreet.epsilon=0.001") as connection:
        for text in texts_of("superset_refused"):
            with pytest.raises(psycopg.errors.GroupingError, match="never shown"):
                connection.execute(text.encode())
    assert charges(server) == before


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT ward AS w FROM public.patients GROUP BY ward LIMIT 1000", ["A", "B", "C"]),
        ("SELECT DISTINCT ward FROM patients ORDER BY 1 DESC", ["C", "B", "A"]),
        ("SELECT patients.ward FROM patients GROUP BY 1 ORDER BY patients.ward LIMIT 2", ["A", "B"]),
        ("SELECT ward FROM patients GROUP BY ward LIMIT 0", []),
    ],
)
def test_listed_keys_are_public_and_free(server: Running, text: str, rows: list[str]) -> None:
    before = charges(server)
    with connect(server) as connection:
        assert connection.execute(text.encode()).fetchall() == [(row,) for row in rows]
    assert charges(server) == before


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ward FROM patients WHERE age > 5 GROUP BY ward",
        "SELECT zip FROM patients GROUP BY zip",
        "SELECT ward FROM patients GROUP BY zip",
        "SELECT DISTINCT ward, age FROM patients",
        "SELECT DISTINCT ward FROM patients, wards",
        "SELECT ward FROM patients GROUP BY ward ORDER BY zip",
        "SELECT ward FROM patients GROUP BY ward UNION SELECT zip FROM patients",
        "SELECT DISTINCT ward FROM patients OFFSET 1",
    ],
)
def test_other_keys_are_not(server: Running, text: str) -> None:
    before = charges(server)
    with connect(server) as connection, pytest.raises(psycopg.Error):
        connection.execute(text.encode())
    assert charges(server) == before


def test_what_it_costs_is_told_beside_the_answer(server: Running) -> None:
    told: list[tuple[str | None, str | None]] = []
    with connect(server, options="-c discreet.epsilon=0.01") as connection:
        connection.add_notice_handler(lambda notice: told.append((notice.message_primary, notice.message_detail)))
        connection.execute(new(33))
        connection.execute(new(33))
        assert "cost ε 0.01" in str(told[0][0])
        assert "receipt" in str(told[0][1])
        assert "cached: free" in str(told[1][0])
        connection.execute("SET client_min_messages = warning")
        connection.execute(new(33))
        assert len(told) == 2


def test_errors_are_columns_where_they_are_wanted(server: Running) -> None:
    with connect(server, options="-c discreet.rho=0.001 -c discreet.errors=columns") as connection:
        for binary in (False, True):
            cursor = connection.execute(WARDS, binary=binary)
            assert [column.name for column in cursor.description or ()] == ["ward", "n", "n_low", "n_high"]
            for _, value, low, high in cursor:
                assert isinstance(low, float)
                assert low < value < high
        cursor = connection.execute("SELECT APPROX_TOP_COUNT(ward, 2) AS top FROM patients")
        assert [column.name for column in cursor.description or ()] == ["top"]
        ((found,),) = cursor.fetchall()
        assert {"value", "count", "low", "high"} == set(found[0])


def test_parameters_have_the_types_of_what_they_stand_beside(server: Running) -> None:
    with known(server) as raw:
        found = raw.ask(
            parse("SELECT COUNT(*) FROM patients WHERE age > $1 AND ward = $2 AND born < $3 LIMIT $4"), describe("S")
        )
        types = next(body for letter, body in found if letter == "t")
        assert struct.unpack("!h4i", types) == (4, 701, 25, 1082, 20)
    with connect(server, options="-c discreet.epsilon=0.1") as connection:
        text = "SELECT COUNT(*) AS n FROM public.patients WHERE age > %s AND ward = %s AND born >= %s LIMIT %s"
        for values in ((30, "A", date(1950, 1, 1), 1), (30.5, "B", date(1950, 1, 1), 2)):
            for binary in (False, True):
                cursor = connection.execute(text, values, prepare=True, binary=binary)
                assert len(cursor.fetchall()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM patients LIMIT 0",
        f"SELECT * FROM ({WARDS}) t LIMIT 0",
        f"SELECT * FROM ({WARDS}) SPARK_GEN_SUBQ_0 WHERE 1=0",
        "SELECT ward, beds FROM wards",
        "SELECT 1",
    ],
)
def test_probes_and_public_tables_are_free(server: Running, text: str) -> None:
    before = charges(server)
    with connect(server) as connection:
        cursor = connection.execute(text)
        assert cursor.description
        assert "LIMIT 0" not in text or not cursor.fetchall()
    assert charges(server) == before


def test_wrapped_queries_are_answered(server: Running) -> None:
    with connect(server, options="-c discreet.epsilon=0.1") as connection:
        assert len(connection.execute(f"SELECT * FROM ({WARDS}) AS virtual_table LIMIT 1000").fetchall()) == 3


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("SELECT * FROM patients", "42803"),
        ("SELECT agee FROM patients", "42703"),
        ("SELECT COUNT(*) FROM doctors", "42P01"),
        ("SELECT COUNT(*) FROM patients, pg_class", "42P01"),
        ("SELEC 1", "42601"),
        ("SELECT COUNT( FROM patients", "42601"),
        ("SELECT SUM(LENGTH(zip)) FROM patients", "42501"),
        ("COPY patients TO STDOUT", "0A000"),
        ("INSERT INTO patients VALUES (1)", "25006"),
        ("SELECT pg_sleep(1)", "42883"),
        ("SET nonsense = 1", "42704"),
        ("SET discreet.budget = 1", "42704"),
        ("FETCH ALL FROM nothing", "34000"),
        ("DECLARE c CURSOR FOR SELECT 1", "25P01"),
        ("SAVEPOINT a", "25P01"),
        ("SELECT COUNT(*) FROM patients; SELECT 1", "55000"),
    ],
)
def test_refusals_have_a_state_and_a_hint(server: Running, text: str, state: str) -> None:
    with known(server) as raw:
        raw.send(query(text))
        told = failure(raw.until())
        assert (told["S"], told["C"]) == ("ERROR", state)
        if state in ("42703", "42803"):
            assert int(told["P"]) == text.index("agee" if "agee" in text else "*") + 1
        raw.send(query("SELECT 1"))
        assert letters(raw.until()) == "TDCZ"


def test_a_budget_that_is_spent(server: Running) -> None:
    with connect(server, "finance") as connection:
        connection.execute("SET discreet.epsilon = 4.9")
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="budget-exhausted"):  # noqa: PT012
            for number in range(10):
                connection.execute(new(40 + number))


def test_the_cost_may_stand_in_the_text(server: Running) -> None:
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.02) COUNT(*) AS n FROM patients"
    with connect(server, options="-c discreet.epsilon=0.5 -c discreet.dialect=bigquery") as connection:
        assert len(connection.execute(text).fetchall()) == 1
        connection.execute("SET discreet.dialect = 'postgres'")
        cursor = connection.execute(f"EXPLAIN PRIVACY {WARDS}")
        assert [column.name for column in cursor.description or ()] == ["column", "error", "noise"]


def test_dummy_data_are_free(server: Running) -> None:
    before = charges(server)
    with connect(server, options="-c discreet.epsilon=1 -c discreet.dummy=on") as connection:
        assert len(connection.execute(new(50)).fetchall()) == 3
    assert charges(server) == before


# transactions and cursors


def test_cursors_hand_out_rows_and_are_charged_once(server: Running) -> None:
    before = charges(server)
    with connect(server, autocommit=False, options="-c discreet.epsilon=0.01") as connection:
        with connection.cursor("named") as cursor:
            cursor.execute(new(51))
            assert charges(server) == before  # declared and described
            assert len(cursor.fetchmany(2)) == 2
            assert len(cursor.fetchall()) == 1
            assert cursor.fetchall() == []
        with connection.cursor("held", withhold=True) as cursor:
            cursor.execute(new(51))
            connection.commit()
            assert len(cursor.fetchall()) == 3
    assert charges(server) == before + 1


def test_transactions_that_fail(server: Running) -> None:
    with connect(server, autocommit=False) as connection:
        connection.execute("SET discreet.epsilon = 0.01")
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT COUNT(*) FROM doctors")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):  # what was set went with it
            connection.execute(new(52))
        connection.rollback()
        with suppress(psycopg.errors.UndefinedTable), connection.transaction(), connection.transaction():
            connection.execute("SELECT COUNT(*) FROM doctors")
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_pipelines(server: Running) -> None:
    with connect(server, options="-c discreet.epsilon=0.01") as connection, connection.pipeline():
        found = [connection.execute(text) for text in (WARDS, "SELECT 1", WARDS)]
        assert [len(each.fetchall()) for each in found] == [3, 1, 3]


# who asks


def test_sessions_share_nothing(server: Running) -> None:
    with known(server) as one, known(server, "finance") as other:
        one.ask(parse("SET discreet.epsilon = 0.5"), bind(), execute())
        one.ask(parse(WARDS, "a"))
        one.send(query("BEGIN; DECLARE c CURSOR FOR SELECT 1"))
        one.until()
        assert failure(other.ask(bind(name="a")))["C"] == "26000"
        other.send(query("FETCH c"))
        assert failure(other.until())["C"] == "34000"
        other.send(query("SHOW discreet.epsilon; SELECT current_user"))
        rows = [body[6:] for letter, body in other.until() if letter == "D"]
        assert rows == [b"", b"finance"]


def test_analysts_are_charged_as_themselves(server: Running) -> None:
    options = "-c discreet.epsilon=0.01 -c discreet.analyst=finance"
    refused = pytest.raises(psycopg.errors.InsufficientPrivilege, match="another analyst")
    with connect(server, options=options) as connection, refused:
        connection.execute(WARDS)
    with connect(server, "owner", options=options) as connection:
        assert len(connection.execute(WARDS).fetchall()) == 3


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"password": "discreet_00000000_" + "0" * 64}, "unauthorized"),
        ({"password": "x"}, "unauthorized"),
        ({"dbname": "postgres"}, "it opens as the database: hospital"),
        ({"options": "-c discreet.epsilon=lots"}, "invalid value"),
        ({"options": "-c nonsense=1"}, "unrecognized"),
        ({"client_encoding": "latin1"}, "invalid value"),
        ({"replication": "database"}, "replicate"),
    ],
    ids=repr,
)
def test_who_is_not_let_in(server: Running, changed: dict[str, Any], words: str) -> None:
    with pytest.raises(psycopg.OperationalError, match=words):
        psycopg.connect(**{**address(server), **changed})


def test_the_cost_may_stand_after_the_name_of_the_user(server: Running) -> None:
    """For tools that have a field for it, and none for options; what is said in options counts more."""
    user = "me -c discreet.epsilon=0.01 -c discreet.errors=columns"
    for more, cost in (({}, "0.01"), ({"options": "-c discreet.epsilon=0.02"}, "0.02")):
        with connect(server, **{"user": user, **more}) as connection:
            assert connection.execute("SHOW discreet.epsilon").fetchone() == (cost,)
            assert connection.execute("SELECT current_user").fetchone() == ("epidemiology",)
            assert len(connection.execute(WARDS).description or ()) == 4
    for wrong in ("me 0.1", "me -c discreet.epsilon=lots", "me -c is_superuser=on", "me -c"):
        with pytest.raises(psycopg.OperationalError):
            connect(server, user=wrong)


def test_auditors_ask_nothing(server: Running) -> None:
    with pytest.raises(psycopg.OperationalError, match="may not ask"):
        connect(server, "auditor")


def test_the_log_has_no_text_and_no_token(server: Running) -> None:
    with connect(server) as connection:
        connection.execute("SELECT 'canary' AS x")
        with suppress(psycopg.Error):
            connection.execute("SELECT COUNT(*) FROM canaries")
    with suppress(psycopg.OperationalError):
        psycopg.connect(**{**address(server), "password": "canary"})
    text = server.log.read_text(encoding="utf-8")
    assert "canar" not in text
    assert not any(token.rpartition("_")[2] in text for token in server.tokens.values())
    lines = [json.loads(line) for line in text.splitlines() if '"PG"' in line]
    assert {"connect", "statement", "catalogue", "query", "parse"} >= {line["route"] for line in lines[-4:]}
    assert lines[-1]["code"] == "unauthorized"
    assert {"token", "dataset", "role"} <= lines[-3].keys()
